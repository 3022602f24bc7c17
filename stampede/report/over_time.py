"""Three or more runs of one plan in chronological order: each cell's median, and where it changed
against the first run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from stampede.cell import Cell, common_axes, distinguishing
from stampede.phrases import counted, listed, ratios, significant
from stampede.report import charts
from stampede.report.analysis import Analysis, analyse
from stampede.report.answer import successes_words
from stampede.report.cells import Figures
from stampede.report.charts import Chart, Line, Mark
from stampede.report.compare_runs import compared_apart, timed_cells
from stampede.report.findings import A_TENTH, Finding, has_enough
from stampede.report.page import embedded, unfinished
from stampede.report.render import Page, render
from stampede.report.results import coordinates, result_words
from stampede.report.run import NoReport, load
from stampede.runs.folder import write_where_typed
from stampede.tables import Field, Table

PAGE = "history.html"
# Levels of a cell; an interval too wide to say leaves the level unchanged.
CLEAR = ("holds", "slower", "faster")
_BEGAN = "SELECT min(started_at_ms) FROM operations WHERE NOT is_foreign AND NOT is_warm_up"


class History(NamedTuple):
    """The page, its headline, the cells that are slower in the last run than in the first, in
    words, and how the runs differ or what they lack."""

    page: Path
    headline: str
    slower: list[str]
    warnings: list[str]


@dataclass(frozen=True)
class Course:
    """A cell over the runs: its figures by the run's place and, except for the first run that
    measured it, the ratio of its speed to that run's."""

    cell: Cell
    figures: Mapping[int, Figures]
    findings: Mapping[int, Finding]

    def changes(self) -> Iterator[int]:
        """The places of the runs from which on the cell has another level."""
        level = "holds"
        for place, finding in self.findings.items():
            if finding.level in CLEAR and finding.level != level:
                level = finding.level
                yield place

    @property
    def last(self) -> Finding:
        return list(self.findings.values())[-1]


def history(run_dirs: Sequence[Path], output: Path) -> History:
    """Write the page of these runs over time; `output` is the file, or a folder for it.

    Raises NoReport for runs of several experiments or targets, for a run that is given twice, has
    no known start or can't be reported, and if no cell is measured twice; OSError if the page can't
    be written.
    """
    runs = sorted((analyse(load(path)) for path in run_dirs), key=_began_ms)
    _refuse_mixed(runs)
    courses = _courses(runs)
    if not courses:
        raise NoReport("no two of these runs measured the same cell; name runs of one plan")
    words = _words_of(courses)
    headline = _headline(runs, courses, words)
    slower = [words[course.cell] for course in courses if course.last.level == "slower"]
    warnings = [
        f"{run.run.run_id}: {text}"
        for run in runs
        for text in (*unfinished(run.run), *run.run.warnings)
    ]
    path, changed_sdks = output if output.suffix == ".html" else output / PAGE, _changed_sdks(runs)
    write_where_typed(path, _page(runs, courses, words, headline, warnings, changed_sdks))
    return History(path, headline, slower, [*changed_sdks, *warnings])


def _began_ms(analysis: Analysis) -> int:
    """The start of a run's first operation, in epoch ms."""
    [(began_ms,)] = analysis.run.store.rows(_BEGAN)
    if began_ms is None:
        raise NoReport(
            f"run {analysis.run.run_id} has no operation, so it has no place in time; leave it out"
        )
    return began_ms


def _refuse_mixed(runs: Sequence[Analysis]) -> None:
    for what, values in (
        ("experiments", [run.experiment.name for run in runs]),
        ("targets", [run.run.source for run in runs]),
    ):
        if len(set(values)) > 1:
            raise NoReport(
                f"runs of several {what} ({listed(sorted(set(values)))}) have no common history"
            )
    twice = [
        run_id for run_id, times in Counter(run.run.run_id for run in runs).items() if times > 1
    ]
    if twice:
        raise NoReport(f"run {twice[0]} is given twice")


def _courses(runs: Sequence[Analysis]) -> list[Course]:
    """Each cell that two or more runs measured. All intervals hold simultaneously, whatever the
    number of runs."""
    measured: dict[Cell, dict[int, Figures]] = {}
    for place, run in enumerate(runs, 1):
        for cell, figures in timed_cells(run).items():
            measured.setdefault(cell, {})[place] = figures
    several = {cell: by_run for cell, by_run in sorted(measured.items()) if len(by_run) > 1}
    among = sum(
        has_enough(each) for by_run in several.values() for each in list(by_run.values())[1:]
    )
    return [_course(cell, by_run, max(1, among), runs[0]) for cell, by_run in several.items()]


def _course(cell: Cell, by_run: Mapping[int, Figures], among: int, run: Analysis) -> Course:
    (_, first), *later = by_run.items()
    findings = {
        place: compared_apart(figures, first, run.experiment, among, str(place))
        for place, figures in later
    }
    return Course(cell, by_run, findings)


def _words_of(courses: Sequence[Course]) -> dict[Cell, str]:
    """What distinguishes the cells, in words."""
    cells = [course.cell for course in courses]
    if len(cells) == 1:
        return {cells[0]: cells[0].words}
    shown, common = distinguishing(cells), common_axes(cells)
    return {cell: cell.words_without(common, shown) for cell in cells}


def _headline(
    runs: Sequence[Analysis], courses: Sequence[Course], words: Mapping[Cell, str]
) -> str:
    """Whether the last run is slower or faster than the first, and since when."""
    changed = [course for course in courses if course.last.level in ("slower", "faster")]
    over = f"over {len(runs)} runs"
    if len(changed) == 1:
        course = changed[0]
        since = runs[list(course.changes())[-1] - 1].run.run_id
        ratio = course.last.ratio
        times = f"{ratio.value:.2f} times as fast as in the first of {len(runs)} runs"
        return (
            f"{words[course.cell]}: {course.last.level} since {since}, {times} (95 % CI "
            f"{ratios(ratio._asdict())})."
        )
    if changed:
        levels = Counter(course.last.level for course in courses)
        parts = [f"{levels[level]} {level}" for level in ("slower", "faster") if levels[level]]
        return (
            f"Of {counted(len(courses), 'cell')} {over}, {listed(parts)} in the last than in the "
            "first."
        )
    unclear = sum(course.last.level != "holds" for course in courses)
    doubt = f"; {unclear} too close to call" if unclear else ""
    return f"No change above {A_TENTH} in {counted(len(courses), 'cell')} {over}{doubt}."


def _changed_sdks(runs: Sequence[Analysis]) -> list[str]:
    """The runs from which on functions had another SDK version, which may explain a change."""
    sentences, before = [], runs[0].run.sdk_versions
    for run in runs[1:]:
        for name, versions in run.run.sdk_versions.items():
            if before.get(name, versions) != versions:
                sentences.append(
                    f"{name} {listed(versions)} from {run.run.run_id} on (before: "
                    f"{listed(before[name])})."
                )
        before = {**before, **run.run.sdk_versions}
    return sentences


def _page(
    runs: Sequence[Analysis],
    courses: Sequence[Course],
    words: Mapping[Cell, str],
    headline: str,
    warnings: list[str],
    caveats: list[str],
) -> str:
    first, last = runs[0].run, runs[-1].run
    table = _table(runs, courses)
    return render(
        Page(
            title=f"{first.run_id} to {last.run_id}",
            kicker=["Stampede", runs[0].experiment.name, f"{len(runs)} runs over time"],
            headline=headline,
            basis=[
                (str(place), f"{runs[place - 1].run.run_id}; {successes_words(runs[place - 1])}")
                for place in (1, len(runs))
            ],
            command=f"stampede report {' '.join(f'results/{run.run.run_id}' for run in runs)}",
            warnings=warnings,
            chart=_chart(runs, courses, words),
            tables=[table],
            caveats=caveats,
            downloads=[embedded("history.csv", "history.csv", table.csv(), "text/csv")],
        )
    )


def _chart(runs: Sequence[Analysis], courses: Sequence[Course], words: Mapping[Cell, str]) -> Chart:
    """The medians run by run, evenly spaced on the chart's logarithmic axis: run 3 is at 2 ** 3."""
    lines, texts = [], []
    for course in courses:
        marks, medians = {}, []
        for place, figures in course.figures.items():
            marks[2.0**place] = Mark(*(figures.median or [figures.sample.median]))
            medians.append(f"{significant(figures.sample.median)} s in run {place}")
        lines.append(Line(words[course.cell], marks, [2.0**place for place in course.changes()]))
        texts.append(f"{words[course.cell]}: {', '.join(medians)}")
    title = (
        f"Median seconds of one {runs[0].experiment.operation[0]}, run by run: a ring marks a "
        "change"
    )
    return charts.line(
        "history",
        title,
        f"{'; '.join(texts)}.",
        lines,
        "run, in the order of time",
        "seconds",
        x_words=lambda x: str(round(math.log2(x))),
    )


def _row(course: Course, place: int, run_id: str, began_utc: str) -> dict[str, Any]:
    figures, finding = course.figures[place], course.findings.get(place)
    median, ratio = figures.median, finding and finding.ratio
    return {
        **course.cell.figures(),
        "cell": course.cell,
        "is_measured": True,
        "run": place,
        "run_id": run_id,
        "began_utc": began_utc,
        "median_s": median and median.value,
        "median_low_s": median and median.low,
        "median_high_s": median and median.high,
        "count": figures.count,
        "ratio": ratio and ratio.value,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
        "interval": ratios(ratio._asdict()) if ratio and ratio.has_interval else "",
        "level": finding.level if finding else "",
        "result": result_words(finding) if finding else "the first",
    }


def _table(runs: Sequence[Analysis], courses: Sequence[Course]) -> Table:
    began_utc = [
        datetime.fromtimestamp(_began_ms(run) / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        for run in runs
    ]
    rows = [
        _row(course, place, runs[place - 1].run.run_id, began_utc[place - 1])
        for course in courses
        for place in course.figures
    ]
    experiment = runs[0].experiment
    fields = [
        *coordinates(rows, experiment),
        Field("run", "run", rank=0),
        Field("began_utc", "began", "UTC", is_text=True, rank=4),
        Field("run_id", only="files"),
        Field("median_s", "median", "s", show=significant, rank=1),
        Field("count", "n", show="{:,}".format, rank=5),
        Field("ratio", "speed", "×", show="{:.2f}".format, rank=2),
        Field("interval", "95 %", "×", rank=3, only="reading"),
        Field("result", "against the first", is_text=True, rank=2, look=lambda row: row["level"]),
        *(
            Field(name, only="files")
            for name in ("median_low_s", "median_high_s", "ratio_low", "ratio_high")
        ),
    ]
    caption = ["“speed”: how many times as fast as in the first run, by medians."]
    return Table(
        "history", f"Run by run: seconds for one {experiment.operation[0]}", fields, rows, caption
    )
