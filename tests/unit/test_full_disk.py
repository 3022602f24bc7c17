"""A full disk is named, even if the failing program says something else."""

import errno
import re
import resource
import tempfile
from pathlib import Path

import pytest

from loader.drain import drain
from stampede import full_disk
from stampede.cli.command_line import main
from stampede.emulator import stack
from stampede.runs.folder import RunFolder
from stampede.stacks import terraform
from stampede.stacks.terraform import Terraform
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.conftest import go_by_clock_of


def refused(*_, error=None):
    raise error or OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def fill(monkeypatch):
    """A function that makes the disk of a folder seem full."""
    full = []
    there = tempfile.TemporaryFile

    def temporary_file(*arguments, dir=None, **options):
        return (
            Path("/dev/full").open("wb") if dir in full else there(*arguments, dir=dir, **options)
        )

    monkeypatch.setattr(full_disk.tempfile, "TemporaryFile", temporary_file)
    return full.append


@pytest.mark.parametrize("which", [["results"], ["state"], []])
def test_the_error_names_the_folder_whose_disk_is_full(fill, tmp_path, monkeypatch, capsys, which):
    folders = {name: tmp_path / name for name in ("results", "state")}
    for folder in folders.values():
        folder.mkdir()
    for name in which:
        fill(folders[name])
    monkeypatch.setattr(stack, "STATE_DIR", folders["state"])
    monkeypatch.setattr("stampede.cli.verbs.drain.run", refused)
    assert main(["drain", "--results-dir", str(folders["results"])]) == 1
    line = capsys.readouterr().err
    assert all((str(folders[name]) in line) == (name in (which or folders)) for name in folders)
    assert ("STAMPEDE_STATE_DIR" in line) == ("state" in (which or folders))
    assert "free or change that disk" in line


def test_a_read_only_disk_has_another_way_out_than_a_full_one(monkeypatch, capsys):
    read_only = OSError(errno.EROFS, "Read-only file system", "results/r/sent.jsonl")
    monkeypatch.setattr("stampede.cli.verbs.drain.run", lambda _: refused(error=read_only))
    assert main(["drain"]) == 1
    assert re.search(r"results/r/sent.jsonl \(Read-only.*make it writable", capsys.readouterr().err)


def test_a_line_that_a_full_disk_cut_off_is_removed(tmp_path):
    """A limit of the file size fails as a full disk does."""
    folder = RunFolder.create(tmp_path, "r")
    folder.append("records.jsonl", [{"seq": 0}])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            folder.append("records.jsonl", ({"seq": seq} for seq in range(1, 20)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    text = (folder.path / "records.jsonl").read_text()
    assert len(text) > 50 and text.endswith("}\n")


def test_a_local_drain_whose_functions_have_no_room_names_the_folder(fill, tmp_path, monkeypatch):
    aws = SimulatedAws("local", dict(OUTPUTS))
    go_by_clock_of(aws, monkeypatch)
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
    folder = RunFolder.create(tmp_path, "r")
    folder.append(
        "sent.jsonl", [{"cell": "a", "seq": seq, "sent_at_ms": EPOCH_MS} for seq in (0, 1)]
    )
    aws.log(record(0), at_s=1)
    aws.hide(0, 1e9)
    fill(tmp_path)
    with pytest.raises(OSError, match="No space left on device"):
        drain(aws, folder)
    assert 5 < aws.now_s < 60
    assert [row["seq"] for row in folder.rows("records.jsonl")] == [0]


def test_output_that_terraform_could_not_print_is_not_mistaken_for_no_output(tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPEDE_TERRAFORM", "/bin/true")
    monkeypatch.setattr(terraform.full_disk, "refuse", refused)
    with pytest.raises(OSError, match="No space left on device"):
        Terraform(tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path / "state" / "log").outputs()
