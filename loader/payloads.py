"""The user's own message bodies (--payload): one JSON value, or several with weights as Lambda
Power Tuning takes them.

They are stored with the run, so that a resumed run sends the same.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stampede import user_json
from stampede.errors import UsageError, one_line
from stampede.runs import stored_json
from stampede.runs.folder import RunFolder, damage_refused

FILE = "payload.json"
DEFAULT = "{}"
# A message has at most 1 MiB (SQS quotas). The attribute with the work order takes less than the
# first of these, usually the second.
ATTRIBUTE_BYTES, USUAL_ATTRIBUTE_BYTES = 2048, 256
MOST_BYTES = 2**20 - ATTRIBUTE_BYTES
# The trigger keeps events below the first by making batches smaller (Lambda guide, "Batching
# behavior"). In an event a message also has ids, receipt handle, attributes and checksums: the
# second.
MOST_EVENT_BYTES, EVENT_BYTES = 6 * 2**20, 1000


@dataclass(frozen=True)
class Payloads:
    """Message bodies, as text, with their weights; `text` is the file."""

    text: str
    bodies: Sequence[str]
    weights: Sequence[float]

    @classmethod
    def of_file(cls, path: Path) -> Payloads:
        """The payloads of --payload. Raises UsageError for a file that is unreadable or invalid."""
        try:
            with stored_json.opened(Path(os.path.realpath(path))) as file:
                return cls.of_text(file.read().decode())
        except OSError as error:
            raise UsageError(
                f"--payload {path}: can't be read ({error.strerror}); give a file of JSON"
            ) from None
        except ValueError as error:
            raise UsageError(f"--payload {path}: {one_line(error)}") from None

    @classmethod
    def of_text(cls, text: str) -> Payloads:
        """The payloads of a list of {"payload", "weight"}, or any other JSON value as it is
        written. Raises ValueError."""
        try:
            value = user_json.value_of(text)
        except ValueError as error:
            raise ValueError(f"must be JSON: {error}") from None
        bodies, weights = [text], [1.0]
        if isinstance(value, list) and any(map(_has_payload, value)):
            for number, row in enumerate(value, start=1):
                if not _is_weighted(row):
                    raise ValueError(f'element {number} must have "payload" and "weight" alone')
                if type(row["weight"]) not in (int, float) or not 0 < row["weight"] < math.inf:
                    raise ValueError(f"a weight must be a number above 0, got {row['weight']!r}")
            if not math.isfinite(sum(row["weight"] for row in value)):
                raise ValueError("the weights are too large")
            bodies = [json.dumps(row["payload"], ensure_ascii=False) for row in value]
            weights = [row["weight"] for row in value]
        longest = max(len(body.encode()) for body in bodies)
        if longest > MOST_BYTES:
            raise ValueError(
                f"a payload must have at most {MOST_BYTES:,} bytes, as SQS takes 1 MiB, got "
                f"{longest:,}"
            )
        return cls(text, bodies, weights)

    @classmethod
    def of_run(cls, folder: RunFolder) -> Payloads:
        """The payloads stored with a run, by default an empty JSON object. Raises UsageError for a
        damaged file."""
        path = folder.path / FILE
        with (
            damage_refused(path),
            contextlib.suppress(FileNotFoundError),
            stored_json.opened(path) as file,
        ):
            return cls.of_text(file.read().decode())
        return cls.of_text(DEFAULT)

    def store(self, folder: RunFolder) -> None:
        """Store them with the run."""
        folder.replace(FILE, self.text)

    def draw(self, indices: range) -> list[int]:
        """The number of the body for each of these messages of a cell (from 0). The shares follow
        the weights as closely as whole numbers allow, over the whole cell too; the order is
        shuffled, always in the same way."""
        total, drawn, numbers = sum(self.weights), [0] * len(self.weights), []
        for place in range(1, indices.stop + 1):
            owed = [weight / total * place for weight in self.weights]
            number = max(range(len(drawn)), key=lambda n: owed[n] - drawn[n])
            drawn[number] += 1
            numbers.append(number)
        chosen = numbers[indices.start :]
        random.Random(indices.start).shuffle(chosen)
        return chosen

    def message_bytes(self) -> list[tuple[int, float]]:
        """For each payload the bytes of a message with its attribute, and the share of the
        messages."""
        return [
            (len(body.encode()) + USUAL_ATTRIBUTE_BYTES, weight / sum(self.weights))
            for body, weight in zip(self.bodies, self.weights, strict=True)
        ]

    def refuse_batches(self, batch_size: int) -> None:
        """Raise UsageError if an event can't hold `batch_size` messages of the mean size."""
        # An event holds bodies as JSON texts, with quotes and line ends escaped.
        escaped = [len(json.dumps(body, ensure_ascii=False).encode()) for body in self.bodies]
        mean_bytes = statistics.fmean(escaped, self.weights)
        most = MOST_EVENT_BYTES // (mean_bytes + USUAL_ATTRIBUTE_BYTES + EVENT_BYTES)
        if batch_size > most:
            raise UsageError(
                f"batch_size = {batch_size}: Lambda hands out 6 MB at once, about {most:.0f} of "
                "these messages",
                f"use --set batch_size={most:.0f} or less, or smaller payloads",
            )

    def sentence(self) -> str:
        """Their number and weights in words; "" for one payload."""
        if len(self.bodies) == 1:
            return ""
        weights = ", ".join(f"{weight:g}" for weight in self.weights)
        return f"each message carries one of {len(self.bodies)} payloads, with weights {weights}"


def _has_payload(row: Any) -> bool:
    return isinstance(row, dict) and "payload" in row and len(row) == 2


def _is_weighted(row: Any) -> bool:
    return isinstance(row, dict) and row.keys() == {"payload", "weight"}
