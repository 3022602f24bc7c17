"""Sets runs side by side, each against the first, as one self-contained page."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import atomic, downloads, environment, html, unfinished
from report.comparing import size_words
from report.figures import Picture, drawing, run_ratios
from report.grid import Column, Entry, Grid, coordinates, head_columns, number, single_lines, words
from report.phrases import between, listed, seconds, speed
from report.run import NoReport, Run, load
from report.statistics import rules
from report.statistics.cell_figures import Measured, measured
from report.statistics.effect import effect
from report.statistics.selection import cells
from report.ways import Key, key_words, told_apart

PAGE = "comparison.html"
LEVELS = {
    "holds": "= alike",
    "slower": "▼ slower",
    "faster": "▲ faster",
    "unclear": "? unclear",
    "cant_tell": "? can’t tell",
}


@dataclass(frozen=True)
class Side:
    """One run of the comparison: its letter, the run, its cells."""

    letter: str
    run: Run
    cells: Mapping[Key, Measured]


@dataclass(frozen=True)
class Pair:
    """A later run against the first: {cell: effect} of the cells that both have downloads in, and what it shows."""

    base: Side
    side: Side
    effects: Mapping[Key, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """For ids on the page."""
        return f"against-{self.side.letter}"


def compare(run_dirs: Sequence[Path], output: Path) -> Path:
    """Write the page that sets the runs of `run_dirs` against the first; `output` is the file or a folder for it.

    Raises NoReport for fewer than two runs, one named twice, or one that can't be reported; OSError.
    """
    if len(run_dirs) < 2:
        raise NoReport("a comparison needs at least two results folders, the one to compare with first.")
    if len({path.resolve() for path in run_dirs}) < len(run_dirs):
        raise NoReport("a comparison names the same results folder twice; give different ones.")
    if len(run_dirs) > 26:
        raise NoReport(f"a comparison of {len(run_dirs)} runs can't be read; give at most 26.")
    sides = [_side(chr(ord("A") + at), path) for at, path in enumerate(run_dirs)]
    pairs = [Pair(sides[0], side, _effects(sides[0], side)) for side in sides[1:]]
    path = output if output.suffix == ".html" else output / PAGE
    atomic.write_text(path, html.render("comparison.html.j2", _context(sides, pairs)))
    return path


def differences(base: Run, other: Run) -> list[str]:
    """What the two runs don't have in common and should, in sentences; [] when they can be compared as they are."""
    found = []
    if base.experiment != other.experiment:
        found.append(f"Different experiments: {base.experiment} and {other.experiment}.")
    if base.source != other.source:
        found.append(
            f"Different targets: {base.source} and {other.source}. What differs between them is the place first of all."
        )
    if base.object_bytes is None or other.object_bytes is None or base.object_bytes != other.object_bytes:
        found.append(
            f"Different objects: {size_words(base.object_bytes)} and {size_words(other.object_bytes)}. Don’t compare "
            "their seconds."
        )
    return found


def headline(pair: Pair) -> str:
    """How many of the shared cells are alike, slower, faster."""
    levels = [found["level"] for found in pair.effects.values()]
    base, other = pair.base.letter, pair.side.letter
    if not levels:
        return f"{base} and {other} have no cell with downloads in common, so there is nothing to compare."
    within = f"{rules.HOLDS_WITHIN * 100:g} %"
    texts = {
        "holds": f"alike within {within}",
        "slower": f"slower by more than {within}",
        "faster": f"faster by more than {within}",
        "unclear": "not clear",
        "cant_tell": "can’t be told",
    }
    parts = [f"{levels.count(level)} {text}" for level, text in texts.items() if level in levels]
    return f"Of {len(levels)} shared cells, the median download of {other} against {base}: {listed(parts)}."


def _side(letter: str, path: Path) -> Side:
    run = load(path)
    found = [measured(cell) for cell in cells(run)]
    return Side(letter, run, {one.key: one for one in found if one.figures["count"]})


def _effects(base: Side, side: Side) -> dict[Key, dict[str, Any]]:
    found = {}
    for key in sorted(base.cells.keys() & side.cells.keys()):
        ours, theirs = side.cells[key], base.cells[key]
        result = effect(ours.everything, theirs.everything)
        if ours.object_bytes is None or ours.object_bytes != theirs.object_bytes:
            # The ratio would be one of sizes.
            nothing = dict.fromkeys(("ratio_of_medians", "ratio_of_means", "cliffs_delta"))
            result |= nothing | {"level": "cant_tell", "why": "the objects differ in size, or their size isn’t known"}
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
                "differences": differences(pair.base.run, pair.side.run),
                "grid": _grid(pair),
                "picture": _picture(pair),
                "alone": _alone(pair),
                "whys": sorted({found["why"] for found in pair.effects.values() if found["why"]}),
            }
            for pair in pairs
        ],
        "facts": [_facts(side) for side in sides],
        "warnings": [
            f"{side.letter}: {text}" for side in sides for text in [*unfinished.sentences(side.run), *side.run.warnings]
        ],
        "settings": _settings(sides),
        "csv": downloads.embedded("comparison.csv", "comparison.csv", _csv(pairs), "text/csv"),
    }


def _facts(side: Side) -> list[tuple[str, str]]:
    run = side.run
    return [
        ("measured on", run.source),
        ("object", size_words(run.object_bytes) if run.object_bytes else "unknown or mixed"),
        ("downloads", f"{sum(cell.figures['count'] for cell in side.cells.values()):,}"),
        ("errors", f"{len(run.errors):,}"),
        ("started", environment.moment(run.manifest.get("started_at")) or "unknown"),
    ]


def _grid(pair: Pair) -> Grid:
    base, other = pair.base.letter, pair.side.letter
    with_way = told_apart(pair.effects)
    heads = head_columns(with_way)
    columns = [
        *heads,
        *(Column("count", letter) for letter in (base, other)),
        *(Column("median s", letter) for letter in (base, other)),
        Column("median ×"),
        Column("95 %"),
        Column("Cliff’s delta"),
        Column("95 %"),
        *(Column("Mbit/s per function", letter) for letter in (base, other)),
        *(Column("most at once", letter) for letter in (base, other)),
        Column("says", words=True),
    ]
    rows = [[*coordinates(key, with_way), *_row(pair, key, found)] for key, found in pair.effects.items()]
    return Grid(pair.name, f"{other} against {base}, cell by cell", columns, single_lines(rows), heads=len(heads))


def _row(pair: Pair, key: Key, found: Mapping[str, Any]) -> list[Entry]:
    both = [side.cells[key].figures for side in (pair.base, pair.side)]
    ratio, delta = found["ratio_of_medians"], found["cliffs_delta"]
    speeds = [cell["mbit_per_s"]["per_function"] for cell in both]
    return [
        *(number(cell["count"]) for cell in both),
        *(number(cell["seconds"]["median_s"], seconds(cell["seconds"]["median_s"])) for cell in both),
        number(ratio and ratio["value"], ratio and f"{ratio['value']:.2f}"),
        number(ratio and ratio["low"], between(ratio, "{:.2f}"), "interval"),
        number(delta and delta["value"], delta and f"{delta['value']:+.2f}"),
        number(delta and delta["low"], between(delta, "{:+.2f}"), "interval"),
        *(number(value, speed(value)) for value in speeds),
        *(number(cell["parallelism"] and cell["parallelism"]["most_at_once"]) for cell in both),
        words(LEVELS[found["level"]], found["level"]),
    ]


def _picture(pair: Pair) -> Picture | None:
    lines = [
        run_ratios.Line(key, found["ratio_of_medians"])
        for key, found in pair.effects.items()
        if found["ratio_of_medians"]
    ]
    figure = run_ratios.draw(lines, rules.HOLDS_WITHIN)
    if figure is None:
        return None
    title = f"Median download of {pair.side.letter} over that of {pair.base.letter}"
    reading = run_ratios.READING.replace("{within}", f"{rules.HOLDS_WITHIN * 100:g}")
    name = f"ratios-{pair.side.letter}"
    return Picture(name, title, run_ratios.words(lines), reading, drawing.svg(figure), b"")


def _alone(pair: Pair) -> list[str]:
    """Cells with downloads in one of the two runs only."""
    found = []
    for side, other in ((pair.base, pair.side), (pair.side, pair.base)):
        missing = sorted(side.cells.keys() - other.cells.keys())
        if missing:
            found.append(f"Only {side.letter} has {listed([key_words(key) for key in missing])}.")
    return found


def _settings(sides: Sequence[Side]) -> list[tuple[str, list[str]]]:
    """(label, text of each run) for whatever in run.json differs."""
    tables = [
        {f"{heading}: {label}": text for heading, lines in environment.groups(side.run) for label, text in lines}
        for side in sides
    ]
    labels = list(dict.fromkeys(label for table in tables for label in table))
    rows = [(label, [table.get(label, "–") for table in tables]) for label in labels]
    return [(label, texts) for label, texts in rows if len(set(texts)) > 1]


def _csv(pairs: Sequence[Pair]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("value", "low", "high")
    writer.writerow(
        ["run", "against", "memory_size_mb", "concurrency", "count", "base_count"]
        + [f"ratio_of_medians_{name}" for name in names]
        + [f"cliffs_delta_{name}" for name in names]
        + ["level", "method", "sink"]
    )
    for pair in pairs:
        for key, found in pair.effects.items():
            figures = [
                (found[part] or {}).get(name, "") for part in ("ratio_of_medians", "cliffs_delta") for name in names
            ]
            runs = [pair.side.run.run_id, pair.base.run.run_id]
            counts = [found["count"], found["base_count"]]
            writer.writerow([*runs, key.memory_mb, key.n, *counts, *figures, found["level"], *key.way])
    return text.getvalue()
