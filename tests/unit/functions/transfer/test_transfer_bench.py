"""The clients that the Go program is measured against: what makes a run no measurement."""

import random

import pytest

from bench import clients, download, programs, rounds
from bench.errors import BenchError
from bench.small_set import small_set

OBJECT = random.Random(4).randbytes(2**20) * 2


@pytest.fixture
def gateway(tmp_path, monkeypatch):
    """A gateway whose object has 2 MiB; `source` beside it is that object."""
    monkeypatch.setattr(download, "OBJECT_MB", 2)
    monkeypatch.setattr(download, "OBJECT_BYTES", 2 * 2**20)
    (tmp_path / "source").write_bytes(OBJECT)
    folder = tmp_path / "runs"
    folder.mkdir()
    return download.Gateway("http://127.0.0.1:9", folder, {"PYTHONPATH": "/ours", "AWS_REGION": "us-east-1"})


def shell(gateway, script, check=None, placeholder="{file}", **environment):
    """A side that is a shell script; $1 is where the object, or the folder of objects, is due."""
    command = ["sh", "-c", script, "sh", placeholder]
    return clients.program(gateway, "peer", command, check or clients.the_object(), environment)


def test_a_run_is_measured_whole_and_leaves_nothing(gateway, tmp_path):
    side = shell(gateway, f'cp {tmp_path}/source "$1"')
    rounds.in_turn([side], 3, 1)
    assert [set(run_figures) for run_figures in side.measured] == [{"wall_s", "cpu_s", "peak_mb"}] * 3
    assert "peer: 0." in rounds.sentence(side)
    assert list(gateway.folder.iterdir()) == []


@pytest.mark.parametrize(
    "script", ['head -c 1000 /dev/zero > "$1"', 'head -c 2097152 /dev/zero > "$1"', "exit 3", "true"]
)
def test_a_run_that_left_no_such_object_is_refused_and_names_the_client(gateway, script):
    with pytest.raises(BenchError, match=r"^peer: "):
        shell(gateway, script).run()
    assert list(gateway.folder.iterdir()) == []


def test_small_objects_count_only_when_all_are_there_with_their_bytes(gateway, tmp_path):
    small = small_set(5)
    good = tmp_path / "good"
    good.mkdir()
    for name in small.sizes:
        (good / name).write_bytes(small.body(name))

    def side(script):
        return shell(gateway, script, small.checked(), "{folder}")

    side(f'cp {good}/* "$1"').run()
    for wrong in (
        f'cp {good}/000[0-3].dat "$1"',  # one is missing
        f'cp {good}/* "$1"; echo >> "$1/0004.dat"',  # one is larger
        f'cp {good}/* "$1"; printf x | dd of="$1/0004.dat" conv=notrunc status=none',  # one is another
    ):
        with pytest.raises(BenchError, match=r"objects arrived|bytes received differ"):
            side(wrong).run()


def test_every_clients_command_names_the_loopback_endpoint_and_where_the_object_goes(gateway, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(clients, "program", lambda made, label, command, check, environment=None: seen.append(command))
    for name in ("transfer", "s5cmd", "aws", "rclone", "aws_version", "rclone_version"):
        monkeypatch.setattr(programs, name, lambda name=name: f"/bin/{name}")
    for client in (clients.s5cmd, clients.aws, clients.rclone):
        client(gateway)
    for many in (clients.go_many, clients.s5cmd_many, clients.aws_many, clients.rclone_many):
        many(gateway, small_set(5))
    clients.go(gateway, "ranges", "tmp")
    assert len(seen) == 8
    for command in seen:
        assert "http://127.0.0.1:9" in " ".join(command)
        assert {"{file}", "{folder}"} & set(command)
    clients.go(gateway, "stream", "discard")
    assert "--output" not in seen[-1]
