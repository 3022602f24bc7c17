"""Sets runs side by side, each against the first, as one self-contained page."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stampede.phrases import listed, seconds
from stampede.report import sdks, templating
from stampede.report.figures.run_ratios import RunRatios
from stampede.report.grid import (
    LEVELS,
    Column,
    Entry,
    Grid,
    coordinates,
    head_columns,
    number,
    ratio,
    single_lines,
    words,
)
from stampede.report.measured import moved_words, speed_of
from stampede.report.sections import about, downloads
from stampede.report.statistics import rules
from stampede.report.statistics.cell_figures import Measured, measured
from stampede.report.statistics.comparisons import took_words
from stampede.report.statistics.effect import effect
from stampede.report.statistics.selection import cells
from stampede.runs import atomic, unfinished
from stampede.runs.cell_key import Key, distinguishing
from stampede.runs.run import NoReport, Run, load

PAGE = "comparison.html"


@dataclass(frozen=True)
class Side:
    """One run of the comparison: its letter, the run, its cells."""

    letter: str
    run: Run
    cells: Mapping[Key, Measured]


@dataclass(frozen=True)
class Pair:
    """A later run against the first: {cell: effect} of the cells that both have times in, and what it shows."""

    base: Side
    side: Side
    effects: Mapping[Key, Mapping[str, Any]]

    @property
    def operation(self) -> tuple[str, str]:
        """What is timed, one and many."""
        return self.base.run.experiment.operation

    @property
    def name(self) -> str:
        """For ids on the page."""
        return f"against-{self.side.letter}"


def compare(run_dirs: Sequence[Path], output: Path) -> Path:
    """Write the page that sets the runs of `run_dirs` against the first; `output` is the file or a folder for it.

    Raises NoReport for fewer than two runs, one named twice, runs of different experiments, or one that can't be
    reported; OSError.
    """
    if len(run_dirs) < 2:
        raise NoReport("a comparison needs at least two results folders; name the baseline first.")
    if len({path.resolve() for path in run_dirs}) < len(run_dirs):
        raise NoReport("a results folder is named twice; name two different runs")
    if len(run_dirs) > 26:
        raise NoReport(f"{len(run_dirs)} results folders are too many for a comparison; name at most 26.")
    sides = [_side(chr(ord("A") + at), path) for at, path in enumerate(run_dirs)]
    if len(names := list(dict.fromkeys(side.run.experiment.name for side in sides))) > 1:
        raise NoReport(f"runs of {listed(names)} can’t be compared; name runs of one experiment.")
    pairs = [Pair(sides[0], side, _effects(sides[0], side)) for side in sides[1:]]
    path = output if output.suffix == ".html" else output / PAGE
    atomic.write_text(path, templating.page("templates/comparison.html.j2", _context(sides, pairs)))
    return path


def differences(pair: Pair) -> list[str]:
    """What the two runs don't have in common and should, in sentences; [] when they can be compared as they are."""
    base, other = pair.base.run, pair.side.run
    found = []
    if base.source != other.source:
        found.append(f"Different targets: {base.source} and {other.source}. Differences are mostly due to the target.")
    if not all(_same_size(pair.base, pair.side, key) for key in pair.effects):
        found.append(f"Different sizes: {moved_words(base)} and {moved_words(other)}. Don’t compare seconds.")
    found += sdks.between(base, other)
    for letter, run, its_other in ((pair.base.letter, base, other), (pair.side.letter, other, base)):
        told = its_other.stand_ins(its_other.cell_keys())
        for one, names in run.stand_ins(run.cell_keys()).items():
            if one not in told:
                about = listed(names)
                found.append(
                    f"{letter} ran on {one.short} as a stand-in for {about}, so it says nothing about {about}."
                )
    return found


def _same_size(base: Side, side: Side, key: Key) -> bool:
    ours, theirs = side.cells[key].object_bytes, base.cells[key].object_bytes
    return ours is not None and ours == theirs


def headline(pair: Pair) -> str:
    """Whether the second run is faster or slower, over the cells that both have."""
    base, other, one = pair.base.letter, pair.side.letter, pair.operation[0]
    if not pair.effects:
        return f"{base} and {other} have no cell with {pair.operation[1]} in common, so there is nothing to compare."
    known = {key: found for key, found in pair.effects.items() if found["level"] != "cant_tell"}
    cells = "the only common cell" if len(pair.effects) == 1 else f"the {len(pair.effects)} common cells"
    if not known:
        return f"Whether {other} is faster or slower than {base} is unknown in {cells}."
    ratios = [found["ratio_of_medians"] for found in known.values()]
    took = took_words({"low": min(r["low"] for r in ratios), "high": max(r["high"] for r in ratios)})
    rest = len(pair.effects) - len(known)
    untold = f" The other {rest} can’t be compared." if rest else ""
    of = cells if not rest else f"{len(known)} of {cells}"
    # An interval wider than the band of "as fast" shows no absence of a difference.
    wide = any(ratio["high"] - ratio["low"] > 2 * rules.HOLDS_WITHIN for ratio in ratios)
    says = _says(other, base, of, [found["level"] for found in known.values()], wide)
    return f"{says}: the median {one} of {other} took {took} as long.{untold}"


def _says(other: str, base: str, where: str, levels: Sequence[str], wide: bool) -> str:
    """How the second run compares with the first, both by their letters."""
    within = f"{rules.HOLDS_WITHIN * 100:g} %"
    counts = {level: levels.count(level) for level in dict.fromkeys(levels)}
    if set(counts) == {"holds"}:
        return f"{other} is as fast (within {within}) as {base} in {where}"
    if len(counts) == 1 and levels[0] != "unclear":
        return f"{other} is {levels[0]} (by more than {within}) than {base} in {where}"
    if set(counts) == {"unclear"}:
        says = f"faster or slower (by {within} or more) than {base} in {where}"
        if wide:
            return f"Too few measurements to tell whether {other} is {says}"
        return f"{other} is not measurably {says}"
    words = {
        "holds": f"as fast as {base}",
        "slower": f"slower than {base}",
        "faster": f"faster than {base}",
        "unclear": "too close to call",
    }
    parts = [f"{words[level]} in {counts[level]}" for level in words if level in counts]
    return f"In {where}, {other} is {listed(parts)}"


def _side(letter: str, path: Path) -> Side:
    run = load(path)
    found = [measured(cell, run.experiment) for cell in cells(run)]
    return Side(letter, run, {one.key: one for one in found if one.figures["count"]})


def _effects(base: Side, side: Side) -> dict[Key, dict[str, Any]]:
    """Each common cell of both, with intervals that hold together."""
    found, common = {}, sorted(base.cells.keys() & side.cells.keys())
    among = sum(min(len(one.cells[key].everything) for one in (base, side)) >= rules.MINIMUM_FOR_COMPARISON
                for key in common)  # fmt: skip
    for key in common:
        ours, theirs = side.cells[key], base.cells[key]
        # Drawn apart: a run beside its copy would have the same resamples, and a difference of 0 that looks certain.
        result = effect(ours.everything.drawn_apart(f"{key.words}, {side.letter}"), theirs.everything, max(1, among))
        if not _same_size(base, side, key):
            # The ratio would be one of sizes.
            nothing = dict.fromkeys(("ratio_of_medians", "ratio_of_means", "cliffs_delta"))
            result |= nothing | {"level": "cant_tell", "why": "the amounts transferred differ, or aren’t known"}
        found[key] = result
    return found


def _context(sides: Sequence[Side], pairs: Sequence[Pair]) -> dict[str, Any]:
    return {
        "sides": sides,
        "pairs": [
            {
                "name": pair.name,
                "title": f"{pair.side.letter} against {pair.base.letter}",
                "headline": headline(pair),
                "differences": differences(pair),
                "grid": _grid(pair),
                "picture": _picture(pair),
                "alone": _alone(pair),
                "together": len(pair.effects) - sum(bool(found["why"]) for found in pair.effects.values()),
                "whys": sorted({found["why"] for found in pair.effects.values() if found["why"]}),
            }
            for pair in pairs
        ],
        "facts": [_facts(side) for side in sides],
        "warnings": [
            f"{side.letter}: {text}" for side in sides for text in [*unfinished.sentences(side.run), *side.run.warnings]
        ]
        + [
            f"{pair.base.letter} and {pair.side.letter} are the same run, {pair.side.run.run_id}, from two folders."
            for pair in pairs
            if pair.side.run.run_id == pair.base.run.run_id
        ],
        "settings": _settings(sides),
        "csv": downloads.embedded("comparison.csv", "comparison.csv", _csv(pairs), "text/csv"),
    }


def _facts(side: Side) -> list[tuple[str, str]]:
    run = side.run
    return [
        ("measured on", run.source),
        (f"per {run.experiment.operation[0]}", moved_words(run)),
        *(("stand-in", f"{one.short} for {listed(names)}") for one, names in run.stand_ins(run.cell_keys()).items()),
        (run.experiment.operation[1], f"{sum(cell.figures['count'] for cell in side.cells.values()):,}"),
        ("errors", f"{len(run.errors):,}"),
        ("started", about.moment(run.manifest.get("started_at")) or "unknown"),
    ]


def _grid(pair: Pair) -> Grid:
    base, other = pair.base.letter, pair.side.letter
    told, experiment = distinguishing(pair.effects), pair.base.run.experiment
    heads = head_columns(experiment.axes, told)
    columns = [
        *heads,
        *(Column("count", letter) for letter in (base, other)),
        *(Column("median s", letter) for letter in (base, other)),
        Column("median ×"),
        Column("95 %"),
        Column("Cliff’s delta"),
        Column("95 %"),
        *(Column(f"{experiment.speed.unit} per {experiment.worker[0]}", letter) for letter in (base, other)),
        *(Column("peak concurrency", letter) for letter in (base, other)),
        Column("result", words=True),
    ]
    rows = [[*coordinates(key, told), *_row(pair, key, found)] for key, found in pair.effects.items()]
    return Grid(pair.name, f"{other} against {base}, cell by cell", columns, single_lines(rows), heads=len(heads))


def _row(pair: Pair, key: Key, found: Mapping[str, Any]) -> list[Entry]:
    both = [side.cells[key].figures for side in (pair.base, pair.side)]
    experiment = pair.base.run.experiment
    speeds = [speed_of(cell, experiment) for cell in both]
    return [
        *(number(cell["count"]) for cell in both),
        *(number(cell["seconds"]["median_s"], seconds(cell["seconds"]["median_s"])) for cell in both),
        *ratio(found["ratio_of_medians"]),
        *ratio(found["cliffs_delta"], "{:+.2f}"),
        *(number(value, value and f"{value:,.{experiment.speed.digits}f}") for value in speeds),
        *(number(cell["parallelism"] and cell["parallelism"]["most_at_once"]) for cell in both),
        words("= as fast" if found["level"] == "holds" else LEVELS[found["level"]], found["level"]),
    ]


def _picture(pair: Pair) -> RunRatios:
    ratios = {key: found["ratio_of_medians"] for key, found in pair.effects.items() if found["ratio_of_medians"]}
    return RunRatios(pair.operation[0], pair.side.letter, pair.base.letter, ratios)


def _alone(pair: Pair) -> list[str]:
    """Cells with times in one of the two runs only."""
    found = []
    for side, other in ((pair.base, pair.side), (pair.side, pair.base)):
        missing = sorted(side.cells.keys() - other.cells.keys())
        if missing:
            found.append(f"Only in {side.letter}: {listed([key.words for key in missing])}.")
    return found


def _settings(sides: Sequence[Side]) -> list[tuple[str, list[str]]]:
    """(label, text of each run) for whatever in run.json differs."""
    tables = [
        {f"{heading}: {label}": text for heading, lines in about.groups(side.run) for label, text in lines}
        for side in sides
    ]
    labels = list(dict.fromkeys(label for table in tables for label in table))
    rows = [(label, [table.get(label, "–") for table in tables]) for label in labels]
    return [(label, texts) for label, texts in rows if len(set(texts)) > 1]


def _csv(pairs: Sequence[Pair]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("value", "low", "high")
    axes = pairs[0].base.run.experiment.axes
    writer.writerow(
        ["run", "against", *(axis.name for axis in axes if not axis.is_variant), "count", "base_count"]
        + [f"ratio_of_medians_{name}" for name in names]
        + [f"cliffs_delta_{name}" for name in names]
        + ["level", *(axis.name for axis in axes if axis.is_variant)]
    )
    for pair in pairs:
        for key, found in pair.effects.items():
            figures = [
                (found[part] or {}).get(name, "") for part in ("ratio_of_medians", "cliffs_delta") for name in names
            ]
            runs = [pair.side.run.run_id, pair.base.run.run_id]
            counts = [found["count"], found["base_count"]]
            plain = [value for axis, value in zip(axes, key.values, strict=True) if not axis.is_variant]
            writer.writerow([*runs, *plain, *counts, *figures, found["level"], *key.variant])
    return text.getvalue()
