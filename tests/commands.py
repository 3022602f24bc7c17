"""The commands in the documents, which tests parse and the release check runs."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Command:
    """A command of a block in `document`, as one line without its comment."""

    document: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its words; the first is the program's name without its folder."""
        words = shlex.split(self.text)
        return [Path(words[0]).name, *words[1:]]


def commands(document: Path) -> Iterator[Command]:
    """Every command of the `sh` blocks of `document`, in their order."""
    for block in re.findall(r"(?ms)^ *```sh\n(.*?)^ *```$", document.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            for text in re.sub(r"(^|\s+)# .*", "", line).split(" && "):
                if text.strip():
                    yield Command(document.name, re.sub(r"\s+", " ", text).strip())


def every_command() -> list[Command]:
    """Those of README, CONTRIBUTING and docs/."""
    return [command for document in DOCUMENTS for command in commands(document)]
