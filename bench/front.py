"""Runs the front that throttles (bench/front): S3 with a limit a prefix, before versitygw or a store of keys alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import programs
from bench.errors import BenchError
from bench.process import get, running
from stampede.emulator.ministack import HOST, free_port


@dataclass(frozen=True)
class Front:
    """A running front: its S3 endpoint URL, and what it has counted."""

    url: str

    def status(self) -> dict[str, Any]:
        """What it has accepted, refused and carried out since its start, by prefix and second. Raises BenchError."""
        answered, body = get(f"{self.url}/__front")
        if answered != 200:
            raise BenchError(f"the front answered {answered} to /__front: {body[:200].decode(errors='replace')}")
        return json.loads(body)


@contextmanager
def front(upstream: str = "none", cores: int | None = None, **options: float | str | bool) -> Iterator[Front]:
    """Run the front before the S3 at `upstream`, or as a store of keys alone; gives where it answers.

    Options are those of its command line with _ for - (`limit_per_s=500`); `bench/front --help` explains them. With
    `cores` it keeps no more of them busy at once. Raises BenchError without Go (the first time), or when it refuses an
    option.
    """
    environment = {} if cores is None else {"GOMAXPROCS": str(cores)}
    port = free_port()
    settings = {"port": port, "upstream": upstream} | options
    command = [programs.front(), *(f"--{name.replace('_', '-')}={_text(value)}" for name, value in settings.items())]
    with tempfile.TemporaryDirectory(prefix="stampede-front-", ignore_cleanup_errors=True) as folder:
        made = Front(f"http://{HOST}:{port}")
        with running(command, "front", Path(folder), answers_at=f"{made.url}/__front", environment=environment):
            yield made


def _text(value: float | str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
