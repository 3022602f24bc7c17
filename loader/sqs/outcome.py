"""What becomes of a flood's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stampede.errors import RunError
from stampede.phrases import counted

# Concurrent requests, a connection each: the batches whose outcome is unknown after a kill.
IN_FLIGHT = 96


class Accepted(NamedTuple):
    """One message that SQS has confirmed; `sent_at_ms` is when the confirmation came (epoch ms)."""

    seq: int
    message_id: str
    sent_at_ms: int
    possible_duplicate: int


@dataclass
class Outcome:
    """What became of a flood, in messages; `reason` is the first refusal's text. Of the sent ones,
    `possible_duplicates` may be in the queue twice; of the failed ones, `maybe_sent` may be in
    it."""

    sent: int = 0
    failed: int = 0
    possible_duplicates: int = 0
    maybe_sent: int = 0
    requests: int = 0
    retries: int = 0
    seconds: float = 0.0
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The counts, duration and rate, as the loader prints them."""
        counts = {
            name: value for name, value in vars(self).items() if name not in ("seconds", "reason")
        }
        rate = self.sent / self.seconds if self.seconds else 0.0
        return counts | {"seconds": round(self.seconds, 3), "messages_per_s": round(rate, 1)}

    def check(self) -> None:
        """Raise RunError when a message was not accepted."""
        if self.failed:
            count = counted(self.sent + self.failed, "message")
            raise RunError(f"{self.failed} of {count} not accepted: {self.reason}")

    def sentence(self) -> str:
        """The outcome in words."""
        sent = counted(self.sent, "message")
        text = f"sent {sent}, {self.failed} failed, in {self.seconds:.2f} s"
        if self.possible_duplicates:
            text += (
                f"; {self.possible_duplicates} may be in the queue twice (sent again after an "
                "unknown outcome)"
            )
        if self.maybe_sent:
            text += f"; {self.maybe_sent} of the failed may be in the queue"
        return text + (f"; {self.reason}" if self.failed else "")
