"""What a run of the tests says at its end: how each failed test is run alone, what was left out,
how long it took."""

import shlex
import time
from collections import Counter

import pytest

BEGAN_S = pytest.StashKey[float]()
DESELECTED = pytest.StashKey[Counter]()


def pytest_configure(config):
    config.stash[BEGAN_S] = time.monotonic()
    config.stash[DESELECTED] = Counter()


def pytest_deselected(items):
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        reason = "slow, see `make test-slow`" if slow else "not chosen by this command"
        item.config.stash[DESELECTED][reason] += 1


def pytest_sessionfinish(session):
    """Have a worker of xdist tell what it deselected: the process that prints the summary collects
    nothing itself."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = dict(session.config.stash[DESELECTED])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take what one worker deselected for what all did: each collects everything."""
    deselected = getattr(node, "workeroutput", {}).get("deselected")
    if deselected is not None:
        node.config.stash[DESELECTED] = Counter(deselected)


# Outermost, so that it stands below the runner's own list of failures, and above its last line,
# which tools read.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter, config):
    yield
    reports = terminalreporter.stats
    failed = {
        report.nodeid: report for report in reports.get("failed", []) + reports.get("error", [])
    }
    if failed:
        terminalreporter.write_line("Run what failed alone:")
    for nodeid, report in failed.items():
        slow = "-m slow " if "slow" in getattr(report, "keywords", ()) else ""
        terminalreporter.write_line(f"  .venv/bin/python -m pytest {slow}{shlex.quote(nodeid)}")

    left_out = Counter(config.stash[DESELECTED])
    for report in reports.get("skipped", []):
        left_out[_reason(report)] += 1
    summary = (
        "; ".join(f"{count:,} {reason}" for reason, count in left_out.most_common()) or "nothing"
    )
    minutes, seconds = divmod(round(time.monotonic() - config.stash[BEGAN_S]), 60)
    terminalreporter.write_line(f"Took {minutes} min {seconds} s. Left out: {summary}.")


def _reason(report):
    """Why a test, or all of a file, was skipped: the last of (path, line, reason)."""
    return f"skipped ({report.longrepr[2].removeprefix('Skipped: ')})"
