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

ENDPOINT = "http://127.0.0.1:9"
ACCESS = Access(ENDPOINT, "key", "secret")
ROLE = {"AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
# Stands in for the built program: writes its arguments and its environment down, says that it is ready, and waits.
PROGRAM = """#!/bin/sh
env > "$SEEN/$$"
echo "$@" > "$SEEN/arguments"
echo "transfer work: receiving messages from $QUEUE_URL"
exec sleep 60
"""


def outputs(count=2, **environment):
    return {
        "concurrency_value": count,
        "host_environment": {"QUEUE_URL": "http://queue", "MEMORY": "5"} | environment,
        "instance_ids": ["i-1", "i-2"],
        "region": "us-east-1",
    }


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The program's place, with the one that stands in for it."""
    architecture = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    place = tmp_path / "build" / architecture / "bootstrap"
    place.parent.mkdir(parents=True)
    place.write_text(PROGRAM.replace("$SEEN", str(tmp_path / "seen")))
    place.chmod(0o755)
    (tmp_path / "seen").mkdir()
    monkeypatch.setenv("AWS_PROFILE", "a-real-account")
    monkeypatch.setenv("GITHUB_TOKEN", "of the shell")
    monkeypatch.setattr(hosts, "BUILD", tmp_path / "build")
    monkeypatch.setattr(hosts, "_role_of_the_instances", lambda *_: ROLE)
    return place


@pytest.fixture
def ensure(tmp_path, program):
    """Calls `ensure` in a state folder of its own, and ends what it started with the test."""
    yield lambda outputs, **options: hosts.ensure(tmp_path, outputs, ACCESS, **options)
    hosts.stop(tmp_path)


def test_each_host_runs_with_the_stacks_environment_the_instances_role_and_nothing_of_a_real_account(ensure, tmp_path):
    running = ensure(outputs(count=2))
    assert len(running) == 2
    for host in running:
        lines = (tmp_path / "seen" / str(host.pid)).read_text().splitlines()
        seen = dict(line.split("=", 1) for line in lines if "=" in line)
        expected = outputs()["host_environment"] | ROLE | {"AWS_ENDPOINT_URL": ENDPOINT}
        assert {name: seen.get(name) for name in expected} == expected
        assert not {"AWS_PROFILE", "GITHUB_TOKEN"} & seen.keys()
        assert seen["AWS_SHARED_CREDENTIALS_FILE"] == seen["AWS_CONFIG_FILE"] == os.devnull
    assert (tmp_path / "seen" / "arguments").read_text() == "work\n"
    assert json.loads((tmp_path / "hosts.json").read_text())["hosts"][0]["pid"] == running[0].pid


def test_hosts_that_run_as_they_should_stay_and_others_begin_anew(ensure, program):
    def after_a_kill():
        [host] = ensure(outputs(count=1))
        os.kill(host.pid, signal.SIGKILL)
        os.waitpid(host.pid, 0)
        return ensure(outputs(count=1))

    def rebuilt():
        program.write_text(program.read_text() + "\n")
        return ensure(outputs(count=1))

    first = ensure(outputs())
    assert ensure(outputs()) == first
    for change in (
        lambda: ensure(outputs(QUEUE_URL="http://q")),
        lambda: ensure(outputs(count=1)),
        lambda: ensure(outputs(count=1) | {"instance_ids": ["i-3"]}),
        after_a_kill,
        rebuilt,
    ):
        second = change()
        assert all(host.is_alive() for host in second) and not any(host.is_alive() for host in first)
        first = second


def test_a_stack_without_hosts_ends_those_of_the_last_one(ensure):
    running = ensure(outputs())
    assert ensure({"concurrency_value": 3}) == []
    assert not any(host.is_alive() for host in running)


def test_stop_ends_the_hosts_that_another_command_started_and_no_stranger(ensure, tmp_path):
    running = ensure(outputs())
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        state = json.loads((tmp_path / "hosts.json").read_text())
        state["hosts"].append({"pid": stranger.pid, "start_ticks": -1, "log_file": ""})
        (tmp_path / "hosts.json").write_text(json.dumps(state))
        assert hosts.stop(tmp_path) == 2
        assert not any(host.is_alive() for host in running)
        assert stranger.poll() is None, "a process with a recycled id was killed"
    finally:
        stranger.kill()
        stranger.wait()
    assert hosts.stop(tmp_path) == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's way of ending with a parent is Linux's")
def test_hosts_end_with_the_command_that_started_them_however_it_ends(program, tmp_path):
    script = (
        "import json, os, pathlib, signal, sys\n"
        "from stampede.emulator import hosts\n"
        "from stampede.emulator.ministack import Access\n"
        "hosts.BUILD, hosts._role_of_the_instances = pathlib.Path(sys.argv[1]), lambda *_: {}\n"
        "state, follows = pathlib.Path(sys.argv[2]), sys.argv[3] == 'follow'\n"
        f"hosts.ensure(state, {outputs()!r}, Access('x', '', ''), follow_parent=follows)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    def left(how):
        command = [sys.executable, "-c", script, str(program.parents[1]), str(tmp_path), how]
        assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
        return hosts._read(tmp_path)[1]

    followers = left("follow")
    deadline = time.monotonic() + 60
    while any(host.is_alive() for host in followers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [host.is_alive() for host in followers] == [False, False]
    kept = left("keep")
    try:
        assert [host.is_alive() for host in kept] == [True, True]
    finally:
        assert hosts.stop(tmp_path) == 2


def test_a_program_that_isnt_built_and_one_that_ends_at_once_are_reported_with_the_fix(ensure, program, tmp_path):
    program.write_text("#!/bin/sh\necho transfer work: SettingsError: QUEUE_URL is missing\nexit 1\n")
    with pytest.raises(
        EmulatorError, match="exited immediately; its last output: transfer work: SettingsError: QUEUE_URL is missing"
    ):
        ensure(outputs())
    assert not (tmp_path / "hosts.json").exists()
    program.unlink()
    with pytest.raises(EmulatorError, match="bootstrap, which a host runs, isn't built; run `make functions`"):
        ensure(outputs())
