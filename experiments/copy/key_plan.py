"""A key plan: the objects to copy, from which masters to which keys, as a manifest in slices.

Object i (from 0) belongs to folder i // objects_per_folder, and folder f is hour f from
`date_from`: `<prefix>YYYY/MM/DD/HH/<name>`, or with the key order `reversed_hash`
`<prefix><hash>/HH/DD/MM/YYYY/<name>`. Its source is master i mod masters. The same parameters give
the same rows on any machine, and rows are made one at a time, so ten million take no more memory
than ten.

A slice is the text of some rows, one per line: `source,destination,bytes`, the keys percent-encoded
as S3 Batch Operations wants its manifests (RFC 3986: everything but unreserved characters and `/`),
so no key needs quotes.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import itertools
import json
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from stampede.errors import UsageError
from stampede.experiment import Values
from stampede.phrases import counted

STRAIGHT = "straight"
MOST_SLICES = 1_000_000  # slice names have six digits
HASH_BYTES = 4
KEPT_MASTERS = 4096  # keys of masters in memory
FORMAT = 1  # of keys and rows; a new format makes new manifests
MASTERS_PREFIX, MANIFESTS_PREFIX = "masters/", "manifest/"


class CopyValues(Values):
    """The variables and keys of the work order that the copies read."""

    object_count: int
    object_bytes: int
    from_manifest: bool
    slice_rows: int
    data_seed: int
    masters: int
    parallel_limit: int  # of the work order, as all below
    pace: str
    calls_per_s: int  # 0: no cap
    retry_mode: str
    retry_attempts: int


class HostValues(CopyValues):
    """The same for hosts."""

    instance_type: str
    bucket_key: bool


class KeyPlanError(UsageError):
    """The parameters of a key plan don't fit together."""


@dataclass(frozen=True)
class KeyPlan:
    """The parameters of infra's output `key_plan`, and the prefix of the copies. Raises
    KeyPlanError if they don't fit together; infra has checked each of them by itself.

    `date_from` and `date_to` (inclusive) are days as YYYY-MM-DD.
    """

    objects: int
    object_bytes: int
    date_from: str = "2015-01-01"
    date_to: str = "2019-12-31"
    objects_per_folder: int = 5
    key_order: str = STRAIGHT
    masters: int = 1
    slice_rows: int = 1000
    seed: int = 1
    destination_prefix: str = ""

    def __post_init__(self) -> None:
        """The objects fit into the dates and the slices."""
        hours = ((_day("date_to", self.date_to) - _day("date_from", self.date_from)).days + 1) * 24
        if hours <= 0:
            raise KeyPlanError(
                f"key plan: date_to {self.date_to} is before date_from {self.date_from}",
                "swap them",
            )
        if self.objects > hours * self.objects_per_folder:
            raise KeyPlanError(
                f"key plan: {self.objects:,} objects don't fit into {hours:,} hours "
                f"({self.date_from} to {self.date_to}) with {self.objects_per_folder:,} per folder",
                f"use a later date_to, or objects_per_folder = {-(-self.objects // hours):,}",
            )
        if self.slice_count > MOST_SLICES:
            raise KeyPlanError(
                f"key plan: {self.objects:,} objects make {self.slice_count:,} slices of "
                f"{counted(self.slice_rows, 'row')}, more than {MOST_SLICES:,}",
                f"use slice_rows = {-(-self.objects // MOST_SLICES):,} or more",
            )

    @classmethod
    def of(cls, output: Mapping[str, Any], destination_prefix: str = "") -> KeyPlan:
        """The plan in infra's output `key_plan`. Raises KeyPlanError for an unknown form."""
        try:
            return cls(**output, destination_prefix=destination_prefix)
        except TypeError as error:
            raise KeyPlanError(
                f"key plan: the stack's output doesn't fit this version ({error})",
                "apply the stack again",
            ) from None

    @cached_property
    def id(self) -> str:
        """The name of the manifest; the same parameters give the same name."""
        return hashlib.sha256(
            json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True).encode()
        ).hexdigest()[:16]

    @property
    def manifest(self) -> str:
        """The prefix of the slices' keys, as in work orders."""
        return f"{MANIFESTS_PREFIX}{self.id}/"

    @property
    def slice_count(self) -> int:
        """The number of slices of the manifest."""
        return -(-self.objects // self.slice_rows)

    def slice_key(self, index: int) -> str:
        """The key of slice `index` (from 0)."""
        return f"{self.manifest}{index:06d}.csv"

    def share(self, messages: int, index: int) -> tuple[int, int]:
        """(first slice, slices) of message `index` of `messages`, which share all slices as evenly
        as possible."""
        first = index * self.slice_count // messages
        return first, (index + 1) * self.slice_count // messages - first

    def master_keys(self) -> Iterator[str]:
        """The keys of the masters, each with its own random prefix."""
        return map(self._master_key, range(self.masters))

    def slices(self) -> Iterator[str]:
        """The text of each slice in turn; only one is in memory at a time."""
        rows = (
            f"{source},{folder}{index:09d},{self.object_bytes}\n"
            for index, (folder, source) in enumerate(self._places(encoded))
        )
        for _ in range(self.slice_count):
            yield "".join(itertools.islice(rows, self.slice_rows))

    def _places(self, form: Callable[[str], str] = str) -> Iterator[tuple[str, str]]:
        """The folder and the source of each object, with their keys in `form`."""
        start = datetime.datetime.combine(_day("date_from", self.date_from), datetime.time())
        source = functools.lru_cache(KEPT_MASTERS)(lambda master: form(self._master_key(master)))
        folder = ""
        for index in range(self.objects):
            hours, is_in_folder = divmod(index, self.objects_per_folder)
            if not is_in_folder:
                folder = form(self._folder(start + datetime.timedelta(hours=hours)))
            yield folder, source(index % self.masters)

    def _folder(self, hour: datetime.datetime) -> str:
        straight = f"{hour:%Y/%m/%d/%H}"
        if self.key_order == STRAIGHT:
            return f"{self.destination_prefix}{straight}/"
        return f"{self.destination_prefix}{self._hash(straight)}/{hour:%H/%d/%m/%Y}/"

    def _master_key(self, master: int) -> str:
        return f"{MASTERS_PREFIX}{self._hash(f'master {master}')}/{master}"

    def _hash(self, text: str) -> str:
        """The random-looking part of a key; the same seed gives the same."""
        return hashlib.blake2b(
            f"stampede/{self.seed}/{text}".encode(), digest_size=HASH_BYTES
        ).hexdigest()


def manifest_of(outputs: Mapping[str, Any]) -> KeyPlan:
    """The key plan behind the manifest of a stack. Raises KeyPlanError."""
    return KeyPlan.of(outputs["key_plan"], outputs["destination_prefix"])


def slices_of(values: CopyValues) -> int:
    """The number of slices of a manifest. The checks, which come later, refuse numbers out of
    range."""
    plan = values.get("key_plan") or {
        "objects": values["object_count"],
        "slice_rows": values["slice_rows"],
    }
    return max(1, -(-plan["objects"] // max(1, plan["slice_rows"])))


def encoded(key: str) -> str:
    """A key in the form of the manifest."""
    return urllib.parse.quote(key, safe="/")


def _day(name: str, text: str) -> datetime.date:
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%d").date()
    except (ValueError, TypeError):
        raise KeyPlanError(
            f"key plan: {name} must be a date such as 2015-01-01, got {text!r}"
        ) from None
