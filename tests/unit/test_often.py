"""`make test-often` counts the failed tests in pytest's summary, and runs without a summary."""

from tests import often

ENDED = """\
FAILED tests/unit/test_a.py::test_bad[a b] - assert False
ERROR tests/unit/test_a.py::test_error
1 failed, 1 passed, 1 error in 0.21s
"""


def test_later_runs_follow_a_failure_and_a_silent_end_counts_as_one(tmp_path):
    assert often.run_often(2, 1, ["false"], tmp_path / "wordless") == {
        "(no test named: see the log)": 2
    }
    failing = ["sh", "-c", f"echo '{ENDED}'; exit 1"]
    name = "tests/unit/test_a.py::test_"
    assert often.run_often(1, 0, failing, tmp_path / "logs") == {
        f"{name}bad[a b]": 1,
        f"{name}error": 1,
    }
