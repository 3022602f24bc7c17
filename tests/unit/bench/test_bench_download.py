"""Downloads: what makes a run no measurement, and which figure an entry compares."""

import shutil

import pytest

from bench import download, filesystem, sides
from bench.errors import BenchError
from bench.pairs import Side
from bench.servers import Place
from tests.fakes import s3 as fake_s3

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def write(folder, files):
    folder.mkdir(parents=True)
    for name, body in files.items():
        (folder / name).write_bytes(body)


@pytest.mark.parametrize("wrong", ["short", "long", "other", "missing"])
def test_a_peer_counts_only_if_it_left_the_object_and_leaves_nothing(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(download, "PIECES", 2)
    good = download.PIECE * 2
    bodies = {"short": good[:-1], "long": good + b"x", "other": good[:-1] + b"x"}
    written = iter([good, bodies.get(wrong)])

    def boto3(place, peer, bucket, key, path):
        if (body := next(written)) is not None:
            (tmp_path / "object").write_bytes(body)
        return {"seconds": 1.0, "client_cpu_s": 1.0, "wall_s": 2.0, "cpu_s": 3.0, "peak_mb": 4.0}

    monkeypatch.setattr(sides, "boto3", boto3)
    side = download.download_file(Place("http://127.0.0.1:9", tmp_path, {}))
    assert side.run()["seconds"] == 1.0
    with pytest.raises((BenchError, FileNotFoundError)):
        side.run()
    assert list(tmp_path.iterdir()) == []


def test_seconds_and_cpu_are_those_of_the_entry_that_names_them():
    pair = tuple(
        Side(name, dict, [{"seconds": seconds, "cpu_s": cpu_s}])
        for name, seconds, cpu_s in (("ours", 1.0, 4.0), ("peer", 2.0, 2.0))
    )
    wall, cpu = download._entries(("a_wall", "a_cpu"), pair, "cpu_s")
    assert (wall.ratio, wall.unit, cpu.ratio, cpu.unit) == (2.0, "s", 0.5, "CPU-s/GiB")


def test_our_side_of_many_files_is_the_copying_function_and_refuses_a_data_set_of_other_sizes(tmp_path):
    files = {"0000.dat": b"a" * 10_000, "0001.dat": b"b" * 20_000}
    settings = {"STORAGE": "s3", "READ_METHOD": "pool"}
    with fake_s3.FakeS3(0, objects={f"small/{name}": body for name, body in files.items()}) as s3:
        place = Place(s3.url, tmp_path, KEYS | {"AWS_ENDPOINT_URL": s3.url})
        settings["BUCKET_NAME"] = fake_s3.BUCKET
        figures = filesystem.function(place, files, **settings).run()
        assert 0 < figures["seconds"] < figures["wall_s"]
        with pytest.raises(BenchError, match="SizeMismatch"):
            filesystem.function(place, files | {"0002.dat": b"c"}, **settings).run()


def test_small_objects_count_only_when_all_are_there_with_their_bytes(tmp_path):
    files = {"0000.dat": b"aa", "0001.dat": b"bb"}
    write(tmp_path / "good", files)
    filesystem.remove_checked(tmp_path / "good", files)
    for wrong in ({"0000.dat": b"aa"}, files | {"0001.dat": b"bx"}, files | {"0001.dat": b"bbb"}):
        write(tmp_path / "bad", wrong)
        with pytest.raises(BenchError, match="or their bytes differ"):
            filesystem.remove_checked(tmp_path / "bad", files)
    assert not shutil.rmtree(tmp_path, ignore_errors=True)
    small = filesystem.small_set()
    assert len(set(small.values())) == 1000 and {name: len(body) for name, body in small.items()} == filesystem.SIZES
