"""The result of a timed operation, for its record."""

import time
from dataclasses import dataclass

from common.measurement import Measurement


@dataclass(frozen=True)
class Outcome:
    """Epoch ms of the start, seconds taken, bytes received, and the error, if any.

    Then the seconds to the first answer with a body, the CPU seconds of this process, the retries,
    and all requests. None means unknown.
    """

    started_at_ms: int
    elapsed_s: float
    received_bytes: int
    error: Exception | None
    first_byte_s: float | None = None
    cpu_s: float = 0.0
    retries: int | None = 0
    requests: int | None = 0

    @classmethod
    def of(
        cls, measurement: Measurement, received_bytes: int, error: Exception | None
    ) -> "Outcome":
        """Return the measured values, up to now if the operation still runs."""
        if measurement.started_at_ms is None:
            return cls.not_started(error or RuntimeError("no time was measured"))
        return cls(
            started_at_ms=measurement.started_at_ms,
            elapsed_s=measurement.elapsed_so_far_s(),
            received_bytes=received_bytes,
            error=error,
            first_byte_s=measurement.first_byte_s,
            cpu_s=measurement.cpu_so_far_s(),
            retries=measurement.retries,
            requests=measurement.requests,
        )

    @property
    def finished_at_ms(self) -> int:
        """Epoch ms of the end, derived from the duration so that overlaps fit durations."""
        return self.started_at_ms + round(self.elapsed_s * 1000)

    @staticmethod
    def not_started(error: Exception) -> "Outcome":
        """Return the outcome of a message that failed before its timed part began."""
        return Outcome(time.time_ns() // 1_000_000, 0.0, 0, error)
