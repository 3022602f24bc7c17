"""The SDKs that records name, said where their versions differ."""

import pytest

from stampede.report import load, statistics
from stampede.report.compare_runs import Pair, Side, differences
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import record

OLD, NEW, NEWER = "botocore 1.43.106", "botocore 1.44.5", "botocore 1.45.0"


@pytest.fixture
def ran(tmp_path):
    """A function that loads a run whose records name these SDKs, one each; None: a record of before the key was."""

    def load_run(name, *sdks):
        made = [record(seq, seq + 1, seq=seq, **({"sdk": sdk} if sdk else {})) for seq, sdk in enumerate(sdks)]
        return load(handmade_run.write(tmp_path / name, made))

    return load_run


def between(base, second):
    return differences(Pair(Side("A", base, {}), Side("B", second, {}), {}))


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
