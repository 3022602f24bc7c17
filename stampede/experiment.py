"""What a declaration of an experiment consists of, and what the rest of Stampede asks of one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, TypedDict

from stampede.axes import Axis, n_axis
from stampede.finding import OK, Finding
from stampede.model.parameters import Parameter, Parameters
from stampede.model.work import Work
from stampede.phrases import size_words
from stampede.variable_rules import RULES


class Values(TypedDict):
    """The Terraform variables of a cell that every experiment has, numbers as int, what is null at
    its default.

    A cell has all variables of infra/, and its experiment's axes of the work order; those that the
    experiment reads are typed beside it. In a run the loader adds the stack's outputs.
    """

    concurrency_value: int
    memory_size: int  # MB, as Lambda counts them: MiB
    architecture: str
    ephemeral_storage_mb: int
    timeout_s: int


HOURS_IN_A_MONTH = 730
# Room in /tmp for the file system's own blocks and whatever the runtime puts there.
TMP_MARGIN_MB = RULES["ephemeral_storage_mb"].shared["beside_contents_mb"]


@dataclass(frozen=True)
class Use:
    """One line of the bill, beside those that every experiment has (Lambda, SQS, logs).

    `price` is a name in prices.json. The quantity, in that price's unit, is `each` for every
    operation, `per_cell` for every cell, `per_cell_hour` for every hour that this cell is the one
    that is up, `once` for the run, and `per_hour` for every hour that a stack is up; where cells
    differ in the last two, the largest counts. They are so for each `of` by itself: what is stored
    once for several cells names itself there. `log_lines` are what one request leaves in S3's
    server access logs.
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
        """What tells the lines of the bill apart."""
        return self.service, self.what, self.price


@dataclass(frozen=True)
class Usage:
    """One cell's needs. Sizes in MiB, rounded up to whole ones.

    `preparation_s`: seconds of what prepares a cell, by target. `moved_mb`: what one operation
    moves, and at worst holds, but for what stays `within_s3`. `data_mb`: what is put before the
    first flood, and `emulator_mb` what the embedded AWS keeps beside that. `process_mb`: a client's
    process on this machine, without what it moves, and `connections` those that it opens beyond the
    few that every client has. `tmp_mb`: the function's /tmp. `sized_by`: the setting that makes an
    operation smaller, and `faster_by` what makes it faster on AWS. `stack_s`: seconds on AWS in
    which what only this experiment has is put up, filled and taken down, and `apply_s` those in
    which every change of the stack takes longer. `seeded` names what a function of the stack puts
    before the cell, once for all cells that need the same, and which is removed at the end;
    `seeding_s` are the seconds of that, by target. `instance_type`: of the N hosts on which it
    runs; empty where it runs in functions, or `in_athena`.
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
        """Whether the operation runs on EC2 hosts; elsewhere the stack has a function, whether it
        is used or not."""
        return bool(self.instance_type)

    @property
    def in_lambda(self) -> bool:
        """Whether the operation runs in a function, and is billed as one."""
        return not self.on_hosts and not self.in_athena


@dataclass(frozen=True)
class Metric:
    """One figure of a cell, made of the record's `field`, `name` where they are the same; `better`
    is its direction.

    `how`: "spread" (count, extremes, quartiles, mean), "rate" (`bytes` over the first metric,
    Mbit/s), "per_second" (operations over the first metric), "seconds_per" (the first metric over
    the field's sum), "per_gib" (its sum over the GiB that were transferred), "mean", or "sum". One
    that is `queried` is a column of the saved query and of cells.csv; the others are counted from
    the records alone. `label` and `unit` head its column; `reading` is a sentence under the table
    that has one.
    """

    name: str
    field: str = ""
    label: str = ""
    unit: str = ""
    how: Literal["spread", "rate", "per_second", "seconds_per", "per_gib", "mean", "sum"] = "mean"
    better: Literal["lower", "higher"] = "lower"
    queried: bool = False
    digits: int = 0
    reading: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "field", self.field or self.name)
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))


# What many operations have: bytes that they transfer, requests, and what the client needs for them.
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


# Of each choice: N = 1 sends ten messages by default, so the default matrix can just be compared.
MINIMUM_FOR_COMPARISON = 10


@dataclass(frozen=True)
class Tariff:
    """What a choice of storage costs, in US dollars: a request that writes or reads one object, and
    a GB (2**30 bytes) written or read. A second of a function's memory is the same whatever is
    chosen."""

    write_usd: float
    read_usd: float
    write_gb_usd: float
    read_gb_usd: float


@dataclass(frozen=True)
class BySize:
    """A choice of two, whose time and cost are set against the size of an object.

    `choice` is its axis, `size` that of an object's bytes, `count` that of how many objects there
    are. `moves` is the axis that says what is done with an object, and which of its values "write"
    or "read" one; where a cell is an `execution`, neither. `tariffs(prices)` is what each value of
    the choice costs, None where a price isn't known.
    """

    choice: str
    size: str
    count: str
    moves: tuple[str, Mapping[str, str]]
    tariffs: Callable[[Mapping[str, float]], Mapping[str, Tariff] | None]


# What a check finds of all cells: its status, what is wrong, and what to do; None where nothing is.
Check = Callable[[Sequence[Any]], tuple[str, str, str] | None]


def look(checks: Mapping[str, Check], cells: Sequence[Any]) -> list[Finding]:
    """What each of the checks, by name, says of the values of all cells."""
    return [Finding(name, *(check(cells) or (OK, ""))) for name, check in checks.items()]


# Parts of AWS that only some stacks have, and few endpoints in AWS's stead offer.
FILE_SYSTEM, KEYS, DIRECTORY_BUCKETS = "file system", "keys", "directory buckets"


@dataclass(frozen=True)
class Seeding:
    """Data that a function of the stack stores where `Experiment.objects` can't: before a cell, the
    function that the output `function` names is invoked with `events(values)`, in turn; one that it
    had since the last apply isn't sent again."""

    function: str
    events: Callable[[Values], Sequence[Mapping[str, Any]]]


class Manifest(Protocol):
    """A list of so many `objects` in slices, each of them an object of S3 below the prefix
    `manifest`. `slices` are their texts in turn, in ASCII, made while they are asked for."""

    objects: int
    manifest: str
    slice_count: int

    def slice_key(self, index: int) -> str: ...

    def slices(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class SharedList:
    """A list of objects to copy, of which each message has a share: `Experiment.of_message` says
    which.

    `manifest(outputs)` is stored after the objects, None for a stack without one.
    `preparation(values)` is what one message says, beside `order`, that is sent and comes to rest
    before the flood of a cell; it counts as a warm-up, and None is none. The records account for
    objects as well as for messages: planned = copied + already_there + failed, and each failed one
    is in a log line of its own.
    """

    manifest: Callable[[Mapping[str, Any]], Manifest | None]
    preparation: Callable[[Values], dict[str, Any] | None] = lambda values: None


@dataclass(frozen=True)
class Execution:
    """A query that Athena carries out in a function's place: the SQL, where it runs (workgroup,
    database), the seconds after which it is cancelled, and the one row that its result must be, as
    text."""

    sql: str
    workgroup: str
    database: str
    limit_s: float
    expected: Sequence[str]


@dataclass(frozen=True)
class AthenaQueries:
    """Cells that Athena carries out: those whose value on `axis` is one of `values`. `stampede`
    runs the query that `execution` gives for each of their messages, in the place of a flood."""

    axis: str
    values: Sequence[str]
    execution: Callable[[Values], Execution]


@dataclass(frozen=True)
class PassingRefusal:
    """An error of `terraform destroy` that passes by itself: the regular expression that finds it
    in Terraform's words, what it comes from, as a sentence without its full stop, and the seconds
    after which the destroy is tried again."""

    pattern: str
    reason: str
    wait_s: float


@dataclass(frozen=True)
class DataObject:
    """One object of a data set, in the stack's bucket; `copy_of` is the key of the object, put
    before it, of which it is a server-side copy. One of the user's own has its `bucket`, and the
    `etag` to which operations are held."""

    key: str
    size_bytes: int
    copy_of: str = ""
    etag: str = ""
    bucket: str = ""

    @property
    def url(self) -> str:
        """Its address, of one of the user's own."""
        return f"s3://{self.bucket}/{self.key}"

    @property
    def size_mb(self) -> int:
        """Its size in whole MiB, rounded up."""
        return -(-self.size_bytes // 2**20)

    @property
    def words(self) -> str:
        """One of the user's own in a few words: its address, its size and which version of it this
        is."""
        return f"{self.url}, {size_words(self.size_bytes)}, ETag {self.etag}"


@dataclass(frozen=True)
class OwnObject:
    """An object of the user's own, in a bucket that no stack manages: read, and never put, changed
    or removed.

    `settings(url)` are the variables for which `--set object=URL` stands, beside `size`, the
    variable of its MiB. `is_read(values)` says whether a plan's cell, or a stack by its outputs,
    reads one; `find(s3, values, downloads)` asks S3 for it as it is now, and raises UsageError
    where it can't be read so often.
    """

    settings: Callable[[str], Mapping[str, Any]]
    size: str
    is_read: Callable[[Mapping[str, Any]], bool]
    find: Callable[[Any, Mapping[str, Any], int], DataObject]


# Terraform variables that the embedded AWS accepts and ignores, in words: cells that differ in
# nothing else ran alike.
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
    """The default cells of a target: every combination of `swept`, with `fixed` the same in all of
    them.

    Each of `also` adds the combinations of `swept` with its own values laid over it; a value that
    stands there alone, and not in a tuple, is the only one that has a meaning there, and no --set
    changes it. `rest` gives a variable that nobody set its value from a cell's others; an axis of
    the work order that isn't there either stands at its default.
    """

    swept: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    also: Sequence[Mapping[str, Any]] = ()
    rest: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class StandIn:
    """What stands locally in the place of a service that the embedded AWS lacks: `short` marks a
    row, `sentence` says with the table what its figures are worth."""

    short: str
    sentence: str


@dataclass(frozen=True)
class Published:
    """A published table beside which ours stands: `experiments/<name>/published/<file>.csv`.

    Its columns are named as ours are (axes, the five of the time, metrics), but for those in
    `columns` (ours: its own); axes that it has no column for stand at `fixed`, else at their
    default. `object_bytes` is what one operation moved there and `moved` the noun for it, or
    `objects` how many objects, where their size decides nothing; where rows differ in that,
    `objects_axis` is the axis that tells it. `cell` gives the values of axes that a row says in
    words of its own. `only` are the rows that count, by column; rows of one cell are several runs
    of it, shown as their mean, and so are the columns `runs_ms`. Whatever a cell has on the axes
    `beside_any`, the row stands beside it, for its speed. `work` is what the published program did,
    where that is another than the experiment's.
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
    """Which cells are set against each other: those that differ in `axes` alone.

    `kind` "scale": each value against the smallest. "choice": the fastest against each other one.
    `base` is the usual choice, against which the other stands along the size of an object. `name`
    is its word in statistics.json.
    """

    name: str
    kind: Literal["scale", "choice"]
    axes: Sequence[str]
    base: tuple[Any, ...] = ()


class Experiment:
    """One experiment: a subclass in experiments/<name>/declaration.py names what differs from these
    defaults.

    A cell is its axes' values, as its records have them. What the methods are handed as `values`
    are a cell's, typed beside the declaration.
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
    # By variable that is swept: what other variables, null in infra/, are in all cells of the
    # sweep unless they are set, so that nothing else differs.
    controlled: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    # Variables of every experiment that have no effect on this one.
    unused: Sequence[str] = ()
    # Variables that no axis has because records say what came of them.
    recorded_variables: Sequence[str] = ()
    # Variables that the embedded AWS accepts and ignores, in words.
    ignored_locally: Mapping[str, str] = MappingProxyType(IGNORED_LOCALLY)

    # For the report. `compare` is in the order in which the headline looks for the axis that was
    # swept.
    published: Sequence[Published] = ()
    compare: Sequence[Compare] = ()
    # By axis: the value of the cells that the headline is about, where any of them was measured.
    headline_of: Mapping[str, Any] = MappingProxyType({})
    # By axis: the values in whose place something else stands on the embedded AWS, those that
    # nobody has run on AWS yet, and those whose requests S3's server access logs don't have.
    stand_ins: Mapping[str, Mapping[str, StandIn]] = MappingProxyType({})
    untried: Mapping[str, Sequence[str]] = MappingProxyType({})
    not_logged: Mapping[str, Sequence[str]] = MappingProxyType({})
    # The axis on which more gains something up to a point only, with what there is more of, as a
    # noun.
    knee: tuple[str, str] | None = None
    # A variant that is compared along the size of an object.
    by_size: BySize | None = None

    # Of the stack: what it has that few endpoints offer (capabilities.py), outputs that name
    # buckets which Terraform can't empty, or not in time, and an error of `terraform destroy` that
    # passes.
    needs: Sequence[str] = ()
    emptied_before_destroy: Sequence[str] = ()
    passing_refusal: PassingRefusal | None = None
    seeding: Seeding | None = None
    shared_list: SharedList | None = None
    athena: AthenaQueries | None = None
    own_object: OwnObject | None = None
    # Whether a message's body is the user's own (--payload), and what Stampede says is a message
    # attribute.
    takes_payload: bool = False

    # A method (values, parameters): what one message does, for the model. Without it nothing is
    # predicted.
    work: Callable[[Values, Parameters], Work] | None = None
    # A method (records, parameters, run_id, place): the experiment's own parameters as a run has
    # measured them there.
    measured: (
        Callable[[Iterable[Mapping[str, Any]], Parameters, str, str], Sequence[Parameter]] | None
    ) = None

    def own_object_of(self, values: Mapping[str, Any]) -> OwnObject | None:
        """What knows the user's own object that a plan's cell, or a stack by its outputs, reads;
        None where it reads none."""
        own = self.own_object
        return own if own is not None and own.is_read(values) else None

    def usage(self, values: Values) -> Usage:
        """What the cell takes."""
        raise NotImplementedError(f"{self.name}: usage")

    def checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """What only this experiment has to look at, for the values of all cells."""
        return ()

    def local_checks(self, cells: Sequence[Values]) -> Sequence[Finding]:
        """The same of what the embedded AWS can't do; asked where nothing else is wrong with the
        matrix."""
        return ()

    def objects(self, outputs: Mapping[str, Any]) -> Sequence[DataObject]:
        """What is uploaded before the first flood, as the stack's outputs say."""
        return ()

    def order(self, values: Values, objects: Sequence[DataObject]) -> dict[str, Any]:
        """What a message says besides run_id, cell, seq, warm_up and start_at_ms, as JSON;
        `objects` have the sizes in S3. An axis at 0 isn't said: 0 is none."""
        return {name: values[name] for name in self.order_axes if values[name] != 0}

    def messages(self, values: Values) -> int | None:
        """How many messages a cell has; None where that is `messages_per_concurrency` times N. It
        is asked with a plan's values and with a stack's, both with a `messages_per_concurrency`,
        the plan's own."""
        return None

    def of_message(self, values: Values, index: int) -> dict[str, Any]:
        """What the index-th message of a flood (from 0) says beside `order`: its share of
        something."""
        return {}

    def proof(self, values: Values) -> dict[str, Any] | None:
        """What a message says, beside `order`, that only shows whether the function has its
        permissions: one small operation, which changes no later measurement. None where there is no
        such operation."""
        return None

    def execution(self, values: Values) -> Execution | None:
        """The query that Athena carries out for each message of this cell; None for a cell of
        functions."""
        if self.athena is None or values[self.athena.axis] not in self.athena.values:
            return None
        return self.athena.execution(values)

    def preparation(self, values: Values) -> dict[str, Any] | None:
        """What the message says that prepares a cell; None where nothing does."""
        return None if self.shared_list is None else self.shared_list.preparation(values)

    @property
    def planned_axes(self) -> list[Axis]:
        """The axes of a planned cell, without those that only its records tell."""
        return [axis for axis in self.axes if axis.variable]

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
        return all(
            record.get(axis.record_field) not in self.not_logged.get(axis.name, ())
            for axis in self.axes
        )

    @property
    def speed(self) -> Metric:
        """The metric by which cells of any size can be compared: the first of which more is
        better."""
        return next((metric for metric in self.metrics if metric.better == "higher"), MBIT_PER_S)

    @property
    def time_field(self) -> str:
        """The record's word for the time of one operation, in seconds."""
        return self.metrics[0].field

    def with_(self, **changes: Any) -> Self:
        """A copy with other attributes; a function that stands in for a method is called without
        `self`. Raises TypeError for an attribute that experiments don't have."""
        if unknown := [name for name in changes if not hasattr(self, name)]:
            raise TypeError(f"an experiment has no {', '.join(unknown)}")
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed


def is_of_n(experiment: Experiment, compare: Compare) -> bool:
    """Whether `compare` sets each N against the smallest."""
    return tuple(compare.axes) == (n_axis(experiment.axes),)
