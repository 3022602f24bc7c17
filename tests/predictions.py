"""The predictions in README and docs/: `python -m tests.predictions` prints them anew.

A prediction is a block below `<!-- simulate: ARGUMENTS -->`: the answer and the table that
`stampede simulate` prints.
"""

import io
import os
import re
from contextlib import redirect_stderr, redirect_stdout

from stampede.cli.command_line import main as stampede
from tests.commands import DOCUMENTS

BLOCK = re.compile(r"(?ms)^(<!-- simulate: (.*?) -->\n```\n)(.*?)^```$")


def prediction(arguments: str) -> str:
    """What `stampede simulate` prints up to the end of its table."""
    os.environ["COLUMNS"] = "200"
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
        stampede(["simulate", *arguments.split()])
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    return "\n\n".join("\n".join(lines).split("\n\n")[:2]) + "\n"


if __name__ == "__main__":
    for document in DOCUMENTS:
        text = document.read_text()
        document.write_text(BLOCK.sub(lambda block: f"{block[1]}{prediction(block[2])}```", text))
