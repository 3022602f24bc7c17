"""The saved summary of downloads as a script without dependencies: `plain_summary.py LOG_EVENTS`.

It parses each line twice with `json.loads`: the event, and the record in its message.
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
                cell = record["memory_size"], record["concurrency_limit"]
                times.setdefault(cell, []).append(seconds)
    rows = []
    for cell, seconds in sorted(times.items()):
        seconds.sort()
        low, high = (_percentile(seconds, percent) for percent in (25, 75))
        mean = statistics.fmean(seconds)
        rows.append((*cell, len(seconds), seconds[0], low, mean, high, seconds[-1]))
    return rows


def _percentile(ordered: list[float], percent: int) -> float:
    """Like the service: the nearest rank or, from 100 distinct values, the lower edge of a bin."""
    value = ordered[max(1, -(-percent * len(ordered) // 100)) - 1]
    if len(set(ordered)) < 100:
        return value
    return 1.001 ** math.floor(math.log(value) / math.log(1.001))


if __name__ == "__main__":
    began = time.perf_counter()
    table = plain_python(Path(sys.argv[1]))
    print(json.dumps({"rows": table, "seconds": time.perf_counter() - began}))
