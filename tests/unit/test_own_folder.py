"""No other user can place programs or a state that Stampede would run or trust."""

import os

import pytest

from stampede import own_folder
from stampede.cli.command_line import main
from stampede.emulator import stack
from stampede.stacks import stack_lock


def mode(folder):
    return folder.stat().st_mode & 0o7777


def test_only_this_user_can_enter_the_state_folder_with_any_umask(tmp_path, monkeypatch):
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path / "state")
    before = os.umask(0)
    try:
        stack_lock.own("local", "r", started_emulator=False)
    finally:
        os.umask(before)
    assert mode(tmp_path / "state") == 0o700


def test_a_folder_that_a_loose_umask_left_open_is_closed(tmp_path):
    tmp_path.chmod(0o777)
    assert own_folder.fault(tmp_path) == ""
    assert mode(tmp_path) == 0o755


def test_a_shared_folder_such_as_tmp_is_refused(tmp_path):
    tmp_path.chmod(0o1777)
    assert own_folder.fault(tmp_path)
    assert mode(tmp_path) == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder somebody else's")
@pytest.mark.parametrize("variable", ["STAMPEDE_STATE_DIR", "STAMPEDE_CACHE_DIR"])
def test_a_folder_of_another_user_is_refused(tmp_path, variable, monkeypatch, capsys):
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path / "STAMPEDE_STATE_DIR")
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "STAMPEDE_CACHE_DIR"))
    planted, precious = tmp_path / variable, tmp_path / "precious"
    planted.mkdir()
    precious.write_text("precious")
    (planted / "emulator.log").symlink_to(precious)
    os.chown(planted, 65534, 65534)
    assert (main(["emulator", "start"]), precious.read_text()) == (2, "precious")
    assert variable in capsys.readouterr().err
