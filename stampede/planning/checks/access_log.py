"""Whether S3's own count of the requests (server_side_proof) can be had where a sweep goes, and in its time."""

from __future__ import annotations

import re

from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import minutes
from stampede.planning.cost import Estimate, access_log
from stampede.planning.demand import Demand
from stampede.stacks import target as targets
from stampede.variable_rules import RULES

CHECK = "access logs"
# S3 User Guide, "Delivering server access logs to CloudWatch Logs": what it takes until the configuration is in effect;
# only requests after that are logged. Their lines come "within a few hours", elsewhere in the guide "a few minutes".
BEGINS_S = 20 * 60
# What's New of June 2026: not offered there.
NOT_IN = re.compile(RULES["region"].shared["without_access_logs"])


def check(cells: list[Demand], option: str, estimated: Estimate) -> list[Finding]:
    """Nothing where no cell asks for it; else one finding, for a run with --target `option` of such a duration and
    bill."""
    if not any(access_log.is_on(demand.cell.values) for demand in cells):
        return []
    leave_out = f"leave {access_log.VARIABLE} out (--set, TF_VAR_{access_log.VARIABLE}, *.tfvars)"
    if option == "local":
        problem = f"{access_log.VARIABLE}: the embedded AWS writes no server access logs"
        return [Finding(CHECK, PROBLEM, problem, f"{leave_out}; only --target aws has them")]
    where = targets.configured({})
    if url := where.url_of("s3") or where.url_of("logs"):
        problem = f"{access_log.VARIABLE}: only S3 on AWS delivers server access logs, and {url} isn't AWS"
        return [Finding(CHECK, PROBLEM, problem, leave_out)]
    if NOT_IN.match(estimated.region):
        problem = (
            f"{access_log.VARIABLE}: S3 in {estimated.region} doesn't deliver server access logs to CloudWatch Logs"
        )
        return [Finding(CHECK, PROBLEM, problem, f"{leave_out}, or use --set region=...")]
    usd = sum(item.usd or 0.0 for item in estimated.items if item.what in access_log.WORDS)
    begins = f"about {usd:.2f} USD of the cost; S3 logs requests from {minutes(BEGINS_S)} after the apply"
    sweep_s = estimated.total_s - access_log.WAIT_S
    if sweep_s < 2 * BEGINS_S:
        problem = f"{begins}, and this sweep takes about {minutes(sweep_s)}: few or none of its requests will be logged"
        way_out = "apply the stack half an hour earlier, and use --take-over --keep (docs/server_side_proof.md)"
        return [Finding(CHECK, WARNING, problem, way_out)]
    return [Finding(CHECK, OK, f"{begins}, best effort, up to hours late: use --keep and query again later")]
