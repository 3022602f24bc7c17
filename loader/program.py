"""How this program was started: hints name `stampede`, which may not be on the PATH of whoever typed a path to it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAME = "stampede"


def as_typed(text: str) -> str:
    """`text` with the commands in its backticks as the user can type them, for example `.venv/bin/stampede`."""
    started = sys.argv[0]
    if Path(started).name != NAME or os.sep not in started or shutil.which(NAME):
        return text
    return text.replace(f"`{NAME} ", f"`{started} ")
