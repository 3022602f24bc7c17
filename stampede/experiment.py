"""The parts of an experiment's declaration, and what the rest of Stampede asks of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, TypedDict, get_args

from stampede.axes import Axis, n_axis
from stampede.finding import Finding, Wrong, worst
from stampede.model.parameters import Parameter, Parameters
from stampede.model.work import Work
from stampede.phrases import size_words
from stampede.variable_rules import RULES


class Values(TypedDict):
    """The Terraform variables of a cell that every experiment has, numbers as int, null replaced by
    the default.

    A cell has all variables of infra/, and its experiment's axes of the work order. An experiment
    declares the types of those that it reads. In a run the loader adds the stack's outputs.
    """

    concurrency_value: int
    memory_size: int  # MB, as Lambda counts them: MiB
    architecture: str
    ephemeral_storage_mb: int
    timeout_s: int


HOURS_IN_A_MONTH = 730
# Room in /tmp for the file system's own blocks and the runtime's files.
TMP_MARGIN_MB = RULES["ephemeral_storage_mb"].shared["beside_contents_mb"]


@dataclass(frozen=True)
class Use:
    """One line of the bill, in addition to those of every experiment (Lambda, SQS, logs).

    `price` is a name in prices.json. The quantity, in that price's unit, is the sum of `each` per
    operation, `per_cell` per cell, `per_cell_hour` per hour that this cell is up, `once` per run,
    and `per_hour` per hour that a stack is up; if cells differ in the last two, the largest counts.
    `of` names what several cells share, such as stored data; each is counted on its own.
    `log_lines` is the number of lines that a request leaves in S3's server access logs.
    """

    service: str
    what: str
    price: str
    each: float = 0
    once: float = 0
    per_hour: float = 0
    per_cell: float = 0
    per_cell_hour: float = 0
    of: str = ""
    log_lines: int = 1

    @property
    def line(self) -> tuple[str, str, str]:
        """The key of the line in the bill."""
        return self.service, self.what, self.price


@dataclass(frozen=True)
class Usage:
    """The needs of one cell. Sizes are in MiB, rounded up.

    `preparation_s`: seconds to prepare a cell, by target. `moved_mb`: moved by one operation, and
    at worst held in memory, unless it stays `within_s3`. `data_mb`: uploaded before the first
    flood; `emulator_mb`: what the embedded AWS keeps in addition. `process_mb`: a client's process
    on this machine, without what it moves; `connections`: what it opens beyond the few of every
    client. `tmp_mb`: the function's /tmp. `sized_by`: the setting that makes an operation smaller;
    `faster_by`: what makes it faster on AWS. `stack_s`: seconds on AWS to create, fill and destroy
    the resources that only this experiment has; `apply_s`: the extra seconds of every change of the
    stack. `seeded` names the data that a function of the stack writes before the cell, once for all
    cells that need the same; it is removed at the end. `seeding_s`: the seconds of that, by target.
    `instance_type`: of the N hosts on which it runs; empty in functions or `in_athena`.
    """

    moved_mb: int
    data_mb: int
    process_mb: int
    tmp_mb: int
    sized_by: str
    uses: Sequence[Use]
    stack_s: float = 0
    apply_s: float = 0
    preparation_s: Mapping[str, float] = field(default_factory=dict)
    within_s3: bool = False
    emulator_mb: int = 0
    connections: int = 0
    faster_by: str = "more memory"
    seeded: str = ""
    seeding_s: Mapping[str, float] = field(default_factory=dict)
    instance_type: str = ""
    in_athena: bool = False

    @property
    def on_hosts(self) -> bool:
        """Whether the operation runs on EC2 hosts; otherwise the stack has a function, perhaps
        an unused one."""
        return bool(self.instance_type)

    @property
    def in_lambda(self) -> bool:
        """Whether the operation runs in a function, and is billed as one."""
        return not self.on_hosts and not self.in_athena


How = Literal["spread", "rate", "per_second", "seconds_per", "per_gib", "mean", "sum", "max"]


@dataclass(frozen=True)
class Metric:
    """One figure of a cell, from the record's `field` (default: `name`); `better` is its direction.

    `how`: "spread" (count, extremes, quartiles, mean), "rate" (`bytes` over the first metric,
    Mbit/s), "per_second" (operations over the first metric), "seconds_per" (the first metric over
    the field's sum), "per_gib" (its sum over the GiB that were transferred), "mean", "sum", "max".
    A `queried` metric is a column of the saved query and of cells.csv; the others are computed from
    the records alone. `label` and `unit` head its column; `reading` is a sentence below the table.
    """

    name: str
    field: str = ""
    label: str = ""
    unit: str = ""
    how: How = "mean"
    better: Literal["lower", "higher"] = "lower"
    queried: bool = False
    digits: int = 0
    reading: str = ""

    def __post_init__(self) -> None:
        if self.how not in get_args(How):
            raise ValueError(f"{self.name}: how={self.how!r} isn't one of {get_args(How)}")
        object.__setattr__(self, "field", self.field or self.name)
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))


# Metrics of many operations: transfer rate, requests, and the client's resources.
MBIT_PER_S = Metric("mbit_per_s", "bytes", "per function", "Mbit/s", "rate", "higher", queried=True)
CPU_S_PER_GIB = Metric(
    "cpu_s_per_gib", "client_cpu_seconds", "CPU", "s/GiB", "per_gib", queried=True, digits=2
)
RETRIES = Metric("retries", how="sum", queried=True)
REQUESTS = Metric("requests", how="sum")
PEAK_MEMORY_MB = Metric(
    "peak_memory_mb",
    label="peak memory",
    unit="MiB",
    digits=1,
    reading=(
        "“peak memory” is the most that the process has used since it started, earlier cells "
        "included, as Linux counts it: to a MiB or two."
    ),
)
CPU_S = Metric("cpu_s", "client_cpu_seconds", "CPU", "s", digits=2)


# Operations of each choice. N = 1 sends ten messages by default, just enough for a comparison.
MINIMUM_FOR_COMPARISON = 10


@dataclass(frozen=True)
class Tariff:
    """The cost of a storage choice in US dollars: of a request that writes or reads one object, and
    of a GB (2**30 bytes) written or read. A function's memory costs the same for all choices."""

    write_usd: float
    read_usd: float
    write_gb_usd: float
    read_gb_usd: float


@dataclass(frozen=True)
class BySize:
    """A choice of two, whose time and cost are shown by object size.

    `choice`, `size` and `count` are the axes of the choice, of an object's bytes, and of the number
    of objects. `moves` is the axis of the operation, with its values that "write" or "read" an
    object; an `execution` does neither. `tariffs(prices)` has the costs of each value of the
    choice, and is None if a price is unknown.
    """

    choice: str
    size: str
    count: str
    moves: tuple[str, Mapping[str, str]]
    tariffs: Callable[[Mapping[str, float]], Mapping[str, Tariff] | None]


def look(checks: Mapping[str, Callable[[Any], Wrong]], cells: Sequence[Any]) -> list[Finding]:
    """The worst that each check, by its name, finds in the values of a cell."""
    return [worst(name, check, cells) for name, check in checks.items()]


# Parts of AWS that only some stacks need, and that few compatible endpoints offer.
FILE_SYSTEM, KEYS, DIRECTORY_BUCKETS = "file system", "keys", "directory buckets"


@dataclass(frozen=True)
class Seeding:
    """Data that `Experiment.objects` can't store and a function of the stack does. Before a cell,
    the function in the output `function` is invoked with each of `events(values)` in turn, except
    those that it has received since the last apply."""

    function: str
    events: Callable[[Values], Sequence[Mapping[str, Any]]]


class Manifest(Protocol):
    """A list of `objects` keys in slices, each an S3 object below the prefix `manifest`. `slices`
    generates their texts, in ASCII."""

    objects: int
    manifest: str
    slice_count: int

    def slice_key(self, index: int) -> str: ...

    def slices(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class SharedList:
    """A list of objects to copy, of which each message has a share (`Experiment.of_message`).

    `manifest(outputs)` is stored after the objects; None for a stack without one.
    `preparation(values)` are further keys of one message that is sent and completes before the
    flood of a cell; it counts as a warm-up, and None means no such message. The records account for
    objects as well as for messages: planned = copied + already_there + failed, and each failed
    object has its own log line.
    """

    manifest: Callable[[Mapping[str, Any]], Manifest | None]
    preparation: Callable[[Values], dict[str, Any] | None] = lambda values: None


@dataclass(frozen=True)
class Execution:
    """A query that Athena runs instead of a function: the SQL, its workgroup and database, the
    seconds after which it is cancelled, and the expected result, one row of texts."""

    sql: str
    workgroup: str
    database: str
    limit_s: float
    expected: Sequence[str]


@dataclass(frozen=True)
class AthenaQueries:
    """The cells that Athena carries out: those with one of `values` on `axis`. Instead of a flood,
    `stampede` runs the query of `execution` once for each message."""

    axis: str
    values: Sequence[str]
    execution: Callable[[Values], Execution]


@dataclass(frozen=True)
class PassingRefusal:
    """A temporary error of `terraform destroy`: the regular expression that matches it in
    Terraform's output, its reason, a sentence without full stop, and the seconds until a retry."""

    pattern: str
    reason: str
    wait_s: float


@dataclass(frozen=True)
class DataObject:
    """One object of a data set, in the stack's bucket; it may be a server-side copy of the earlier
    object with the key `copy_of`. The user's own object has its `bucket`, and the `etag` that
    operations must find."""

    key: str
    size_bytes: int
    copy_of: str = ""
    etag: str = ""
    bucket: str = ""

    @property
    def url(self) -> str:
        """The address of the user's own object."""
        return f"s3://{self.bucket}/{self.key}"

    @property
    def size_mb(self) -> int:
        """Its size in whole MiB, rounded up."""
        return -(-self.size_bytes // 2**20)

    @property
    def words(self) -> str:
        """Address, size and version of the user's own object."""
        return f"{self.url}, {size_words(self.size_bytes)}, ETag {self.etag}"


@dataclass(frozen=True)
class OwnObject:
    """The user's own object, in a bucket that no stack manages: it is only read.

    `--set object=URL` stands for the variables of `settings(url)`, and for `size`, the variable of
    its MiB. `is_read(values)` tells from a cell's values or a stack's outputs whether it is read;
    `find(s3, values, downloads)` asks S3 for its current state, and raises UsageError if it can't
    be read so many times.
    """

    settings: Callable[[str], Mapping[str, Any]]
    size: str
    is_read: Callable[[Mapping[str, Any]], bool]
    find: Callable[[Any, Mapping[str, Any], int], DataObject]


# Terraform variables that the embedded AWS accepts and ignores, in words: cells that differ only in
# these ran alike.
IGNORED_LOCALLY = {
    "memory_size": "memory",
    "architecture": "architecture",
    "region": "region",
    "provisioned_pollers": "provisioned pollers",
}
# If this share of its objects fails, a run has failed (docs/copy.md).
FAILED_RUN = 0.5


@dataclass(frozen=True)
class Matrix:
    """The default cells of a target: every combination of `swept`, all with the values of `fixed`.

    Each of `also` adds the combinations of `swept` with some values replaced; a single value, not
    in a tuple, is the only one with a meaning there, and --set doesn't change it. `rest` computes a
    variable that nobody set from a cell's other values; otherwise an axis of the work order has its
    default.
    """

    swept: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    also: Sequence[Mapping[str, Any]] = ()
    rest: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class StandIn:
    """The local replacement of a service that the embedded AWS lacks: `short` marks a row, and
    `sentence`, with the table, says what its figures are worth."""

    short: str
    sentence: str


@dataclass(frozen=True)
class Published:
    """A published table to compare with: `experiments/<name>/published/<file>.csv`.

    Its columns have Stampede's names (axes, the five of the time, metrics), except those in
    `columns` (Stampede's name: its own). An axis without a column has its value in `fixed`, or its
    default. `object_bytes` is what one operation moved, and `moved` the noun for it; `objects` is
    the number of objects, where their size doesn't matter, or `objects_axis` the axis of it, where
    rows differ. `cell` computes values of axes from a row's own words. `only` selects rows by
    column. Several rows of a cell are runs of it, shown as their mean, and so are the columns
    `runs_ms`. The row is compared with cells of any value on the axes `beside_any`, for its speed.
    `work` is what the published program did, if that differs from the experiment's.
    """

    file: str
    label: str
    setting: str
    object_bytes: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    moved: str = "object"
    cell: Callable[[Mapping[str, str]], Mapping[str, Any]] = lambda row: {}
    objects: int = 0
    objects_axis: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    runs_ms: Sequence[str] = ()
    beside_any: Sequence[str] = ()
    work: Callable[[Mapping[str, Any], Parameters], Work] | None = None


@dataclass(frozen=True)
class Compare:
    """A comparison of cells that differ only in `axes`.

    `kind` "scale": each value against the smallest. "choice": the fastest against each other one.
    `base` is the usual choice, with which the other is compared by object size. `name` is the
    comparison's in statistics.json.
    """

    name: str
    kind: Literal["scale", "choice"]
    axes: Sequence[str]
    base: tuple[Any, ...] = ()


class Experiment:
    """One experiment: a subclass in experiments/<name>/declaration.py overrides these defaults.

    A cell is identified by its values on the axes, as in its records. The `values` of methods are a
    cell's; their type is next to the declaration.
    """

    name: str
    question: str
    # Nouns, singular and plural, for what is timed, and for what carries it out.
    operation: tuple[str, str]
    worker: tuple[str, str] = ("function", "functions")

    axes: Sequence[Axis]
    # The first is the time, the second key of a record.
    metrics: Sequence[Metric]
    # The saved query that gives the rows of cells.csv.
    query: str
    # By target, `aws` and `local`. Each cell gets messages_per_concurrency times N messages.
    matrices: Mapping[str, Matrix]
    messages_per_concurrency: int = 10
    # The values that null stands for: a row of DEFAULTS.
    defaults: Mapping[str, Any] = MappingProxyType({})
    # By swept variable: the values of other variables, null in infra/, in all cells of the sweep
    # unless they are set, so that nothing else differs.
    controlled: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    # Variables of every experiment that have no effect on this one.
    unused: Sequence[str] = ()
    # Variables without an axis, because records show their effect.
    recorded_variables: Sequence[str] = ()
    # Variables that the embedded AWS accepts and ignores, in words.
    ignored_locally: Mapping[str, str] = MappingProxyType(IGNORED_LOCALLY)

    # For the report. The headline uses the first of `compare` whose axes were swept.
    published: Sequence[Published] = ()
    compare: Sequence[Compare] = ()
    # By axis: the value that the headline is about, if it was measured.
    headline_of: Mapping[str, Any] = MappingProxyType({})
    # By axis: the values that the embedded AWS replaces by a stand-in, those that nobody has run on
    # AWS yet, and those whose requests aren't in S3's server access logs.
    stand_ins: Mapping[str, Mapping[str, StandIn]] = MappingProxyType({})
    untried: Mapping[str, Sequence[str]] = MappingProxyType({})
    not_logged: Mapping[str, Sequence[str]] = MappingProxyType({})
    # The axis on which more helps up to a point only, and the noun for what there is more of.
    knee: tuple[str, str] | None = None
    # A variant that is compared by object size.
    by_size: BySize | None = None

    # Of the stack: parts that few endpoints offer (capabilities.py), outputs that name the buckets
    # that Terraform can't empty, or only slowly, and a temporary error of `terraform destroy`.
    needs: Sequence[str] = ()
    emptied_before_destroy: Sequence[str] = ()
    passing_refusal: PassingRefusal | None = None
    seeding: Seeding | None = None
    shared_list: SharedList | None = None
    athena: AthenaQueries | None = None
    own_object: OwnObject | None = None
    # Whether a message's body is the user's own (--payload), and the work order an attribute.
    takes_payload: bool = False

    # A method (values, parameters): what one message does, for the model's predictions. None: no
    # predictions are made.
    work: Callable[[Values, Parameters], Work] | None = None
    # A method (records, parameters, run_id, place): the experiment's own parameters, measured by a
    # run at that place.
    measured: (
        Callable[[Iterable[Mapping[str, Any]], Parameters, str, str], Sequence[Parameter]] | None
    ) = None

    def own_object_of(self, values: Mapping[str, Any]) -> OwnObject | None:
        """The user's own object, if a plan's cell, or a stack by its outputs, reads one."""
        own = self.own_object
        return own if own is not None and own.is_read(values) else None

    def usage(self, values: Values) -> Usage:
        """What the cell needs."""
        raise NotImplementedError(f"{self.name}: usage")

    def checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """This experiment's own checks of the values of all cells."""
        return ()

    def local_checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """Further checks for the embedded AWS, made if nothing else is wrong with the matrix."""
        return ()

    def objects(self, outputs: Mapping[str, Any]) -> Sequence[DataObject]:
        """The objects to upload before the first flood, from the stack's outputs."""
        return ()

    def order(self, values: Values, objects: Sequence[DataObject]) -> dict[str, Any]:
        """The keys of a message besides run_id, cell, seq, warm_up and start_at_ms; `objects` have
        their sizes in S3. An axis at 0 is left out: 0 means none."""
        return {name: values[name] for name in self.order_axes if values[name] != 0}

    def messages(self, values: Values) -> int | None:
        """How many messages a cell has; None for `messages_per_concurrency` times N. `values` are a
        plan's or a stack's, both with the plan's `messages_per_concurrency`."""
        return None

    def of_message(self, values: Values, index: int) -> dict[str, Any]:
        """The keys of a flood's message number `index` (from 0), in addition to `order`: its share
        of a list."""
        return {}

    def proof(self, values: Values) -> dict[str, Any] | None:
        """The keys, in addition to `order`, of a message that only tests the function's
        permissions: a small operation that affects no later measurement. None if there is none."""
        return None

    def execution(self, values: Values) -> Execution | None:
        """The query that Athena runs for each message of the cell; None for a cell of functions."""
        if self.athena is None or values[self.athena.axis] not in self.athena.values:
            return None
        return self.athena.execution(values)

    def preparation(self, values: Values) -> dict[str, Any] | None:
        """The keys of the message that prepares a cell; None if there is none."""
        return None if self.shared_list is None else self.shared_list.preparation(values)

    @property
    def planned_axes(self) -> list[Axis]:
        """The axes of a planned cell, without those that only records have."""
        return [axis for axis in self.axes if axis.variable]

    @property
    def order_axes(self) -> dict[str, Axis]:
        """The axes that the work order sets, by its key."""
        return {axis.variable: axis for axis in self.axes if axis.in_order}

    @property
    def record_fields(self) -> dict[str, str]:
        """The record's key for each axis, by the variable that sets it."""
        return {axis.variable: axis.record_field for axis in self.axes if axis.variable}

    def is_logged(self, record: Mapping[str, Any]) -> bool:
        """Whether the requests of this record are in S3's server access logs."""
        return all(
            record.get(axis.record_field) not in self.not_logged.get(axis.name, ())
            for axis in self.axes
        )

    @property
    def speed(self) -> Metric:
        """The metric that compares cells of any size: the first of which more is better."""
        return next((metric for metric in self.metrics if metric.better == "higher"), MBIT_PER_S)

    @property
    def time_field(self) -> str:
        """The record's key for the time of one operation, in seconds."""
        return self.metrics[0].field

    def with_(self, **changes: Any) -> Self:
        """A copy with other attributes; a function in the place of a method is called without
        `self`."""
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed


def is_of_n(experiment: Experiment, compare: Compare) -> bool:
    """Whether `compare` compares each N with the smallest."""
    return tuple(compare.axes) == (n_axis(experiment.axes),)
