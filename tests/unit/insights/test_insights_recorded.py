"""Recorded answers of Logs Insights, of AWS itself, from log events that lead to them: tests/data/aws_answers."""

import math
import re

import pytest

from stampede.insights import check, evaluate
from tests.unit.insights import recorded

BY_START = [
    answer
    for answer in recorded.ANSWERS
    if any(name.lower() == "coldstart" and recorded.fixed(answer, row)[1] for row in answer["rows"] for name in row)
]
IN_ALL = [
    "dotnet-100-net8-aot",
    "dotnet-100-net6-r2r",
    "dotnet-100-net8-aot-2",
    "oidc-partial",
    "oidc-final",
    "oidc-billed",
]
OTEL = [f"otel-{number}" for number in range(8)]
MEMORY = [answer for answer in recorded.ANSWERS if answer["id"].startswith("native-image-found")]


def picked(row, columns):
    return {name: row.get(name, "") for name in columns}


@pytest.mark.parametrize("answer", recorded.ANSWERS, ids=lambda answer: answer["id"])
def test_a_recorded_query_is_accepted(answer):
    if not answer["query"].startswith("as "):  # of one source only what differs is known
        check(answer["query"])


@pytest.mark.parametrize("answer", BY_START, ids=lambda answer: answer["id"])
def test_the_percentiles_of_cold_and_warm_starts_are_the_recorded_ones(answer):
    expected, events = {}, []
    for row in answer["rows"]:
        start = "coldStart" if "coldStart" in row else "coldstart"
        values, columns = recorded.fixed(answer, row)
        if columns:
            events += recorded.reports(values, cold=row[start] == "1")
            expected[row[start]] = picked(row, columns)
    result = {row[start]: row for row in evaluate(answer["query"], events).as_strings()}
    assert {cold: picked(result[cold], columns) for cold, columns in expected.items()} == expected


@pytest.mark.parametrize("name", IN_ALL)
def test_the_percentiles_of_one_group_are_the_recorded_ones(name):
    answer = recorded.of(name)
    expected, events = {}, []
    for row in answer["rows"]:
        values, columns = recorded.fixed(answer, row)
        expected[row.get("@log")] = picked(row, columns)
        events += recorded.reports(values, log=row.get("@log", ""))
    result = {row.get("@log"): row for row in evaluate(answer["query"], events).as_strings()}
    assert {log: picked(result[log], columns) for log, columns in expected.items()} == expected


@pytest.mark.parametrize("name", OTEL)
def test_all_figures_of_a_few_known_values_are_the_recorded_ones(name):
    answer = recorded.of(name)
    [row] = answer["rows"]
    line = '{{"type": "platform.report", "memorySizeMB": {}, "initDurationMs": {}}}'
    log = f"111111111111:/aws/lambda/{row['functionName']}"
    events = [
        {"timestamp": 0, "message": line.format(row["memorySizeMB"], value), "log": log}
        for value in answer["known"]["values"]
    ]
    assert evaluate(answer["query"], events).as_strings() == [row]


def test_a_group_without_a_value_has_blanks_and_0_and_comes_after_the_newer_bin():
    answer = recorded.of("oidc-init-bin30m-none")
    newer, older = answer["rows"]
    values, columns = recorded.fixed(answer, newer)
    events = [
        *recorded.reports({"@duration": [1]}, ms=recorded.at_ms(older["bin(30m)"])),
        *recorded.reports(values, ms=recorded.at_ms(newer["bin(30m)"])),
    ]
    first, second = evaluate(answer["query"], events).as_strings()
    assert picked(first, [*columns, "bin(30m)", "numColdStart"]) == picked(
        newer, [*columns, "bin(30m)", "numColdStart"]
    )
    assert picked(second, older) == older


def test_a_price_below_1_has_four_digits_and_is_computed_from_all():
    answer = recorded.of("oidc-cost")
    [row] = answer["rows"]
    ms = recorded.at_ms(row["bin(30m)"])
    values = {"@billedDuration": [47_000, 965], "@memorySize": [256, 256], "@maxMemoryUsed": [21.8868, 21.887]}
    assert evaluate(answer["query"], recorded.reports(values, ms=ms)).as_strings() == [row]


def test_a_logged_minimum_or_maximum_is_printed_as_it_was_recorded():
    rows = [row for answer in recorded.ANSWERS for row in answer["rows"]]
    extreme = re.compile(r"(min|max)\(@(d|initD|billedD)uration\)")
    printed = [value for row in rows for title, value in row.items() if extreme.fullmatch(title)]
    line = "REPORT RequestId: 1\tDuration: {:.2f} ms\t"  # Lambda's two decimals, zeros at the end too
    events = [{"timestamp": ms, "message": line.format(float(value))} for ms, value in enumerate(printed)]
    query = "stats min(@duration) as low, max(@duration) as high by @timestamp | sort @timestamp asc"
    assert [(row["low"], row["high"]) for row in evaluate(query, events).as_strings()] == [(at, at) for at in printed]
    assert any(f"{float(value):.2f}" != value for value in printed)


@pytest.mark.parametrize("name", ["bins-1", "bins-2", "bins-5"])
def test_a_bin_of_minutes_begins_where_it_was_recorded(name):
    answer = recorded.of(name)
    [row] = answer["rows"]
    [title] = [column for column in row if column.startswith("bin")]
    values = {"@duration": [float(row["min(@duration)"]), float(row["max(@duration)"])]}
    last_ms = recorded.at_ms(row[title]) + (int(title[4:-2]) * 60_000 - 1)
    [result] = evaluate(answer["query"], recorded.reports(values, ms=last_ms)).as_strings()
    columns = [title, "min(@duration)", "max(@duration)"]
    assert picked(result, columns) == picked(row, columns)


def test_raw_fields_are_equal_as_numbers():
    answer = recorded.of("raw-2023-06")
    columns = {"@duration": "DurationInMS", "@billedDuration": "BilledDurationInMS"}
    columns |= {"@memorySize": "MemorySetInMB", "@maxMemoryUsed": "MemoryUsedInMB"}
    events = []
    for row in answer["rows"]:
        values = {field: [float(row[title])] for field, title in columns.items()}
        events += recorded.reports(values, ms=recorded.at_ms(row["Timestamp"]))
    result = evaluate(answer["query"], list(reversed(events))).as_strings()
    assert [{**row, **{title: float(row[title]) for title in columns.values()}} for row in result] == [
        {**row, **{title: float(row[title]) for title in columns.values()}} for row in answer["rows"]
    ]


def test_bins_come_newest_first_each_with_its_exact_percentile():
    answer = recorded.of("performance-bins")
    events = []
    for row in reversed(answer["rows"]):
        durations = {"0": row["min(@duration)"], "90": row["pct(@duration, 90)"], "100": row["max(@duration)"]}
        durations = {percent: float(printed) for percent, printed in durations.items()}
        values = recorded.filled(durations, int(row["count(@duration)"]), True, row)
        events += recorded.reports({"@duration": values}, ms=recorded.at_ms(row["bin(5m)"]))
    columns = [title for title in answer["rows"][0] if not title.startswith("avg")]
    result = evaluate(answer["query"], events).as_strings()
    assert [picked(row, columns) for row in result] == [picked(row, columns) for row in answer["rows"]]


def test_a_time_that_is_moved_by_milliseconds_is_a_time_and_comes_newest_first():
    answer = recorded.of("moved-hours")
    title = next(iter(answer["rows"][0]))
    events = [
        {"timestamp": recorded.at_ms(row[title]) + number, "message": f'{{"referencia": {number}}}'}
        for row in answer["rows"]
        for number in range(int(row["total_events"]))
    ]
    assert evaluate(answer["query"], events).as_strings() == answer["rows"]


def test_a_share_is_0_or_has_four_digits():
    answer = recorded.of("percentage-bins")
    events = []
    for row in answer["rows"]:
        cold, count = answer["known"]["shares"].get(row["coldStartPercentage"], (0, 1))
        values = {"@duration": [1] * count, "@initDuration": [1] * cold}
        events += recorded.reports(values, ms=recorded.at_ms(row["bin(5m)"]))
    result = evaluate(answer["query"], events).as_strings()
    assert [picked(row, answer["rows"][0]) for row in result] == answer["rows"]


def test_a_median_is_a_value_and_not_the_mean_of_two():
    answer = recorded.of("median")
    expected = {row["functionName"]: row for row in answer["rows"]}
    events = []
    for name, row in expected.items():
        count, median, longest = (float(row[title]) for title in ("coldStarts", "avgInitDuration", "maxInitDuration"))
        for value in [median] * math.ceil(count / 2) + [longest] * math.floor(count / 2):
            line = f"REPORT RequestId: 1\tMemory Size: {row['memorySize']} MB\tInit Duration: {value:.2f} ms\t"
            events.append({"timestamp": 0, "message": line, "log": f"111111111111:/aws/lambda/{name}"})
    assert {row["functionName"]: row for row in evaluate(answer["query"], events).as_strings()} == expected


def test_the_least_and_the_largest_of_parsed_text_are_printed_as_numbers():
    answer = recorded.of("authorizers")
    events = []
    for row in answer["rows"]:
        ends = [(float(row[f"min{name}"]), float(row[f"max{name}"])) for name in ("InitDuration", "Duration")]
        megabytes = [round(float(row[f"{end}MemoryUsedMB"]) * 2**20 / 1_000_000) for end in ("min", "max")]
        for place in [0, *[1] * (int(row["coldStarts"]) - 1)]:
            init, duration = (end[place] for end in ends)
            line = (
                f"REPORT RequestId: 1\tDuration: {duration:.2f} ms\tBilled Duration: 1 ms\tMemory Size: 128 MB\t"
                f"Max Memory Used: {megabytes[place]} MB\tInit Duration: {init:.2f} ms\t"
            )
            events.append({"timestamp": 0, "message": line, "log": f"1:/aws/lambda/{row['functionName']}"})
    assert evaluate(answer["query"], events).as_strings() == answer["rows"]


@pytest.mark.parametrize("answer", MEMORY, ids=lambda answer: answer["id"])
def test_an_average_of_whole_megabytes_is_printed_as_recorded(answer):
    [row] = answer["rows"]
    count, average = int(row["coldStarts"]), float(row["avg(@maxMemoryUsed)"])
    low, rest = divmod(round(count * average / 1_000_000), count)
    values = {"@maxMemoryUsed": [low + (place < rest) for place in range(count)], "@initDuration": [1] * count}
    [result] = evaluate(answer["query"], recorded.reports(values)).as_strings()
    assert picked(result, ["coldStarts", "avg(@maxMemoryUsed)"]) == picked(row, ["coldStarts", "avg(@maxMemoryUsed)"])
