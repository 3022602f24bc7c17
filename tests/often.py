"""`make test-often RUNS=12 BUSY=2` repeats the whole suite to find flaky tests.

Every second run competes with BUSY endless loops. Failures don't stop it. Each run's output goes
to a file in .stampede/test-often/; stdout gets a line for each run, and at the end the number of
failures of each test.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A loop ends by itself if this program is killed.
BUSY_LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


def run_often(runs: int, busy: int, command: list[str], folder: Path) -> Counter:
    """Run `command` `runs` times, print a line for each, and return the failures by test."""
    folder.mkdir(parents=True)
    failures = Counter()
    print(f"logs: {folder}\n run  beside  seconds  status", flush=True)
    for number in range(1, runs + 1):
        beside = busy if number % 2 == 0 else 0
        loops = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(beside)]
        log, began_s = folder / f"run-{number:02}.log", time.monotonic()
        try:
            with log.open("w") as output:
                status = subprocess.run(command, cwd=ROOT, stdout=output, stderr=output).returncode
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        print(f"{number:4} {beside:7} {time.monotonic() - began_s:8.0f} {status:7}", flush=True)
        # A run that failed without naming a test, because it was killed or never began, counts too.
        failed = failed_tests(log.read_text(errors="replace"))
        failures.update(failed or ["(no test named: see the log)"] * (status != 0))
    return failures


def failed_tests(text: str) -> list[str]:
    """The failed tests in pytest's summary at the end of a run."""
    return re.findall(r"(?m)^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text)


if __name__ == "__main__":
    times, loops_beside = map(int, sys.argv[1:])
    logs = ROOT / ".stampede" / "test-often" / f"{datetime.now():%Y-%m-%d-%H%M%S}"
    failures_of = run_often(times, loops_beside, ["make", "test"], logs)
    for test, count in failures_of.most_common():
        print(f"{count:4}  {test}")
    sys.exit(1 if failures_of else 0)
