"""What only some experiments have: seeded data, a shared list, queries by Athena, a stack that is slow to delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stampede.experiment.values import Values

# Parts of AWS that only some stacks have, and few endpoints in AWS's stead offer.
FILE_SYSTEM, KEYS, DIRECTORY_BUCKETS = "file system", "keys", "directory buckets"


@dataclass(frozen=True)
class Seeding:
    """Data that a function of the stack stores where `Experiment.objects` can't: before a cell, the function that the
    output `function` names is invoked with `events(values)`, in turn; one that it had since the last apply isn't sent
    again."""

    function: str
    events: Callable[[Values], Sequence[Mapping[str, Any]]]


class Manifest(Protocol):
    """A list of so many `objects` in slices, each of them an object of S3 below the prefix `manifest`. `slices` are
    their texts in turn, in ASCII, made while they are asked for; the same `parameters` (JSON) make the same ones."""

    objects: int
    manifest: str
    slice_count: int

    def slice_key(self, index: int) -> str: ...

    def slices(self) -> Iterator[str]: ...

    def parameters(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class SharedList:
    """A list of objects to copy, of which each message has a share: `Experiment.of_message` says which.

    `manifest(outputs)` is stored after the objects, None for a stack without one. `preparation(values)` is what one
    message says, beside `order`, that is sent and comes to rest before the flood of a cell; it counts as a warm-up, and
    None is none. The records account for objects as well as for messages: planned = copied + already_there + failed,
    and each failed one is in a log line of its own.
    """

    manifest: Callable[[Mapping[str, Any]], Manifest | None]
    preparation: Callable[[Values], dict[str, Any] | None] = lambda values: None


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
class AthenaQueries:
    """Cells that Athena carries out: those whose value on `axis` is one of `values`. `stampede` runs the query that
    `execution` gives for each of their messages, in the place of a flood."""

    axis: str
    values: Sequence[str]
    execution: Callable[[Values], Execution]


@dataclass(frozen=True)
class PassingRefusal:
    """An error of `terraform destroy` that passes by itself: the regular expression that finds it in Terraform's words,
    what it comes from, as a sentence without its full stop, and the seconds after which the destroy is tried again."""

    pattern: str
    reason: str
    wait_s: float
