"""The user's own message bodies (--payload): one JSON value, or several with weights as Lambda Power Tuning takes them.

They are stored with the run, so that whatever goes on with it sends the same.
"""

from __future__ import annotations

import contextlib
import json
import random
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
# A message has 1 MiB (SQS quotas), of which the attribute with what Stampede says takes less than this; as a rule it
# takes the second.
ATTRIBUTE_BYTES, USUAL_ATTRIBUTE_BYTES = 2048, 256
MOST_BYTES = 2**20 - ATTRIBUTE_BYTES
# Of a list of payloads; and what has no end is refused.
MOST_FILE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Payloads:
    """Bodies, as text, and how often each is sent; `text` is the file."""

    text: str
    bodies: Sequence[str]
    weights: Sequence[float]

    @classmethod
    def of_file(cls, path: Path) -> Payloads:
        """Those of --payload. Raises UsageError for what can't be read or isn't allowed."""
        try:
            with path.open("rb") as file:
                content = file.read(MOST_FILE_BYTES + 1)
            if len(content) > MOST_FILE_BYTES:
                raise UsageError(
                    f"--payload {path}: must have at most {MOST_FILE_BYTES // 2**20} MiB; give a smaller file"
                )
            return cls.of_text(content.decode())
        except OSError as error:
            raise UsageError(f"--payload {path}: can't be read ({error.strerror}); give a file of JSON") from None
        except UnicodeDecodeError:
            raise UsageError(f"--payload {path}: isn't text in UTF-8; give a file of JSON") from None
        except ValueError as error:
            raise UsageError(f"--payload {path}: {one_line(error)}") from None

    @classmethod
    def of_text(cls, text: str) -> Payloads:
        """A JSON value is sent as it is written; of a list of {"payload", "weight"} each payload. Raises ValueError."""
        try:
            value = user_json.value_of(text)
        except ValueError as error:
            raise ValueError(f"must be JSON: {error}") from None
        bodies, weights = [text], [1.0]
        weighted = [_is_weighted(row) for row in value] if isinstance(value, list) else []
        if any(weighted):
            if not all(weighted):
                number = weighted.index(False) + 1
                raise ValueError(f'each element must have "payload" and "weight" alone; element {number} doesn\'t')
            bodies = [json.dumps(row["payload"], ensure_ascii=False) for row in value]
            weights = [row["weight"] for row in value]
        for weight in weights:
            if type(weight) not in (int, float) or not 0 < weight < float("inf"):
                raise ValueError(f"a weight must be a number above 0, got {weight!r}")
        longest = max(len(body.encode()) for body in bodies)
        if longest > MOST_BYTES:
            raise ValueError(f"a payload must have at most {MOST_BYTES:,} bytes, as SQS takes 1 MiB, got {longest:,}")
        return cls(text, bodies, weights)

    @classmethod
    def of_run(cls, folder: RunFolder) -> Payloads:
        """Those that are stored with a run; an empty JSON object where none are. Raises UsageError for a damaged
        file."""
        path = folder.path / FILE
        with damage_refused(path), contextlib.suppress(FileNotFoundError), stored_json.opened(path) as file:
            return cls.of_text(file.read().decode())
        return cls.of_text(DEFAULT)

    def store(self, folder: RunFolder) -> None:
        """Keep them with the run."""
        folder.replace(FILE, self.text)

    def draw(self, first: int, count: int) -> list[int]:
        """Which body each of `count` messages gets, the first of them the `first` of its cell (from 0). The weights are
        kept as well as whole numbers allow, in the cell too; the order is shuffled, always in the same way."""
        if len(self.bodies) == 1:
            return [0] * count
        share, drawn = [weight / sum(self.weights) for weight in self.weights], [0] * len(self.weights)
        numbers = []
        for place in range(1, first + count + 1):
            number = max(range(len(drawn)), key=lambda n: share[n] * place - drawn[n])
            drawn[number] += 1
            numbers.append(number)
        chosen = numbers[first:]
        random.Random(first).shuffle(chosen)
        return chosen

    def message_bytes(self) -> list[tuple[int, float]]:
        """The bytes of a message with each payload and its attribute, and the share of the messages that have it."""
        bodies = zip(self.bodies, self.weights, strict=True)
        return [(len(body.encode()) + USUAL_ATTRIBUTE_BYTES, weight / sum(self.weights)) for body, weight in bodies]

    def sentence(self) -> str:
        """How many there are, in words."""
        sizes = ", ".join(
            f"{len(body.encode()):,} bytes with weight {weight:g}"
            for body, weight in zip(self.bodies, self.weights, strict=True)
        )
        return f"each message carries one of {len(self.bodies)} payloads: {sizes}" if len(self.bodies) > 1 else ""


def _is_weighted(row: Any) -> bool:
    return isinstance(row, dict) and row.keys() == {"payload", "weight"}
