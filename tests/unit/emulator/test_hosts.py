"""The hosts of a stack as local processes, in its number and environment, without leftovers."""

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
from stampede.emulator.process import Process

ACCESS = Access("http://127.0.0.1:9", "key", "secret")
ROLE = {"AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
# A fake of the built program: writes its environment to a file, prints that it is ready, and waits.
PROGRAM = """#!/bin/sh
env > "$SEEN/$$"
echo "transfer work: receiving messages from $QUEUE_URL"
exec sleep 60
"""


def outputs(count=2, queue="http://queue", instances="i-1 i-2"):
    environment = {"QUEUE_URL": queue, "MEMORY": "5"}
    return {
        "concurrency_value": count,
        "host_environment": environment,
        "instance_ids": instances.split(),
    }


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The program's path, with the fake."""
    place = tmp_path / "build" / platform.machine().replace("aarch64", "arm64") / "bootstrap"
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


def test_changed_settings_restart_the_hosts_and_none_has_a_real_account(program, tmp_path):
    def ensure(**change):
        return hosts.ensure(tmp_path, outputs(**change), ACCESS)

    last = ensure()
    for host in last:
        seen = dict(
            line.split("=", 1)
            for line in (tmp_path / str(host.pid)).read_text().splitlines()
            if "=" in line
        )
        expected = outputs()["host_environment"] | ROLE | {"AWS_ENDPOINT_URL": ACCESS.endpoint_url}
        assert expected.items() <= seen.items() and seen["AWS_CONFIG_FILE"] == os.devnull
        assert not {"AWS_PROFILE", "GITHUB_TOKEN"} & seen.keys()
    for change in ({"queue": "http://q"}, {"count": 1}, {"instances": "i-3"}):
        running = ensure(**change)
        assert all(alive(running)) and not any(alive(last))
        last = running
    os.kill(last[0].pid, signal.SIGKILL)
    os.waitpid(last[0].pid, 0)
    last = ensure(instances="i-3")
    assert alive(last) == [True, True]
    assert hosts.ensure(tmp_path, {"concurrency_value": 3}, ACCESS) == []  # the next stack has none
    assert not any(alive(last))


SCRIPT = f"""
import os, pathlib, signal, sys
from stampede.emulator import hosts
from stampede.emulator.ministack import Access
hosts.BUILD, hosts._role_of_the_instances = pathlib.Path(sys.argv[1]), lambda *_: {{}}
follows = sys.argv[3] == 'follow'
hosts.ensure(pathlib.Path(sys.argv[2]), {outputs()!r}, Access('x', '', ''), follow_parent=follows)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux ends a child with its parent",
)
@pytest.mark.parametrize("how", ["follow", "keep"])
def test_hosts_end_with_their_command_or_with_stop_and_no_other_process_does(
    program, tmp_path, how
):
    command = [sys.executable, "-c", SCRIPT, str(program.parents[1]), str(tmp_path), how]
    assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
    state = json.loads((tmp_path / "hosts.json").read_text())
    started = [Process(**host) for host in state["hosts"]]
    deadline = time.monotonic() + (60 if how == "follow" else 0.5)
    while any(alive(started)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(started) == [how == "keep"] * 2
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        state["hosts"].append({"pid": stranger.pid, "start_ticks": -1, "log_file": ""})
        (tmp_path / "hosts.json").write_text(json.dumps(state))
        hosts.stop(tmp_path)
        assert stranger.poll() is None, "a process with a recycled id was killed"
        stranger.kill()
    assert not any(alive(started))


def test_a_program_that_exits_at_once_is_reported_with_its_last_output(program, tmp_path):
    program.write_text(
        "#!/bin/sh\necho transfer work: SettingsError: QUEUE_URL is missing\nexit 1\n"
    )
    with pytest.raises(EmulatorError, match=r"its last output: .* QUEUE_URL is missing"):
        hosts.ensure(tmp_path, outputs(), ACCESS)
    assert not (tmp_path / "hosts.json").exists()
