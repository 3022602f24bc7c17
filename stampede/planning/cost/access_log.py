"""What S3's server access logs cost: vended logs, billed by the GB that CloudWatch takes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stampede.experiment.usage import HOURS_IN_A_MONTH

VARIABLE = "server_side_proof"
# Names of fields, a request's URI, host id, user agent and ARNs: about 1,100 bytes as S3's guide has the fields, and 26
# that CloudWatch adds for each event. Nobody here has measured one, so rather too much.
BYTES_PER_LINE = 1536
# Requests to S3 by the prices they have. A copy leaves a line at its source and one at its destination (S3 User Guide,
# "Logging requests with server access logging", copy operations).
REQUESTS, WITHIN_S3 = ("s3_get", "s3_put"), "COPY"
# A stack that is destroyed takes the lines along, so a sweep waits for them; asking scans all of them each time.
WAIT_S, POLL_S = 20 * 60.0, 120.0
SCANS = WAIT_S / POLL_S + 1
# What the lines of the bill are for.
WORDS = TAKEN_IN, STORED, SCANNED = "S3 access log lines", "storage of access log lines", "scans of access log lines"
BYTES_IN_A_GB = 2**30  # AWS's GB for logs


def is_on(values: Mapping[str, Any]) -> bool:
    """Whether a stack of these variables has S3 log its requests; a text as Terraform takes it."""
    return values.get(VARIABLE) in (True, "true")


def lines(used: Mapping[tuple[str, str, str], float], hours: float) -> dict[tuple[str, str, str], float]:
    """Quantities by service, words and price, as in `used`, the experiment's own lines of the bill: what the requests
    among them leave in the log, kept for `hours`."""
    requests = sum(
        quantity * (2 if WITHIN_S3 in what else 1) for (_, what, price), quantity in used.items() if price in REQUESTS
    )
    gb = requests * BYTES_PER_LINE / BYTES_IN_A_GB
    return {
        ("CloudWatch", TAKEN_IN, "logs_vended_gb"): gb,
        ("CloudWatch", STORED, "logs_stored_gb_month"): gb * hours / HOURS_IN_A_MONTH,
        ("CloudWatch", SCANNED, "logs_scanned_gb"): SCANS * gb,
    }
