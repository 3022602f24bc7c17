"""Reading a results folder: tolerant of damage, strict about another format."""

import json

import pytest

from report.run import RunError, cell_key, cell_words, load
from report.ways import Key


def test_a_whole_run_is_read_without_a_warning(make_run):
    run = load(make_run())
    assert run.warnings == []
    assert (len(run.downloads), len(run.errors), len(run.sent)) == (320, 0, 320)
    assert run.cell_keys() == [Key(m, n) for m in (1024, 2048) for n in (1, 5, 10)]
    assert (run.source, run.region, run.object_bytes) == ("this machine", "us-east-1", 64 * 1024**2)


def test_a_run_on_aws_is_marked_with_its_region(make_run):
    assert load(make_run(target="aws")).source == "AWS, us-east-1"


@pytest.mark.parametrize("name", ["records.jsonl", "sent.jsonl"])
def test_a_torn_last_line_is_named_and_everything_else_kept(make_run, name):
    folder = make_run()
    path = folder / name
    path.write_text(path.read_text()[:-40])
    run = load(folder)
    assert run.warnings == [f"{name}, line 320: the last line is torn (the writer was interrupted); left out."]
    assert len(run.downloads) + len(run.sent) == 639


def test_a_torn_line_in_the_middle_is_named_with_its_number(make_run):
    folder = make_run()
    lines = (folder / "records.jsonl").read_text().splitlines()
    lines[4] = lines[4][:50]
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    run = load(folder)
    assert run.warnings == ["records.jsonl, line 5: not JSON; left out."]
    assert len(run.downloads) == 319


def test_bytes_that_are_not_utf8_are_a_warning(make_run):
    folder = make_run()
    with (folder / "records.jsonl").open("ab") as file:
        file.write(b"\xff\xfe{\n")
    assert load(folder).warnings == ["records.jsonl, line 321: not JSON; left out."]


@pytest.mark.parametrize(
    "change",
    [
        {"download_time_seconds": None},
        {"download_time_seconds": -1},
        {"download_time_seconds": "12.3"},
        {"download_time_seconds": True},
        {"download_time_seconds": float("nan")},
        {"memory_size": None},
        {"status": "fine"},
    ],
)
def test_a_record_that_can_not_be_used_is_named(make_run, change):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    lines = (folder / "records.jsonl").read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | change)
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    run = load(folder)
    assert len(run.downloads) == 9
    assert len(run.warnings) == 1
    assert run.warnings[0].startswith("records.jsonl, line 1: not a record")


def test_every_missing_file_is_named(make_run):
    folder = make_run()
    for name in ("run.json", "records.jsonl", "sent.jsonl", "accounting.json"):
        (folder / name).unlink()
    run = load(folder)
    assert run.warnings == [
        "run.json is missing.",
        "records.jsonl is missing.",
        "sent.jsonl is missing.",
        "accounting.json is missing.",
    ]
    assert (run.target, run.run_id) == ("unknown", "synthetic-1")


def test_a_run_json_cut_short_is_a_warning(make_run):
    folder = make_run()
    (folder / "run.json").write_text('{"format": 1, "ru')
    run = load(folder)
    assert run.warnings[0].startswith("run.json can't be read: ")
    assert len(run.downloads) == 320


@pytest.mark.parametrize("other", [2, "1", None])
def test_another_format_version_is_one_clear_error(make_run, other):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text()) | {"format": other, "stampede_version": "9.9"}
    (folder / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError) as error:
        load(folder)
    assert f"format {other!r}, but this Stampede reads format 1" in str(error.value)
    assert "9.9" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(RunError, match="no such results folder"):
        load(tmp_path / "absent")


def test_a_folder_without_a_run_is_one_clear_error(tmp_path):
    with pytest.raises(RunError, match="not a results folder"):
        load(tmp_path)


def test_planned_cells_that_were_never_reached_are_known(make_run):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text())
    manifest["cells"] = manifest["cells"][:1]
    (folder / "run.json").write_text(json.dumps(manifest))
    (folder / "records.jsonl").write_text("")
    (folder / "accounting.json").write_text("[]")
    assert load(folder).cell_keys() == [Key(m, n) for m in (1024, 2048) for n in (1, 5, 10)]


def test_a_cell_is_recognised_by_its_id_and_by_its_variables():
    assert cell_key("memory_size=1024,concurrency_value=5") == Key(1024, 5)
    assert cell_key({"cell": "x", "memory_size": 512, "concurrency_value": 1}) == Key(512, 1)
    assert cell_key({"cell": "memory_size=1024,concurrency_value=5"}) == Key(1024, 5)
    assert cell_key("warm-up") is None
    assert cell_key(None) is None


def test_a_cell_in_words_names_its_repeat():
    assert cell_words("memory_size=1024,concurrency_value=5,repeat=2") == "1024 MB, N = 5, repeat 2"
    assert cell_words("memory_size=1024,concurrency_value=5") == "1024 MB, N = 5"


def test_what_a_cell_does_not_name_is_taken_from_the_plan(make_run):
    folder = make_run()
    manifest = json.loads((folder / "run.json").read_text())
    manifest["plan"]["fixed"]["memory_size"] = 512
    (folder / "run.json").write_text(json.dumps(manifest))
    run = load(folder)
    assert run.key_of("concurrency_value=7,repeat=2") == Key(512, 7)
    assert run.key_of("memory_size=1024,concurrency_value=7") == Key(1024, 7)
    assert run.key_of({"concurrency_value": 7}) == Key(512, 7)
    assert run.key_of("not a cell") is None


def test_warm_ups_are_kept_apart_from_the_downloads(make_run):
    run = load(make_run(memories=(1024,), concurrencies=(2,), warm_ups=3))
    assert (len(run.downloads), len(run.warm_ups)) == (20, 6)
    assert all(record["warm_up"] == 1 for record in run.warm_ups)
