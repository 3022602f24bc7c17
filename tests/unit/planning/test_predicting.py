"""One way to ask the model: what makes two questions the same, and what is known beside a plan."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.download import checks as download_checks
from stampede.errors import UsageError
from stampede.finding import PROBLEM
from stampede.planning.plan import make_plan
from stampede.planning.predicting import Given, expected, parameters_of, prediction, questions, refuse

DOWNLOAD = EXPERIMENTS["download"]


def plan(*settings, **options):
    settings = ["memory_size=2048", "concurrency_value=2", *settings]
    return make_plan(DOWNLOAD, "aws", settings, **({"messages_per_concurrency": 1} | options))


def question(*settings, facts=None, **options):
    [(_, inquiry)] = questions(plan(*settings, **options), facts or Given())
    return inquiry


def slower():
    known = parameters_of(DOWNLOAD)
    return known.with_rows([replace(known.row("network_bytes_per_s"), value=3e7, low=3e7, high=3e7)])


def test_the_same_question_has_one_answer_and_what_decides_another_makes_another_question():
    base = question()
    assert base == question() and expected(base) is expected(question())
    variations = [
        question("object_size_mb=8"),
        question(messages_per_concurrency=2),
        question(seed=2),
        question(start_barrier_s=5.0),
        question(facts=Given(bandwidth_quota=True)),
        question(facts=Given(account_concurrency=500)),
        question(facts=Given(crashing=0.01)),
        question(facts=Given(slower())),
    ]
    assert len({base, *variations}) == 1 + len(variations)
    assert expected(variations[-1]).course.avg_s > 1.5 * expected(base).course.avg_s


def test_a_question_varied_is_the_one_that_asks_so_from_the_beginning():
    assert question().varied(messages=6) == question(messages_per_concurrency=3)
    assert question().varied(timeout_s=60) == question()
    assert question().varied(messages=6).scenario.messages == 6


def test_without_ranges_a_prediction_is_the_same_but_for_them():
    whole, quick = prediction(question()), prediction(question(), False)
    assert whole.ranges and quick == replace(whole, ranges={})


def test_what_the_checks_of_the_experiment_refuse_is_not_asked():
    with pytest.raises(UsageError, match=r"^.+: .*ephemeral_storage_mb"):
        refuse(plan("ephemeral_storage_mb=512"))


def test_what_would_happen_is_known_before_a_function_is_built(monkeypatch, tmp_path):
    go = plan("method=go_ranges")
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    assert PROBLEM in {finding.status for finding in DOWNLOAD.checks([cell.values for cell in go.cells])}
    refuse(go)
