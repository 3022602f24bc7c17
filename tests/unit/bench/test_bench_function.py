"""What measuring a function costs: the entries of `make bench`."""

import pytest

from bench import function
from bench.errors import BenchError


def test_the_cost_is_what_is_added_to_the_same_invocation_against_what_may_be():
    took = iter([{"bare": 100.0, "measured": 100.0 + added, "recorded": 5.0} for added in (150.0, 50.0, 100.0)])
    entry, setting = function.cost("function_wrapper", 200.0, lambda folder: None, lambda folder: next(took), 3)
    assert (entry.ours, entry.peer, entry.ratio, entry.runs) == (100, 200, 2, 3)
    assert setting.endswith("5.0 us in its record; added to a handler of 10 ms: 1.0%")


def test_the_wrapper_runs_a_package_as_its_layer_does(tmp_path, monkeypatch):
    monkeypatch.setattr(function, "INVOCATIONS", 20)
    function.lay_out_layer(tmp_path)
    took = function.run_wrapper(tmp_path)
    assert took.keys() == {"bare", "recorded", "measured"} and min(took.values()) > 0
    (tmp_path / "package" / "app.py").write_text("handler = None")
    with pytest.raises(BenchError, match="'NoneType' object is not callable"):
        function.run_wrapper(tmp_path)
