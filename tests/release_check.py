"""Types every command of README, CONTRIBUTING and docs/ in a fresh clone: `make release-check`, about 40 minutes.

What needs AWS is asked of the embedded one: a sweep there as a dry run, and a stack that a page applies by hand as
`stampede emulator start --apply`. What can't be typed here is listed with its reason. Exits with 1 if a command failed.
An argument chooses the commands that contain it: `.venv/bin/python -m tests.release_check "--target aws"`.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.commands import ROOT, Command, every_command

BY_HAND = {
    "make": "takes minutes, and has a run of its own",
    "aws": "AWS's own program, and an account",
    "docker": "Docker",
    "export": "the settings of a LocalStack",
    "pipx": "installs for the user",
    "pre-commit": "installs for the user",
    "python": "measures for minutes",
    "server_side_proof.md": "only S3 on AWS writes access logs",
    "--resume": "resumes a run on AWS",
}
MADE = ({"run"}, {"functions"}, {"setup", "functions"}, {"setup"})
FEWER_FUNCTIONS = ("concurrency_value=500", "concurrency_value=3")  # 5,000 messages are for AWS


class Check:
    """A clone and what is up in it; `failed` are the commands that ended otherwise than they should."""

    def __init__(self, clone: Path) -> None:
        self.clone = clone
        self.applied = False
        self.done: set[str] = set()
        self.failed: list[str] = []

    def carry_out(self, command: Command) -> str:
        """Do what can be done of `command`, and say what that was."""
        words = command.words
        for key, reason in BY_HAND.items():
            named = key in (words[0], command.document) or (key.startswith("--") and key in words)
            if named and not (words[0] == "make" and set(words[1:]) in MADE):
                return f"by hand: {reason}"
        if command.text in self.done:
            return "done before"
        if words[0] == "terraform":
            return self._terraform(words)
        if words[0] == "transfer":
            return self._options_of_transfer(words)
        if words[0] == "stampede":
            return self._stampede(command, words)
        self.done.add(command.text)
        return self._run(command.text)

    def _terraform(self, words: list[str]) -> str:
        if "apply" in words:
            settings = " ".join(f"--set {word}" for before, word in itertools.pairwise(words) if before == "-var")
            self.applied = True
            return self._run(f".venv/bin/stampede emulator start --apply {settings}".replace(*FEWER_FUNCTIONS))
        if "destroy" in words:
            return self.take_down()
        return "by hand: tests/terraform/test_init_by_hand.py runs it"

    def take_down(self) -> str:
        """Stop the embedded AWS, and with it the stack that was applied there."""
        self.applied = False
        return self._run(".venv/bin/stampede emulator stop")

    def _stampede(self, command: Command, words: list[str]) -> str:
        text = re.sub(r"^(\.venv/bin/)?stampede", ".venv/bin/stampede", self._with_runs(command.text))
        if words[1] in ("sweep", "doctor", "simulate"):
            self.done.add(command.text)
        if "--target aws" in text:
            dry_run = " --dry-run" if words[1] == "sweep" and "--dry-run" not in text else ""
            return self._run(text + dry_run, self._endpoint())
        if words[1] == "sweep" and self.applied:
            self.take_down()
        return self._run(text)

    def _with_runs(self, text: str) -> str:
        """The newest run for RUN_ID, two of one experiment for RUN_A and RUN_B, and its files for insights.md's."""
        runs = sorted(self.clone.glob("results/*/run.json"), key=lambda path: path.stat().st_mtime)
        if not runs:
            return text
        downloads = [path.parent.name for path in runs if json.loads(path.read_text())["experiment"] == "download"]
        newest = runs[-1].parent
        for name, path in {
            "RUN_ID": newest.name,
            "RUN_A": downloads[0],
            "RUN_B": downloads[-1],
            "my.cwli": "queries/common/errors.cwli",
            " a.jsonl": f" {newest}/log_events.jsonl",
            " b.parquet": f" {newest}/log_events.parquet",
            " log_events.jsonl": f" {newest}/log_events.jsonl",
        }.items():
            text = text.replace(name, path)
        return text

    def _endpoint(self) -> dict[str, str]:
        done = self._shell(".venv/bin/stampede emulator start >&2 && . .stampede/emulator.env && env", {})
        lines = [line.partition("=")[::2] for line in done.stdout.splitlines()]
        return {name: value for name, value in lines if name.startswith("AWS_")}

    def _options_of_transfer(self, words: list[str]) -> str:
        done = self._shell(f"functions/transfer/build/x86_64/bootstrap {words[1]} --help", {})
        options = re.findall(r"(?m)^ +-+([a-z-]+)", done.stdout + done.stderr)
        missing = [word for word in words if word.startswith("--") and word[2:] not in options]
        if missing:
            self.failed.append(" ".join(words))
        return f"parsed; unknown options: {missing or 'none'}"

    def _run(self, text: str, environment: dict[str, str] | None = None) -> str:
        started = time.monotonic()
        done = self._shell(text, environment or {})
        where = " at the embedded AWS" if environment else ""
        found_a_problem = done.returncode == 1 and "doctor" in text and environment  # an emulator may lack a service
        if done.returncode and not found_a_problem:
            self.failed.append(text)
            return f"FAILED with {done.returncode}{where}: {text}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
        status = ", exit status 1" if found_a_problem else ""
        return f"ran{where} in {time.monotonic() - started:.0f} s{status}: {text}"

    def _shell(self, text: str, environment: dict[str, str]) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", text],
            cwd=self.clone,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )


def main(chosen: str = "") -> int:
    """Check the commit that is checked out."""
    with tempfile.TemporaryDirectory(prefix="stampede-release-") as folder:
        check = Check(Path(folder) / "clone")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(check.clone)], check=True)
        try:
            chosen_ones = [command for command in every_command() if chosen in command.text]
            for command in [Command("README.md", "make setup functions"), *chosen_ones]:
                print(f"{command.document}: {command.text}", flush=True)
                print(f"    {check.carry_out(command)}", flush=True)
        finally:
            check.take_down()
    print(f"\n{len(check.failed)} failed", *check.failed, sep="\n    ")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
