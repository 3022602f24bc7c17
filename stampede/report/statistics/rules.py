"""The rules by which figures are counted, or refused: constants, and the words that go with them into the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.experiment import MINIMUM_FOR_COMPARISON

CONFIDENCE = 0.95
RESAMPLES = 2000

# N = 1 sends ten messages by default, so the default matrix can just be compared.
MINIMUM_FOR_INTERVAL = 10
# A stall moves a mean, and few operations may hide it: with one in ten that takes ten times as long, the interval of
# the mean held the truth in 63 of 100 simulated samples of 10, in 89 of 20 and in 92 to 96 from here on.
MINIMUM_FOR_MEAN_INTERVAL = 100
# With rounds as the unit, the interval of five spans all five, nearly the range within which a median lies with a
# probability of 1 - 2^(1 - n), 94 % of five (David and Nagaraja, "Order Statistics", 2003, 7.1).
MINIMUM_ROUNDS = 5
# A quantile at share q of the tail needs 1/q values, so that one of them is expected beyond it.
MINIMUM_FOR_P5_P95 = 20
MINIMUM_FOR_P99 = 100
# A bootstrap can't go beyond the largest value seen, so an interval of p99 needs some values beyond p99: ten. From
# there on it held the true p99 in 93 to 97 of 100 simulated samples, with fewer in as few as 88.
MINIMUM_FOR_P99_INTERVAL = 1000
# A change of the median by less than this is called "holds".
HOLDS_WITHIN = 0.10
WITHIN = f"{HOLDS_WITHIN * 100:g} %"
# With hand-overs of a few ms, 500 functions are seldom busy to the last one; this share of N counts as nearly full.
NEARLY_FULL = 0.90

# Records hold nine digits; a shorter time can't be divided by.
SHORTEST_S = 1e-9
NO_TIME = "an operation took no measurable time"


def as_dict(experiment: Experiment, cells: Sequence[Mapping[str, Any]], has_knees: bool) -> dict[str, Any]:
    """The rules as they stand in statistics.json, in the words of `experiment` and as they are for these `cells`."""
    return {
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "minimum_for_interval": MINIMUM_FOR_INTERVAL,
        "minimum_for_comparison": MINIMUM_FOR_COMPARISON,
        "minimum_for_p5_p95": MINIMUM_FOR_P5_P95,
        "minimum_for_p99": MINIMUM_FOR_P99,
        "minimum_for_p99_interval": MINIMUM_FOR_P99_INTERVAL,
        "holds_within": HOLDS_WITHIN,
        "nearly_full": NEARLY_FULL,
        **{name: _named(words, experiment, has_knees) for name, words in (WORDS | _own(experiment)).items()},
        "independence": independence(experiment, cells, has_knees),
    }


WORDS = {
    "quantile": "Linear between ranks: type 7 of Hyndman and Fan (1996), as in NumPy. p25 and p75 "
    "in the table and in cells.csv are the saved query's: the nearest rank, from 100 different values on its bin.",
    "interval": (
        f"95 % percentile bootstrap with {RESAMPLES:,} resamples of the {{many}}, its levels widened for small samples "
        "(Hesterberg 2015), which makes that of a mean about as wide as a t interval. A cell that ran in "
        f"{MINIMUM_ROUNDS} repeats or more is resampled by these, and one that ran in as many rounds by those: the "
        "same ones for cells that were interleaved, so that their comparison is paired. A mean has one from "
        f"{MINIMUM_FOR_MEAN_INTERVAL} {{many}} on, because fewer may hide a stall. The interval of p99 extends to the "
        "adjacent ranks. The ends of a ratio's interval, and of a share made from them, are rounded outwards."
    ),
    "together": (
        "95 % is the confidence that all comparisons of a section hold at once: the more it makes, the wider are their "
        "intervals (Šidák 1967, with Student's quantiles). {read_off} A ranking counts every pair of variants, because "
        "the data decide which one is the fastest. An interval of a single cell, such as that of its median, holds on "
        "its own."
    ),
    "seed": (
        "Derived from the figures, or from the names of the rounds, so the same records give the same intervals "
        "in any order; another version of NumPy may draw different resamples."
    ),
    "independence": (
        "The intervals treat the {many} of a cell as independent. But they share {workers}, network and time, so the "
        "intervals describe this run; only repeats show how much another run would differ."
    ),
    "duplicates": (
        "A redelivered message counts once, with its first successful record. The saved query can't tell the two "
        "deliveries apart and counts both."
    ),
    "overlap": (
        "Every attempt lasts from its started_at_ms up to, but not including, its finished_at_ms. Failed and "
        "duplicate attempts count too, because they occupied a {worker}. On AWS the clocks of the {workers} differ "
        "slightly, so a count can exceed N."
    ),
    "window": (
        "Full overlap lasts from the first to the last moment at which N ran at once. A {worker} is idle between two "
        "messages, so concurrency may dip below N in between. Long {many} fit into a short full overlap less often: "
        "where only a few {many} lie within it, their figures favour short ones."
    ),
    "bandwidth": (
        "“Aggregate”: the bytes of all attempts, failed and duplicate ones too, divided by the elapsed "
        "time. Within full overlap, the bytes of each attempt are assumed to be spread evenly over its duration."
    ),
    "repeats": (
        "The {many} of all repeats and rounds are pooled. Overlap is counted for each of these separately and then "
        "combined: times, {many} and bytes are summed before they are divided, the peak is the highest of all, and the "
        "time to N is the median of those that reached it. The time between two rounds, when other cells ran, is in "
        "none of it."
    ),
}


# Where the bytes of an attempt are those of its payload alone.
OF_ATTEMPTS = "“Aggregate”: all attempts, failed and duplicate ones too, divided by the elapsed time."
READ_OFF = "Results and the headline are read off these."
KNEE_READ_OFF = "The ratios by which the knee is found, and with it the headline, are excepted: each holds on its own."
WITHOUT_INTERVALS = "There are too few {many} for intervals: another run may give other figures"
IN_ROUNDS = (
    "The intervals of a cell take its rounds, or repeats, as independent, and not the {many}, so they contain what "
    "drifted between these. They describe this run; only repeats show how much another run would differ."
)


def independence(experiment: Experiment, cells: Sequence[Mapping[str, Any]], has_knees: bool) -> str:
    """What the intervals of `cells` leave out, or that there are none."""
    needed = MINIMUM_ROUNDS if has_knees else MINIMUM_FOR_INTERVAL
    rounds = [cell.get("rounds") for cell in cells if cell["count"] >= needed]
    if not rounds:
        several = sum(cell["count"] > 0 for cell in cells) > 1
        return _named(WITHOUT_INTERVALS + (", in another order." if several else "."), experiment)
    return _named(IN_ROUNDS if None not in rounds else WORDS["independence"], experiment)


def _own(experiment: Experiment) -> dict[str, str]:
    """The rules that are otherwise for `experiment`."""
    return {"bandwidth": OF_ATTEMPTS} if experiment.takes_payload else {}


def _named(words: str, experiment: Experiment, has_knees: bool = False) -> str:
    worker, workers = experiment.worker
    read_off = KNEE_READ_OFF if has_knees else READ_OFF
    return words.format(many=experiment.operation[1], worker=worker, workers=workers, read_off=read_off)
