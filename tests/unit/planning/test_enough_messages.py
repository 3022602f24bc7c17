"""`--messages auto`: the fewest messages that put four fifths of the time in full overlap, or why none do."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.errors import UsageError
from stampede.planning.cost import estimate
from stampede.planning.cost.enough_messages import LEAST, NEARLY_FULL, with_enough_messages
from stampede.planning.plan import Plan, make_plan
from stampede.planning.predicting import expected, questions
from stampede.report.statistics import rules
from stampede.stacks.infra_variables import infra_defaults
from tests.unit.loader.shares_experiment import SHARES

DEFAULTS = infra_defaults({})


def plan(*settings, target="aws", **options):
    settings = ["memory_size=2048", *settings]
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=10, **options)


def enough(*settings, budget_usd=None, kind="aws", **options):
    return with_enough_messages(plan(*settings, **options), DEFAULTS, kind, budget_usd)


def shares(of):
    pairs = questions(of, DEFAULTS, of.target)
    return {demand.alike: expected(question).course.share_at_n for demand, question in pairs}


def test_each_cell_gets_the_fewest_messages_that_put_four_fifths_at_full_n(capsys):
    chosen = enough("concurrency_value=1,20,100")
    by_n = {chosen.concurrency(cell): chosen.messages(cell, {}) for cell in chosen.cells()}
    assert by_n[1] == LEAST == rules.MINIMUM_FOR_INTERVAL and NEARLY_FULL == rules.NEARLY_FULL
    assert 100 < by_n[100] < 1000
    assert all(share >= 0.8 for share in shares(chosen).values())
    assert f"{by_n[100]:,} messages, with 80 % of the downloads' time in full overlap" in capsys.readouterr().err


def test_a_tenth_fewer_would_not_do():
    chosen = enough("concurrency_value=100")
    [(cell, messages)] = chosen.counts.items()
    [share] = shares(Plan.from_dict(chosen.as_dict() | {"counts": {cell: int(0.9 * messages)}})).values()
    assert share < 0.8


def test_the_same_options_choose_the_same_messages_and_repeats_have_those_of_their_cell():
    once, thrice = enough("concurrency_value=50"), enough("concurrency_value=50", repeats=3)
    assert once.counts == thrice.counts
    assert len({thrice.messages(cell, {}) for cell in thrice.cells()}) == 1 and len(thrice.cells()) == 3


def test_what_was_chosen_is_stored_with_the_plan_and_older_plans_have_no_choice():
    chosen = enough("concurrency_value=50")
    stored = json.loads(json.dumps(chosen.as_dict()))
    assert Plan.from_dict(stored).counts == chosen.counts
    del stored["counts"]
    [cell] = chosen.cells()
    assert Plan.from_dict(stored).messages(cell, {}) == 500


def test_what_the_budget_cannot_pay_is_refused_with_the_price_and_the_share_that_it_buys():
    afforded = estimate(enough("concurrency_value=100"), DEFAULTS).total_usd
    assert enough("concurrency_value=100", budget_usd=afforded + 0.01).counts
    with pytest.raises(UsageError) as refusal:
        enough("concurrency_value=100", budget_usd=0.7 * afforded)
    words = str(refusal.value)
    assert words.startswith(
        f"--messages auto: 80 % of the downloads' time in full overlap would cost about {afforded:.2f} USD, but"
    )
    # What lies outside stays: a fifth of all is two sevenths of seven tenths.
    assert "; this budget reaches 71 %" in words or "; this budget reaches 72 %" in words
    assert "raise --budget-usd, or sweep fewer or smaller cells" in words
    assert "\n" not in words


def test_a_budget_below_the_least_there_can_be_is_refused_as_such_and_a_local_sweep_has_none():
    with pytest.raises(UsageError, match=r"is below the least possible cost, \d\.\d\d USD; raise --budget"):
        enough("concurrency_value=100", budget_usd=0.001)
    assert enough("concurrency_value=2", "object_size_mb=8", budget_usd=0.0, target="local", kind="local").counts


def test_where_n_is_out_of_reach_no_number_does_it_and_it_is_said_why():
    with pytest.raises(UsageError) as refusal:
        enough("concurrency_value=50", "maximum_concurrency=20")
    words = str(refusal.value)
    assert "no number of messages reaches 80 % of the downloads' time in full overlap of N = 50" in words
    assert "at most 20 run at once, and the bottleneck is the trigger's maximum concurrency: 20 at once" in words
    assert "\n" not in words


def test_an_experiment_without_a_model_and_messages_that_are_shares_of_one_list_are_refused(monkeypatch, capsys):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES.with_(work=None))
    assert main(["sweep", "shares", "--dry-run", "--set", "from_manifest=false", "--messages", "auto"]) == 2
    assert "--messages auto: there is no model of shares; use --messages-per-concurrency" in capsys.readouterr().err
    assert main(["sweep", "shares", "--dry-run", "--set", "from_manifest=true", "--messages", "auto"]) == 2
    output = capsys.readouterr().err
    assert "--messages auto: " in output and "takes 4 messages, which share one list" in output


def test_settings_that_the_checks_refuse_are_refused_as_they_say_it():
    with pytest.raises(UsageError, match=r"^range_part_mb: must be a whole number of MiB from 16 to 64"):
        enough("concurrency_value=1", "method=ranges", "range_part_mb=65")


def test_a_number_and_auto_exclude_each_other_in_one_line(capsys):
    with pytest.raises(SystemExit) as left:
        main(["doctor", "download", "--messages", "auto", "--messages-per-concurrency", "3"])
    assert left.value.code == 2
    output = capsys.readouterr().err
    assert "--messages-per-concurrency: not allowed with argument --messages" in output and output.count("\n") == 1
