"""Did it go as predicted? What the model expected before the run, what was measured, and what the model rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stampede.model.parameters import CALIBRATION, KNOWN, Parameter
from stampede.phrases import NOTHING, listed, quantity
from stampede.report.figures.predicted_seconds import PredictedSeconds
from stampede.report.grid import Column, Entry, Grid, number, single_lines, words
from stampede.report.sections.environment import moment
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.prediction import between, percent, text
from stampede.runs.prediction import Prediction

# Of these a prediction knows no more than the runs that they come from, or less.
UNSURE = ("guessed", "fitted")
TIMES = {"avg_s": ("seconds", "s"), "span_s": ("elapsed time", "s")}
OVERLAP = {"most_at_once": ("peak concurrency", ""), "time_to_n_s": ("time to N", "s"),
           "share_at_n": ("time in full overlap", "%")}  # fmt: skip
OWNERS = {
    "aws": "the parameters for AWS",
    "local": "the parameters of another machine, because this one wasn’t calibrated",
}


def render(page: Page) -> Block:
    """The section."""
    predicted, numbers = page.run.prediction, page.numbers["prediction"]
    if predicted is None:
        return page.block("prediction", "Prediction", predicted=None, has_model=page.experiment.work is not None)
    rows, one = numbers["cells"], page.experiment.operation[0]
    picture = PredictedSeconds(page.subject)
    measured = sum(1 for cell in page.numbers["cells"] if cell["count"] or cell["parallelism"])
    return page.block(
        "prediction",
        "Prediction",
        [picture],
        predicted=numbers,
        also=_also(rows),
        basis=_basis(predicted),
        left_out=picture.left_out,
        without=measured > len(rows),
        times=_grid(page, "predicted-times", f"Mean {one} and elapsed time", TIMES, {"binds": "bottleneck"}),
        overlap=_grid(page, "predicted-overlap", "Concurrency", OVERLAP),
        known=_known(predicted.parameters),
        unsure=_unsure(predicted.parameters),
    )


def _basis(predicted: Prediction) -> str:
    """Whose parameters it rests on, and what gives it again."""
    owner = OWNERS.get(predicted.place) or f"the parameters of {predicted.place or 'an unknown place'}"
    own, more = sum(one.source.startswith(CALIBRATION) for one in predicted.parameters), ""
    if own:
        owner = "the parameters of this machine"
        more = f"; {own} of them come from a calibration at the start of the run, the others from another machine"
    on = moment(predicted.date)
    seed = "" if predicted.seed is None else f", seed {predicted.seed}"
    return f"Predicted with {owner}{f' on {on}' if on else ''}{seed}{more}."


def _also(rows: Sequence[Figures]) -> str:
    """How the other figures did, as one sentence; "" where there is none of them."""
    told = []
    for name, (label, _) in (OVERLAP | {"span_s": TIMES["span_s"]}).items():
        known = [row[name]["inside"] for row in rows if row[name] and row[name]["inside"] is not None]
        if known:
            told.append(f"{label} in {sum(known)} of {len(known)}")
    return f"Other figures that match their ranges: {listed(told)}." if told else ""


def _grid(
    page: Page, name: str, caption: str, figures: Mapping[str, tuple[str, str]], more: Mapping[str, str] | None = None
) -> Grid:
    """Four columns for each of `figures`, and one for each of `more`, texts of a cell by name, with its heading."""
    columns = [
        column
        for label, unit in figures.values()
        for column in (Column(f"{label} predicted", unit), Column("range"), Column("measured", unit), Column("off by"))
    ]
    lines = []
    for row in page.numbers["prediction"]["cells"]:
        entries = [entry for name in figures for entry in _beside(name, row[name])]
        lines.append((row, [*entries, *(words(row[one], "wrapped") for one in more or ())]))
    grid = page.grid(name, caption, [*columns, *(Column(one, words=True) for one in (more or {}).values())], lines)
    return replace(grid, looks="wordy")


def _beside(name: str, row: Figures | None) -> list[Entry]:
    """Predicted with its range, measured, and the difference, marked where the model missed."""
    if row is None:
        return [number(None)] * 4
    predicted, told = text(name, row["predicted"]), between(name, row)
    off = "" if row["difference"] is None else percent(row["difference"])
    missed = "✗ " if row["inside"] is False else ""
    return [
        Entry(predicted, row["predicted"]),
        Entry(told or NOTHING, row["low"], "interval"),
        Entry(text(name, row["measured"]), row["measured"]),
        Entry((missed + off).strip() or NOTHING, row["difference"], "bad" if missed else ""),
    ]


def _known(parameters: Sequence[Parameter]) -> str:
    """How well known what it rests on is, in a sentence."""
    if not parameters:
        return "The parameters aren’t stored with this run."
    counts = [f"{count} {known}" for known in KNOWN if (count := sum(one.known == known for one in parameters))]
    return f"The model has {len(parameters)} parameters: {listed(counts)}. Not every run uses all of them."


def _unsure(parameters: Sequence[Parameter]) -> Grid | None:
    """The parameters that are only guessed or fitted, the guessed ones first; None without one."""
    rows = [
        [
            words(one.name),
            number(one.value, quantity(one.value)),
            number(one.low, f"{quantity(one.low)} to {quantity(one.high)}", "interval"),
            words(one.unit, "wrapped"),
            words(one.known),
            words(one.source, "long"),
            words(one.date),
        ]
        for known in UNSURE
        for one in parameters
        if one.known == known
    ]
    columns = [Column("parameter", words=True), Column("value"), Column("range"),
               *(Column(name, words=True) for name in ("unit", "basis", "source", "date"))]  # fmt: skip
    caption = "Model parameters that are only guessed or fitted"
    return Grid("unsure", caption, columns, single_lines(rows), heads=1, looks="wordy") if rows else None
