"""The seeding function: the data set is on the mount as it is in the bucket, whatever was there
before."""

import json
import os
import re

import pytest

from tests.unit.functions.filesystem.copies import LARGE, OBJECTS, SMALL_BYTES, put_on_mount
from tests.unit.functions.lambda_sandbox import Context


@pytest.fixture
def place(start_s3, mount, monkeypatch):
    """Return a function that invokes the seeding function; gives what it returns, or the line that
    it fails with."""
    monkeypatch.setenv("MOUNT_PATH", str(mount))
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    from filesystem import seeding

    def place(remaining_s=60):
        try:
            return json.loads(json.dumps(seeding.handler({}, Context(remaining_s))))
        except seeding.SeedingError as error:
            assert str(error).isprintable()
            return str(error)

    return place


def on(mount):
    """What is on the mount, hidden files too."""
    return {
        path.relative_to(mount).as_posix(): path.read_bytes()
        for path in mount.rglob("*")
        if path.is_file()
    }


def test_the_data_set_is_put_with_its_bytes_and_is_not_asked_for_again(
    place, start_s3, mount, monkeypatch
):
    s3 = start_s3(objects=OBJECTS, cut_bodies=3, cut_listings=1)
    forgotten = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, *advice: forgotten.append(advice))
    answer = place()
    # so that the storage is verified, not memory
    assert forgotten == [(0, 0, os.POSIX_FADV_DONTNEED)] * len(OBJECTS)
    assert on(mount) == OBJECTS
    assert 0 < answer.pop("seconds") < 60
    assert answer == {"files": 24, "bytes": SMALL_BYTES + len(LARGE), "already_there": 0}
    before = len(s3.requests)
    assert place()["already_there"] == 24
    assert len(s3.requests) == before + 2  # two listings


def test_what_was_changed_removed_or_is_new_in_the_bucket_is_put_and_the_rest_stays(
    place, start_s3, mount
):
    s3 = start_s3(objects=OBJECTS)
    place()
    changed = mount / "small/00003.bin"
    changed.write_bytes(b"?" * changed.stat().st_size)
    (mount / "small/00004.bin").unlink()
    s3.objects["small/new.bin"] = b"new"
    assert place()["already_there"] == 22
    assert on(mount) == s3.objects
    s3.objects = {key: bytes(reversed(content)) for key, content in OBJECTS.items()}
    s3.generation = 2
    assert place()["already_there"] == 0
    assert on(mount) == s3.objects


def test_what_does_not_belong_to_the_data_set_is_removed_and_nothing_is_written_through_a_link(
    place, start_s3, mount, tmp_path
):
    outside = tmp_path / "outside"
    put_on_mount(outside, ".", {"00001.bin": b"mine"})
    put_on_mount(mount, "small", {"stray.bin": b"1", "deep/stray.bin": b"2"})
    (mount / "small/more").symlink_to(outside)
    (mount / "large").symlink_to(outside)
    (mount / "small/00001.bin").symlink_to(outside / "00001.bin")
    put_on_mount(mount, ".", {"notes.txt": b"beside the data sets"})
    start_s3(objects=OBJECTS)
    place()
    assert on(mount) == OBJECTS | {"notes.txt": b"beside the data sets"}
    assert on(outside) == {"00001.bin": b"mine"}


@pytest.mark.parametrize(
    ("objects", "mount_path", "reason"),
    [
        (OBJECTS, "/nowhere", "NoData: .*MOUNT_PATH"),
        (OBJECTS, "data", "SettingsError: .*MOUNT_PATH"),
        (OBJECTS, "/proc", "FileError: "),  # where nobody may write
        ({"large/a": b"1"}, "", "NoData: .* small/"),
        # Which leads out of the mount, and is refused before anything is written.
        (OBJECTS | {"small/../../stolen.bin": b"stolen"}, "", "UnsafePath: "),
    ],
)
def test_what_can_not_be_put_is_said(
    place, start_s3, monkeypatch, mount, tmp_path, objects, mount_path, reason
):
    start_s3(objects=objects)
    monkeypatch.setenv("MOUNT_PATH", mount_path or str(mount))
    assert re.match(reason, place())
    assert not list(tmp_path.rglob("*stolen*")) and not list(mount.rglob("small/*"))


def test_a_file_that_is_not_on_the_mount_what_came_is_found_and_not_named(
    place, start_s3, mount, monkeypatch
):
    start_s3(objects=OBJECTS)
    pwrite = os.pwrite

    def forgetful(file, data, position):
        is_lost = bytes(data[:50]) == b"y" * 50  # small/more/ä.bin
        return pwrite(file, bytes(len(data)) if is_lost else data, position)

    monkeypatch.setattr(os, "pwrite", forgetful)
    assert place().startswith("ChecksumMismatch: 'small/more/\\xe4.bin'")
    assert on(mount).items() <= OBJECTS.items()
    monkeypatch.setattr(os, "pwrite", pwrite)
    place()
    assert on(mount) == OBJECTS


def test_it_ends_before_its_time_is_up_and_goes_on_when_it_is_invoked_again(place, start_s3, mount):
    s3 = start_s3(objects=OBJECTS, trickle_bytes=100_000, trickle_pause_s=0.2)
    assert place(remaining_s=6).startswith("DeadlineExceeded: ")
    s3.faults.trickle_bytes = None
    assert 0 < place()["already_there"] < 24
    assert on(mount) == OBJECTS
