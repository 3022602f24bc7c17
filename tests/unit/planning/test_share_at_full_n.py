"""What the doctor and a dry run say of the share of the operations' time in full overlap."""

import json
from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.finding import OK, WARNING
from stampede.planning import checks
from stampede.planning.checks import share
from stampede.planning.plan import make_plan
from tests.unit.loader.predicted_cells import AT_HALF

DOWNLOAD = EXPERIMENTS["download"]


def plan(*settings, **options):
    return make_plan(DOWNLOAD, "aws", settings, **({"messages_per_concurrency": 2} | options))


def finding(**changes):
    return share.finding("memory_size=1024", 500, replace(AT_HALF, **changes), DOWNLOAD)


def test_half_of_the_time_at_full_n_is_ok_and_less_is_a_warning():
    assert (finding().status, finding().way_out) == (OK, "")
    assert finding().found == (
        "memory_size=1024: 50 % of the downloads' time in full overlap of N = 500, reached after 99 s; one download "
        "takes 12.8 s; bottleneck: the trigger's ramp"
    )
    low = finding(share_at_n=0.49)
    assert (low.status, low.way_out) == (WARNING, share.WAY_OUT)


def test_an_n_that_is_never_reached_messages_that_are_lost_and_operations_that_all_fail_are_said():
    assert "which is never reached (480 at most)" in finding(time_to_n_s=None, share_at_n=0.0, most_at_once=480).found
    lost = finding(dead_lettered=12, share_at_n=0.9)
    assert (lost.status, "; 12 of 5,000 messages end as dead letters;" in lost.found) == (WARNING, True)
    assert "; no download succeeds;" in finding(avg_s=None).found


def test_there_is_a_finding_for_each_cell_in_the_order_of_the_matrix_and_repeats_are_one():
    findings = checks.run(plan("concurrency_value=1,2,3,4", "memory_size=2048", repeats=2), [checks.SHARE])
    assert {finding.check for finding in findings} == {share.CHECK}
    cells = [f"concurrency_value={n},memory_size=2048" for n in (1, 2, 3, 4)]
    assert [finding.found.partition(":")[0] for finding in findings] == cells


def test_one_sentence_names_the_lowest_cell_and_how_many_more_there_are():
    two = plan("concurrency_value=1,2", "memory_size=2048")
    shares = dict(zip((cell.name for cell in two.cells), (0.3, 0.2), strict=True))
    courses = {name: replace(AT_HALF, share_at_n=value) for name, value in shares.items()}
    lowest = min(shares, key=shares.get)
    words = share.warning(two, courses, "")
    assert words.startswith(f"time in full overlap: {lowest}: 20 % of the downloads' time")
    assert words.endswith(f"{share.WAY_OUT} (1 more: `stampede doctor` with the same options)")
    assert share.warning(two, dict.fromkeys(shares, AT_HALF), "") == ""


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["range_part_mb=65"], "range_part_mb: must be a whole number of MiB from 16 to 64, got 65; correct --set"),
        (
            ["concurrency_value=1001"],
            "trigger: concurrency_value 1001: an SQS trigger in standard mode reaches 1000 at most",
        ),
    ],
)
def test_a_matrix_that_cannot_be_is_not_predicted_and_the_other_checks_say_what_is_wrong(settings, why):
    [finding] = checks.run(plan("memory_size=2048", "concurrency_value=1", *settings), [checks.SHARE])
    assert finding.status == OK and finding.found.startswith("not predicted: ") and why in finding.found


def test_values_that_a_models_work_cannot_take_are_left_to_the_checks(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "download", DOWNLOAD.with_(work=lambda values, parameters: 1 / 0))
    [finding] = checks.run(plan("memory_size=2048", "concurrency_value=1"), [checks.SHARE])
    assert finding.found == (
        "not predicted: memory_size=2048,concurrency_value=1: the model has no answer for these settings "
        "(division by zero); `stampede doctor` checks them"
    )


def test_an_experiment_without_a_model_is_said_in_one_line_and_is_no_failure(monkeypatch, capsys):
    monkeypatch.setitem(EXPERIMENTS, "download", DOWNLOAD.with_(work=None))
    [finding] = checks.run(plan(), [checks.SHARE])
    assert (finding.status, finding.found) == (OK, "not predicted: there is no model of download")
    assert main(["sweep", "download", "--dry-run", "--target", "aws", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert {row["share_at_n"] for row in json.loads(printed.out)} == {None}
    assert "time in full overlap: not predicted: there is no model of download" in printed.err.splitlines()


def test_a_dry_run_has_the_share_the_seconds_and_what_binds_in_its_rows_and_warns_on_stderr(capsys):
    command = ["sweep", "download", "--dry-run", "--target", "aws", "--format", "json", "--set", "memory_size=2048"]
    assert main([*command, "--set", "concurrency_value=1,100", "--messages-per-concurrency", "2"]) == 0
    printed = capsys.readouterr()
    many, single = sorted(json.loads(printed.out), key=lambda row: row["share_at_n"])
    assert (single["share_at_n"], single["binds"].startswith("the function's network")) == (1.0, True)
    assert 0 < many["share_at_n"] < 0.5 and many["avg_s"] > 5 and "ramp" in many["binds"]
    [warning] = [line for line in printed.err.splitlines() if line.startswith("time in full overlap: ")]
    assert f"{many['cell']}: " in warning and "% of the downloads' time in full overlap of N = 100, re" in warning


def test_nothing_is_said_of_a_plan_for_this_machine(capsys):
    local = make_plan(DOWNLOAD, "local", ["concurrency_value=1"], messages_per_concurrency=2)
    assert checks.run(local, [checks.SHARE]) == []
    assert main(["sweep", "download", "--dry-run", "--set", "concurrency_value=1", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert {row["share_at_n"] for row in json.loads(printed.out)} == {None}
    assert share.CHECK not in printed.err
