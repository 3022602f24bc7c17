"""What every section is rendered from, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from experiments import Experiment
from stampede.cell import Cell, distinguishing, is_query
from stampede.phrases import listed
from stampede.report import templating
from stampede.report.accounting import AccountBook, account_book
from stampede.report.beside import Beside
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject
from stampede.report.grid import Column, Entry, Grid, Row, coordinates, head_columns, single_lines
from stampede.report.run import Run
from stampede.report.statistics import drift
from stampede.report.summary import Summary

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Block:
    """A section of the page: its id, its heading, in the navigation too, the HTML below it, and its pictures."""

    name: str
    heading: str
    html: Markup
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Page:
    """A run and everything that was counted of it: its statistics, the rows of the saved query, and the same beside the
    published ones."""

    run: Run
    numbers: Figures
    summary: Summary
    beside: Beside

    @property
    def experiment(self) -> Experiment:
        return self.run.experiment

    @cached_property
    def book(self) -> AccountBook:
        """Where every message went."""
        return account_book(self.run)

    @cached_property
    def subject(self) -> Subject:
        """What its pictures are drawn from."""
        return Subject.of(self.experiment, self.numbers)

    @cached_property
    def shown_axes(self) -> frozenset[str]:
        """The axes with a default that cells must name."""
        return distinguishing(map(self.key, self.numbers["cells"]))

    @cached_property
    def split_by(self) -> str:
        """The axes that only records show and that split planned cells into rows, in words; "" where none does."""
        keys = [self.key(cell) for cell in self.numbers["cells"]]
        if len({key.on(self.experiment.planned_axes) for key in keys}) == len(keys):
            return ""
        of_records = [axis for axis in self.experiment.axes if not axis.variable]
        return listed([axis.label for axis in of_records if len({key[axis.name] for key in keys}) > 1])

    @cached_property
    def floods(self) -> str:
        """What cells were sent in, in words: `rounds`, `repeats` or both; "" where each was sent at once."""
        overlaps = [cell["parallelism"] for cell in self.numbers["cells"] if cell["parallelism"]]
        rounds = any("rounds" in overlap for overlap in overlaps)
        repeats = any(overlap["repeats"] > 1 for overlap in overlaps)
        return listed(["rounds"] * rounds + ["repeats"] * repeats)

    @property
    def warm_ups(self) -> str:
        """What the messages are that no figure counts: warm-ups, or where none were planned, those that prepare a
        cell for its shared list."""
        planned = (self.run.manifest.get("plan") or {}).get("warm_up_per_concurrency")
        is_prepared = self.experiment.shared_list and self.numbers["totals"]["warm_ups"] and not planned
        return "preparing messages" if is_prepared else "warm-ups"

    def key(self, figures: Figures) -> Cell:
        """The coordinates of a cell of statistics.json, on the axes that it has."""
        return Cell.of_figures([axis for axis in self.experiment.axes if axis.name in figures], figures)

    def figure_of(self, cell: Figures, field: str) -> float | None:
        """The metric of a cell of statistics.json that is made of this field of its records."""
        names = [metric.name for metric in self.experiment.metrics if metric.field == field]
        return cell["client"][names[0]] if names else None

    def is_query(self, key: Cell) -> bool:
        """Whether Athena carried the operations of this cell out, and no function."""
        return is_query(key, self.experiment)

    @property
    def has_queries(self) -> bool:
        """Whether Athena carried any cell out."""
        return any(self.is_query(self.key(cell)) for cell in self.numbers["cells"])

    def drift(self, rows: Sequence[Figures]) -> str:
        """Whether the intervals of these rows, which compare cells, contain what drifted."""
        return drift.sentence(rows, self.numbers["cells"])

    def drift_within(self, rows: Sequence[Figures]) -> str:
        """The same of rows that compare what comes first in a cell with what comes later there."""
        is_drift_in = all(row.get("rounds") is not None for row in rows)
        return "" if is_drift_in else drift.FIRST_AT_ONE_TIME

    def block(
        self, name: str, heading: str, pictures: Sequence[Picture] = (), /, template: str = "", **more: Any
    ) -> Block:
        """The section `name`, by its macro in `template`, which usually has the same name. Pictures that have nothing
        to show are left out."""
        operation, operations = self.experiment.operation
        worker, workers = self.experiment.worker
        shown = [picture for picture in pictures if picture.figure]
        html = templating.section(
            template or name,
            name,
            run=self.run,
            numbers=self.numbers,
            split_by=self.split_by,
            floods=self.floods,
            warm_ups=self.warm_ups,
            pictures=shown,
            operation=operation,
            operations=operations,
            worker=worker,
            workers=workers,
            **more,
        )
        return Block(name, heading, html, shown)

    def grid(
        self,
        name: str,
        caption: str,
        columns: Sequence[Column],
        lines: Sequence[tuple[Figures, list[Entry]]],
        foot: Row | None = None,
        more_heads: int = 0,
    ) -> Grid:
        """A table of cells: each line's coordinates, then its entries, the first `more_heads` of which name it too."""
        heads = head_columns(self.key(lines[0][0]).axes if lines else self.experiment.axes, self.shown_axes)
        rows = [[*coordinates(self.key(figures), self.shown_axes), *entries] for figures, entries in lines]
        return Grid(name, caption, [*heads, *columns], single_lines(rows), foot, heads=len(heads) + more_heads)
