"""What S3's server access logs cost: vended logs, billed by the GB that CloudWatch takes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stampede.experiment import HOURS_IN_A_MONTH

VARIABLE = "server_side_proof"
# Names of fields, a request's URI, host id, user agent and ARNs: about 1,100 bytes as S3's guide
# has the fields, and 26 that CloudWatch adds for each event. Nobody here has measured one, so
# rather too much.
BYTES_PER_LINE = 1536
# What requests to S3 cost that it logs; those to directory buckets have other prices, and no log.
REQUEST_PRICES = ("s3_get", "s3_put")
# A stack that is destroyed takes the lines along, so a sweep waits for them; asking scans all of
# them each time.
WAIT_S, POLL_S = 20 * 60.0, 120.0
SCANS = WAIT_S / POLL_S + 1
BYTES_IN_A_GB = 2**30  # AWS's GB for logs


def is_on(values: Mapping[str, Any]) -> bool:
    """Whether a stack of these variables has S3 log its requests."""
    return values.get(VARIABLE) is True


def lines(log_lines: float, hours: float) -> dict[tuple[str, str, str], float]:
    """Quantities by service, words and price: so many lines in the log, kept for `hours`."""
    gb = log_lines * BYTES_PER_LINE / BYTES_IN_A_GB
    return {
        ("CloudWatch", "S3 access log lines", "logs_vended_gb"): gb,
        ("CloudWatch", "storage of access log lines", "logs_stored_gb_month"): gb
        * hours
        / HOURS_IN_A_MONTH,
        ("CloudWatch", "scans of access log lines", "logs_scanned_gb"): SCANS * gb,
    }
