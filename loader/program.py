"""How this program was started: hints name `stampede`, which may not be on the PATH of whoever typed a path to it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

NAME = "stampede"
ROOT = Path(__file__).resolve().parent.parent


def as_typed(text: str) -> str:
    """`text` with the commands in its backticks as the user can type them in this folder, for example
    `.venv/bin/stampede`."""
    if Path.cwd() != ROOT:
        text = text.replace("`terraform -chdir=infra ", f"`terraform -chdir={shlex.quote(str(ROOT / 'infra'))} ")
    started = sys.argv[0]
    if Path(started).name != NAME or os.sep not in started or shutil.which(NAME):
        return text
    return text.replace(f"`{NAME} ", f"`{shlex.quote(started)} ")


def _reopen_closed_streams() -> None:
    """Lead the standard streams that the shell has closed (`>&-`) nowhere. The next file to be opened would have their
    number otherwise, and take what child processes print."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported exits with 130, without a traceback."""
    _reopen_closed_streams()
    try:
        from loader import command_line

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return 130
