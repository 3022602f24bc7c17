"""Types every command of README, CONTRIBUTING and docs/ in a fresh clone: `make release-check`,
about 40 minutes.

What needs AWS is asked of the embedded one: a sweep there as a dry run, and a stack that a page
applies by hand as `stampede emulator start --apply`. Exits with 1 if a command failed. An argument
chooses the commands that contain it: `.venv/bin/python -m tests.release_check "--target aws"`.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.commands import ROOT, Command, every_command

# What isn't typed: other programs and what takes too long, pages about AWS alone, and what goes on
# with a run on AWS.
BY_HAND = {
    "aws",
    "docker",
    "export",
    "pipx",
    "pre-commit",
    "python",
    "transfer",
    "server_side_proof.md",
    "--resume",
}
MADE = ({"run"}, {"functions"}, {"setup", "functions"}, {"setup"})
FEWER_FUNCTIONS = ("concurrency_value=500", "concurrency_value=3")  # 5,000 messages are for AWS
STOP = ".venv/bin/stampede emulator stop"


def typed(command: Command, clone: Path) -> str | None:
    """What is typed in `clone` for a command of a document; None where nothing is."""
    words, text = (
        command.words,
        re.sub(r"^(\.venv/bin/)?stampede", ".venv/bin/stampede", command.text),
    )
    if BY_HAND & {
        command.document,
        words[0],
        *(word for word in words if word.startswith("--")),
    } or (words[0] == "make" and set(words[1:]) not in MADE):
        return None
    if words[0] == "terraform":
        settings = " ".join(
            f"--set {word}" for before, word in itertools.pairwise(words) if before == "-var"
        )
        start = f".venv/bin/stampede emulator start --apply {settings}".replace(*FEWER_FUNCTIONS)
        return start if "apply" in words else STOP if "destroy" in words else None
    for name, stored in _names(clone).items():
        text = text.replace(name, stored)
    if "--target aws" not in text:
        return text
    dry_run = " --dry-run" if words[1] == "sweep" and "--dry-run" not in text else ""
    # An emulator may lack a service, which the doctor then finds with status 1.
    found = "|| test $? = 1" if words[1] == "doctor" else ""
    return (
        f".venv/bin/stampede emulator start >&2 && . .stampede/emulator.env && {{ {text}{dry_run} "
        f"{found}; }}"
    )


def _names(clone: Path) -> dict[str, str]:
    """What stands in the documents for a run and its files, and the newest one in its place."""
    runs = sorted(
        (path.parent for path in clone.glob("results/*/run.json")),
        key=lambda path: path.stat().st_mtime,
    )
    if not runs:
        return {}
    lines, names = f" {runs[-1]}/log_events", ("RUN_ID", "RUN_A", "RUN_B")
    files = {" a.jsonl": ".jsonl", " b.parquet": ".parquet", " log_events.jsonl": ".jsonl"}
    return {
        **dict.fromkeys(names, runs[-1].name),
        **{name: lines + suffix for name, suffix in files.items()},
        "my.cwli": "queries/common/errors.cwli",
    }


def run(text: str, clone: Path) -> bool:
    """Type it; whether that succeeded."""
    bash = ["bash", "-o", "pipefail", "-c", text]
    done = subprocess.run(
        bash, cwd=clone, env=os.environ, capture_output=True, text=True, timeout=3600, check=False
    )
    if done.returncode:
        print(
            f"    FAILED with {done.returncode}: {text}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
        )
    return not done.returncode


def main(chosen: str = "") -> int:
    """Check the commit that is checked out."""
    failed, seen = [], set()
    with tempfile.TemporaryDirectory(prefix="stampede-release-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        try:
            commands = [command for command in every_command() if chosen in command.text]
            for command in [Command("README.md", "make setup functions"), *commands]:
                text = typed(command, clone)
                print(
                    f"{command.document}: {command.text}{'' if text else '  (by hand)'}", flush=True
                )
                if not text or text in seen:
                    continue
                if " sweep " in text:
                    seen.add(text)
                    run(STOP, clone)  # a sweep leaves a stack alone that was applied by hand
                if not run(text, clone):
                    failed.append(command.text)
        finally:
            run(STOP, clone)
    print(f"\n{len(failed)} failed", *failed, sep="\n    ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
