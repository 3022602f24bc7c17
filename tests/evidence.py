"""Writes docs/evidence.md, the page of what Stampede assumes of AWS and what proves it, from docs/evidence.toml.

`python -m tests.evidence` (make evidence); with --check it only tells whether the page is current.
"""

import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.aws_answers import ANSWERS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
BOOK: dict[str, Any] = tomllib.loads((ROOT / "docs" / "evidence.toml").read_text(encoding="utf-8"))
# Words that say that something was taken for granted, in code and documents.
STATEMENT = re.compile(
    r"[Oo]nly (?:AWS|the service) can|on AWS yet|[Nn]ever run on AWS|n't documented|[Nn]ot documented|[Uu]ndocumented"
    r"|documents none|[Nn]ot found on a page|is an assumption|are assumptions|model assumes|[Nn]obody has p"
    r"|(?:is|are|an) assumed|are taken to be|not been (?:seen|observed)|never seen this on AWS|no run of"
    r"|[Nn]o run on AWS stands|are guesses|a guess\b|: guessed"
    r"|reference is silent|reference doesn't say|documentation doesn't say|AWS doesn't say|how much longer isn't known"
)
CITATION = re.compile(
    r"\((?:Lambda|SQS|S3|IAM|EFS|VPC|EC2|STS|KMS|CloudWatch|Athena|AWS|API)\b[^)]*(?:[Gg]uide|[Rr]eference|quotas)"
    "|quotas page"
)
SOURCES = ("loader", "functions", "experiments", "queries", "stampede", "infra", "docs", "*.md")
WEIGHTS = ("figures", "data", "handling")


def kind(row: Mapping[str, Any]) -> str:
    """What the proof of an assumption is."""
    return next((name for name in ("recorded", "documented", "reported") if row.get(name)), "nothing")


def is_open(row: Mapping[str, Any]) -> bool:
    """Whether something of it isn't proven."""
    return "open" in row or kind(row) in ("reported", "nothing")


def page() -> str:
    """The whole page."""
    rows = BOOK["assumption"]
    counts = {
        name: sum(kind(row) == name for row in rows) for name in ("recorded", "documented", "reported", "nothing")
    }
    summary = (
        f"Of {len(rows)} assumptions, {counts['recorded']} rest on recorded answers, {counts['documented']} on AWS's "
        f"documentation alone, {counts['reported']} on what others report, and {counts['nothing']} on nothing yet."
    )
    parts = [
        BOOK["intro"].strip().format(counts=summary),
        "## Not proven yet",
        *_open(rows),
        "## Proven",
        *_proven(rows),
    ]
    parts += ["## The recorded answers", _answers(), "## What this book changed", _changed()]
    return "\n\n".join(parts) + "\n"


def _open(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "First what decides figures, then what can lose data, then what only changes how a run ends."
    ordered = sorted(filter(is_open, rows), key=lambda row: WEIGHTS.index(row["weight"]))
    lines = ["| assumption | what isn't proven | what there is | decides | where |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {_assumption(row)} | {row.get('open', 'Not documented by AWS.')} | {_proof(row)} | "
        f"{row['weight']} | {_places(row)} |"
        for row in ordered
    ]
    yield "\n".join(lines)


def _proven(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for topic, group in itertools.groupby((row for row in rows if not is_open(row)), key=lambda row: row["topic"]):
        lines = [f"### {topic}", "", "| assumption | proof | decides | where |", "| --- | --- | --- | --- |"]
        lines += [f"| {_assumption(row)} | {_proof(row)} | {row['weight']} | {_places(row)} |" for row in group]
        yield "\n".join(lines)


def _answers() -> str:
    """Every recorded answer: who gives it, or why it isn't needed."""
    heads = ("answer", "call", "situation", "AWS answers", "embedded AWS", "in Stampede")
    lines = [BOOK["answers_intro"].strip(), "", f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, row in ANSWERS.items():
        cells = (
            f"`{name}`",
            row["operation"],
            _cell(row["situation"]),
            _answer(row["answer"]),
            _embedded(name),
            _use(name),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Fakes of the tests differ in this:", ""]
    lines += [f"- {fake['of']} give {fake['gives']}. {fake['reason']}" for fake in BOOK["fake"]]
    return "\n".join(lines)


def _changed() -> str:
    return "\n".join(f"- {finding}" for finding in BOOK["findings"])


def _answer(answer: Mapping[str, Any]) -> str:
    return f"{answer['status']} `{answer['code']}`" if "code" in answer else str(answer.get("status", "done"))


def _embedded(name: str) -> str:
    for difference in BOOK["difference"]:
        if name in difference["answers"]:
            return f"{_cell(difference['answers'][name])} ({difference['reason']})"
    return "the same" if name in BOOK["replayed"]["embedded"] else "not asked"


def _use(name: str) -> str:
    """Where an answer matters: its assumptions, else why it doesn't."""
    rows = [row["id"] for row in BOOK["assumption"] if name in row.get("recorded", ())]
    reasons = [unused["reason"] for unused in BOOK["unused"] if name in unused["answers"]]
    return ", ".join(rows) if rows else f"not used. {reasons[0]}"


def _proof(row: Mapping[str, Any]) -> str:
    proofs = [f"recorded: {', '.join(f'`{name}`' for name in row['recorded'])}"] if row.get("recorded") else []
    for word in ("documented", "reported"):
        links = [f"[{word}]({url})" for url in row.get(word, ())]
        proofs += [", ".join(links)] if links else []
    return "; ".join(proofs) or "nothing yet"


def _assumption(row: Mapping[str, Any]) -> str:
    """Its text, its id, by which the recorded answers name it, and whether runs check it."""
    return f"{row['text']} (`{row['id']}`{', *Checked*' if 'checked' in row else ''})"


def _places(row: Mapping[str, Any]) -> str:
    places = [reference.split("::") for reference in row["code"]]
    return ", ".join(f"[{file if name == 'MODULE' else name}](../{file})" for file, name in places)


def _cell(text: str) -> str:
    """Text of one cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def citing() -> Iterator[str]:
    """Every source of the product that cites a page of AWS, but those of the query language, whose page lists them."""
    for file, text in _texts():
        is_source = file.endswith((".py", ".go", ".tf")) and not file.endswith("_test.go")
        if is_source and not file.startswith("stampede/insights/") and CITATION.search(text):
            yield file


def statements() -> Iterator[tuple[str, str]]:
    """File and line of every statement that only AWS can show something."""
    for file, text in _texts():
        if STATEMENT.search(text):
            yield from ((file, line) for line in text.splitlines() if STATEMENT.search(line))


def _texts() -> Iterator[tuple[str, str]]:
    """Sources and documents, by their path from the root."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in listed.stdout.split():
        is_text = file.endswith((".py", ".go", ".tf", ".md", ".json", ".cwli", ".j2")) and "published/" not in file
        if not is_text or file == "CHANGELOG.md" or file.startswith("docs/evidence"):
            continue
        yield file, (ROOT / file).read_text(encoding="utf-8")


def main() -> None:
    """Write the page, or compare it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/evidence.md: run `make evidence`")


if __name__ == "__main__":
    main()
