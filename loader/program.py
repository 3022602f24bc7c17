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


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported exits with 130, without a traceback."""
    try:
        from loader import command_line

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return 130
