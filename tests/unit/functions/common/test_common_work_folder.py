"""A folder for one operation: gone with its process, however that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

FUNCTIONS = Path(__file__).parents[4] / "functions"
MAKE = (
    "from common.work_folder import WorkFolder; folder = WorkFolder(); (folder.path / "
    "'object').write_bytes(b'x'); "
)


def process(folder: Path, then: str) -> subprocess.Popen:
    command = [sys.executable, "-c", f"{MAKE}print(flush=True); {then}"]
    environment = os.environ | {"TMPDIR": str(folder), "PYTHONPATH": str(FUNCTIONS)}
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        text=True,
    )


def test_what_a_killed_process_left_is_removed_at_the_next_start_and_what_is_in_use_is_not(
    tmp_path,
):
    with process(tmp_path, "input()") as working:
        assert working.stdout.readline() == "\n"
        with process(tmp_path, f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})") as killed:
            killed.wait()
        assert len(list(tmp_path.iterdir())) == 2
        with process(tmp_path, "folder.close()") as third:
            assert third.wait() == 0
        assert [(folder / "object").read_bytes() for folder in tmp_path.iterdir()] == [b"x"]
        working.communicate("\n")
