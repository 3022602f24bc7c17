"""A run that was measured and reported before other experiments had a place counts as it did, byte for byte but for
the sentences that go with the numbers."""

import json
import shutil
from pathlib import Path

import pytest

from stampede.report.rebuild import build

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "download"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden") / "run"
    shutil.copytree(GOLDEN, folder, ignore=shutil.ignore_patterns("expected"))
    build(folder)
    return folder


@pytest.mark.parametrize("name", ["cells.csv", "table.md"])
def test_a_stored_run_is_counted_as_it_always_was(rebuilt, name):
    assert (rebuilt / name).read_text() == (GOLDEN / "expected" / name).read_text()


def test_its_statistics_are_the_same_bytes_apart_from_their_sentences(rebuilt):
    now, then = ((folder / "statistics.json").read_text() for folder in (rebuilt, GOLDEN / "expected"))
    sentences = {text for text in texts(json.loads(now)) | texts(json.loads(then)) if " " in text}
    for text in sorted(sentences, key=len, reverse=True):
        now, then = (content.replace(json.dumps(text, ensure_ascii=False), '""') for content in (now, then))
    assert now == then


def texts(value):
    """Every string in a JSON value."""
    if isinstance(value, str):
        return {value}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for part in parts for text in texts(part)}
