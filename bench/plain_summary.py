"""The saved summary of a download without Stampede: a script without dependencies,
`plain_summary.py LOG_EVENTS`.

It reads each line with `json.loads`, twice: the event, and the record in its message.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from pathlib import Path


def plain_python(logs: Path) -> list[tuple[float, ...]]:
    """The rows: memory_size_mb, concurrency, count, min_s, p25_s, avg_s, p75_s, max_s."""
    times: dict[tuple[int, int], list[float]] = {}
    with logs.open() as file:
        for line in file:
            message = json.loads(line)["message"]
            if not message.startswith("{"):
                continue
            record = json.loads(message)
            seconds = record.get("download_time_seconds")
            if seconds is not None and record.get("status") == "ok" and record.get("warm_up") == 0:
                times.setdefault((record["memory_size"], record["concurrency_limit"]), []).append(
                    seconds
                )
    rows = []
    for cell, seconds in sorted(times.items()):
        seconds.sort()
        low, high = (_percentile(seconds, percent) for percent in (25, 75))
        rows.append(
            (*cell, len(seconds), seconds[0], low, statistics.fmean(seconds), high, seconds[-1])
        )
    return rows


def _percentile(ordered: list[float], percent: int) -> float:
    """As the service has it: the nearest rank, from 100 distinct values on the lower edge of its
    bin."""
    value = ordered[max(1, -(-percent * len(ordered) // 100)) - 1]
    return (
        value if len(set(ordered)) < 100 else 1.001 ** math.floor(math.log(value) / math.log(1.001))
    )


if __name__ == "__main__":
    began = time.perf_counter()
    table = plain_python(Path(sys.argv[1]))
    print(json.dumps({"rows": table, "seconds": time.perf_counter() - began}))
