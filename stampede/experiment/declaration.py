"""What a declaration of an experiment consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from stampede.experiment.by_size import BySize
from stampede.experiment.key_plan import KeyPlan
from stampede.experiment.objects import DataObject
from stampede.experiment.usage import Usage
from stampede.finding import Finding
from stampede.model.parameters import Parameters
from stampede.model.work import Work

# Of an axis that every cell has to tell.
NEEDED = object()
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
# The record's word for N, which all experiments have in common.
CONCURRENCY = "concurrency_limit"
# A run in which this share of the objects failed has failed itself (docs/copy.md).
FAILED_RUN = 0.5


@dataclass(frozen=True)
class Axis:
    """One coordinate of a cell.

    `name` is its column in cells.csv and its key in statistics.json, `record_field` the record's own word for it, and
    `variable` what sets it: a Terraform variable of infra/, or with `in_order` a key of the work order. `words` is a
    value of it in a sentence, `label` and `unit` head its column. `kind` is `int` (1 or more) or `str`, and `allowed`
    are the values that there are (a range, or a few texts) where only those of `kind` and more don't work. Where
    `variable` is empty, only records tell it; where it is how an environment's first operation differs from later ones,
    those have the value that `later` gives from a cell's values, and the first ones the default.

    An axis with a `default` (a value, or what gives it from the values of the axes before) is one that records of
    before it, and most runs, don't tell: together such axes are the cell's way, named only where a run departs from
    it, and their columns stand behind those of the published table.
    """

    name: str
    record_field: str
    variable: str
    label: str
    words: str = "{}"
    unit: str = ""
    kind: type = int
    default: Any = NEEDED
    in_order: bool = False
    allowed: Sequence[Any] = ()
    later: Callable[[Mapping[str, Any]], Any] | None = None

    def takes(self, value: Any) -> bool:
        """Whether `value` is one of this axis."""
        if type(value) is not self.kind:
            return False
        return value in self.allowed if self.allowed else self.kind is str or value >= 1 or value == self.default

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        if self.kind is int:
            bounds = f"from {self.allowed[0]:,} to {self.allowed[-1]:,}" if self.allowed else "of 1 or more"
            return f"a whole number {bounds}"
        return " or ".join(self.allowed) or "text"

    @property
    def is_variant(self) -> bool:
        """Whether it belongs to the cell's way."""
        return self.default is not NEEDED

    def default_of(self, before: Sequence[Any]) -> Any:
        """Its value in a cell that doesn't say, `before` being those of the axes before it; None where it must."""
        if not self.is_variant:
            return None
        return self.default(*before) if callable(self.default) else self.default


def n_axis(axes: Sequence[Axis]) -> str:
    """The name of the axis that is N; every experiment has one."""
    return next(axis.name for axis in axes if axis.record_field == CONCURRENCY)


@dataclass(frozen=True)
class Metric:
    """One figure of a cell, made of the record's `field`; `better` says which way.

    `how`: "spread" (count, extremes, quartiles, mean), "rate" (`bytes` over the first metric, Mbit/s), "per_gib" (its
    sum over the GiB that moved), "mean", or "sum". One that is `queried` is a column of the saved query and of
    cells.csv; the others are counted from the records alone. `short` heads a narrow column, `reading` is a sentence
    under the table that has one.
    """

    name: str
    field: str
    label: str
    unit: str
    how: Literal["spread", "rate", "per_gib", "mean", "sum"]
    better: Literal["lower", "higher"] = "lower"
    queried: bool = False
    digits: int = 0
    short: str = ""
    reading: str = ""


# What every operation has that moves bytes.
MBIT_PER_S = Metric("mbit_per_s", "bytes", "per function", "Mbit/s", "rate", "higher")


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
class Seeding:
    """What a function of the stack puts where else objects are read: before a cell, the function that the output
    `function` names is invoked with `events(values)`, in turn; one that it had since the last apply isn't sent again.
    """

    function: str
    events: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class PassingRefusal:
    """An error of `terraform destroy` that passes by itself: the regular expression that finds it in Terraform's words,
    what it comes from, as a sentence without its full stop, and the seconds after which the destroy is tried again."""

    pattern: str
    reason: str
    wait_s: float


@dataclass(frozen=True)
class Execution:
    """A query that Athena carries out in a function's place: the SQL, where it runs (workgroup, database), the seconds
    after which it is cancelled, and the one row that its result must be, as text."""

    sql: str
    workgroup: str
    database: str
    limit_s: float
    expected: Sequence[str]


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


@dataclass(frozen=True)
class Experiment:
    """One experiment. A cell is its axes' values, as its records have them.

    `operation` is what is timed, as a noun, one and many. `messages_per_concurrency` times N messages are sent to each
    cell of concurrency N; `matrices` are by target. The first of `metrics` is the time that records have in the second
    place; `query` is the saved query that gives the rows of cells.csv. `compare` stands in the order in which the
    headline looks for the axis that was swept, and `sections` are those of the report.

    The load, where `values` are a cell's: the Terraform variables (numbers as int, an axis without a value at its
    default) and the axes of the work order. A variable that is null has its value of `defaults`, as in infra/
    (`<name>_defaults`). `usage(values)` is what the cell takes, `checks` what only this experiment has to look at, for
    the values of all cells. `objects(outputs)` are put before the first flood, as the stack's outputs say.
    `order(values, objects)` is what a work order says besides run_id, cell, seq, warm_up and start_at_ms, as JSON;
    `values` are then the stack's outputs with the axes of the work order, `objects` have the sizes in S3.
    `unused` are variables of every experiment that have no effect on this one. `told_by_records` are variables that
    no axis has because records say what came of them. `seeding` puts what
    `objects` can't, and `emptied_before_destroy` are outputs that name buckets which Terraform can't empty, or not in
    time, null where there is none. A destroy that fails with the `passing_refusal` is tried once more.
    `has_directory_bucket`: its stack has one, which few endpoints in AWS's stead offer.
    `execution(values)` is the query that `stampede` has Athena carry out for each message of a cell, in the place of a
    flood; None for a cell of functions. `advice(cells, prices)` are sentences on the values of all cells, to be read
    before money is spent; `prices` are US dollars by their name in prices.json.

    An experiment whose messages each have a share of something has more to say. `messages(values)` is how many a cell
    has, None where that is `messages_per_concurrency` times N; it is asked with a plan's values and with a stack's,
    both with a `messages_per_concurrency`, the plan's own. `of_message(values, index)` is what the index-th message of
    a flood (from 0) says beside `order`, and `preparation(values)` what one message says, beside `order`, that is sent
    and comes to rest before the flood of a cell; it counts as a warm-up, and None is none. `key_plan(outputs)` is the
    list of keys that is shared, put as a manifest after the objects; None where there is none. `proof(values)` is what
    a message says, beside `order`, that only shows whether the function has its permissions: one small operation, which
    changes no later measurement. With `objects_account`
    the records account for objects as well as for messages: planned = copied + already_there + failed, and each failed
    one is in a log line of its own.

    `not_logged` are values of an axis, by its name, whose requests S3's server access logs don't tell.

    For the report: `stand_ins` are the values of an axis in whose place something else stands on the embedded AWS, and
    `untried` those that nobody has run on AWS yet. `items` are the axis whose values differ in the size of one item,
    and the metric that counts items; `a_month(cell, bytes, seconds, requests, prices)` is what keeping the data a month
    and one operation cost, in US dollars. With `by_size` a choice is set against the size of an object. `knee` is
    the axis on which more buys something up to a point only, with what there is more of, as a noun; `worker` is what
    carries an operation out, as a noun, one and many.
    """

    name: str
    question: str
    operation: tuple[str, str]
    axes: Sequence[Axis]
    metrics: Sequence[Metric]
    messages_per_concurrency: int
    matrices: Mapping[str, Matrix]
    query: str
    published: Sequence[Published]
    compare: Sequence[Compare]
    sections: Sequence[str]
    usage: Callable[[Mapping[str, Any]], Usage]
    checks: Callable[[Sequence[Mapping[str, Any]]], Sequence[Finding]]
    objects: Callable[[Mapping[str, Any]], Sequence[DataObject]]
    order: Callable[[Mapping[str, Any], Sequence[DataObject]], dict[str, Any]]
    work: Callable[[Mapping[str, Any], Parameters], Work] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unused: Sequence[str] = ()
    told_by_records: Sequence[str] = ()
    seeding: Seeding | None = None
    emptied_before_destroy: Sequence[str] = ()
    passing_refusal: PassingRefusal | None = None
    has_directory_bucket: bool = False
    execution: Callable[[Mapping[str, Any]], Execution | None] | None = None
    advice: Callable[[Sequence[Mapping[str, Any]], Mapping[str, float]], Sequence[str]] | None = None
    messages: Callable[[Mapping[str, Any]], int | None] | None = None
    of_message: Callable[[Mapping[str, Any], int], dict[str, Any]] | None = None
    preparation: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    key_plan: Callable[[Mapping[str, Any]], KeyPlan | None] | None = None
    proof: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    objects_account: bool = False
    stand_ins: Mapping[str, Mapping[str, StandIn]] = field(default_factory=dict)
    untried: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_logged: Mapping[str, Sequence[str]] = field(default_factory=dict)
    items: tuple[str, str] | None = None
    a_month: Callable[..., tuple[float, float] | None] | None = None
    by_size: BySize | None = None
    knee: tuple[str, str] | None = None
    worker: tuple[str, str] = ("function", "functions")

    @property
    def order_axes(self) -> dict[str, Axis]:
        """The axes that the work order sets, by its key."""
        return {axis.variable: axis for axis in self.axes if axis.in_order}

    @property
    def record_fields(self) -> dict[str, str]:
        """The record's word for each axis by what sets it."""
        return {axis.variable: axis.record_field for axis in self.axes if axis.variable}

    def is_logged(self, record: Mapping[str, Any]) -> bool:
        """Whether S3's server access logs tell the requests of this record."""
        named = ((axis.record_field, self.not_logged.get(axis.name, ())) for axis in self.axes)
        return all(record.get(name) not in values for name, values in named)

    @property
    def speed(self) -> Metric:
        """The metric by which cells of any size can be compared: the first of which more is better."""
        return next((one for one in self.metrics if one.better == "higher"), MBIT_PER_S)

    @property
    def time_field(self) -> str:
        """The record's word for the time of one operation, in seconds."""
        return self.metrics[0].field


def is_of_n(experiment: Experiment, compare: Compare) -> bool:
    """Whether `compare` sets each N against the smallest."""
    return tuple(compare.axes) == (n_axis(experiment.axes),)
