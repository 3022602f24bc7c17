"""Compares two runs, cell by cell: the page of a report on two runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from stampede.cell import Cell
from stampede.experiment import Compare, Experiment
from stampede.model.retries import rules_of
from stampede.phrases import listed, ratios, size_words
from stampede.report import pictures
from stampede.report.analysis import Analysis, analyse
from stampede.report.answer import place_of, successes_words
from stampede.report.caveats import of_one_side, of_the_place, unsuccessful
from stampede.report.cells import Figures
from stampede.report.details import settings
from stampede.report.findings import STAND_IN_RAN, TOO_FEW, Finding, compared, has_enough
from stampede.report.page import embedded, unfinished
from stampede.report.render import Detail, Page, render
from stampede.report.results import comparisons, coordinates, figure_fields, results
from stampede.report.run import NoReport, Run, load
from stampede.runs.folder import RunFolder, write_where_typed
from stampede.tables import Field, Table

PAGE = "comparison.html"
BASE, OTHER = "A", "B"
RUNS = Compare("runs", "choice", ())
MOST_CAVEATS = 5
LEVELS = {
    "faster": "faster",
    "slower": "slower",
    "holds": "the same",
    "unclear": "too close to call",
    "unknown": "not compared",
}


class Comparison(NamedTuple):
    """The page, its headline, how the runs differ, and what they lack."""

    page: Path
    headline: str
    differences: list[str]
    warnings: list[str]


def compare(run_dirs: Sequence[Path], output: Path) -> Comparison:
    """Write the page that compares the second run with the first; `output` is the file, or a folder
    for it.

    Raises NoReport for other than two runs, one that can't be reported, or runs of two experiments;
    OSError if the page can't be written.
    """
    if len(run_dirs) != 2:
        raise NoReport(f"{len(run_dirs)} runs given; name two to compare")
    base, other = (analyse(load(path)) for path in run_dirs)
    names = [side.experiment.name for side in (base, other)]
    if names[0] != names[1]:
        raise NoReport(f"runs of {listed(names)} can’t be compared; name runs of one experiment")
    findings = _findings(base, other)
    differences = _differences(base, other, findings)
    path = output if output.suffix == ".html" else output / PAGE
    places = {place_of(side) for side in (base, other)}
    place = places.pop() if len(places) == 1 else ""  # else the differences say so
    headline = f"{place}{_headline(findings) if findings else _nothing_in_common(base, other)}"
    write_where_typed(path, _page(base, other, findings, headline, differences))
    return Comparison(path, headline, differences, _warnings(base, other, with_folders=True))


def _findings(base: Analysis, other: Analysis) -> list[Finding]:
    """A finding for each cell that both runs measured."""
    of_base, of_other = timed_cells(base), timed_cells(other)
    pairs = [(of_other[cell], of_base[cell]) for cell in sorted(of_base.keys() & of_other.keys())]
    among = max(1, sum(has_enough(*pair) for pair in pairs))
    findings = []
    for figures, baseline in pairs:
        finding = compared_apart(figures, baseline, base.experiment, among, OTHER)
        if _ran_on_stand_in(figures) != _ran_on_stand_in(baseline):
            finding = replace(finding, ratio=None, level="unknown", why=STAND_IN_RAN)
        findings.append(finding)
    return findings


def compared_apart(
    figures: Figures, base: Figures, experiment: Experiment, among: int, salt: str
) -> Finding:
    """A cell of one run against the same cell of another.

    A run and its copy would have the same resamples, and a difference of 0 that looks certain:
    `salt` draws the first run's separately.
    """
    apart = replace(figures, sample=figures.sample.salted(salt))
    return compared("run", RUNS, apart, base, experiment, among)


def _ran_on_stand_in(figures: Figures) -> bool:
    return figures.cell.is_of_stand_in([axis.name for axis in figures.cell.axes])


def timed_cells(analysis: Analysis) -> dict[Cell, Figures]:
    """The cells with a time, and their figures."""
    return {cell: figures for cell, figures in analysis.cells.items() if figures.count}


def _headline(findings: Sequence[Finding]) -> str:
    """Whether the second run is faster or slower over the common cells."""
    common = "the only common cell" if len(findings) == 1 else f"{len(findings)} common cells"
    if not any(row.ratio for row in findings):
        whys = list(dict.fromkeys(row.why for row in findings))
        more = " Sweep with more --repeats." if TOO_FEW in whys else ""
        return f"Nothing can be compared in {common}: {listed(whys)}.{more}"
    counts = Counter(row.level for row in findings)
    if len(counts) == 1:
        words = {
            "holds": f"{OTHER} is as fast as {BASE} within 10 %",
            "faster": f"{OTHER} is faster than {BASE}",
            "slower": f"{OTHER} is slower than {BASE}",
        }.get(findings[0].level, f"No clear difference between {OTHER} and {BASE}")
        return f"{words} in {common}: {_times(findings)}."
    cases = [f"{words} in {counts[level]}" for level, words in LEVELS.items() if counts[level]]
    return f"Of {common}, {OTHER} against {BASE} is {listed(cases)}: {_times(findings)}."


def _nothing_in_common(base: Analysis, other: Analysis) -> str:
    """Which axis keeps the runs apart, and how its values are compared."""
    claim = f"{BASE} and {OTHER} have no measured cell in common"
    of_base, of_other = timed_cells(base), timed_cells(other)
    for axis in base.experiment.axes:
        values = {cell[axis.name] for cell in of_base}
        if of_base and of_other and values.isdisjoint(cell[axis.name] for cell in of_other):
            return f"{claim}: each has another {axis.label}. Sweep both values in one run."
    return f"{claim}."


def _times(findings: Sequence[Finding]) -> str:
    """How many times as fast, with an interval: that of the clearest if there are several."""
    rows = [row for row in findings if row.ratio]
    values = [row.ratio.value for row in rows]
    ends = dict.fromkeys(f"{value:.2f}" for value in (min(values), max(values)))
    times = f"{' to '.join(ends)} times as fast"
    clearest = max(rows, key=lambda row: max(row.ratio.low or 0, 1 / (row.ratio.high or math.inf)))
    span = f"95 % CI {ratios(clearest.ratio._asdict())}"
    if len(rows) == 1:
        return f"{times} ({span})"
    return f"{times}, {clearest.ratio.value:.2f} ({span}) with {clearest.subject.words}"


def _differences(base: Analysis, other: Analysis, findings: Sequence[Finding]) -> list[str]:
    """How two runs differ that should be alike, as sentences."""
    sentences = []
    if base.run.source != other.run.source:
        sentences.append(f"Different targets: {base.run.source} and {other.run.source}.")
    sizes = [_sizes(side, findings) for side in (base, other)]
    if sizes[0] != sizes[1]:
        sentences.append(f"Different sizes: {' against '.join(sizes)}. Don’t compare seconds.")
    sentences += _sdks(base.run, other.run)
    stand_ins = [side.run.stand_ins(side.cells) for side in (base, other)]
    for letter, own, of_other in zip((BASE, OTHER), stand_ins, reversed(stand_ins), strict=True):
        sentences += [
            f"In {letter}, {stand_in.short} stood in for {listed(replaced)}."
            for stand_in, replaced in own.items()
            if stand_in not in of_other
        ]
    return sentences


def _sizes(side: Analysis, findings: Sequence[Finding]) -> str:
    """How much an operation moved in the common cells."""
    sizes = {side.cells[row.subject].size_bytes for row in findings}
    return listed([size_words(size) for size in sorted(sizes - {None})]) or "not recorded"


def _sdks(base: Run, other: Run) -> list[str]:
    """The SDK versions in which two runs differ; an SDK of only one run belongs to its methods."""
    sentences = []
    for name, versions in base.sdk_versions.items():
        others = other.sdk_versions.get(name, versions)
        if others != versions:
            rules = {rules_of(f"{name} {version}") for version in (*versions, *others)}
            is_same = len(rules) == 1 and None not in rules
            retries = "retry alike" if is_same else "may retry otherwise"
            sentences.append(
                f"Different versions of an SDK: {name} {listed(versions)} and {listed(others)}; "
                f"they {retries}."
            )
    return sentences


def _page(
    base: Analysis,
    other: Analysis,
    findings: Sequence[Finding],
    headline: str,
    differences: list[str],
) -> str:
    experiment, sides = base.experiment, {BASE: base, OTHER: other}
    table = _results(sides)
    compared_table = comparisons(findings, experiment, f": {OTHER} against {BASE}")
    settings_table = settings([base.run, other.run])
    lost = [f"{letter}: {line}" for letter, side in sides.items() for line in unsuccessful(side)]
    lines = [
        f"{letter}: {line}"
        for letter, side in sides.items()
        for line in of_one_side(_of_compared(side, findings))
    ]
    places = list(dict.fromkeys(line for side in sides.values() for line in of_the_place(side)))
    drift = ["The runs weren’t interleaved, so a difference may be drift."] if findings else []
    page = Page(
        title=f"{base.run.run_id} and {other.run.run_id}",
        kicker=["Stampede", experiment.name, "runs compared"],
        headline=headline,
        basis=[
            (letter, f"{side.run.run_id}, {side.run.source}; {successes_words(side)}")
            for letter, side in sides.items()
        ],
        command=f"stampede report results/{base.run.run_id} results/{other.run.run_id}",
        warnings=_warnings(base, other, with_folders=False),
        chart=pictures.forest(
            base, findings, "ratios", f"Times as fast: {OTHER} against {BASE}, by medians"
        ),
        tables=[table, compared_table] if compared_table else [table],
        caveats=[*lost, *differences, *drift, *lines, *places][:MOST_CAVEATS],
        details=[Detail("other", "Other differences", tables=[settings_table])]
        if settings_table
        else [],
        downloads=[embedded("comparison.csv", "comparison.csv", _csv(findings), "text/csv")],
    )
    return render(page)


def _of_compared(side: Analysis, findings: Sequence[Finding]) -> Analysis:
    """A run with its compared cells alone."""
    compared_cells = {row.subject for row in findings}
    cells = {cell: row for cell, row in side.cells.items() if cell in compared_cells}
    return replace(side, cells=cells)


def _results(sides: dict[str, Analysis]) -> Table:
    """The cells of both runs, each cell of the first above that of the second."""
    rows = [
        {**row, "source": letter}
        for letter, side in sides.items()
        for row in results(side).rows
        if row["is_measured"]
    ]
    rows.sort(key=lambda row: (row["cell"].place(), row["source"]))
    experiment = sides[BASE].experiment
    fields = [*coordinates(rows, experiment), *figure_fields(experiment)]
    title = f"Measured: seconds for one {experiment.operation[0]}"
    return Table("results", title, fields, rows, is_strong=lambda row: row["source"] == OTHER)


def _csv(findings: Sequence[Finding]) -> str:
    """The comparison with every digit."""
    names = list(dict.fromkeys(name for row in findings for name in row.subject.figures()))
    figures = ("ratio", "ratio_low", "ratio_high", "level", "why")
    rows = []
    for finding in findings:
        ratio = finding.ratio or (None, None, None)
        rows.append(
            {
                **finding.subject.figures(),
                **dict(zip(figures, (*ratio, finding.level, finding.why), strict=True)),
            }
        )
    return Table("comparison", "", [Field(name) for name in (*names, *figures)], rows).csv()


def _warnings(base: Analysis, other: Analysis, *, with_folders: bool) -> list[str]:
    """What the runs lack; a page may be read elsewhere, so its commands name no local folder."""
    warnings = []
    for letter, side in ((BASE, base), (OTHER, other)):
        resume = RunFolder(side.run.directory).as_argument if with_folders else None
        warnings += [
            f"{letter}: {text}" for text in (*unfinished(side.run, resume), *side.run.warnings)
        ]
    if base.run.run_id == other.run.run_id:
        warnings.append(f"{BASE} and {OTHER} are the same run, {base.run.run_id}.")
    return warnings
