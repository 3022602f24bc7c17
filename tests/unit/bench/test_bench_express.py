"""What the measurements of the storage classes are made of: a client moves the whole set, or it is no measurement."""

import json

import pytest

from bench import download, express, object_set
from bench.errors import BenchError
from bench.front import front

FIGURES = {"wall_s", "cpu_s", "peak_mb", "objects_per_s", "cpu_ms", "server_cpu_ms"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    files = tmp_path_factory.mktemp("files")
    object_set.write(files, 23)
    with front(cores=1) as store, download.place(store.url) as made:
        yield made, store, files


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(express, "OBJECTS", 23)
    monkeypatch.setattr(express, "LOOP_OBJECTS", 5)
    monkeypatch.setattr(object_set, "prefix", lambda: "data/object_bytes=10000/object_count=23/")


def test_an_object_is_rows_of_100_bytes_of_which_the_first_names_it():
    body = object_set.body(4711)
    rows = [json.loads(line) for line in body.splitlines()]
    assert (len(body), {len(line) for line in body.splitlines(keepends=True)}) == (10_000, {100})
    assert [row["object"].strip() for row in rows] == ["000004711", *[""] * 99]
    assert [row["value"] for row in rows] == list(range(100))


def test_ours_and_the_loop_upload_the_same_bytes_and_get_them_back(place, few):
    made, store, files = place
    uploads = express.uploading(made, store, files)
    ours, loop = uploads.ours.run(), uploads.loop.run()
    for figures in (ours, loop):
        assert figures.keys() == FIGURES
        assert min(figures.values()) > 0
    assert ours["objects_per_s"] == 23 / ours["wall_s"]
    assert loop["objects_per_s"] > 5 / loop["wall_s"]  # Python's start isn't counted
    downloads = express.downloading(made, store)
    assert downloads.ours.run().keys() == downloads.loop.run().keys() == FIGURES


def test_a_client_that_asks_again_or_not_at_all_is_no_measurement(place):
    with pytest.raises(BenchError, match=r"^0 PUT requests for 3 objects: this run can't be compared$"):
        express._counted(place[1], "put", 3, dict)


def test_missing_objects_and_other_bytes_are_found_in_both_directions(place, tmp_path):
    client = place[0].client()
    for number in range(3):
        client.put_object(Bucket=download.BUCKET, Key=f"x/{object_set.name(number)}", Body=object_set.body(number))
    object_set.check_uploaded(client, "x/", 3)
    with pytest.raises(BenchError, match=r"^3 of 4 objects found, or their bytes differ$"):
        object_set.check_uploaded(client, "x/", 4)
    client.put_object(Bucket=download.BUCKET, Key=f"x/{object_set.name(1)}", Body=object_set.body(2))
    with pytest.raises(BenchError, match="or their bytes differ"):
        object_set.check_uploaded(client, "x/", 3)
    object_set.remove(client, "x/")
    object_set.check_uploaded(client, "x/", 0)

    object_set.write(tmp_path, 3)
    object_set.check_downloaded(tmp_path, 3)
    with pytest.raises(BenchError, match=r"^3 objects arrived instead of 4$"):
        object_set.check_downloaded(tmp_path, 4)
    (tmp_path / object_set.name(2)).write_bytes(object_set.body(1))
    with pytest.raises(BenchError, match=r"^000000002\.json is missing or differs"):
        object_set.check_downloaded(tmp_path, 3)


def test_rates_and_cpu_are_those_of_the_side_that_the_entry_names(monkeypatch):
    def side(rate, cpu_ms):
        run_figures = {"objects_per_s": rate, "cpu_ms": cpu_ms, "server_cpu_ms": 0.1, "peak_mb": 40}
        return download.Side("a client", dict, [run_figures, run_figures])

    up = express.Sides(side(6000.0, 0.25), side(150.0, 2.0), side(3000.0, 0.5))
    down = express.Sides(side(4000.0, 0.75), side(100.0, 4.0), side(5000.0, 0.5))
    monkeypatch.setattr(express, "measured", lambda runs: (up, down))
    names = ("express_up", "express_down", "express_up_s5cmd", "express_down_s5cmd")
    assert [express.ENTRIES[name](2)[0].ratio for name in names] == [40, 40, 2, 0.8]
    cpu, _ = express.cpu(2)
    assert (cpu.ours, cpu.peer, cpu.ratio, cpu.runs) == (0.5, 3.0, 6, 2)
