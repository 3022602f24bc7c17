"""Recorded answers of AWS's Logs Insights (tests/data/aws_answers), reproduced from suitable
log events.

An answer may include its `events`, each of which occurred so many `times`, and the titles in
`follows`, which they determine. For the others, events are made from the recorded percentiles: the
value of a rank is exact if there were few distinct values, else known to its bin of 1.001; the
values between are filled in. Answers with wider bins are skipped.
"""

import json
import math
import re
from fractions import Fraction
from itertools import pairwise

import pytest

from loader.log_events import records
from stampede.insights import check, evaluate
from tests.aws_answers import ANSWERS as OTHER_ANSWERS
from tests.unit.insights.cases import FOLDER

ANSWERS = {
    answer["id"]: answer
    for name in ("insights.json", "found.json")
    for answer in json.loads((FOLDER.parent / "aws_answers" / name).read_text(encoding="utf-8"))
}
GROUP = "111111111111:/aws/lambda/python"
COLD = ("coldStart", "coldstart")
COUNTS = ("count", "invocations", "totalRequests")
MOST_VALUES = 1_200
PERCENTILE = re.compile(
    r"(?:pct|percentile)\((?P<of>[^,()]+|@duration\+(?:greatest|coalesce)\(@initDuration,0\)), "
    r"(?P<percent>[\d.]+)\)"
    r"(?: as (?P<alias>[\w.]+))?"
)


def brought(answer):
    """The events included in an answer, and the rows, latest first, as far as the events
    determine them."""
    events = [
        {"log": GROUP} | event for event in answer["events"] for _ in range(event.get("times", 1))
    ]
    titles = answer.get("follows", [*answer["rows"][0]])
    return events, [{title: row.get(title, "") for title in titles} for row in answer["rows"][::-1]]


def filled_in(answer):
    """Events with the recorded percentiles, and the rows as far as these determine them."""
    events, rows = [], []
    for row in reversed(answer["rows"]):
        values, titles = values_of(answer, row)
        if titles:
            is_cold = next((row[name] == "1" for name in COLD if name in row), False)
            events += reports(values, is_cold, row.get("@log", ""))
            rows.append({title: row[title] for title in titles})
    return events, rows


def values_of(answer, row):
    """The values of a row's lines, by field, and the titles that they determine."""
    values, titles = {}, []
    for field, percents in percentiles(answer["query"], row).items():
        answers = [row[title] for title, percent in percents.items() if percent not in ("0", "100")]
        known = answer.get("known", {}).get("n", 0)
        count = int(next((row[name] for name in COUNTS if name in row), known))
        if field == "@initDuration":
            count = int(row.get("numColdStarts", 0)) or count
        few = all(len(answer.partition(".")[2]) <= 2 for answer in answers)
        if few or all(map(is_edge, answers)):
            count = min(count or (90 if few else 150), MOST_VALUES)
            by_percent = {percent: float(row[title]) for title, percent in percents.items()}
            values[field] = filled(by_percent, count, few, float(row.get("max", 0)))
            titles += percents
    return values, titles


def percentiles(query, row):
    """For each field of REPORT lines, the percentages in `row` by title."""
    fields = {}
    for match in PERCENTILE.finditer(query):
        field = "@duration" if match["of"].startswith(("duration", "@duration+")) else match["of"]
        title = match["alias"] or match[0]
        if field in ("@duration", "@initDuration", "@billedDuration") and row.get(title):
            fields.setdefault(field, {})[title] = match["percent"]
    return fields


def is_edge(answer, base=1.001):
    """Whether the printed number is a power of the base."""
    return abs(base ** round(math.log(float(answer)) / math.log(base)) - float(answer)) < 0.00006


def filled(answers, count, few, most):
    """`count` ascending numbers with these `answers` by percentage: `few` distinct ones, or
    all different."""
    at = {}
    for percent, answer in answers.items():
        exact = few or percent in ("0", "100")
        rank = max(1, math.ceil(Fraction(percent) / 100 * count))
        at[rank] = answer if exact else round(answer * 1.0004, 6)
    if len(answers) > 1 and max(at) < count:
        at[count] = max(most, at[max(at)] * 1.01)
    at.setdefault(1, at[min(at)] if few else at[min(at)] * 0.9)
    ranks = sorted(at)
    numbers = []
    for low, high in pairwise(ranks):
        step = 0 if few else (at[high] - at[low]) / (high - low)
        numbers += [round(at[low] + step * place, 6) for place in range(high - low)]
    return [*numbers, at[ranks[-1]]]


def reports(values, is_cold, log):
    """REPORT lines with these values by field; cold ones have an initialization of 0 ms."""
    lines = []
    for place in range(max(map(len, values.values()))):
        own = {"@duration": 1, "@billedDuration": 1} | ({"@initDuration": 0} if is_cold else {})
        own |= {field: listed[place] for field, listed in values.items() if place < len(listed)}
        message = (
            f"REPORT RequestId: 1\tDuration: {own['@duration']:f} ms\tBilled Duration: "
            f"{own['@billedDuration']:g} ms\tMemory Size: 128 MB\tMax Memory Used: 64 MB\t"
        )
        message += f"Init Duration: {own['@initDuration']:f} ms\t" if "@initDuration" in own else ""
        lines.append({"timestamp": 0, "message": message, "log": log or GROUP})
    return lines


REPLAYED = {
    name: brought(answer) if "events" in answer else filled_in(answer)
    for name, answer in ANSWERS.items()
}


@pytest.mark.parametrize("name", [name for name, (events, _) in REPLAYED.items() if events])
def test_the_events_reproduce_a_recorded_answer(name):
    query, (events, expected) = ANSWERS[name]["query"], REPLAYED[name]
    result = evaluate(query, events).as_strings()
    chosen = [
        [{title: row.get(title, "") for title in wanted} for row in result] for wanted in expected
    ]
    if " by bin" in query or name == "moved-hours":
        assert [rows[-1 - place] for place, rows in enumerate(chosen)] == expected
    assert all(wanted in rows for wanted, rows in zip(expected, chosen, strict=True))
    assert len(result) == len(expected) > 0


@pytest.mark.parametrize("name", ANSWERS)
def test_a_recorded_query_is_accepted(name):
    if not ANSWERS[name]["query"].startswith("as "):  # of one source only fragments are known
        check(ANSWERS[name]["query"])


def test_a_logged_minimum_or_maximum_is_printed_as_recorded():
    rows = [row for answer in ANSWERS.values() for row in answer["rows"]]
    extreme = re.compile(r"(min|max)\(@(d|initD|billedD)uration\)")
    printed = [value for row in rows for title, value in row.items() if extreme.fullmatch(title)]
    # Lambda prints two decimals, also trailing zeros
    line = "REPORT RequestId: 1\tDuration: {:.2f} ms\t"
    events = [
        {"timestamp": ms, "message": line.format(float(value))} for ms, value in enumerate(printed)
    ]
    query = (
        "stats min(@duration) as low, max(@duration) as high by @timestamp | sort @timestamp asc"
    )
    result = evaluate(query, events).as_strings()
    assert [(row["low"], row["high"]) for row in result] == [(at, at) for at in printed]


def test_recorded_lines_of_lambda_have_their_type_and_figures():
    values = {
        "<request-id>": "5e0b5d5c-97ac-4eb2-9b5a-000000000001",
        "<duration>": "12.34",
        "<memory>": "40",
    }
    lines = OTHER_ANSWERS["lam-74"]["answer"]["fields"]["logs"]
    events = [
        {"timestamp": number, "message": re.sub(r"<[\w-]+>", lambda match: values[match[0]], line)}
        for number, line in enumerate(lines)
    ]
    fields = (
        "fields @type, @requestId, @duration, @billedDuration, @memorySize, @maxMemoryUsed, "
        "@initDuration"
    )
    request = {"@requestId": values["<request-id>"]}
    figures = {"@duration": 12.34, "@billedDuration": 12.34, "@initDuration": 12.34}
    figures |= {"@memorySize": 128_000_000, "@maxMemoryUsed": 40_000_000}
    assert evaluate(f"{fields} | sort @timestamp asc", events).rows == [
        {"@type": "START"} | request,
        {},
        {"@type": "END"} | request,
        {"@type": "REPORT"} | request | figures,
    ]
    assert list(records(events)) == []
