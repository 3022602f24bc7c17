"""The suite again and again, with a stand-in that fails every second time."""

import sys

from tests import often

STAND_IN = """
import pathlib, sys
counter = pathlib.Path(sys.argv[1])
number = len(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text("x" * number)
if number % 2:
    sys.exit(print("4,710 passed in 9.00s\\n5 passed, 2 skipped in 360.12s (0:06:00)"))
print("Run what failed alone:\\n  .venv/bin/python -m pytest -m slow 'tests/a.py::test_b[c - d]'")
print("Took 6 min 0 s. Left out: nothing.\\n1 failed, 4 passed, 2 errors in 360.12s (0:06:00)")
sys.exit(2)
"""


def test_a_line_a_run_says_what_it_counted_and_a_failure_stops_nothing_and_is_counted_by_test(tmp_path, capsys):
    command = [sys.executable, "-c", STAND_IN, str(tmp_path / "counter")]
    failures = often.run_often(4, 1, command, tmp_path / "logs")
    assert failures == {"tests/a.py::test_b[c - d]": 2}
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:2] + row[3:] for row in rows] == [
        ["1", "0", "5", "0", "0", "2", "0"],
        ["2", "1", "4", "1", "2", "0", "2"],
        ["3", "0", "5", "0", "0", "2", "0"],
        ["4", "1", "4", "1", "2", "0", "2"],
    ]
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
        f"run-0{number}.log" for number in range(1, 5)
    ]


def test_a_run_that_ends_without_a_word_is_a_failure(tmp_path):
    assert often.run_often(1, 0, ["false"], tmp_path / "logs") == {"(no test named: see the log)": 1}
