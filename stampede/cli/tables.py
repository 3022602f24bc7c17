"""Prints rows on stdout as a table, CSV or JSON."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table

from stampede import terminal

# Between two columns, and the width to which a text may be folded before a column is left out.
GAP, LEAST_TEXT = 2, 20


def print_rows(
    rows: Sequence[dict[str, Any]],
    form: str,
    columns: Sequence[str] | None = None,
    headings: Mapping[str, str] | None = None,
) -> None:
    """Print `rows` on stdout; `columns` gives order and header (default: the union of the rows' keys, in order), and
    `headings` what a table has over a column instead of its key."""
    names = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
    if form == "json":
        print(json.dumps(list(rows), indent=2))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    else:
        _print_table(rows, names, headings or {})


def _print_table(rows: Sequence[dict[str, Any]], names: Sequence[str], headings: Mapping[str, str]) -> None:
    """A table that fits the terminal: texts are folded, then the last columns left out and named. A pipe gets all."""
    width = terminal.console().width
    heads = {name: headings.get(name, name) for name in names}
    texts = {name: [_cell(row.get(name)) for row in rows] for name in names}
    numeric = {name for name in names if any(texts[name]) and all(map(_is_number, texts[name]))}
    natural = {name: max(_width(text) for text in (heads[name], *texts[name])) for name in names}
    least = {name: natural[name] if name in numeric else min(natural[name], LEAST_TEXT) for name in names}
    places = terminal.fitting([least[name] + GAP for name in names], width + GAP, range(len(names)))
    shown = names[: max(1, len(places))]
    widths = _widths({name: (least[name], natural[name]) for name in shown}, width)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for name in shown:
        table.add_column(
            heads[name], justify="right" if name in numeric else "left", overflow="fold", width=widths[name]
        )
    for row in zip(*(texts[name] for name in shown), strict=True):
        table.add_row(*row)
    terminal.show(table)
    if missing := names[len(shown) :]:
        print(terminal.left_out(width, [" ".join(heads[name].split()) for name in missing]))


def _widths(bounds: Mapping[str, tuple[int, int]], width: int) -> dict[str, int]:
    """The width of each column between its least and its natural one, so that all of them fit into `width`."""
    spare = max(0, width - sum(least + GAP for least, _ in bounds.values()) + GAP)
    found = {}
    by_need = sorted(bounds, key=lambda name: bounds[name][1] - bounds[name][0])
    for place, name in enumerate(by_need):
        least, natural = bounds[name]
        more = min(natural - least, spare // (len(by_need) - place))
        found[name], spare = least + more, spare - more
    return found


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _is_number(text: str) -> bool:
    """Whether it is one, or nothing."""
    return not text or re.fullmatch(r"-?[\d,]+(\.\d+)?(e[+-]?\d+)?", text) is not None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
