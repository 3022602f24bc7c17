"""Log events as the download experiment writes them."""

import json
from typing import Any

FIRST_MS = 1_736_700_000_000  # 2025-01-12 16:40:00.000


def record(**changes: Any) -> dict[str, Any]:
    """A record of the download experiment."""
    return {
        "concurrency_limit": 1,
        "download_time_seconds": 12.5,
        "memory_size": 1024,
        "experiment_tag": "experiment 01",
        "run_id": "run-a",
        "cell": "memory_size=1024,concurrency_value=1",
        "seq": 0,
        "message_id": "m-0",
        "request_id": "r-0",
        "sandbox_id": "s-0",
        "cold_start": 0,
        "attempt": 1,
        "started_at_ms": FIRST_MS,
        "finished_at_ms": FIRST_MS + 12_500,
        "bytes": 1_073_741_824,
        "method": "download_file",
        "status": "ok",
        "warm_up": 0,
    } | changes


def event(message: str | dict[str, Any], ms: int = FIRST_MS, **more: Any) -> dict[str, Any]:
    """A log event; a dictionary becomes one JSON line, as the function prints it."""
    text = message if isinstance(message, str) else json.dumps(message) + "\n"
    return {"timestamp": ms, "message": text, **more}


def report(request: str, duration_ms: float, memory_mb: int) -> str:
    """A Lambda REPORT line."""
    return (
        f"REPORT RequestId: {request}\tDuration: {duration_ms} ms\tBilled Duration: "
        f"{int(duration_ms) + 1} ms\tMemory Size: {memory_mb} MB\tMax Memory Used: 64 MB\t\n"
    )


def values(*xs: Any) -> list[dict[str, Any]]:
    """Events with one JSON field `x` each, a second apart."""
    return [event({"x": x}, FIRST_MS + 1000 * place) for place, x in enumerate(xs)]
