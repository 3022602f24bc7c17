"""Recorded answers of Logs Insights, of AWS itself, from log events that lead to them:
tests/data/aws_answers."""

import math
import re

import pytest

from loader.log_events import records
from stampede.insights import check, evaluate
from tests.aws_answers import ANSWERS as OTHER_ANSWERS
from tests.unit.insights.recorded import ANSWERS, at_ms, filled, fixed, reports

COLD = ("coldStart", "coldstart")
PARSED = "111111111111:/aws/lambda/{}"


# Each of these makes the events that one recorded row tells of, and names the columns that follow
# from them.


def of_start_or_log(answer, row):
    """Percentiles of cold or warm starts, or of all of a log group."""
    values, columns = fixed(answer, row)
    cold = next((row[name] == "1" for name in COLD if name in row), False)
    return columns and reports(values, cold=cold, log=row.get("@log", "")), columns


def of_known_values(answer, row):
    line = '{{"type": "platform.report", "memorySizeMB": {}, "initDurationMs": {}}}'
    log = PARSED.format(row["functionName"])
    values = answer["known"]["values"]
    return [
        {"timestamp": 0, "message": line.format(row["memorySizeMB"], x), "log": log} for x in values
    ], [*row]


def of_bin_or_none(answer, row):
    """A bin of which no line has the field has a row, too."""
    ms = at_ms(row["bin(30m)"])
    if row["NinetyNinth"] == "0":
        return reports({"@duration": [1]}, ms=ms), [*row]
    values, columns = fixed(answer, row)
    return reports(values, ms=ms), [*columns, "bin(30m)", "numColdStart"]


def of_cost(answer, row):
    """A price below 1 has four digits and is computed from all."""
    values = {
        "@billedDuration": [47_000, 965],
        "@memorySize": [256, 256],
        "@maxMemoryUsed": [21.8868, 21.887],
    }
    return reports(values, ms=at_ms(row["bin(30m)"])), [*row]


def of_last_moment(answer, row):
    """A bin of minutes begins where it was recorded."""
    [title] = [column for column in row if column.startswith("bin")]
    values = {"@duration": [float(row["min(@duration)"]), float(row["max(@duration)"])]}
    last_ms = at_ms(row[title]) + int(title[4:-2]) * 60_000 - 1
    return reports(values, ms=last_ms), [title, "min(@duration)", "max(@duration)"]


def of_exact_percentile(answer, row):
    durations = {
        "0": row["min(@duration)"],
        "90": row["pct(@duration, 90)"],
        "100": row["max(@duration)"],
    }
    values = filled(
        {percent: float(x) for percent, x in durations.items()},
        int(row["count(@duration)"]),
        few=True,
    )
    events = reports({"@duration": values}, ms=at_ms(row["bin(5m)"]))
    return events, [title for title in row if not title.startswith("avg")]


def of_moved_hour(answer, row):
    """A time that is moved by milliseconds is a time."""
    start_ms = at_ms(next(iter(row.values())))
    numbers = range(int(row["total_events"]))
    return [{"timestamp": start_ms + x, "message": f'{{"referencia": {x}}}'} for x in numbers], [
        *row
    ]


def of_share(answer, row):
    """A share is 0 or has four digits."""
    cold, count = answer["known"]["shares"].get(row["coldStartPercentage"], (0, 1))
    values = {"@duration": [1] * count, "@initDuration": [1] * cold}
    return reports(values, ms=at_ms(row["bin(5m)"])), [*row]


def of_median(answer, row):
    """A median is a value and not the mean of two."""
    count, median, longest = (
        float(row[title]) for title in ("coldStarts", "avgInitDuration", "maxInitDuration")
    )
    line = f"REPORT RequestId: 1\tMemory Size: {row['memorySize']} MB\tInit Duration: {{:.2f}} ms\t"
    values = [median] * math.ceil(count / 2) + [longest] * math.floor(count / 2)
    log = PARSED.format(row["functionName"])
    return [{"timestamp": 0, "message": line.format(x), "log": log} for x in values], [*row]


def of_extremes(answer, row):
    """The least and the largest of parsed text are printed as numbers."""
    inits, durations = (
        (float(row[f"min{name}"]), float(row[f"max{name}"]))
        for name in ("InitDuration", "Duration")
    )
    megabytes = [
        round(float(row[f"{end}MemoryUsedMB"]) * 2**20 / 1_000_000) for end in ("min", "max")
    ]
    line = (
        "REPORT RequestId: 1\tDuration: {:.2f} ms\tBilled Duration: 1 ms\tMemory Size: 128 MB\t"
        "Max Memory Used: {} MB\tInit Duration: {:.2f} ms\t"
    )
    places = [0, *[1] * (int(row["coldStarts"]) - 1)]
    lines = [line.format(durations[place], megabytes[place], inits[place]) for place in places]
    return [
        {"timestamp": 0, "message": text, "log": f"1:/aws/lambda/{row['functionName']}"}
        for text in lines
    ], [*row]


def of_whole_megabytes(answer, row):
    count, average = int(row["coldStarts"]), float(row["avg(@maxMemoryUsed)"])
    low, rest = divmod(round(count * average / 1_000_000), count)
    values = {
        "@maxMemoryUsed": [low + (place < rest) for place in range(count)],
        "@initDuration": [1] * count,
    }
    return reports(values), ["coldStarts", "avg(@maxMemoryUsed)"]


def of_raw_fields(answer, row):
    """All but the billed duration, which the service printed as 3.0."""
    titles = ("DurationInMS", "MemorySetInMB", "MemoryUsedInMB")
    fields = ("@duration", "@memorySize", "@maxMemoryUsed")
    values = {field: [float(row[title])] for field, title in zip(fields, titles, strict=True)}
    return reports(values, ms=at_ms(row["Timestamp"])), ["Timestamp", *titles]


REPLAYED = {
    "raw-2023-06": of_raw_fields,
    "oidc-init-bin30m-none": of_bin_or_none,
    "oidc-cost": of_cost,
    "performance-bins": of_exact_percentile,
    "moved-hours": of_moved_hour,
    "percentage-bins": of_share,
    "median": of_median,
    "authorizers": of_extremes,
    **dict.fromkeys(("bins-1", "bins-2", "bins-5"), of_last_moment),
    **dict.fromkeys((name for name in ANSWERS if name.startswith("otel-")), of_known_values),
    **dict.fromkeys(
        (name for name in ANSWERS if name.startswith("native-image-found")), of_whole_megabytes
    ),
}
REPLAYED |= {
    name: of_start_or_log
    for name, answer in ANSWERS.items()
    if name not in REPLAYED and any(fixed(answer, row)[1] for row in answer["rows"])
}


@pytest.mark.parametrize("name", REPLAYED)
def test_the_events_of_a_recorded_answer_give_it_again(name):
    answer, events, expected = ANSWERS[name], [], []
    for row in reversed(answer["rows"]):
        lines, columns = REPLAYED[name](answer, row)
        if columns:
            events += lines
            expected.append({title: row.get(title, "") for title in columns})
    result = evaluate(answer["query"], events).as_strings()
    chosen = [
        [{title: row.get(title, "") for title in wanted} for row in result] for wanted in expected
    ]
    if " by bin" in answer["query"] or name == "moved-hours":
        assert [rows[-1 - place] for place, rows in enumerate(chosen)] == expected
    assert all(wanted in rows for wanted, rows in zip(expected, chosen, strict=True))
    assert len(result) == len(expected) > 0


@pytest.mark.parametrize("name", ANSWERS)
def test_a_recorded_query_is_accepted(name):
    if not ANSWERS[name]["query"].startswith("as "):  # of one source only what differs is known
        check(ANSWERS[name]["query"])


def test_a_logged_minimum_or_maximum_is_printed_as_it_was_recorded():
    rows = [row for answer in ANSWERS.values() for row in answer["rows"]]
    extreme = re.compile(r"(min|max)\(@(d|initD|billedD)uration\)")
    printed = [value for row in rows for title, value in row.items() if extreme.fullmatch(title)]
    # Lambda's two decimals, zeros at the end too
    line = "REPORT RequestId: 1\tDuration: {:.2f} ms\t"
    events = [
        {"timestamp": ms, "message": line.format(float(value))} for ms, value in enumerate(printed)
    ]
    query = (
        "stats min(@duration) as low, max(@duration) as high by @timestamp | sort @timestamp asc"
    )
    assert [(row["low"], row["high"]) for row in evaluate(query, events).as_strings()] == [
        (at, at) for at in printed
    ]


def test_lines_as_lambda_was_recorded_to_write_them_have_their_type_and_figures():
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
