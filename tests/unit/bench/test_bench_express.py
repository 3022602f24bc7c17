"""What the measurements of the storage classes are made of: a client moves the whole set, or it is no measurement."""

import pytest

from bench import express
from bench.errors import BenchError
from bench.servers import BUCKET, front, place


@pytest.fixture
def store(monkeypatch):
    monkeypatch.setattr(express, "OBJECTS", 23)
    monkeypatch.setattr(express, "LOOP_OBJECTS", 5)
    with front(cores=1) as store, place(store.url) as made:
        yield made, store


def test_both_sides_put_the_same_bytes_and_get_them_back(store):
    for side in (*express.uploads(*store), *express.downloads(*store)):
        figures = side.run()
        assert min(figures.values()) > 0, side.label


def test_a_client_that_asks_again_or_not_at_all_is_no_measurement(store):
    with pytest.raises(BenchError, match=r"^0 PUT requests for 3 objects: this run can't be compared$"):
        express._counted(store[1], "put", 3, dict)


def test_missing_objects_and_other_bytes_are_found_in_both_directions(store, tmp_path):
    client = store[0].client()

    def put(number, body):
        client.put_object(Bucket=BUCKET, Key=f"x/{express.name(number)}", Body=body)
        (tmp_path / express.name(number)).write_bytes(body)

    def check(objects):
        for checked in (lambda: express.check_uploaded(client, "x/", objects), lambda: files(objects)):
            with pytest.raises(BenchError, match="or their bytes differ"):
                checked()

    def files(objects):
        express.check_downloaded(tmp_path, objects)

    for number in range(3):
        put(number, express.body(number))
    express.check_uploaded(client, "x/", 3)
    files(3)
    for objects in (2, 4):
        check(objects)
    put(1, express.body(2))
    check(3)
