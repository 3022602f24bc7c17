"""Which downloads belong together: the same memory, N, and way of downloading, which is a method, a sink, and whatever
else was swept."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# What a record or a plan of before there was a choice means: the published way.
METHOD, SINK = "download_file", "tmp"


class Key(NamedTuple):
    """The coordinates of a cell: memory in MB and concurrency (N), as published, and how it downloads.

    `settings` are the other variables that the run swept, as `object_size_mb=4`; empty where it swept none.
    """

    memory_mb: int
    n: int
    method: str = METHOD
    sink: str = SINK
    settings: str = ""

    @property
    def way(self) -> tuple[str, ...]:
        """Method and sink, and the settings where there are any."""
        return (self.method, self.sink, self.settings) if self.settings else (self.method, self.sink)

    @property
    def is_published_way(self) -> bool:
        """Whether it downloads as the published experiment did."""
        return self.way == (METHOD, SINK)


def default_sink(method: str) -> str:
    """Where `method` puts the bytes when nothing is said; the rule of infra/locals.tf."""
    if method.endswith("stream"):
        return "discard"
    return "memory" if method.endswith("ranges") else SINK


def way_words(method: str, sink: str, settings: str = "") -> str:
    """A way in words: the method, the sink where it isn't the method's own, and the settings."""
    words = method if sink == default_sink(method) else f"{method} to {sink}"
    return f"{words}, {settings}" if settings else words


def key_words(key: Key) -> str:
    """A cell's coordinates in words."""
    way = "" if key.is_published_way else f", {way_words(*key.way)}"
    return f"{key.memory_mb} MB, N = {key.n}{way}"


def key_of_figures(figures: Mapping[str, Any]) -> Key:
    """The key of a cell as it stands in statistics.json or cells.csv."""
    names = ("memory_size_mb", "concurrency", "method", "sink")
    return Key(*(figures[name] for name in names), figures.get("settings") or "")


def as_figures(key: Key) -> dict[str, Any]:
    """The same the other way round."""
    names = ("memory_size_mb", "concurrency", "method", "sink", "settings")
    return dict(zip(names if key.settings else names[:-1], key, strict=False))


def told_apart(keys: Iterable[Key]) -> bool:
    """Whether the ways of these cells must be named: any but the published one."""
    return any(not key.is_published_way for key in keys)
