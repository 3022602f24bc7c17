"""A stack that was applied after a run ended has the names of the run's own, which is gone: its
queue is younger."""

import math

from loader.collecting import CLOCK_SKEW_MS
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.target import Target


def is_later(target: Target, folder: RunFolder) -> bool:
    """Whether the applied stack was created after the last message of the run in `folder` was sent,
    by SQS's CreatedTimestamp of its queue (seconds since 1970). Raises RunError where SQS refuses
    to say."""
    last_ms = max((row["sent_at_ms"] for row in folder.rows("sent.jsonl")), default=math.inf)
    with targets.explained("asking when the queue was created", target):
        answer = target.client("sqs").get_queue_attributes(
            QueueUrl=target["queue_url"], AttributeNames=["CreatedTimestamp"]
        )
    created_ms = 1000 * float(answer.get("Attributes", {}).get("CreatedTimestamp", 0))
    # The embedded AWS goes by this machine's clock.
    return created_ms > last_ms + (0 if target.kind == "local" else CLOCK_SKEW_MS)
