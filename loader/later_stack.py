"""Recognizes a stack that was applied after a run's own was destroyed: it has the same names, and a
younger queue."""

import math

from loader.collecting import CLOCK_SKEW_MS
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.target import Target


def is_later(target: Target, folder: RunFolder) -> bool:
    """Whether the applied stack's queue was created (SQS's CreatedTimestamp, seconds since 1970)
    after the last message of the run in `folder` was sent. Raises RunError if SQS refuses."""
    last_ms = max((row["sent_at_ms"] for row in folder.rows("sent.jsonl")), default=math.inf)
    with targets.explained("asking when the queue was created", target):
        answer = target.client("sqs").get_queue_attributes(
            QueueUrl=target["queue_url"], AttributeNames=["CreatedTimestamp"]
        )
    created_ms = 1000 * float(answer["Attributes"]["CreatedTimestamp"])
    # The embedded AWS uses this machine's clock.
    return created_ms > last_ms + (0 if target.kind == "local" else CLOCK_SKEW_MS)
