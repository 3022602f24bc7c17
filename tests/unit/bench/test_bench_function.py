"""What measuring a function costs: the entries of `make bench`."""

from bench import function


def test_the_cost_is_what_is_added_to_the_same_invocation_by_the_runtime_of_python(monkeypatch):
    monkeypatch.setattr(function, "INVOCATIONS", 20)
    [entry], setting = function.cost("function_proxy_python", "python", 1)
    assert 0 < entry.ours < 100_000 and entry.peer == function.MOST_US
    assert "recorded_us" in setting
