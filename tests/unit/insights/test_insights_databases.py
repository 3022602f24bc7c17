"""A process makes a database once and uses it for query after query."""

import subprocess
import sys

import pytest

from stampede.insights import evaluate, evaluation
from stampede.insights.errors import EventsError, InsightsError, QueryError
from tests.unit.insights.download_log import event, values

# Of a query that registers a Python function; then of a process that is forked off, which can't use
# the same.
SCRIPT = """
import os
from stampede.insights import evaluate, evaluation

evaluation._KEPT_BELOW_S = 60

def ask():
    events = [{"timestamp": 1, "message": '{"ip": "10.0.0.1"}'}]
    return evaluate("fields isIpv4InSubnet(ip, '10.0.0.0/8') as inside | filter 1 = 1", events).rows

print(ask(), ask(), flush=True)
if not (child := os.fork()):
    print(ask(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.fixture
def made(monkeypatch):
    """The databases that this test's queries make, when there is none before them."""
    databases, connect = [], evaluation.connect
    monkeypatch.setattr(evaluation, "_free", {})
    monkeypatch.setattr(evaluation, "_KEPT_BELOW_S", 60)  # whatever else the machine does
    monkeypatch.setattr(evaluation, "connect", lambda: databases.append(connect()) or databases[-1])
    return databases


def test_a_query_uses_the_database_of_those_before_it_and_finds_nothing_of_them(made):
    long = " or ".join(f"x = {number}" for number in range(400))
    for number, query in enumerate(("fields x", f"fields x | filter {long}", "fields x")):
        assert evaluate(query, values(number)).rows == [{"x": number}]
    with pytest.raises(EventsError):
        evaluate("fields a", [event({"a": 1}), {}])
    with pytest.raises(QueryError, match="equal sort keys"):
        evaluate("limit 1 | filter a > 1", [event({"a": 1}), event({"a": 2})])  # of equal times
    assert evaluate("fields a", [event({"a": 2})]).rows == [{"a": 2}]
    [database] = made
    [(planned,)] = database.execute(
        "SELECT value FROM duckdb_settings() WHERE name = 'disabled_optimizers'"
    ).fetchall()
    assert set(planned.split(",")) == {"filter_pushdown", "common_subexpressions"}


def test_a_database_in_which_something_else_failed_is_not_used_again(made, monkeypatch):
    def fail(*query):
        raise InsightsError("the evaluator failed on this query")

    with monkeypatch.context() as patch, pytest.raises(InsightsError):
        patch.setattr(evaluation, "_run", fail)
        evaluate("fields a", [event({"a": 1})])
    assert evaluate("fields a", [event({"a": 2})]).rows == [{"a": 2}]
    assert len(made) == 2


def test_a_process_that_ends_and_one_that_is_forked_off_say_nothing_of_a_database_that_is_kept():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.splitlines(), done.stderr) == (
        ["[{'inside': 1}] [{'inside': 1}]", "[{'inside': 1}]", "0"],
        "",
    )
