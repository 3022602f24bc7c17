"""Operations of a run as arrays, a column a field, as its store gives them: -1 or NaN where one isn't known."""

from collections.abc import Mapping

import numpy as np

Columns = Mapping[str, np.ndarray]
UNKNOWN = -1


def count(columns: Columns) -> int:
    """How many they are."""
    return len(columns["line"])


def chosen(columns: Columns, which: np.ndarray) -> Columns:
    """Those that a mask or an array of positions picks out; a mask of all picks these, without a copy."""
    if which.dtype == bool and which.all():
        return columns
    return {name: column[which] for name, column in columns.items()}


def none_of(columns: Columns) -> Columns:
    """The same columns, empty."""
    return chosen(columns, np.array([], dtype=np.int64))


def together(*parts: Columns) -> Columns:
    """All of them, one after the other, without a copy of the only ones."""
    some = [part for part in parts if count(part)] or list(parts[:1])
    return some[0] if len(some) == 1 else {name: np.concatenate([part[name] for part in some]) for name in some[0]}


def known(columns: Columns, name: str) -> np.ndarray | None:
    """The column `name`; None where one of them lacks it, or there is none."""
    column = columns.get(name)
    if column is None or not len(column):
        return None
    missing = np.isnan(column) if column.dtype.kind == "f" else column == UNKNOWN
    return None if missing.any() else column


def grouped(columns: Columns, name: str) -> dict[int, Columns]:
    """Them by their whole numbers in the column `name`, in the order of these."""
    numbers = columns[name]
    if not len(numbers):
        return {}
    if numbers.min() == numbers.max():
        return {int(numbers[0]): columns}
    order = np.argsort(numbers, kind="stable")
    distinct, starts = np.unique(numbers[order], return_index=True)
    places = np.split(order, starts[1:])
    return {number: chosen(columns, which) for number, which in zip(distinct.tolist(), places, strict=True)}
