"""The measurement of the Go program against s5cmd: what makes a run no measurement."""

import random

import pytest

from bench import download, go_download
from bench.errors import BenchError


@pytest.fixture
def gateway(tmp_path, monkeypatch):
    """A gateway whose object has 2 MiB."""
    monkeypatch.setattr(download, "OBJECT_MB", 2)
    monkeypatch.setattr(download, "OBJECT_BYTES", 2 * 2**20)
    return download.Gateway("http://127.0.0.1:9", tmp_path, {})


def client(script):
    return go_download.Client("peer", ["sh", "-c", script, "sh", "{target}"])


def test_a_run_is_measured_whole_and_leaves_nothing(gateway):
    one = client('head -c 2097152 /dev/zero > "$1"')
    one.measured.append(one.run(gateway, go_download._check_size))
    assert set(one.measured[0]) == {"wall_s", "cpu_s", "peak_mb"}
    assert "peer: 0." in one.sentence()
    assert list(gateway.folder.iterdir()) == []


@pytest.mark.parametrize("script", ['head -c 1000 /dev/zero > "$1"', "exit 3", "true"])
def test_a_run_that_left_no_such_object_is_refused(gateway, script):
    with pytest.raises(BenchError):
        client(script).run(gateway, go_download._check_size)


def test_other_bytes_than_were_put_are_refused(gateway, tmp_path):
    with pytest.raises(BenchError, match="other bytes"):
        client('head -c 2097152 /dev/zero > "$1"').run(gateway, go_download._check_content)
    good = tmp_path / "good"
    good.write_bytes(random.Random(4).randbytes(2**20) * 2)
    go_download._check_content(good)


def test_the_binary_is_built_again_only_when_a_source_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path))
    built = go_download.transfer_binary()
    made_ns = built.stat().st_mtime_ns
    assert go_download.transfer_binary() == built
    assert built.stat().st_mtime_ns == made_ns

    changed = tmp_path / "sources"
    changed.mkdir()
    for name in ("go.mod", "go.sum"):
        (changed / name).write_bytes((go_download.SOURCES / name).read_bytes())
    (changed / "main.go").write_text("package main\n\nfunc main() {}\n")
    monkeypatch.setattr(go_download, "SOURCES", changed)
    assert go_download.transfer_binary() != built
