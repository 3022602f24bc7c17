"""Another `time.sleep` for one module: a thread that another test left behind sleeps on the real
one, and moves no simulated clock."""

import time
from collections.abc import Callable
from types import ModuleType

import pytest


def replace_sleep(
    patch: pytest.MonkeyPatch, module: ModuleType, sleep: Callable[[float], object]
) -> None:
    """Let what `module` calls time.sleep be `sleep`, a function of seconds."""
    own = ModuleType("time")
    vars(own).update(vars(time) | {"sleep": sleep})
    patch.setattr(module, "time", own)
