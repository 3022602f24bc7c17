"""Did it go as predicted? What the model expected before the run, what was measured, and what the model rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stampede.model.parameters import KNOWN, Parameter
from stampede.phrases import NOTHING, listed, quantity
from stampede.report.figures.predicted_seconds import PredictedSeconds
from stampede.report.grid import Column, Entry, Grid, number, single_lines, words
from stampede.report.sections.about import moment
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.prediction import axes_of, between, is_near, percent, text
from stampede.runs.prediction import Prediction

# Of these a prediction knows no more than the runs that they come from, or less.
UNSURE = ("guessed", "fitted")
TIMES = {"avg_s": ("seconds", "s"), "span_s": ("elapsed time", "s")}
OVERLAP = {
    "most_at_once": ("peak concurrency", ""),
    "time_to_n_s": ("time to N", "s"),
    "share_at_n": ("time in full overlap", "%"),
}


def prediction(page: Page) -> Block | None:
    """Without a prediction in run.json, how to get one; nothing of a local run, of which there is none."""
    predicted, numbers = page.run.prediction, page.numbers["prediction"]
    if predicted is None and page.run.target == "local":
        return None
    if predicted is None:
        return page.block("prediction", "Prediction", predicted=None, has_model=page.experiment.work is not None)
    picture = PredictedSeconds(page.subject)
    axes, cells = axes_of(page.experiment), page.numbers["cells"]
    measured = {page.key(cell).on(axes) for cell in cells if cell["count"] or cell["parallelism"]}
    times = f"Mean {page.experiment.operation[0]} and elapsed time"
    return page.block(
        "prediction",
        "Prediction",
        [picture],
        predicted=numbers,
        also=_also(page),
        basis=_basis(predicted),
        left_out=picture.left_out,
        without=len(measured) > len(numbers["cells"]),
        times=_grid(page, "predicted-times", times, TIMES, {"binds": "bottleneck"}),
        overlap=_grid(page, "predicted-overlap", "Concurrency", OVERLAP, {}),
        known=_known(predicted.parameters),
        unsure=_unsure(predicted.parameters),
    )


def _basis(predicted: Prediction) -> str:
    """Whose parameters it rests on, and what gives it again."""
    is_aws = predicted.place == "aws"
    owner = "the parameters for AWS" if is_aws else f"the parameters of {predicted.place or 'an unknown place'}"
    date = moment(predicted.date)
    seed = "" if predicted.seed is None else f", seed {predicted.seed}"
    return f"Predicted with {owner}{f' on {date}' if date else ''}{seed}."


def _also(page: Page) -> str:
    """How the other figures did where they could miss by themselves, as one sentence; "" where there is none of them.
    One worker is in full overlap all the time, and a single message takes the elapsed time."""
    axes, rows = axes_of(page.experiment), page.numbers["prediction"]["cells"]
    overlaps = {page.key(cell).on(axes): cell["parallelism"] for cell in page.numbers["cells"]}
    several = [row for row in rows if _has_several_messages(overlaps.get(page.key(row)))]
    matches = _matches({"span_s": TIMES["span_s"]}, several)
    if in_overlap := _matches(OVERLAP, [row for row in rows if page.key(row).n > 1]):
        matches.append(f"above N = 1, {listed(in_overlap)}")
    return f"Other figures that match their ranges: {'; '.join(matches)}." if matches else ""


def _matches(labels: Mapping[str, tuple[str, str]], rows: Sequence[Figures]) -> list[str]:
    """In how many of these cells each figure matches its range: `time to N in 3 of 4 (2 only nearly)`."""
    matches = []
    for name, (label, _) in labels.items():
        figures = [row[name] for row in rows if row[name] and row[name]["inside"] is not None]
        if figures:
            near = sum(map(is_near, figures))
            only = f" ({near} only nearly)" if near else ""
            matches.append(f"{label} in {sum(figure['inside'] for figure in figures)} of {len(figures)}{only}")
    return matches


def _has_several_messages(overlap: Figures | None) -> bool:
    """Whether the repeats of a cell had more than one message."""
    return overlap is not None and overlap["attempts"] > overlap["repeats"]


def _grid(
    page: Page, name: str, caption: str, figures: Mapping[str, tuple[str, str]], texts: Mapping[str, str]
) -> Grid:
    """Four columns for each of `figures`, and one for each of `texts` of a cell, by name, with its heading."""
    columns = []
    for label, unit in figures.values():
        columns += [Column(f"{label} predicted", unit), Column("range"), Column("measured", unit), Column("off by")]
    columns += [Column(heading, words=True) for heading in texts.values()]
    lines = []
    for row in page.numbers["prediction"]["cells"]:
        entries: list[Entry] = []
        for figure in figures:
            entries += _against_predicted(figure, row[figure])
        lines.append((row, [*entries, *(words(row[text], "wrapped") for text in texts)]))
    return replace(page.grid(name, caption, columns, lines), looks="wordy")


def _against_predicted(name: str, figure: Figures | None) -> list[Entry]:
    """Predicted with its range, measured, and the difference, marked where the model missed or nearly did."""
    if figure is None:
        return [number(None)] * 4
    off = "" if figure["difference"] is None else percent(figure["difference"])
    missed = figure["inside"] is False
    mark = "✗ " if missed else "≈ " if is_near(figure) else ""
    return [
        Entry(text(name, figure["predicted"]), figure["predicted"]),
        Entry(between(name, figure) or NOTHING, figure["low"], "interval"),
        Entry(text(name, figure["measured"]), figure["measured"]),
        Entry((mark + off).strip() or NOTHING, figure["difference"], "bad" if missed else ""),
    ]


def _known(parameters: Sequence[Parameter]) -> str:
    """How well known what it rests on is, in a sentence."""
    if not parameters:
        return "The parameters aren’t stored with this run."
    counts = {known: sum(row.known == known for row in parameters) for known in KNOWN}
    parts = listed([f"{count} {known}" for known, count in counts.items() if count])
    return f"The model has {len(parameters)} parameters: {parts}. Not every run uses all of them."


def _unsure(parameters: Sequence[Parameter]) -> Grid | None:
    """The parameters that are only guessed or fitted, the guessed ones first; None without one."""
    rows = []
    for known in UNSURE:
        for row in (row for row in parameters if row.known == known):
            rows.append(
                [
                    words(row.name),
                    number(row.value, quantity(row.value)),
                    number(row.low, f"{quantity(row.low)} to {quantity(row.high)}", "interval"),
                    words(row.unit, "wrapped"),
                    words(row.known),
                    words(row.source, "long"),
                    words(row.date),
                ]
            )
    texts = [Column(name, words=True) for name in ("unit", "basis", "source", "date")]
    columns = [Column("parameter", words=True), Column("value"), Column("range"), *texts]
    caption = "Model parameters that are only guessed or fitted"
    return Grid("unsure", caption, columns, single_lines(rows), heads=1, looks="wordy") if rows else None
