"""Sets runs side by side, each against the first, as one self-contained page."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stampede.cell import Cell, distinguishing
from stampede.phrases import listed, seconds, size_words
from stampede.report import sdks, templating, unfinished
from stampede.report.figures.run_ratios import RunRatios
from stampede.report.grid import (
    LEVELS,
    Column,
    Grid,
    coordinates,
    head_columns,
    number,
    ratio,
    single_lines,
    words,
)
from stampede.report.measured import moved_label, moved_words, speed_of
from stampede.report.run import NoReport, Run, load
from stampede.report.sections import about, downloads
from stampede.report.statistics import rules
from stampede.report.statistics.cell_figures import Measured, measured
from stampede.report.statistics.comparisons import SIZES_DIFFER, same_size, took_words
from stampede.report.statistics.effect import effect, incomparable, refusal
from stampede.report.statistics.selection import cells
from stampede.report.statistics.verdict import reservations
from stampede.runs.folder import RunFolder, write_where_typed
from stampede.tables import for_spreadsheets

PAGE = "comparison.html"


@dataclass(frozen=True)
class Side:
    """One run of the comparison: its letter, the run, its cells, and what must be said with its figures."""

    letter: str
    run: Run
    cells: Mapping[Cell, Measured]
    reservations: Sequence[str] = ()


@dataclass(frozen=True)
class Pair:
    """A later run against the first: {cell: effect} of the cells that both have times in. The intervals of those that
    can be compared, so many, hold `together`."""

    base: Side
    side: Side
    effects: Mapping[Cell, Mapping[str, Any]]
    together: int = 0

    @property
    def operation(self) -> tuple[str, str]:
        """What is timed, one and many."""
        return self.base.run.experiment.operation

    @property
    def name(self) -> str:
        """For ids on the page."""
        return f"against-{self.side.letter}"


class Comparison(NamedTuple):
    """The path of the page, its answers, and what it says first: how the runs differ otherwise, and what is missing."""

    page: Path
    headlines: list[str]
    differences: list[str]
    warnings: list[str]


def compare(run_dirs: Sequence[Path], output: Path) -> Comparison:
    """Write the page that sets the runs of `run_dirs` against the first; `output` is the file or a folder for it.

    Raises NoReport for fewer than two runs, one named twice, runs of different experiments, or one that can't be
    reported; OSError.
    """
    if len(run_dirs) < 2:
        raise NoReport("a comparison needs at least two results folders; name the baseline first")
    if len({path.resolve() for path in run_dirs}) < len(run_dirs):
        raise NoReport("a results folder is named twice; name two different runs")
    if len(run_dirs) > 26:
        raise NoReport(f"{len(run_dirs)} results folders are too many for a comparison; name at most 26")
    sides = []
    for at, path in enumerate(run_dirs):
        run = load(path)
        own = [measured(cell, run.experiment) for cell in cells(run)]
        timed = {cell.key: cell for cell in own if cell.figures["count"]}
        sides.append(Side(chr(ord("A") + at), run, timed, reservations(run, [cell.figures for cell in own])))
    if len(names := list(dict.fromkeys(side.run.experiment.name for side in sides))) > 1:
        raise NoReport(f"runs of {listed(names)} can’t be compared; name runs of one experiment")
    pairs = [_pair(sides[0], side) for side in sides[1:]]
    path = output if output.suffix == ".html" else output / PAGE
    context = _context(sides, pairs)
    write_where_typed(path, templating.page("templates/comparison.html.j2", context))
    differing = [sentence for pair in pairs for sentence in differences(pair)]
    return Comparison(path, [headline(pair) for pair in pairs], differing, _warnings(sides, pairs, on_page=False))


def _pair(base: Side, side: Side) -> Pair:
    """Each common cell of both, with intervals that hold together."""
    refusals: dict[Cell, str | None] = {}
    for key in sorted(base.cells.keys() & side.cells.keys()):
        ours, theirs = side.cells[key], base.cells[key]
        if same_size(ours, theirs, base.run.experiment):
            refusals[key] = refusal(ours.everything, theirs.everything)
        else:
            # The ratio would be one of sizes.
            refusals[key] = SIZES_DIFFER
    together = list(refusals.values()).count(None)
    effects = {}
    for key, why in refusals.items():
        ours, theirs = side.cells[key].everything, base.cells[key].everything
        if why:
            effects[key] = incomparable(ours, theirs, why)
        else:
            # A run beside its copy would have the same resamples, and a difference of 0 that looks certain.
            apart = ours.drawn_apart(f"{key.words}, {side.letter}")
            effects[key] = effect(apart, theirs, together)
    return Pair(base, side, effects, together)


def differences(pair: Pair) -> list[str]:
    """What the two runs don't have in common and should, in sentences; [] when they can be compared as they are."""
    base, other = pair.base.run, pair.side.run
    sentences = []
    if base.source != other.source:
        sentences.append(f"Different targets: {base.source} and {other.source}.")
    if not all(same_size(pair.side.cells[key], pair.base.cells[key], base.experiment) for key in pair.effects):
        sentences.append(f"Different sizes: {moved_words(base)} against {moved_words(other)}. Don’t compare seconds.")
    sentences += sdks.between(base, other)
    stand_ins = [side.run.stand_ins(side.run.cell_keys()) for side in (pair.base, pair.side)]
    for side, own, of_other in zip((pair.base, pair.side), stand_ins, reversed(stand_ins), strict=True):
        for stand_in, names in own.items():
            if stand_in not in of_other:
                replaced = listed(names)
                sentences.append(
                    f"In {side.letter}, the stand-in for {replaced} was {stand_in.short}, so it says nothing about "
                    f"{replaced}."
                )
    return sentences


def _caveats(sides: Sequence[Side], pairs: Sequence[Pair]) -> list[str]:
    """What must be said with the figures; what is so of every run once."""
    letters: dict[str, list[str]] = {}
    for side in sides:
        for sentence in side.reservations:
            letters.setdefault(sentence, []).append(side.letter)
    caveats = []
    if any(result["why"] is None for pair in pairs for result in pair.effects.values()):
        caveats.append(
            "The runs weren’t interleaved, so a difference may be drift, which is in none of these intervals."
        )
    for sentence, own in letters.items():
        caveats.append(sentence if len(own) == len(sides) else f"{listed(own)}: {sentence}")
    return caveats


def headline(pair: Pair) -> str:
    """Whether the second run is faster or slower, over the cells that both have."""
    base, other, (one, many) = pair.base.letter, pair.side.letter, pair.operation
    if not pair.effects:
        return f"{base} and {other} have no cell with {many} in common, so there is nothing to compare."
    comparable = [result for result in pair.effects.values() if result["level"] != "cant_tell"]
    common = "the only common cell" if len(pair.effects) == 1 else f"the {len(pair.effects)} common cells"
    if not comparable:
        return f"Whether {other} is faster or slower than {base} is unknown in {common}."
    ratios = [result["ratio_of_medians"] for result in comparable]
    took = took_words({"low": min(ratio["low"] for ratio in ratios), "high": max(ratio["high"] for ratio in ratios)})
    rest = len(pair.effects) - len(comparable)
    where = f"{len(comparable)} of {common}" if rest else common
    # An interval wider than the band of "as fast" shows no absence of a difference.
    is_wide = any(ratio["high"] - ratio["low"] > 2 * rules.HOLDS_WITHIN for ratio in ratios)
    claim = _claim(other, base, where, [result["level"] for result in comparable], is_wide)
    unknown = f" The other {rest if rest > 1 else 'one'} can’t be compared." if rest else ""
    return f"{claim}: the median {one} of {other} took {took} as long.{unknown}"


def _claim(other: str, base: str, where: str, levels: Sequence[str], is_wide: bool) -> str:
    """How the second run compares with the first, both by their letters."""
    counts = Counter(levels)
    if set(counts) == {"holds"}:
        return f"{other} is as fast (within {rules.WITHIN}) as {base} in {where}"
    if set(counts) == {"unclear"}:
        difference = f"faster or slower (by {rules.WITHIN} or more) than {base} in {where}"
        if is_wide:
            return f"Too few measurements to tell whether {other} is {difference}"
        return f"{other} is not measurably {difference}"
    if len(counts) == 1:
        return f"{other} is {levels[0]} (by more than {rules.WITHIN}) than {base} in {where}"
    words = {"holds": f"as fast as {base}", "slower": f"slower than {base}", "faster": f"faster than {base}"}
    cases = listed([f"{words[level]} in {counts[level]}" for level in words if level in counts])
    unclear = f" (inconclusive in {counts['unclear']})" if counts["unclear"] else ""
    return f"In {where}, {other} is {cases}{unclear}"


def _context(sides: Sequence[Side], pairs: Sequence[Pair]) -> dict[str, Any]:
    """What the template shows."""
    return {
        "sides": sides,
        "caveats": _caveats(sides, pairs),
        "pairs": [
            {
                "name": pair.name,
                "title": f"{pair.side.letter} against {pair.base.letter}",
                "headline": headline(pair),
                "differences": differences(pair),
                "grid": _grid(pair),
                "picture": _picture(pair),
                "alone": _alone(pair),
                "together": pair.together,
                # Which side has how many measurements stands in the table.
                "whys": sorted(
                    {result["why"].partition(", but")[0] for result in pair.effects.values() if result["why"]}
                ),
            }
            for pair in pairs
        ],
        "facts": [_facts(side) for side in sides],
        "warnings": _warnings(sides, pairs, on_page=True),
        "settings": _settings(sides),
        "csv": downloads.embedded("comparison.csv", "comparison.csv", _csv(pairs), "text/csv"),
    }


def _warnings(sides: Sequence[Side], pairs: Sequence[Pair], *, on_page: bool) -> list[str]:
    """What is missing in the runs; a page may be read elsewhere, so its commands name no folder of this machine."""
    warnings = []
    for side in sides:
        resume = None if on_page else RunFolder(side.run.directory).as_argument
        warnings += [f"{side.letter}: {text}" for text in (*unfinished.sentences(side.run, resume), *side.run.warnings)]
    for pair in pairs:
        if pair.side.run.run_id == pair.base.run.run_id:
            letters = f"{pair.base.letter} and {pair.side.letter}"
            warnings.append(f"{letters} are the same run, {pair.side.run.run_id}, from two folders.")
    return warnings


def _facts(side: Side) -> list[tuple[str, str]]:
    run, (_, many) = side.run, side.run.experiment.operation
    stand_ins = run.stand_ins(run.cell_keys())
    return [
        ("measured on", run.source),
        (moved_label(run), moved_words(run)),
        *(("stand-in", f"{stand_in.short} for {listed(names)}") for stand_in, names in stand_ins.items()),
        (many, f"{sum(cell.figures['count'] for cell in side.cells.values()):,}"),
        ("errors", f"{int((run.operations['is_error'] & ~run.operations['is_warm_up']).sum()):,}"),
        ("started", about.moment(run.manifest.get("started_at")) or "unknown"),
    ]


def _grid(pair: Pair) -> Grid:
    letters, experiment = (pair.base.letter, pair.side.letter), pair.base.run.experiment
    named_axes = distinguishing(pair.effects)
    heads = head_columns(experiment.axes, named_axes)
    columns = [
        *heads,
        *(Column("count", letter) for letter in letters),
        *(Column("median s", letter) for letter in letters),
        Column("median ×"),
        Column("95 %"),
        *(Column(f"{experiment.speed.unit} per {experiment.worker[0]}", letter) for letter in letters),
        *(Column("peak concurrency", letter) for letter in letters),
        Column("result", words=True),
    ]
    rows = []
    for key, result in pair.effects.items():
        both = [side.cells[key].figures for side in (pair.base, pair.side)]
        # Of what the ratio is made of: operations that an earlier delivery had begun aren't in it.
        samples = [side.cells[key].everything for side in (pair.base, pair.side)]
        medians = [sample.median if len(sample) else None for sample in samples]
        speeds = [speed_of(cell, experiment) for cell in both]
        row = [
            *coordinates(key, named_axes),
            *(number(len(sample)) for sample in samples),
            *(number(median_s, seconds(median_s)) for median_s in medians),
            *ratio(result["ratio_of_medians"]),
            *(number(speed, speed and f"{speed:,.{experiment.speed.digits}f}") for speed in speeds),
            *(number(cell["parallelism"] and cell["parallelism"]["most_at_once"]) for cell in both),
            words("= as fast" if result["level"] == "holds" else LEVELS[result["level"]], result["level"]),
        ]
        rows.append(row)
    caption = f"{pair.side.letter} against {pair.base.letter}, cell by cell"
    return Grid(pair.name, caption, columns, single_lines(rows), heads=len(heads))


def _picture(pair: Pair) -> RunRatios:
    ratios = {key: result["ratio_of_medians"] for key, result in pair.effects.items() if result["ratio_of_medians"]}
    return RunRatios(pair.operation[0], pair.side.letter, pair.base.letter, ratios)


def _alone(pair: Pair) -> list[str]:
    """Cells with times in one of the two runs only."""
    sentences, named_axes = [], distinguishing(pair.base.cells.keys() | pair.side.cells.keys())
    for side, other in ((pair.base, pair.side), (pair.side, pair.base)):
        if missing := sorted(side.cells.keys() - other.cells.keys()):
            names = [key.words_without((), named_axes) for key in missing]
            sentences.append(f"Only in {side.letter}: {'; '.join(names)}.")
    return sentences


def _settings(sides: Sequence[Side]) -> list[tuple[str, list[str]]]:
    """(label, text of each run) for whatever in run.json differs."""
    tables: list[dict[str, str]] = []
    for side in sides:
        lines = {f"Run: {label}": text for label, text in about.environment_lines(side.run)}
        for name in ("account", "plan"):
            settings = _flattened(_short(side.run.manifest.get(name)))
            lines |= {f"{name.capitalize()}: {label}": text for label, text in settings}
        tables.append(lines)
    labels = dict.fromkeys(label for table in tables for label in table)
    rows = [(label, [table.get(label, "–") for table in tables]) for label in labels]
    return [(label, texts) for label, texts in rows if len(set(texts)) > 1]


def _short(part: object) -> object:
    """`part` without the lists of the cells and of their settings, which are as long as the run, without what --target
    was (the run's own says more), without an empty list of further products, without the paths of files on this
    machine, and without what the plan's own options say: of warm-ups, those that prepare a shared list are none of the
    plan's."""
    if not isinstance(part, Mapping):
        return part
    left_out = {"order", "cells", "rest", "target", "paths", "warm_up_messages", "start_barrier"} | (
        {"also"} if not part.get("also") else set()
    )
    return {name: value for name, value in part.items() if name not in left_out}


def _flattened(value: object, prefix: str = "") -> list[tuple[str, str]]:
    """The leaves of a JSON value as (label, text), labels like `fixed: object size mb`; null is `not set`."""
    if isinstance(value, Mapping):
        named = ((f"{prefix}: {name}" if prefix else name, part) for name, part in value.items())
        return [pair for name, part in named for pair in _flattened(part, name)]
    label = prefix.replace("_", " ")
    if prefix.endswith("_bytes") and type(value) is int:
        return [(label.removesuffix(" bytes"), size_words(value))]
    if isinstance(value, list) and any(isinstance(part, Mapping | list) for part in value):
        return [pair for at, part in enumerate(value, start=1) for pair in _flattened(part, f"{prefix} {at}")]
    text = ", ".join(map(_text, value)) or "none" if isinstance(value, list) else _text(value)
    return [(label, text)] if prefix else []


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _csv(pairs: Sequence[Pair]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    axes = pairs[0].base.run.experiment.axes
    ends = ("value", "low", "high")
    plain = [axis.name for axis in axes if not axis.is_variant]
    variants = [axis.name for axis in axes if axis.is_variant]
    head = ["run", "against", *plain, "count", "base_count"]
    writer.writerow([*head, *(f"ratio_of_medians_{end}" for end in ends), "level", *variants])
    for pair in pairs:
        for key, result in pair.effects.items():
            runs = [pair.side.run.run_id, pair.base.run.run_id]
            counts = [result["count"], result["base_count"]]
            figures = [(result["ratio_of_medians"] or {}).get(end, "") for end in ends]
            row = [*runs, *(key[name] for name in plain), *counts, *figures, result["level"], *key.variant]
            writer.writerow(map(for_spreadsheets, row))
    return text.getvalue()
