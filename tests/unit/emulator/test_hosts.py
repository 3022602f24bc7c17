"""The hosts of a stack as processes of this machine: as many as it has, with its environment, and none that stays."""

import json
import os
import platform
import signal
import subprocess
import sys
import time

import pytest

from stampede.emulator import hosts
from stampede.emulator.ministack import Access, EmulatorError

ACCESS = Access("http://127.0.0.1:9", "key", "secret")
ROLE = {"AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
# Stands in for the built program: writes its arguments and its environment down, says that it is ready, and waits.
PROGRAM = """#!/bin/sh
env > "$SEEN/$$"
echo "arguments=$@" >> "$SEEN/$$"
echo "transfer work: receiving messages from $QUEUE_URL"
exec sleep 60
"""


def outputs(count=2, queue="http://queue", instances="i-1 i-2"):
    environment = {"QUEUE_URL": queue, "MEMORY": "5"}
    return {
        "concurrency_value": count,
        "host_environment": environment,
        "instance_ids": instances.split(),
        "region": "r",
    }


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The program's place, with the one that stands in for it."""
    architecture = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    place = tmp_path / "build" / architecture / "bootstrap"
    place.parent.mkdir(parents=True)
    place.write_text(PROGRAM.replace("$SEEN", str(tmp_path)))
    place.chmod(0o755)
    monkeypatch.setenv("AWS_PROFILE", "a-real-account")
    monkeypatch.setenv("GITHUB_TOKEN", "of the shell")
    monkeypatch.setattr(hosts, "BUILD", tmp_path / "build")
    monkeypatch.setattr(hosts, "_role_of_the_instances", lambda *_: ROLE)
    yield place
    hosts.stop(tmp_path)


def alive(running):
    return [host.is_alive() for host in running]


def test_each_host_has_the_stacks_environment_and_the_instances_role_and_nothing_of_a_real_account(program, tmp_path):
    running = hosts.ensure(tmp_path, outputs(), ACCESS)
    expected = outputs()["host_environment"] | ROLE
    expected |= {"AWS_ENDPOINT_URL": ACCESS.endpoint_url, "arguments": "work"}
    expected |= dict.fromkeys(("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"), os.devnull)
    for host in running:
        seen = dict(line.split("=", 1) for line in (tmp_path / str(host.pid)).read_text().splitlines() if "=" in line)
        assert expected.items() <= seen.items()
        assert not {"AWS_PROFILE", "GITHUB_TOKEN"} & seen.keys()
    assert hosts.ensure(tmp_path, {"concurrency_value": 3}, ACCESS) == []  # the next stack has none
    assert alive(running) == [False, False]


def test_hosts_that_run_as_they_should_stay_and_others_begin_anew(program, tmp_path):
    def kill(running):
        os.kill(running[0].pid, signal.SIGKILL)
        os.waitpid(running[0].pid, 0)

    last = hosts.ensure(tmp_path, outputs(), ACCESS)
    assert hosts.ensure(tmp_path, outputs(), ACCESS) == last
    for change in (
        {"queue": "http://q"},
        {"count": 1},
        {"instances": "i-3"},
        lambda running: program.write_text(program.read_text() + "\n"),
        kill,
    ):
        if callable(change):
            change(last)
            change = {}
        running = hosts.ensure(tmp_path, outputs(**change), ACCESS)
        assert all(alive(running)) and not any(alive(last))
        last = hosts.ensure(tmp_path, outputs(), ACCESS)


def test_stop_ends_the_hosts_that_another_command_started_and_no_stranger(program, tmp_path):
    running = hosts.ensure(tmp_path, outputs(), ACCESS)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        state = json.loads((tmp_path / "hosts.json").read_text())
        state["hosts"].append({"pid": stranger.pid, "start_ticks": -1, "log_file": ""})
        (tmp_path / "hosts.json").write_text(json.dumps(state))
        assert hosts.stop(tmp_path) == 2
        assert not any(alive(running))
        assert stranger.poll() is None, "a process with a recycled id was killed"
        stranger.kill()
    assert hosts.stop(tmp_path) == 0


SCRIPT = f"""
import os, pathlib, signal, sys
from stampede.emulator import hosts
from stampede.emulator.ministack import Access
hosts.BUILD, hosts._role_of_the_instances = pathlib.Path(sys.argv[1]), lambda *_: {{}}
hosts.ensure(pathlib.Path(sys.argv[2]), {outputs()!r}, Access('x', '', ''), follow_parent=sys.argv[3] == 'follow')
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's way of ending with a parent is Linux's")
@pytest.mark.parametrize("how", ["follow", "keep"])
def test_hosts_end_with_the_command_that_started_them_where_they_should(program, tmp_path, how):
    command = [sys.executable, "-c", SCRIPT, str(program.parents[1]), str(tmp_path), how]
    assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
    left = hosts._read(tmp_path)[1]
    deadline = time.monotonic() + (60 if how == "follow" else 0.5)
    while any(alive(left)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(left) == [how == "keep"] * 2


def test_a_program_that_isnt_built_and_one_that_ends_at_once_are_reported_with_the_fix(program, tmp_path):
    program.write_text("#!/bin/sh\necho transfer work: SettingsError: QUEUE_URL is missing\nexit 1\n")
    with pytest.raises(EmulatorError, match="its last output: transfer work: SettingsError: QUEUE_URL is missing"):
        hosts.ensure(tmp_path, outputs(), ACCESS)
    assert not (tmp_path / "hosts.json").exists()
    program.unlink()
    with pytest.raises(EmulatorError, match="bootstrap, which a host runs, isn't built; run `make functions`"):
        hosts.ensure(tmp_path, outputs(), ACCESS)
