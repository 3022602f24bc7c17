"""The rules by which figures are counted, or refused: constants, and the words that go with them into the report."""

from typing import Any

from experiments import Experiment

CONFIDENCE = 0.95
RESAMPLES = 2000

# Below this, even the corrected interval of a mean is a guess: one cold start moves it. N = 1 sends ten messages by
# default, so the default matrix can just be compared.
MINIMUM_FOR_INTERVAL = 10
MINIMUM_FOR_COMPARISON = 10
# A quantile at share q of the tail needs 1/q values, so that one of them is expected beyond it.
MINIMUM_FOR_P5_P95 = 20
MINIMUM_FOR_P99 = 100
# A bootstrap can't go beyond the largest value seen, so an interval of p99 needs some values beyond p99: ten. From
# there on it held the true p99 in 93 to 97 of 100 simulated samples, with fewer in as few as 88.
MINIMUM_FOR_P99_INTERVAL = 1000
# A change of the median by less than this is called "holds".
HOLDS_WITHIN = 0.10
# With hand-overs of a few ms, 500 functions are seldom busy to the last one; this share of N counts as nearly full.
NEARLY_FULL = 0.90

# Records hold nine digits; a shorter time can't be divided by.
SHORTEST_S = 1e-9
NO_TIME = "one took no measurable time"


def as_dict(experiment: Experiment) -> dict[str, Any]:
    """The rules as they stand in statistics.json, in the words of `experiment`."""
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
    } | {name: _named(words, experiment) for name, words in WORDS.items()}


WORDS = {
    "quantile": "Linear between ranks: type 7 of Hyndman and Fan (1996), as in NumPy and in DuckDB's quantile_cont.",
    "interval": (
        f"95 % percentile bootstrap with {RESAMPLES} resamples of the {{many}}, its levels widened for small samples "
        "(Hesterberg 2015): as wide as a t interval would be. That of p99 reaches to the ranks below and above it. "
        "Cliff's delta: its own variance (Feng and Cliff 2004)."
    ),
    "seed": (
        "Taken from the figures themselves, so the same records give the same intervals, whatever their order; another "
        "version of NumPy may draw other resamples."
    ),
    "independence": (
        "The intervals take the {many} of a cell as independent of each other. They share {workers}, network and "
        "minutes, so the intervals describe this run; only repeats say how much another run would differ."
    ),
    "duplicates": (
        "A message delivered twice counts once, with its first successful record. The saved query can't tell them "
        "apart and counts both."
    ),
    "overlap": (
        "Every attempt runs from its started_at_ms up to, not including, its finished_at_ms: failed and duplicate ones "
        "occupied a {worker} too. On AWS the clocks of the {workers} differ a little, so a count above N can appear."
    ),
    "window": (
        "The full-overlap window runs from the first to the last moment at which N ran at once. Between two messages a "
        "{worker} is idle, so the overlap dips below N inside it. Long {many} fit into a short window less often: "
        "with few {many} inside, their figures lean to the short ones."
    ),
    "bandwidth": (
        "All bytes that arrived, also those of failed and duplicate attempts, over the time from the first start to "
        "the last end. Inside the window: the bytes of each attempt are taken as spread evenly over its duration."
    ),
    "repeats": (
        "The {many} of all repeats are pooled. Overlap is counted for each repeat on its own and then added up: times, "
        "{many} and bytes are summed before they are divided; the maximum is that of any repeat, the time to full N "
        "the median of those repeats that reached it."
    ),
    "prediction": (
        "What the model said before the run, with the range that its parameters leave. A miss is a figure whose own "
        "interval doesn't touch that range: of the mean of the {many} the interval above, widened to the means of the "
        "repeats; of the others all repeats. Share at full N: the part of the time of all attempts that lies inside "
        "the full-overlap window, 0 where N never ran at once. More than N at once counts as N. No miss is a span off "
        "by a millisecond, which is as fine as records tell time, nor a time to N by a hundredth of the span, nor a "
        "share at full N by a hundredth: clocks and hand-overs do as much. Repeats: the mean of their spans."
    ),
}


def independence(experiment: Experiment) -> str:
    """What the intervals don't know."""
    return _named(WORDS["independence"], experiment)


def _named(words: str, experiment: Experiment) -> str:
    worker, workers = experiment.worker
    return words.format(many=experiment.operation[1], worker=worker, workers=workers)
