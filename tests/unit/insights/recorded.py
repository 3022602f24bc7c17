"""Log events that lead to a recorded answer of Logs Insights: its figures, as far as they say what was logged.

A recorded percentile fixes the value of its rank: exactly where few values were distinct, and to its bin of 1.001 where
they were many; what lies between is filled in. Answers of wider bins fix nothing here.
"""

import json
import math
import re
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "data" / "aws_answers"
ANSWERS = [
    answer
    for name in ("insights.json", "found.json")
    for answer in json.loads((FOLDER / name).read_text(encoding="utf-8"))
]
MOST_VALUES = 1_200
_PERCENTILE = re.compile(
    r"(?:pct|percentile)\((?P<of>[^,()]+|@duration\+(?:greatest|coalesce)\(@initDuration,0\)), (?P<percent>[\d.]+)\)"
    r"(?: as (?P<alias>[\w.]+))?"
)
_COUNTS = ("count", "invocations", "totalRequests")


def of(name):
    """The recorded answer of that id."""
    return next(answer for answer in ANSWERS if answer["id"] == name)


def percentiles(query):
    """The columns with a percentile of a field of REPORT lines: title, field, percentage."""
    for match in _PERCENTILE.finditer(query):
        field = "@duration" if "duration" in match["of"].lower() and "@" not in match["of"] else match["of"]
        field = "@duration" if match["of"].startswith("@duration+") else field
        if field in ("@duration", "@initDuration", "@billedDuration"):
            yield match["alias"] or match.group(0), field, match["percent"]


def fixed(answer, row):
    """By field, the values of the lines that a row tells of, and the columns that follow from them."""
    by_field = {}
    for title, field, percent in percentiles(answer["query"]):
        if row.get(title, "") != "":
            by_field.setdefault(field, {})[title] = percent
    values, columns = {}, []
    for field, percents in by_field.items():
        answers = [row[title] for title, percent in percents.items() if percent not in ("0", "100")]
        count = int(next((row[name] for name in _COUNTS if name in row), answer.get("known", {}).get("n", 0)))
        if field == "@initDuration":
            count = int(row.get("numColdStarts", 0)) or count
        short = all(len(answer.partition(".")[2]) <= 2 for answer in answers)
        if not short and not all(map(on_grid, answers)):
            continue  # of wider bins
        count = min(count or (90 if short else 150), MOST_VALUES)
        values[field] = filled({percent: float(row[title]) for title, percent in percents.items()}, count, short, row)
        columns += percents
    return values, columns


def on_grid(answer, base=1.001):
    """Whether the printed number is a power of the base."""
    return abs(base ** round(math.log(float(answer)) / math.log(base)) - float(answer)) < 0.00006


def filled(answers, count, few, row):
    """`count` numbers, ascending, that have these `answers` by percentage: of `few` kinds, or all different."""
    at = {}
    for percent, answer in answers.items():
        exact = few or percent in ("0", "100")
        at[max(1, math.ceil(Fraction(percent) / 100 * count))] = answer if exact else round(answer * 1.0004, 6)
    if len(answers) > 1 and max(at) < count:
        at[count] = max(float(row.get("max", 0)), at[max(at)] * 1.01)
    at.setdefault(1, at[min(at)] if few else at[min(at)] * 0.9)
    ranks = sorted(at)
    numbers = []
    for low, high in pairwise(ranks):
        step = 0 if few else (at[high] - at[low]) / (high - low)
        numbers += [round(at[low] + step * place, 6) for place in range(high - low)]
    return [*numbers, at[ranks[-1]]]


def reports(values, cold=False, ms=0, log="111111111111:/aws/lambda/python"):
    """REPORT lines with those values by field; `cold` ones have an initialization of no time."""
    count = max(map(len, values.values()))
    lines = []
    for place in range(count):
        own = {field: listed[place] for field, listed in values.items() if place < len(listed)}
        init = own.get("@initDuration", 0 if cold else None)
        message = (
            f"REPORT RequestId: {place:x}\tDuration: {own.get('@duration', 1):f} ms\tBilled Duration: "
            f"{own.get('@billedDuration', 1):g} ms\tMemory Size: {own.get('@memorySize', 128):g} MB\t"
            f"Max Memory Used: {own.get('@maxMemoryUsed', 64):g} MB\t"
        )
        message += "" if init is None else f"Init Duration: {init:f} ms\t"
        lines.append({"timestamp": ms, "message": message, "log": log})
    return lines


def at_ms(printed):
    """Milliseconds since 1970 of a time as the service prints it."""
    return round(datetime.fromisoformat(printed + "+00:00").timestamp() * 1000)
