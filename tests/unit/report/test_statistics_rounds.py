"""With the round as the unit intervals hold what drifts; a simulation of each kind, with a known truth."""

import json

import numpy as np
import pytest

from experiments import EXPERIMENTS
from stampede.report import load, statistics
from stampede.report.statistics.bootstrap import Sample
from stampede.report.statistics.drift import between_cells, sentence
from stampede.report.statistics.effect import effect
from stampede.report.statistics.rounds import RoundSample
from tests.contract import synthetic

RUNS, NOISE, DRIFT = 120, 0.1, 0.25


def blocks(rounds, run):
    """A stack of its own for each simulated run, whose draws would be the same ones otherwise."""
    return [(f"run {run}", rounds)]


def cells_of_a_run(dice, rounds, each, walks):
    """The log seconds of two equal cells, round by round: noise of each message, and the drift that both have."""
    steps = dice.normal(0, DRIFT, rounds)
    drift = np.cumsum(steps) if walks else steps
    return [np.repeat(drift, each) + dice.normal(0, NOISE, rounds * each) for _ in range(2)]


def in_rounds(values, run, rounds, each, label):
    return RoundSample(np.exp(values), label, np.repeat(np.arange(1, rounds + 1), each), blocks(rounds, run))


def test_the_interval_of_a_cell_holds_the_truth_where_its_rounds_differ():
    """Of five rounds with ten messages each; the truth is the median of all the rounds that there might have been."""
    dice, held = np.random.default_rng(1), {"rounds": 0, "messages": 0}
    for run in range(RUNS):
        values, _ = cells_of_a_run(dice, 5, 10, walks=False)
        for unit, sample in (("rounds", in_rounds(values, run, 5, 10, "a")), ("messages", Sample(np.exp(values), "a"))):
            bounds = statistics.distribution.seconds(sample)["median_interval"]
            held[unit] += bounds["low"] <= 1 <= bounds["high"]
    assert held["rounds"] >= 0.9 * RUNS
    assert held["messages"] < 0.7 * RUNS, "messages of a round aren't independent: what was told before"


@pytest.mark.parametrize(("rounds", "each"), [(10, 1), (5, 10)])
def test_two_equal_cells_that_are_interleaved_differ_in_five_of_a_hundred_runs_at_most(rounds, each):
    """While the machine drifts by several times the noise; one after the other they differ in most."""
    dice, apart = np.random.default_rng(2), {"interleaved": 0, "one after the other": 0}
    for run in range(RUNS):
        first, second = cells_of_a_run(dice, rounds, each, walks=True)
        ours, base = in_rounds(first, run, rounds, each, "a"), in_rounds(second, run, rounds, each, "b")
        both, _ = cells_of_a_run(dice, 2 * rounds, each, walks=True)
        first, second = (Sample(np.exp(part), label) for part, label in zip(np.split(both, 2), "ab", strict=True))
        for how, pair in (("interleaved", (ours, base)), ("one after the other", (first, second))):
            ratio = effect(*pair)["ratio_of_medians"]
            apart[how] += not ratio["low"] <= 1 <= ratio["high"]
    assert apart["interleaved"] <= 0.06 * RUNS
    assert apart["one after the other"] > 0.3 * RUNS


def test_pairs_find_a_difference_that_drift_hides_from_whoever_compares_cell_with_cell():
    dice, paired, unpaired = np.random.default_rng(3), 0, 0
    for run in range(60):
        ours, base = cells_of_a_run(dice, 10, 1, walks=True)
        sides = (in_rounds(ours + 0.2, run, 10, 1, "a"), in_rounds(base, run, 10, 1, "b"))
        paired += effect(*sides)["ratio_of_medians"]["low"] > 1
        cells = (Sample(side.values, label) for side, label in zip(sides, "ab", strict=True))
        unpaired += effect(*cells)["ratio_of_medians"]["low"] > 1
    assert paired >= 50 and unpaired <= 20


def test_quantiles_of_whole_rounds_are_those_of_the_values_that_were_drawn():
    dice = np.random.default_rng(5)
    values, units = dice.lognormal(size=23), dice.integers(1, 7, 23)
    sample = RoundSample(values, "a", units, blocks(6, 0))
    own = np.unique(units)
    for draw, median, mean in zip(sample.draws[:200], sample.medians, sample.means, strict=False):
        drawn = np.concatenate([np.tile(values[units == unit], times) for unit, times in zip(own, draw, strict=True)])
        assert median == pytest.approx(np.median(drawn))
        assert mean == pytest.approx(drawn.mean())


# From the folder of a run.

SWEPT = ["dataset=small", "storage=s3,efs", "threads=1,30"]


@pytest.fixture
def numbers(tmp_path):
    def of(**options):
        folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], SWEPT, **options)
        return statistics.statistics(load(folder))

    return of


def test_a_run_says_of_each_comparison_in_how_many_rounds_its_cells_were_interleaved(numbers):
    results = numbers(rounds=12)
    by_name = results["comparisons"]
    assert {row["rounds"] for row in by_name["between_threads"]} == {12}
    assert all("rounds" not in row for row in by_name["between_storages"])
    assert {cell["rounds"] for cell in results["cells"]} == {12}
    assert "take its rounds, or repeats, as independent" in results["verdict"]["caveats"][-1]
    assert "Drift is in these intervals: the compared cells ran interleaved" in results["verdict"]["caveats"][-1]


def test_with_five_repeats_they_are_the_unit_for_cells_of_different_stacks_too(numbers):
    results = numbers(rounds=2, repeats=5)
    assert {row["rounds"] for row in results["comparisons"]["between_threads"]} == {10}
    assert {row["rounds"] for row in results["comparisons"]["between_storages"]} == {0}
    assert {cell["rounds"] for cell in results["cells"]} == {10}


def test_the_page_says_whether_drift_is_in_an_interval():
    cells = [{"repeats": [{}] * 2, "parallelism": {}}]
    rows = {name: {"rounds": count} for name, count in {"ten": 10, "twelve": 12, "repeats": 0}.items()} | {"none": {}}

    def said(*names):
        return sentence([rows[name] for name in names], cells).partition(":")[0]

    assert said("ten", "ten") == said("ten", "twelve") == "Drift is in these intervals"
    assert "interleaved in 10 to 12 rounds." in sentence([rows["ten"], rows["twelve"]], cells)
    assert said("ten", "repeats") == said("repeats") == "Drift between repeats is in these intervals"
    assert said("none") == "Drift between cells isn’t accounted for"
    assert "2 repeats are too few" in sentence([rows["none"]], cells)
    assert "; not all of them have 5 repeats" in sentence([rows["none"]], [cells[0] | {"repeats": [{}] * 5}])
    assert said("ten", "none").startswith("Drift is in the intervals of 1 of 2 comparisons")
    assert said() == ""
    few = sentence([rows["none"]], [cells[0] | {"parallelism": {"rounds": 4}}])
    assert "ran one after the other or have fewer than 5 rounds in common, so a difference may be drift" in few


def test_without_rounds_nothing_is_said_of_them(numbers):
    results = numbers()
    assert "rounds" not in json.dumps(results["cells"]) + json.dumps(results["comparisons"])
    assert "treat the copies of a cell as independent" in results["verdict"]["caveats"][-1]
    assert "Drift between cells isn’t accounted for" in results["verdict"]["caveats"][-1]


def test_the_time_between_the_rounds_of_a_cell_is_in_no_overlap(numbers):
    """Each round begins an hour after the one before."""
    for cell in numbers(rounds=12)["cells"]:
        overlap, [repeat] = cell["parallelism"], cell["repeats"]
        assert (overlap["repeats"], overlap["rounds"], overlap["reached_full"]) == (1, 12, 12)
        assert overlap["span_ms"] < 60_000
        assert overlap["share_of_span_at_full"] > 0.99
        assert repeat["parallelism"]["timeline"]["at_ms"][-1] == overlap["span_ms"]
        assert repeat["parallelism"]["window"]["rounds_ms"][-1][1] == overlap["span_ms"]


def test_a_message_that_comes_back_in_another_cells_round_is_noticed_there_and_counted_at_home(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], SWEPT, rounds=12)
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    third = [row for row in records if row["round"] == 3]
    late, neighbour = (next(row for row in third if row["cell"].endswith(f"threads={threads}")) for threads in (1, 30))
    late |= {
        "attempt": 3,
        "started_at_ms": neighbour["started_at_ms"] + 1,
        "finished_at_ms": neighbour["finished_at_ms"] + 5,
    }
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    results = statistics.statistics(load(folder))
    by_cell = {cell["repeats"][0]["cell"]: cell for cell in results["cells"]}
    assert by_cell[neighbour["cell"]]["intruders"] == 1
    assert by_cell[neighbour["cell"]]["parallelism"]["most_at_once"] == 2
    assert by_cell[late["cell"]]["count"] == by_cell[neighbour["cell"]]["count"] == 12
    assert "intruders" not in by_cell[late["cell"]]
    assert any(text.startswith("Redelivered messages of other cells ran") for text in results["verdict"]["caveats"])


def test_cold_and_warm_invocations_of_one_cell_did_not_run_one_after_the_other():
    function = EXPERIMENTS["function"]
    within = [compare.name for compare in function.compare if not between_cells(compare, function)]
    assert within == ["between_starts"]
