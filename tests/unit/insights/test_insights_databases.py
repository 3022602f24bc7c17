"""A process creates a database once and reuses it for later queries."""

import pytest

from stampede.insights import evaluate, evaluation
from stampede.insights.errors import EventsError, InsightsError, QueryError
from tests.unit.insights.download_log import event, values


@pytest.fixture
def made(monkeypatch):
    """The databases that this test's queries make, when there is none before them."""
    databases, connect = [], evaluation.connect
    monkeypatch.setattr(evaluation, "_free", {})
    monkeypatch.setattr(evaluation, "_KEPT_BELOW_S", 60)  # however busy the machine is
    monkeypatch.setattr(evaluation, "connect", lambda: databases.append(connect()) or databases[-1])
    return databases


def test_a_query_reuses_the_database_and_sees_nothing_of_earlier_queries(made):
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


def test_a_database_is_not_reused_after_an_unexpected_failure(made, monkeypatch):
    def fail(*query):
        raise InsightsError("the evaluator failed on this query")

    with monkeypatch.context() as patch, pytest.raises(InsightsError):
        patch.setattr(evaluation, "_run", fail)
        evaluate("fields a", [event({"a": 1})])
    assert evaluate("fields a", [event({"a": 2})]).rows == [{"a": 2}]
    assert len(made) == 2
