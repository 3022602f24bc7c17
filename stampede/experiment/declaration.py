"""What a declaration of an experiment consists of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Self

from stampede.experiment.axes import Axis, n_axis
from stampede.experiment.by_size import BySize
from stampede.experiment.capabilities import (
    AthenaQueries,
    Execution,
    PassingRefusal,
    Seeding,
    SharedList,
)
from stampede.experiment.metrics import MBIT_PER_S, Metric
from stampede.experiment.objects import DataObject
from stampede.experiment.usage import Usage
from stampede.experiment.values import Values
from stampede.finding import Finding
from stampede.model.parameters import Parameter, Parameters
from stampede.model.work import Work

# What every report ends with.
LAST_SECTIONS = (
    "prediction",
    "server_side",
    "evidence",
    "errors",
    "accounting",
    "cost",
    "environment",
    "counting",
    "downloads",
)
# Terraform variables that the embedded AWS accepts and ignores, in words: cells that differ in nothing else ran alike.
IGNORED_LOCALLY = {
    "memory_size": "memory",
    "architecture": "architecture",
    "region": "region",
    "provisioned_pollers": "provisioned pollers",
}
# A run in which this share of the objects failed has failed itself (docs/copy.md).
FAILED_RUN = 0.5


@dataclass(frozen=True)
class Matrix:
    """The default cells of a target: every combination of `swept`, with `fixed` the same in all of them.

    Each of `also` adds the combinations of `swept` with its own values laid over it; a value that stands there alone,
    and not in a tuple, is the only one that has a meaning there, and no --set changes it. `rest` gives a variable that
    nobody set its value from a cell's others; an axis of the work order that isn't there either stands at its default.
    """

    swept: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    also: Sequence[Mapping[str, Any]] = ()
    rest: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class StandIn:
    """What stands locally in the place of a service that the embedded AWS lacks: `short` marks a row, `sentence` says
    with the table what its figures are worth."""

    short: str
    sentence: str


@dataclass(frozen=True)
class Published:
    """A published table beside which ours stands: `experiments/<name>/published/<file>.csv`.

    Its columns are named as ours are (axes, the five of the time, metrics), but for those in `columns` (ours: its own);
    axes that it has no column for stand at `fixed`, else at their default. `object_bytes` is what one operation moved
    there and `moved` the noun for it, or `objects` how many objects, where their size decides nothing; where rows
    differ in that, `objects_axis` is the axis that tells it. `reading` says how its speeds were counted, where that was
    otherwise than ours. `cell` gives the values of axes that a row says in words of its own. `only` are the rows that
    count, by column; rows of one cell are several runs of it, shown as their mean, and so are the columns `runs_ms`.
    Whatever a cell has on the axes `beside_any`, the row stands beside it, for its speed. What isn't `in_figure` is in
    the table alone. `work` is what the published program did, where that is another than the experiment's.
    """

    file: str
    label: str
    setting: str
    object_bytes: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    moved: str = "object"
    reading: str = ""
    cell: Callable[[Mapping[str, str]], Mapping[str, Any]] = lambda row: {}
    objects: int = 0
    objects_axis: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    runs_ms: Sequence[str] = ()
    beside_any: Sequence[str] = ()
    in_figure: bool = True
    work: Callable[[Mapping[str, Any], Parameters], Work] | None = None


@dataclass(frozen=True)
class Compare:
    """Which cells are set against each other: those that differ in `axes` alone.

    `kind` "scale": each value against the smallest, and does it hold? "choice": each against `base`, the smallest where
    that wasn't run, and which is the fastest? `name` is the key in statistics.json, `section` where a choice is shown.
    """

    name: str
    kind: Literal["scale", "choice"]
    axes: Sequence[str]
    base: tuple[Any, ...] = ()
    section: str = "choice"


class Experiment:
    """One experiment: a subclass in experiments/<name>/declaration.py names what differs from these defaults.

    A cell is its axes' values, as its records have them. What the methods are handed as `values` are a cell's, typed in
    experiments/<name>/values.py.
    """

    name: str
    question: str
    # What is timed, and what carries it out: nouns, one and many.
    operation: tuple[str, str]
    worker: tuple[str, str] = ("function", "functions")

    axes: Sequence[Axis]
    # The first is the time that records have in the second place.
    metrics: Sequence[Metric]
    # The saved query that gives the rows of cells.csv.
    query: str
    # By target, `aws` and `local`; so many messages times N are sent to each cell.
    matrices: Mapping[str, Matrix]
    messages_per_concurrency: int = 10
    # The value of a variable that is null: its row of DEFAULTS.
    defaults: Mapping[str, Any] = MappingProxyType({})
    # Variables of every experiment that have no effect on this one.
    unused: Sequence[str] = ()
    # Variables that no axis has because records say what came of them.
    recorded_variables: Sequence[str] = ()
    # Variables that the embedded AWS accepts and ignores, in words.
    ignored_locally: Mapping[str, str] = MappingProxyType(IGNORED_LOCALLY)

    # For the report. `compare` is in the order in which the headline looks for the axis that was swept.
    published: Sequence[Published] = ()
    compare: Sequence[Compare] = ()
    # By axis: the value of the cells that the headline is about, where any of them was measured.
    headline_of: Mapping[str, Any] = MappingProxyType({})
    sections: Sequence[str] = ("choice", "table", "spread", "overlap", *LAST_SECTIONS)
    # By axis: the values in whose place something else stands on the embedded AWS, those that
    # nobody has run on AWS yet, and those whose requests S3's server access logs don't have.
    stand_ins: Mapping[str, Mapping[str, StandIn]] = MappingProxyType({})
    untried: Mapping[str, Sequence[str]] = MappingProxyType({})
    not_logged: Mapping[str, Sequence[str]] = MappingProxyType({})
    # The axis on which more gains something up to a point only, with what there is more of, as a noun.
    knee: tuple[str, str] | None = None
    # The axis whose values differ in the size of one item, and the metric that counts items.
    items: tuple[str, str] | None = None
    # A variant that is compared along the size of an object.
    by_size: BySize | None = None

    # Of the stack: what it has that few endpoints offer (capabilities.py), outputs that name buckets which Terraform
    # can't empty, or not in time, and an error of `terraform destroy` that passes.
    needs: Sequence[str] = ()
    emptied_before_destroy: Sequence[str] = ()
    passing_refusal: PassingRefusal | None = None
    seeding: Seeding | None = None
    shared_list: SharedList | None = None
    athena: AthenaQueries | None = None
    # Whether a message's body is the user's own (--payload), and what Stampede says is a message attribute.
    takes_payload: bool = False

    # A method (values, parameters): what one message does, for the model. Without it nothing is predicted.
    work: Callable[[Values, Parameters], Work] | None = None
    # A method (records, parameters, run_id, place): the experiment's own parameters as a run has measured them there.
    measured: Callable[[Iterable[Mapping[str, Any]], Parameters, str, str], Sequence[Parameter]] | None = None

    def usage(self, values: Values) -> Usage:
        """What the cell takes."""
        raise NotImplementedError(f"{self.name}: usage")

    def checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """What only this experiment has to look at, for the values of all cells."""
        return ()

    def local_checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """The same of what the embedded AWS can't do; asked where nothing else is wrong with the matrix."""
        return ()

    def objects(self, outputs: Mapping[str, Any]) -> Sequence[DataObject]:
        """What is uploaded before the first flood, as the stack's outputs say."""
        return ()

    def order(self, values: Values, objects: Sequence[DataObject]) -> dict[str, Any]:
        """What a message says besides run_id, cell, seq, warm_up and start_at_ms, as JSON; `objects` have the sizes in
        S3. An axis at 0 isn't said: 0 is none."""
        return {name: values[name] for name in self.order_axes if values[name] != 0}

    def messages(self, values: Values) -> int | None:
        """How many messages a cell has; None where that is `messages_per_concurrency` times N. It is asked with a
        plan's values and with a stack's, both with a `messages_per_concurrency`, the plan's own."""
        return None

    def of_message(self, values: Values, index: int) -> dict[str, Any]:
        """What the index-th message of a flood (from 0) says beside `order`: its share of something."""
        return {}

    def proof(self, values: Values) -> dict[str, Any] | None:
        """What a message says, beside `order`, that only shows whether the function has its permissions: one small
        operation, which changes no later measurement. None where there is no such operation."""
        return None

    def a_month(
        self,
        cell: Mapping[str, Any],
        moved_bytes: float,
        seconds: float,
        requests: float | None,
        prices: Mapping[str, float],
    ) -> tuple[float, float] | None:
        """US dollars for keeping the data a month, and for one operation; None where that isn't known."""
        return None

    def execution(self, values: Values) -> Execution | None:
        """The query that Athena carries out for each message of this cell; None for a cell of functions."""
        if self.athena is None or values[self.athena.axis] not in self.athena.values:
            return None
        return self.athena.execution(values)

    def preparation(self, values: Values) -> dict[str, Any] | None:
        """What the message says that prepares a cell; None where nothing does."""
        return None if self.shared_list is None else self.shared_list.preparation(values)

    @property
    def order_axes(self) -> dict[str, Axis]:
        """The axes that the work order sets, by its key."""
        return {axis.variable: axis for axis in self.axes if axis.in_order}

    @property
    def record_fields(self) -> dict[str, str]:
        """The record's word for each axis by what sets it."""
        return {axis.variable: axis.record_field for axis in self.axes if axis.variable}

    def is_logged(self, record: Mapping[str, Any]) -> bool:
        """Whether S3's server access logs have the requests of this record."""
        return all(record.get(axis.record_field) not in self.not_logged.get(axis.name, ()) for axis in self.axes)

    @property
    def speed(self) -> Metric:
        """The metric by which cells of any size can be compared: the first of which more is better."""
        return next((metric for metric in self.metrics if metric.better == "higher"), MBIT_PER_S)

    @property
    def time_field(self) -> str:
        """The record's word for the time of one operation, in seconds."""
        return self.metrics[0].field

    def with_(self, **changes: Any) -> Self:
        """A copy with other attributes; a function that stands in for a method is called without `self`. Raises
        TypeError for an attribute that experiments don't have."""
        if unknown := [name for name in changes if not hasattr(self, name)]:
            raise TypeError(f"an experiment has no {', '.join(unknown)}")
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed


def is_of_n(experiment: Experiment, compare: Compare) -> bool:
    """Whether `compare` sets each N against the smallest."""
    return tuple(compare.axes) == (n_axis(experiment.axes),)
