"""The SDKs that records name: shown with how they retry, and said where their versions differ."""

import pytest

from stampede.report import load, statistics
from stampede.report.columns import count
from stampede.report.compare_runs import Pair, Side, differences
from stampede.report.sections import about
from tests.unit.report import copied_run, handmade_run
from tests.unit.report.handmade_run import record

OLD, NEW, NEWER = "botocore 1.43.106", "botocore 1.44.5", "botocore 1.45.0"


@pytest.fixture
def ran(tmp_path):
    """A function that loads a run whose records name these SDKs, one each; None: a record of before the key was."""

    def load_run(name, *sdks):
        made = [record(seq, seq + 1, seq=seq, **({"sdk": sdk} if sdk else {})) for seq, sdk in enumerate(sdks)]
        return load(handmade_run.write(tmp_path / name, made))

    return load_run


def of_sdks(run):
    """The lines of the environment that are about them."""
    [(_, lines), *_] = about.groups(run)
    return {label: text for label, text in lines if label == "SDK" or label.startswith("standard mode")}


def between(base, second):
    return differences(Pair(Side("A", base, {}), Side("B", second, {}), {}))


def test_the_environment_shows_the_sdk_and_how_its_version_retries(ran):
    assert of_sdks(ran("old", OLD)) == {
        "SDK": OLD,
        "standard mode": "a retry takes 5 of 500 tokens, 10 after a timeout; first pause up to 1 s",
    }
    assert of_sdks(ran("both", NEW, "none")) == {
        "SDK": f"{NEW} and own HTTP",
        f"standard mode of {NEW}": "a retry takes 14 of 500 tokens, 5 after SlowDown; first pause up to 0.05 s, 1 s "
        "after SlowDown; x-amz-retry-after honoured",
        "standard mode of own HTTP": "a retry takes 5 of 500 tokens, 10 after a timeout; first pause up to 1 s",
    }


def test_a_run_of_before_the_key_is_read_and_shows_none(ran):
    run = ran("before", None)
    assert count(run.operations) == 1 and of_sdks(run) == {}


def test_two_runs_of_two_versions_are_not_like_for_like(ran):
    old, new = ran("old", OLD, "none"), ran("new", NEW)
    assert between(old, new) == [f"Different versions of an SDK: {OLD} against 1.44.5. They retry by different rules."]
    assert between(new, ran("newer", NEWER)) == [
        f"Different versions of an SDK: {NEW} against 1.45.0. Both retry by the same rules."
    ]
    assert between(ran("crt", "awscrt 0.36.0"), ran("another", "awscrt 0.37.0"))[0].endswith("retries isn’t known.")


def test_runs_of_one_version_or_of_an_unknown_one_bring_no_reservation(ran):
    old = ran("old", OLD)
    assert [between(old, second) for second in (ran("same", OLD, "none"), ran("before", None))] == [[], []]


def test_a_version_that_changed_within_a_run_is_a_caveat(ran):
    caveats = statistics.statistics(ran("updated", OLD, NEW))["verdict"]["caveats"]
    assert "The functions used more than one version of an SDK: botocore 1.43.106 and 1.44.5." in caveats


def test_the_rules_of_standard_mode_are_left_out_where_no_cell_used_it(tmp_path):
    legacy = load(copied_run.write(tmp_path / "legacy", {10: [90]}, experiment="copy_host", sdk="none"))
    assert of_sdks(legacy) == {"SDK": "own HTTP"}
    both = ["retry_mode=standard,legacy"]
    assert len(of_sdks(load(copied_run.write(tmp_path / "both", {10: [90]}, settings=both, sdk="none")))) == 2
