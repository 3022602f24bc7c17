"""The published figures, as data (`experiments/published/*.csv`; the README there names each setting)."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

DOWNLOAD_OBJECT_BYTES = 1024**3
DOWNLOAD_LABEL = "AWS, published 2025"
DOWNLOAD_SETTING = "ap-northeast-1, January 2025, python3.12, boto3 download_file, 1 GiB object, N x 10 messages"

NAMES = (
    "copy_host_cli",
    "copy_host_rate",
    "copy_host_retries",
    "copy_lambda",
    "download",
    "express",
    "filesystem_large",
    "filesystem_small",
)


@dataclass(frozen=True)
class PublishedDownload:
    """One published row of the download experiment; seconds for one 1 GiB object. The count wasn't published."""

    memory_size_mb: int
    concurrency: int
    min_s: float
    p25_s: float
    avg_s: float
    p75_s: float
    max_s: float


def rows(name: str) -> list[dict[str, str]]:
    """The rows of published table `name` (one of NAMES) as text, exactly as published. Raises KeyError."""
    if name not in NAMES:
        raise KeyError(f"{name}: no published table of that name; there are {', '.join(NAMES)}")
    text = (files("experiments") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def download() -> dict[tuple[int, int], PublishedDownload]:
    """The published download table by (memory in MB, concurrency)."""
    table = {}
    for row in rows("download"):
        key = (int(row["memory_size_mb"]), int(row["concurrency"]))
        seconds = {name: float(text) for name, text in row.items() if name.endswith("_s")}
        table[key] = PublishedDownload(*key, **seconds)
    return table
