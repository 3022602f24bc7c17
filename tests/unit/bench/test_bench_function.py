"""What measuring a function costs: the entries of `make bench`."""

import pytest

from bench import function
from bench.errors import BenchError


def test_the_cost_is_what_is_added_to_the_same_invocation_by_the_runtime_of_python(monkeypatch):
    monkeypatch.setattr(function, "INVOCATIONS", 20)
    measured, added = [], function.added

    def noted(program, command):
        measured.append(added(program, command))
        return measured[-1] | {"added_us": 250.0}  # a difference of so few may be below 0

    monkeypatch.setattr(function, "added", noted)
    [entry], setting = function.cost("function_proxy_python", "python", 1)
    assert (entry.ours, entry.peer) == (250.0, function.MOST_US)
    assert "recorded_us" in setting
    assert all(figures["bare_us"] > 0 and figures["recorded_us"] > 0 for figures in measured)


def test_what_is_added_is_the_difference_of_both_and_a_benchmark_that_says_else_is_no_measurement(tmp_path):
    program = tmp_path / "bench"
    lines = [
        "BenchmarkInvocation/bare-2 3000 160000 ns/op",
        "BenchmarkInvocation/measured-2 3000 410000 ns/op 91 recorded-us",
    ]
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    program.chmod(0o755)
    assert function.added(program, "") == {"bare_us": 160.0, "added_us": 250.0, "recorded_us": 91.0}
    program.write_text("#!/bin/sh\necho no benchmark\n")
    with pytest.raises(BenchError, match="printed 'no benchmark"):
        function.added(program, "")
