"""Rules of Lambda, SQS and S3 that a plan's cells must obey."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import rules
from stampede.planning.demand import demands
from tests.unit.plans import plan


def cell(settings="", experiment="download", longest_s=13.24, barrier_s=0.0):
    """The first cell of a plan on AWS, whose longest operation takes `longest_s`."""
    return replace(demands(plan(settings, experiment))[0], longest_s=longest_s, barrier_s=barrier_s)


def host(longest_s):
    return cell("parallel_limit=100", "copy_host", longest_s)


MANIFEST = "from_manifest=true object_count=5000000 parallel_limit=100"


@pytest.mark.parametrize(
    ("demand", "status", "words"),
    [
        (cell("timeout_s=60", longest_s=0.0), OK, ""),  # unknown
        (cell("timeout_s=17"), WARNING, "13.2 s for one download"),
        (cell("timeout_s=16"), PROBLEM, "--set timeout_s=34"),
        (cell(barrier_s=50.0), PROBLEM, "50 s at the start barrier"),
        (cell("parallel_limit=1", "copy", 297_000), PROBLEM, "a larger parallel_limit"),
        (cell(MANIFEST, "copy", 1.0), PROBLEM, "1,428.8 s for the preparation"),
        (host(8 * 3600), OK, ""),
        (host(12 * 3600), PROBLEM, "SQS holds a message"),
    ],
)
def test_an_operation_must_end_before_its_time_limit(demand, status, words):
    finding = rules.time_limit([cell("timeout_s=900"), demand], "download")
    assert finding.status == status and words in finding.sentence
    assert demand.barrier_s or rules.time_limit([demand], "download", "local").status == OK


def test_a_barrier_that_leaves_the_function_no_time_is_a_problem_everywhere():
    late = cell("timeout_s=6", barrier_s=3.0, longest_s=0.25)
    for target in ("local", "aws"):
        found = {
            finding.check: finding
            for finding in rules.check([late], EXPERIMENTS["download"], target)
        }
        assert found["time limit"].status == PROBLEM


@pytest.mark.parametrize(
    ("pollers", "n", "status"),
    [
        (None, 1000, OK),
        (None, 1001, PROBLEM),
        ((2, 49), 500, PROBLEM),
        ((2, 102), 500, WARNING),
        ((2, 3), 1, WARNING),
        ((60, 50), 500, PROBLEM),
    ],
)
def test_the_trigger_must_reach_n_and_enough_pollers_are_suggested(pollers, n, status):
    n_at_once = f"concurrency_value={n} "
    polled = pollers and "provisioned_pollers={{minimum={},maximum={}}}".format(*pollers)
    demand = cell(n_at_once + (polled or ""))
    finding = rules.trigger([cell(), demand])
    assert finding.status == status
    if pollers and status != OK:
        suggested = finding.way_out.partition("--set ")[2]
        assert rules.trigger([cell(n_at_once + suggested)]).status == OK


@pytest.mark.parametrize(
    ("demand", "missing"),
    [(host(1.0), "trigger"), (cell("operation=count", "express"), "time limit")],
)
def test_hosts_have_no_trigger_and_queries_no_time_limit(demand, missing):
    found = rules.check([demand], EXPERIMENTS[demand.cell.values["experiment"]], "aws")
    assert missing not in {finding.check for finding in found}
