"""How this program was started. Hints name `stampede`, but a user who typed a path to it may not
have it on the PATH."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from stampede.checkout import ROOT

NAME = "stampede"


def as_typed(text: str) -> str:
    """`text` with the commands in backticks as the user can type them in this folder, for example
    `.venv/bin/stampede`."""
    if Path.cwd() != ROOT:
        text = text.replace(
            "`terraform -chdir=infra ", f"`terraform -chdir={shlex.quote(str(ROOT / 'infra'))} "
        )
    started = sys.argv[0]
    if Path(started).name != NAME or os.sep not in started or shutil.which(NAME):
        return text
    return text.replace(f"`{NAME} ", f"`{shlex.quote(started)} ")
