"""Writes docs/evidence.md, Stampede's assumptions about AWS and their proofs, from
docs/evidence.toml.

`python -m tests.evidence` (make evidence); tests/unit/test_evidence.py checks that it is current.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stampede.tables import markdown

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
BOOK: dict[str, Any] = tomllib.loads((ROOT / "docs" / "evidence.toml").read_text(encoding="utf-8"))
PROOFS = ("recorded", "documented", "reported")
AWS_PAGES = "https://docs.aws.amazon.com/"


def kind(row: Mapping[str, Any]) -> str:
    """The kind of an assumption's proof."""
    return next((name for name in PROOFS if row.get(name)), "nothing")


def is_open(row: Mapping[str, Any]) -> bool:
    """Whether any part of it isn't proven."""
    return "open" in row or kind(row) in ("reported", "nothing")


def page() -> str:
    """The whole page."""
    rows = BOOK["assumption"]
    kinds = [kind(row) for row in rows]
    recorded, documented, reported, nothing = map(kinds.count, (*PROOFS, "nothing"))
    counts = (
        f"Of {len(rows)} assumptions, {recorded} rest on recorded answers, {documented} on AWS's "
        f"documentation alone, {reported} on what others report, and {nothing} on nothing yet."
    )
    opened = [
        [_assumption(row), row.get("open", "All of it."), _proof(row), _places(row)]
        for row in rows
        if is_open(row)
    ]
    proven = [[_assumption(row), _proof(row), _places(row)] for row in rows if not is_open(row)]
    heads = ["assumption", "what isn't proven", "what there is", "where"]
    parts = [
        BOOK["intro"].strip().format(counts=counts),
        "## Not proven yet",
        "\n".join(markdown(heads, opened, texts=heads)),
        "## Proven",
        "\n".join(markdown([heads[0], "proof", heads[3]], proven, texts=[*heads, "proof"])),
    ]
    return "\n\n".join(parts) + "\n"


def _assumption(row: Mapping[str, Any]) -> str:
    return f"{row['text']}{' *Checked.*' if 'checked' in row else ''}"


def _proof(row: Mapping[str, Any]) -> str:
    recorded = ", ".join(f"`{name}`" for name in row.get("recorded", ()))
    proofs = [f"recorded: {recorded}"] if recorded else []
    proofs += [f"[documented]({AWS_PAGES}{path})" for path in row.get("documented", ())]
    proofs += [f"[reported]({url})" for url in row.get("reported", ())]
    return ", ".join(proofs) or "nothing yet"


def _places(row: Mapping[str, Any]) -> str:
    return ", ".join(f"[{Path(file).name}](../{file})" for file in row["code"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
