"""The cost of S3's server access logs: vended logs, billed per GB that CloudWatch ingests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stampede.experiment import HOURS_IN_A_MONTH, Use

VARIABLE = "server_side_proof"
# Field names, the request's URI, host ID, user agent and ARNs: about 1,100 bytes with the fields of
# S3's guide, and 26 that CloudWatch adds to each event. Not measured, so rather too much.
BYTES_PER_LINE = 1536
# Prices of the requests that S3 logs; requests to directory buckets have other prices and no log.
REQUEST_PRICES = ("s3_get", "s3_put")
# `destroy` deletes the lines with the stack, so a sweep waits for them first; each query scans all
# lines.
WAIT_S, POLL_S = 20 * 60.0, 120.0
SCANS = WAIT_S / POLL_S + 1
BYTES_IN_A_GB = 2**30  # AWS's GB for logs


def is_on(values: Mapping[str, Any]) -> bool:
    """Whether S3 logs the requests of a stack with these variables."""
    return values.get(VARIABLE) is True


def uses(requests: Sequence[Use], hours: float) -> list[Use]:
    """The uses of the log lines of those `requests` that S3 logs, kept for `hours`."""
    months = hours / HOURS_IN_A_MONTH
    times = {
        ("S3 access log lines", "logs_vended_gb"): 1,
        ("storage of access log lines", "logs_stored_gb_month"): months,
        ("scans of access log lines", "logs_scanned_gb"): SCANS,
    }
    of_lines = []
    for use in requests:
        for (what, price), factor in times.items() if use.price in REQUEST_PRICES else ():
            gb = factor * use.log_lines * BYTES_PER_LINE / BYTES_IN_A_GB
            own = {name: gb * getattr(use, name) for name in ("each", "per_cell", "once")}
            of = f"{use.what} {use.of}"
            of_lines.append(
                replace(use, service="CloudWatch", what=what, price=price, of=of, **own)
            )
    return of_lines
