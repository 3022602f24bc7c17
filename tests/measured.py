"""The runs behind the tables of README and docs/: `make measured FOLDERS="results/A results/B"`
stores the time and the table of each in docs/measured.json, and draws the excerpts in the pages
anew. Each is a sweep with its defaults.

An excerpt is a block below `<!-- table: EXPERIMENT PATTERN -->`: the measured rows in which the
regular expression is found, each with the published row below it.
"""

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from stampede.errors import UsageError
from stampede.runs.folder import RunFolder
from tests.commands import DOCUMENTS, ROOT

PATH = ROOT / "docs" / "measured.json"
EXCERPT = re.compile(r"(?ms)^(<!-- table: (\w+) (\S.*?) -->\n```\n)(.*?)^```$")


def read() -> dict[str, dict]:
    """What is stored, by experiment."""
    return json.loads(PATH.read_text())


def excerpt(table: list[str], pattern: str) -> str:
    """The head of `table` and the rows that `pattern` chooses."""
    rule = next(number for number, line in enumerate(table) if line.startswith("─"))
    shown, chosen = table[: rule + 1], False
    for line in table[rule + 1 :]:
        if "this machine" in line:
            chosen = bool(re.search(pattern, line))
        if chosen:
            shown.append(line)
    return "\n".join(shown).rstrip() + "\n"


def _entry(folder: Path) -> dict[str, object]:
    run = json.loads((folder / "run.json").read_text())
    started, ended = (datetime.fromisoformat(run[key]) for key in ("started_at", "finished_at"))
    table = _output(str(Path(sys.executable).parent / "stampede"), "report", str(folder)).split(
        "\n\n"
    )[0]
    return {
        "run_id": run["run_id"],
        "machine": run["machine"],
        "commit": _output("git", "rev-parse", "--short", "HEAD").strip(),
        "took_s": round((ended - started).total_seconds()),
        "table": [line.rstrip() for line in table.splitlines()],
    }


def _output(*command: str) -> str:
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def main(folders: list[Path]) -> None:
    """Store the runs in `folders`, and draw the excerpts anew."""
    measured = read() if PATH.exists() else {}
    for folder in folders:
        measured[json.loads((folder / "run.json").read_text())["experiment"]] = _entry(folder)
    PATH.write_text(json.dumps(measured, ensure_ascii=False, indent=1) + "\n")
    for document in DOCUMENTS:
        text = EXCERPT.sub(
            lambda m: f"{m[1]}{excerpt(measured[m[2]]['table'], m[3])}```", document.read_text()
        )
        document.write_text(text)


def run_folders(arguments: list[str]) -> list[Path]:
    """The folders that FOLDERS= names. Ends the program with a line where there is none, or one
    isn't that of a finished run."""
    if not arguments:
        sys.exit('FOLDERS: none given; name folders of runs: FOLDERS="results/A results/B"')
    folders = [Path(argument).resolve() for argument in arguments]
    for folder in folders:
        try:
            is_finished = folder.is_dir() and RunFolder(folder).read_json("run.json", {}).get(
                "finished_at"
            )
        except UsageError as error:
            sys.exit(f"FOLDERS: {error}")
        if not is_finished:
            sys.exit(
                f"FOLDERS: {folder} isn't the folder of a finished run; name one of those in "
                "results/"
            )
    return folders


if __name__ == "__main__":
    main(run_folders(sys.argv[1:]))
