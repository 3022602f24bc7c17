"""Runs the commands of README, CONTRIBUTING and docs/ in a fresh clone (`make release-check`, about
40 minutes).

`stampede emulator start --apply` replaces a stack that a page applies by hand. Commands that need
AWS are left out; tests/unit/test_documents.py parses them. Exits with 1 if a command fails. An
argument selects the commands that contain it: `.venv/bin/python -m tests.release_check sweep`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.commands import ROOT, Command, every_command

# Commands that are left out: other programs, slow ones, and those that need AWS, a run on it, or
# three runs of one plan.
BY_HAND = re.compile(
    r"^(aws|docker|export|pipx|pre-commit|\S*python|\S*transfer)\b"
    r"|--target aws|--resume|object=s3|RUN_1"
)
MADE = ("make run", "make functions", "make setup functions", "make setup")
STOP = ".venv/bin/stampede emulator stop"


def typed(command: Command, clone: Path) -> str:
    """The command to run in `clone`, with the newest run in place of the document's placeholders;
    "" for a command that is left out."""
    text = re.sub(r"^(\.venv/bin/)?stampede", ".venv/bin/stampede", command.text)
    is_of_aws = command.document == "server_side_proof.md" or BY_HAND.search(text)
    if is_of_aws or (text.startswith("make") and text not in MADE):
        return ""
    if text.startswith("terraform"):
        settings = " ".join(f"--set {setting}" for setting in re.findall(r"-var (\S+)", text))
        start = f".venv/bin/stampede emulator start --apply {settings}"
        # 5,000 messages are for AWS
        apply = start.replace("concurrency_value=500", "concurrency_value=3")
        return apply if " apply" in text else STOP if " destroy" in text else ""
    runs = sorted(clone.glob("results/*/run.json"), key=lambda path: path.stat().st_mtime)
    if runs:
        folder = runs[-1].parent
        text = re.sub(r"\bRUN_(ID|A|B)\b", folder.name, text)
        text = re.sub(r" (a|log_events)\.jsonl\b", f" {folder}/log_events.jsonl", text)
        text = text.replace(" b.parquet", f" {folder}/log_events.parquet")
    return text.replace("my.cwli", "queries/common/errors.cwli")


def run(text: str, clone: Path) -> bool:
    """Run a command, and return whether it succeeded."""
    bash = ["bash", "-o", "pipefail", "-c", text]
    done = subprocess.run(bash, cwd=clone, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        print(f"    FAILED with {done.returncode}: {text}\n{done.stderr[-3000:]}")
    return done.returncode == 0


def main(chosen: str = "") -> int:
    """Check the commit that is checked out."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="stampede-release-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        commands = [command for command in every_command() if chosen in command.text]
        try:
            for command in [Command("README.md", "make setup functions"), *commands]:
                text = typed(command, clone)
                print(f"{command.document}: {text or f'{command.text}  (by hand)'}", flush=True)
                if " sweep " in text:
                    run(STOP, clone)  # a sweep keeps a stack that was applied by hand
                if text and not run(text, clone):
                    failed.append(command.text)
        finally:
            run(STOP, clone)
    print(f"\n{len(failed)} failed", *failed, sep="\n    ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
