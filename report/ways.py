"""Which downloads belong together: the same memory, N, and way of downloading, which is a method and a sink."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# What a record or a plan of before there was a choice means: the published way.
METHOD, SINK = "download_file", "tmp"


class Key(NamedTuple):
    """The coordinates of a cell: memory in MB and concurrency (N), as published, and how it downloads."""

    memory_mb: int
    n: int
    method: str = METHOD
    sink: str = SINK

    @property
    def way(self) -> tuple[str, str]:
        """Method and sink."""
        return self.method, self.sink

    @property
    def is_published_way(self) -> bool:
        """Whether it downloads as the published experiment did."""
        return self.way == (METHOD, SINK)


def default_sink(method: str) -> str:
    """Where `method` puts the bytes when nothing is said; the rule of infra/locals.tf."""
    if method.endswith("stream"):
        return "discard"
    return "memory" if method.endswith("ranges") else SINK


def way_words(method: str, sink: str) -> str:
    """A way in words: the method, and the sink where it isn't the method's own."""
    return method if sink == default_sink(method) else f"{method} to {sink}"


def key_of_figures(figures: Mapping[str, Any]) -> Key:
    """The key of a cell as it stands in statistics.json or cells.csv."""
    return Key(figures["memory_size_mb"], figures["concurrency"], figures["method"], figures["sink"])


def as_figures(key: Key) -> dict[str, Any]:
    """The same the other way round."""
    return dict(zip(("memory_size_mb", "concurrency", "method", "sink"), key, strict=True))


def told_apart(keys: Iterable[Key]) -> bool:
    """Whether the ways of these cells must be named: any but the published one."""
    return any(not key.is_published_way for key in keys)
