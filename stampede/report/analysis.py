"""Everything counted for a run, for its page and for statistics.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments import Experiment
from stampede.cell import Cell
from stampede.experiment import Compare
from stampede.report import cells, economy, findings
from stampede.report.cells import Figures
from stampede.report.findings import Finding
from stampede.report.messages import Account, account_of, failures
from stampede.report.run import Run
from stampede.runs import evidence

FORMAT = 2
_SUCCEEDED_OF_SENT = """
WITH messages AS (
    SELECT DISTINCT coalesce(seq || ' of ' || cell, message_id) AS message
    FROM sent WHERE NOT coalesce(warm_up = 1, false)
), successes AS (SELECT message FROM operations WHERE is_first_success)
SELECT count(*), count(*) FILTER (message IN (FROM successes)) FROM messages
"""


@dataclass(frozen=True)
class Analysis:
    """A run, its cells, and the findings of comparing them."""

    run: Run
    cells: Mapping[Cell, Figures]
    findings: list[Finding]
    totals: Mapping[str, int | None]

    @property
    def experiment(self) -> Experiment:
        return self.run.experiment

    @cached_property
    def account(self) -> Account:
        """The account of all messages."""
        return account_of(self.run)

    @cached_property
    def of_headline(self) -> dict[Cell, Figures]:
        """The cells that the headline is about; all cells if no cell with a time is among them."""
        wanted = self.experiment.headline_of.items()
        chosen = {
            cell: figures
            for cell, figures in self.cells.items()
            if figures.count and all(cell[name] == value for name, value in wanted)
        }
        return chosen or dict(self.cells)

    def compares(self, kind: str) -> list[Compare]:
        """The declared comparisons of this kind, except of the headline's cells with others."""
        declared = self.experiment
        apart = declared.headline_of.keys()
        return [
            compare
            for compare in declared.compare
            if compare.kind == kind and not apart & set(compare.axes)
        ]

    @cached_property
    def planned(self) -> list[Figures]:
        """The first row of each planned cell: rows that only records tell apart share its messages
        and floods."""
        by_plan: dict[Cell, Figures] = {}
        for cell, figures in self.cells.items():
            by_plan.setdefault(cell.on(self.experiment.planned_axes), figures)
        return list(by_plan.values())

    @cached_property
    def successes(self) -> tuple[int, int | None]:
        """How many messages succeeded, and how many were sent (None if unknown), warm-ups aside."""
        if "sent" not in self.run.store.files:
            return self.totals["downloads"] or 0, None
        [(sent, succeeded)] = self.run.store.rows(_SUCCEEDED_OF_SENT)
        return succeeded, sent

    @cached_property
    def contradictions(self) -> list[str]:
        """The assumptions about AWS that the run contradicts, as sentences."""
        return evidence.contradictions(self.run.directory)


def analyse(run: Run) -> Analysis:
    """Count and compare the cells of a run."""
    measured = cells.measure(run)
    timed = [figures for figures in measured.values() if figures.count]
    compared = [
        *economy.by_size(run, timed),
        *economy.by_memory(run, timed),
        *findings.find(timed, run.experiment),
    ]
    return Analysis(run, measured, compared, cells.totals(run, measured))


def as_dict(analysis: Analysis, headline: str, caveats: list[str]) -> dict[str, Any]:
    """The content of statistics.json."""
    run = analysis.run
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "experiment": run.experiment.name,
        "target": run.target,
        "headline": headline,
        "caveats": caveats,
        "totals": dict(analysis.totals),
        "cells": [figures.as_dict() for figures in analysis.cells.values()],
        "findings": [finding.as_dict() for finding in analysis.findings],
        "failures": [vars(failure) for failure in failures(run, analysis.account)],
    }
