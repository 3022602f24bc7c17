"""Replaces the clock and `time.sleep` in one module only: a thread left by another test then sleeps
on the real one and doesn't move a simulated clock."""

import time
from collections.abc import Callable
from types import ModuleType

import pytest


def replace_sleep(
    patch: pytest.MonkeyPatch,
    module: ModuleType,
    sleep: Callable[[float], object],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Makes `module` call `sleep`, a function of seconds, for time.sleep, and `clock` for
    time.monotonic."""
    own = ModuleType("time")
    vars(own).update(vars(time) | {"sleep": sleep, "monotonic": clock})
    patch.setattr(module, "time", own)
