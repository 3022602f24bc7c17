"""What a plan's cells may not be: rules of Lambda, of SQS and of S3."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import rules
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan


def cell(*settings, experiment="download", longest_s=13.24, barrier_s=0.0):
    """The first cell of a plan on AWS, of which one operation takes so long."""
    plan = make_plan(EXPERIMENTS[experiment], "aws", settings, messages_per_concurrency=10)
    return replace(demands(plan)[0], longest_s=longest_s, barrier_s=barrier_s)


MANIFEST = ("from_manifest=true", "object_count=5000000", "parallel_limit=100")


@pytest.mark.parametrize(
    ("demand", "status", "words"),
    [
        (cell("timeout_s=60"), OK, ""),
        (cell("timeout_s=60", longest_s=0.0), OK, ""),  # nobody knows
        (cell("timeout_s=17"), WARNING, "13.2 s for one download, 0 s at the start barrier and 3 s for the record"),
        (cell("timeout_s=16"), PROBLEM, "use --set timeout_s=34, or a smaller"),
        (cell("timeout_s=900", longest_s=1000), PROBLEM, "; use a smaller object_size_mb, more memory"),
        (cell(barrier_s=50.0), PROBLEM, "50 s at the start barrier"),
        (cell("parallel_limit=1", experiment="copy", longest_s=297_000), PROBLEM, "a larger parallel_limit"),
        (cell(*MANIFEST, experiment="copy", longest_s=1.0), PROBLEM, "1,428.8 s for the preparation"),
        (cell("parallel_limit=100", experiment="copy_host", longest_s=8 * 3600), OK, ""),
        (cell("parallel_limit=100", experiment="copy_host", longest_s=12 * 3600), PROBLEM, "SQS holds a message"),
    ],
)
def test_one_operation_has_to_end_before_its_time_limit(demand, status, words):
    finding = rules.time_limit([cell("timeout_s=900"), demand], "download")
    assert finding.status == status and words in finding.sentence
    assert demand.barrier_s or rules.time_limit([demand], "download", "local").status == OK


def test_a_barrier_that_leaves_the_function_no_time_is_a_problem_everywhere():
    late = cell("timeout_s=6", barrier_s=3.0, longest_s=0.25)
    for target in ("local", "aws"):
        [finding] = [row for row in rules.check([late], EXPERIMENTS["download"], target) if row.check == "time limit"]
        assert finding.status == PROBLEM and "or a shorter barrier" in finding.way_out


@pytest.mark.parametrize(
    ("pollers", "n", "status"),
    [
        (None, 1000, OK),
        (None, 1001, PROBLEM),
        ((2, 50), 500, OK),
        ((2, 49), 500, PROBLEM),
        ((2, 101), 500, OK),
        ((2, 102), 500, WARNING),
        ((2, 2), 1, OK),
        ((2, 3), 1, WARNING),
        ((60, 50), 500, PROBLEM),
    ],
)
def test_the_trigger_has_to_reach_n_and_pollers_that_would_do_are_named(pollers, n, status):
    set_to = f"provisioned_pollers={{minimum={pollers[0]},maximum={pollers[1]}}}" if pollers else "timeout_s=60"
    finding = rules.trigger([cell(), cell(f"concurrency_value={n}", set_to)])
    assert finding.status == status
    if pollers and status != OK:
        _, _, fix = finding.way_out.partition("--set ")
        assert rules.trigger([cell(f"concurrency_value={n}", fix)]).status == OK


def test_a_problem_comes_before_a_warning():
    pollers = "provisioned_pollers={minimum=2,maximum=9}"
    demands = [cell("concurrency_value=1", pollers), cell("concurrency_value=500", pollers)]
    assert rules.trigger(demands).status == PROBLEM


def test_hosts_and_athena_have_no_trigger_and_queries_no_time_limit():
    hosts = rules.check([cell("parallel_limit=100", experiment="copy_host")], EXPERIMENTS["copy_host"], "aws")
    assert "trigger" not in {finding.check for finding in hosts}
    query = cell("operation=count", experiment="express", longest_s=5000.0)
    assert "time limit" not in {row.check for row in rules.check([query], EXPERIMENTS["express"], "aws")}
