"""Log events that lead to a recorded answer of Logs Insights: its figures, as far as they say what
was logged.

A recorded percentile fixes the value of its rank: exactly where few values were distinct, and to
its bin of 1.001 where they were many; what lies between is filled in. Answers of wider bins fix
nothing here.
"""

import json
import math
import re
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "data" / "aws_answers"
ANSWERS = {
    answer["id"]: answer
    for name in ("insights.json", "found.json")
    for answer in json.loads((FOLDER / name).read_text(encoding="utf-8"))
}
MOST_VALUES = 1_200
_PERCENTILE = re.compile(
    r"(?:pct|percentile)\((?P<of>[^,()]+|@duration\+(?:greatest|coalesce)\(@initDuration,0\)), "
    r"(?P<percent>[\d.]+)\)"
    r"(?: as (?P<alias>[\w.]+))?"
)
_COUNTS = ("count", "invocations", "totalRequests")


def percentiles(query, row):
    """The columns of `row` with a percentile of a field of REPORT lines: title, percentage by
    field."""
    fields = {}
    for match in _PERCENTILE.finditer(query):
        field = "@duration" if match["of"].startswith(("duration", "@duration+")) else match["of"]
        title = match["alias"] or match[0]
        if field in ("@duration", "@initDuration", "@billedDuration") and row.get(title):
            fields.setdefault(field, {})[title] = match["percent"]
    return fields


def fixed(answer, row):
    """By field, the values of the lines that a row tells of, and the columns that follow from
    them."""
    values, columns = {}, []
    for field, percents in percentiles(answer["query"], row).items():
        answers = [row[title] for title, percent in percents.items() if percent not in ("0", "100")]
        count = int(
            next(
                (row[name] for name in _COUNTS if name in row), answer.get("known", {}).get("n", 0)
            )
        )
        if field == "@initDuration":
            count = int(row.get("numColdStarts", 0)) or count
        few = all(len(answer.partition(".")[2]) <= 2 for answer in answers)
        if few or all(map(_on_grid, answers)):
            count = min(count or (90 if few else 150), MOST_VALUES)
            by_percent = {percent: float(row[title]) for title, percent in percents.items()}
            values[field] = filled(by_percent, count, few, float(row.get("max", 0)))
            columns += percents
    return values, columns


def _on_grid(answer, base=1.001):
    """Whether the printed number is a power of the base."""
    return abs(base ** round(math.log(float(answer)) / math.log(base)) - float(answer)) < 0.00006


def filled(answers, count, few, most=0.0):
    """`count` numbers, ascending, that have these `answers` by percentage: of `few` kinds, or all
    different."""
    at = {}
    for percent, answer in answers.items():
        exact = few or percent in ("0", "100")
        at[max(1, math.ceil(Fraction(percent) / 100 * count))] = (
            answer if exact else round(answer * 1.0004, 6)
        )
    if len(answers) > 1 and max(at) < count:
        at[count] = max(most, at[max(at)] * 1.01)
    at.setdefault(1, at[min(at)] if few else at[min(at)] * 0.9)
    ranks = sorted(at)
    numbers = []
    for low, high in pairwise(ranks):
        step = 0 if few else (at[high] - at[low]) / (high - low)
        numbers += [round(at[low] + step * place, 6) for place in range(high - low)]
    return [*numbers, at[ranks[-1]]]


def reports(values, cold=False, ms=0, log="111111111111:/aws/lambda/python"):
    """REPORT lines with those values by field; `cold` ones have an initialization of no time."""
    usual = {"@duration": 1, "@billedDuration": 1, "@memorySize": 128, "@maxMemoryUsed": 64}
    usual |= {"@initDuration": 0} if cold else {}
    lines = []
    for place in range(max(map(len, values.values()))):
        own = usual | {
            field: listed[place] for field, listed in values.items() if place < len(listed)
        }
        message = (
            f"REPORT RequestId: {place:x}\tDuration: {own['@duration']:f} ms\tBilled Duration: "
            f"{own['@billedDuration']:g} ms\tMemory Size: {own['@memorySize']:g} MB\t"
            f"Max Memory Used: {own['@maxMemoryUsed']:g} MB\t"
        )
        message += f"Init Duration: {own['@initDuration']:f} ms\t" if "@initDuration" in own else ""
        lines.append({"timestamp": ms, "message": message, "log": log})
    return lines


def at_ms(printed):
    """Milliseconds since 1970 of a time as the service prints it."""
    return round(datetime.fromisoformat(printed + "+00:00").timestamp() * 1000)
