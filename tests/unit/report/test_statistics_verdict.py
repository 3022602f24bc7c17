"""Effects between cells and the words for them: no more than the intervals allow."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.report import load, statistics
from stampede.report.statistics.comparisons import conclusion, share_words, took_words
from stampede.report.statistics.effect import level
from stampede.report.statistics.headline import LONGEST
from tests.contract import synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import error, lasting, record


def around(seconds, count=40, n=1, **changes):
    """`count` downloads within 2 % of `seconds`."""
    return lasting([seconds * (1 + (at % 9 - 4) / 200) for at in range(count)], n=n, **changes)


def at_once(seconds, n, count=None, **changes):
    """Downloads in waves of `n` that start together, within 2 % of `seconds`."""
    made = []
    for at in range(count or 10 * n):
        length, wave = seconds * (1 + (at % 9 - 4) / 200), at // n
        start = round(wave * seconds * 2000)
        made.append(record(start, start + round(length * 1000), n=n, seq=at, **changes))
    return made


def verdict_of(tmp_path, records, **manifest):
    directory = handmade_run.write(tmp_path / "run", records, **manifest)
    return statistics.statistics(load(directory))["verdict"]


def headline_of(tmp_path, records, **manifest):
    headline = verdict_of(tmp_path, records, **manifest)["headline"]
    assert len(headline) <= LONGEST
    return headline


def test_a_median_within_ten_percent_holds(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.03, n=5))
    assert verdict["level"] == "holds"
    claim = (
        "On AWS, us-east-1, median throughput per function holds within 10 % from N = 1 to N = 5: the median download"
    )
    assert verdict["headline"].startswith(f"{claim} takes 1.0")
    assert verdict["per_memory"][0]["holds_up_to"] == 5


def test_three_times_as_long_is_about_a_third_of_the_throughput(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.0, n=5) + at_once(3.0, n=10))
    assert verdict["level"] == "slower"
    assert "median throughput per function falls to about a third (3" in verdict["headline"]
    assert verdict["per_memory"][0]["holds_up_to"] == 5


def test_faster_is_said_too(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + at_once(0.5, n=5))
    assert verdict["level"] == "faster"
    assert "median throughput per function rises to" in verdict["headline"]


def test_an_interval_across_the_limit_decides_nothing(tmp_path):
    wide = lasting([0.5, 1.5, 0.7, 1.3, 1.0, 0.6, 1.4, 0.8, 1.2, 1.1])
    verdict = verdict_of(tmp_path, wide + at_once(1.0, n=5))
    assert verdict["level"] == "unclear"
    assert "too close to call whether median throughput per function holds within 10 %" in verdict["headline"]


def test_too_few_downloads_give_no_ratio(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0, count=9) + at_once(1.0, n=5))
    assert verdict["level"] == "cant_tell"
    assert verdict["headline"] == (
        "How downloads at N = 5 compare with N = 1 is unknown: each side needs 10 measurements, but they have 50 and 9."
    )


def test_a_single_cell_says_what_a_function_gets(tmp_path):
    headline = headline_of(tmp_path, around(1.0))
    assert headline.startswith(
        "On AWS, us-east-1, one function gets 8 Mbit/s on average (the median download took 0.99 to 1 s, 95 %) with "
        "1,024 MB, N = 1;"
    )
    assert headline.endswith("only one cell ran, so there is nothing to compare.")


def test_memories_at_one_n_are_set_against_each_other(tmp_path):
    headline = headline_of(tmp_path, around(1.0) + around(2.0, memory=2048))
    assert headline.startswith("On AWS, us-east-1, with 2,048 MB the median download takes 1.9")
    assert headline.endswith("× as long as with 1,024 MB.")


def test_memories_with_one_n_each_compare_with_nothing(tmp_path):
    headline = headline_of(tmp_path, around(1.0) + at_once(1.0, n=5, memory=2048))
    assert headline == (
        "On AWS, us-east-1, one function gets 8 Mbit/s on average (the median download took 0.992 to 1 s, 95 %) with "
        "2,048 MB, N = 5."
    )


def test_a_memory_with_too_few_downloads_does_not_hide_the_other(tmp_path):
    few = around(1.0, memory=2048) + at_once(1.0, n=5, count=3, memory=2048)
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.0, n=5) + few)
    assert verdict["level"] == "mixed"
    assert "median throughput per function holds within 10 % from N = 1 to N = 5" in verdict["headline"]
    assert verdict["headline"].endswith("× as long, with 1,024 MB (1 of 2 series can’t be compared).")


def test_a_planned_largest_n_without_downloads_is_not_passed_over(tmp_path):
    plan = {"memory_size": [1024], "concurrency_value": [1, 5, 500]}
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.0, n=5), plan=plan)
    assert verdict["headline"].startswith("How downloads at N = 500 compare with N = 1 is unknown")
    assert verdict["per_memory"][0]["holds_up_to"] == 5


def test_no_download_at_all_is_said(tmp_path):
    verdict = verdict_of(tmp_path, [], plan={"memory_size": [1024], "concurrency_value": [1, 5]})
    assert verdict["headline"].startswith("This run has no download on record")
    assert verdict["reached"].startswith("The peak concurrency is unknown")


def test_an_n_that_was_not_reached_is_in_the_headline(tmp_path):
    seven = [
        record | {"concurrency_limit": 10, "cell": "memory_size=1024,concurrency_value=10"}
        for record in at_once(1.0, 7)
    ]
    verdict = verdict_of(tmp_path, around(1.0) + seven)
    assert "from N = 1 to N = 10 (but no more than 7 of 10 ran at once)" in verdict["headline"]
    assert verdict["reached"] == "Not every cell reached its N; peak concurrency: 7 of 10 with 1,024 MB, N = 10."


def test_cold_and_warm_rows_of_a_cell_that_missed_its_n_are_named_once(tmp_path):
    settings = ["memory_size=1024", "concurrency_value=10"]
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["function"], settings)
    rows = [json.loads(line) for line in (folder / "records.jsonl").open()]
    idle = rows[0]["sandbox_id"]
    rows = [row | {"start": ("cold", "warm")[row["seq"] % 2]} for row in rows if row["sandbox_id"] != idle]
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    numbers = statistics.statistics(load(folder))
    assert len(numbers["cells"]) == 2
    assert numbers["verdict"]["reached"].endswith(" of 10 with 1,024 MB, N = 10, thumbnail.")


def test_more_than_n_at_once_is_said(tmp_path):
    verdict = verdict_of(tmp_path, [record | {"concurrency_limit": 5} for record in at_once(1.0, 6)])
    assert "More than N ran at once: 6 with 1,024 MB, N = 5." in verdict["reached"]


def test_series_that_differ_are_counted_and_those_alike_together(tmp_path):
    records = around(1.0) + at_once(1.0, n=5) + around(1.0, memory=2048) + at_once(1.0, n=5, memory=2048)
    verdict = verdict_of(tmp_path, records)
    assert verdict["level"] == "holds"
    assert verdict["headline"].endswith("× as long, with 1,024 MB and 2,048 MB.")
    slow = around(1.0, memory=512) + at_once(2.0, n=5, memory=512)
    (tmp_path / "other").mkdir()
    verdict = verdict_of(tmp_path / "other", records + slow)
    assert verdict["level"] == "mixed"
    assert verdict["headline"].startswith(
        "On AWS, us-east-1, median throughput per function holds within 10 % in 2 of 3 series from N = 1 to N = 5 and "
        "falls to about half (49 to 51 %) in 1"
    )


def ways(n=4, **speeds):
    """Downloads by each method, with these seconds, and a tenth of a CPU second a second."""
    made = []
    for method, seconds in speeds.items():
        cell = f"method={method},memory_size=1024,concurrency_value={n}"
        made += at_once(seconds, n, method=method, cell=cell, client_cpu_seconds=seconds / 10)
    return made


def test_of_several_methods_the_fastest_is_named_with_its_interval_and_its_cpu(tmp_path):
    headline = headline_of(tmp_path, ways(download_file=1.0, stream=0.8, go_stream=0.5))
    assert headline.startswith("On AWS, us-east-1, go_stream is the fastest with 1,024 MB, N = 4: 2.00 × (1.9")
    assert headline.endswith(") as fast as download_file, with 0.5 × its CPU; this may be drift (--repeats 5).")


def test_beside_other_methods_a_cell_of_the_default_one_is_named_with_it(tmp_path):
    few = [record | {"concurrency_limit": 9} for record in ways(download_file=1.0, stream=1.0)]
    reached = verdict_of(tmp_path, few)["reached"]
    assert reached.endswith("4 of 9 with 1,024 MB, N = 9, download_file; 4 of 9 with 1,024 MB, N = 9, stream.")


def test_what_is_too_close_to_the_smallest_median_is_named_beside_it(tmp_path):
    headline = headline_of(tmp_path, ways(download_file=1.0, go_stream=0.5, go_ranges=0.5))
    assert headline.startswith(
        "go_ranges has the smallest median with 1,024 MB, N = 4, too close to call against go_stream: 2.00 ×"
    )


def test_where_the_usual_method_is_the_fastest_the_next_is_named(tmp_path):
    headline = headline_of(tmp_path, ways(download_file=1.0, stream=2.0, crt=1.5))
    assert (
        "download_file is the fastest with 1,024 MB, N = 4; crt comes next: its median download takes 1.4" in headline
    )


def test_methods_at_several_n_are_compared_at_the_largest(tmp_path):
    made = ways(n=1, download_file=1.0, stream=0.5) + ways(n=5, download_file=1.0, stream=2.0)
    assert "download_file is the fastest with 1,024 MB, N = 5" in headline_of(tmp_path, made)


def test_ways_with_too_few_downloads_are_not_ranked(tmp_path):
    made = ways(n=1, download_file=1.0, stream=0.5)[:-1]
    assert headline_of(tmp_path, made) == (
        "Which method is the fastest with 1,024 MB, N = 1 is unknown: each side needs 10 measurements, but they have "
        "9 and 10."
    )


def test_what_the_fastest_depends_on_is_named_without_places_that_have_too_few(tmp_path):
    def at_memory(memory, **speeds):
        return [
            record | {"memory_size": memory, "cell": record["cell"].replace("1024", str(memory))}
            for record in ways(**speeds)
        ]

    made = at_memory(512, download_file=1.0, stream=0.5) + at_memory(2048, download_file=1.0, stream=2.0)
    made += at_memory(3008, download_file=1.0, stream=1.0)
    few = [record for record in at_memory(4096, download_file=1.0, stream=0.5) if record["seq"] < 5]
    assert headline_of(tmp_path, [*made, *few]).endswith(
        "the fastest depends on memory: stream in 1 of 4 cases and download_file in 1; too close to call in 1; too few "
        "measurements in 1."
    )


def test_what_moved_another_amount_is_not_set_against_the_fastest_either(tmp_path):
    made = ways(download_file=1.0, stream=0.8, go_stream=0.5)
    made = [record | {"bytes": 500_000} if record["method"] == "go_stream" else record for record in made]
    numbers = statistics.statistics(load(handmade_run.write(tmp_path / "run", made)))
    [stream] = [row for row in numbers["comparisons"]["between_ways"] if row["method"] == "stream"]
    why = "the amounts transferred differ, or aren’t known"
    assert stream["against_fastest"] == {"ratio_of_medians": None, "level": "cant_tell", "why": why}


def test_of_two_that_are_equal_none_is_the_fastest(tmp_path):
    made = ways(download_file=2.0, stream=1.0, go_stream=1.0)
    numbers = statistics.statistics(load(handmade_run.write(tmp_path / "run", made)))
    assert [row["against_fastest"] for row in numbers["comparisons"]["between_ways"]] == [None, None]
    headline = headline_of(tmp_path / "equal", ways(download_file=1.0, stream=1.0))
    assert "no method is clearly faster than download_file" in headline


def test_the_headline_of_twelve_long_names_is_still_one_breath(tmp_path):
    names = {f"a_method_with_a_rather_long_name_{at}": 0.5 for at in range(12)}
    headline = headline_of(tmp_path, ways(download_file=1.0, **names))
    assert headline.startswith(
        "a_method_with_a_rather_long_name_0 has the smallest median, too close to call against 11 others: 2.00 ×"
    )


def test_objects_of_different_size_are_not_compared(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.0, n=5, bytes=2_000_000))
    assert verdict["level"] == "cant_tell"
    assert "the amounts transferred differ" in verdict["headline"]


def test_a_local_run_says_that_it_describes_this_machine(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + at_once(1.0, n=5), target="local")
    assert verdict["headline"].startswith("On this machine")
    assert verdict["caveats"][0].startswith("These figures describe this machine and its emulator, not AWS")


def test_a_local_run_shows_how_far_apart_cells_are_that_differ_in_what_the_emulator_ignores(tmp_path):
    verdict = verdict_of(tmp_path, around(1.0) + around(1.5, memory=2048), target="local")
    assert verdict["caveats"][0].endswith(
        ": cells of 10 downloads or more that differ in nothing else have medians up to 1.50 × apart."
    )


def test_repeats_that_disagree_are_a_caveat(tmp_path):
    highest = "highest over lowest mean: 1.30 × with 1,024 MB, N = 1."
    verdict = verdict_of(tmp_path / "two", around(1.0, repeat=1) + around(1.3, repeat=2))
    assert f"The repeats differ by more than 10 %, which the intervals may not contain; {highest}" in verdict["caveats"]
    five = [one for repeat in range(1, 6) for one in around(1 + 0.3 * (repeat > 4), repeat=repeat, round=1)]
    assert f"The repeats differ by more than 10 %; {highest}" in verdict_of(tmp_path / "five", five)["caveats"]


def test_cells_that_spent_little_time_near_full_n_are_one_caveat(tmp_path):
    made = []
    for memory in (512, 1024, 2048, 3008):
        made += [record(1000 * at, 1000 * at + 900, n=2, seq=at, memory=memory) for at in range(20)]
        made += [record(0, 900, n=2, seq=99, memory=memory)]
    [caveat] = [text for text in verdict_of(tmp_path, made)["caveats"] if "of the download time" in text]
    assert caveat.endswith(
        "half of the download time or less: 10 % with 512 MB, N = 2; 10 % with 1,024 MB, N = 2; 10 % with 2,048 MB, "
        "N = 2; 1 more."
    )


def test_a_different_answer_inside_the_full_overlap_window_is_a_caveat(tmp_path):
    # Ninety lonely downloads of 1 s, then forty of 2 s in pairs.
    alone = [record(3000 * at, 3000 * at + 1000 + at, n=2, seq=at) for at in range(90)]
    pairs = [record(600_000 + 3000 * (at // 2), 602_000 + 3000 * (at // 2) + at, n=2, seq=100 + at) for at in range(40)]
    verdict = verdict_of(tmp_path, around(1.0) + alone + pairs)
    assert verdict["level"] == "holds"
    assert any("Counting only downloads within full overlap" in caveat for caveat in verdict["caveats"])


def test_throughput_is_set_against_the_ideal_line(tmp_path):
    directory = handmade_run.write(tmp_path / "run", lasting([1.0] * 10) + at_once(2.0, n=5, count=5))
    (row,) = statistics.statistics(load(directory))["comparisons"]["against_smallest_n"]
    assert row["throughput"]["ideal_mbit_per_s"] == pytest.approx(5 * 8)
    assert row["throughput"]["share_of_ideal"] == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 1.1, "holds"),
        (0.89, 1.05, "unclear"),
        (1.05, 1.11, "unclear"),
        (1.11, 3, "slower"),
        (0.5, 0.89, "faster"),
        (1.1, 1.2, "unclear"),
        (0.8, 0.9, "unclear"),
    ],
)
def test_the_level_is_read_off_the_interval(low, high, expected):
    assert level({"low": low, "high": high}) == expected


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.024, 1.046, "1.02 to 1.05 ×"),
        (1.1, 1.1, "1.10 ×"),
        (2.999, 3.001, "2.99 to 3.01 ×"),
        (9.0, 12.341, "9.00 to 12.35 ×"),
    ],
)
def test_intervals_of_ratios_are_rounded_outwards(low, high, words):
    assert took_words({"low": low, "high": high}) == words


def test_intervals_of_shares_are_rounded_outwards():
    assert share_words(0.321, 0.339) == "32 to 34 %"
    assert share_words(0.0123, 0.0145) == "1.2 to 1.5 %"
    assert share_words(0.0975, 0.166) == "9.7 to 17 %"


def test_slower_but_not_surely_by_ten_percent_is_said_like_that():
    comparison = {"level": "unclear", "ratio_of_medians": {"low": 1.04, "high": 1.2}}
    assert conclusion(comparison, "function") == "median throughput per function falls, possibly by less than 10 %"


def test_messages_without_a_success_are_a_caveat(tmp_path):
    lost = [error(0, 500, n=5, seq=at) for at in range(90, 93)] + [error(0, 500, seq=99)]
    recovered = error(0, 500, seq=0)
    caveats = verdict_of(tmp_path, [recovered, *around(1.0), *at_once(1.0, n=5), *lost])["caveats"]
    where = "3 of 53 with 1,024 MB, N = 5; 1 of 41 with 1,024 MB, N = 1"
    assert f"4 of 94 messages didn’t succeed, and the times leave them out: {where}." in caveats


def test_a_message_that_succeeded_as_a_warm_start_is_not_missing_among_the_cold_ones(tmp_path):
    run = synthetic.write(tmp_path / "run", EXPERIMENTS["function"], ["memory_size=1024", "concurrency_value=1"])
    verdict = statistics.statistics(load(run))["verdict"]
    assert not [sentence for sentence in verdict["caveats"] if "messages didn’t succeed" in sentence]


def test_one_cell_without_an_interval_has_no_order_to_change(tmp_path):
    few = "There are too few downloads for intervals: another run may give other figures"
    assert f"{few}." in verdict_of(tmp_path / "one", around(1.0, count=3))["caveats"]
    two = verdict_of(tmp_path / "two", around(1.0, count=3) + around(1.0, count=3, memory=512))["caveats"]
    assert any(caveat.startswith(f"{few}, in another order.") for caveat in two)
