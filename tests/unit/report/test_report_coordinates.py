"""How cells are named by axes that have a default: numbers by columns of their own, texts by one phrase, and only where
a run departs from it."""

import pytest

from experiments.download.declaration import DOWNLOAD
from stampede.cell import SETTINGS, Cell, distinguishing
from stampede.report.grid import coordinates, head_columns
from tests.contract.copies_experiment import COPIES
from tests.unit.report.handmade_run import key


def copy(storage="s3", dataset="large", threads=1, n=1, settings=""):
    return Cell.at(COPIES.axes, (storage, dataset, 1024, threads, n), settings)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (copy(), "s3, large, 1,024 MB"),
        (copy(n=4), "s3, large, 1,024 MB, N = 4"),
        (copy(threads=30, n=4), "s3, large, 1,024 MB, threads = 30, N = 4"),
        (copy(dataset="small", threads=30), "s3, small, 1,024 MB"),  # as many as usual there
        (copy(settings="prefix=a"), "s3, large, 1,024 MB, prefix=a"),
    ],
)
def test_a_cell_says_in_words_what_departs_from_its_default(cell, words):
    assert cell.words == words


def test_what_is_compared_is_left_out_of_the_words_for_the_place():
    axes = distinguishing([copy(), copy(n=4)])
    assert axes == {"concurrency"}
    assert copy(n=4).words_without(("concurrency",), axes) == "s3, large, 1,024 MB"
    assert copy(n=4).words_without(("storage",), axes) == "large, 1,024 MB, N = 4"
    assert copy().words_without(("storage",), axes) == "large, 1,024 MB, N = 1"
    assert (copy(n=4).words_of(("concurrency",)), copy().words_of(("storage", "data_set"))) == ("N = 4", "s3, large")


def test_a_variant_of_texts_stays_one_phrase_from_which_compared_parts_can_be_left_out():
    axes = distinguishing([key(), key(method="stream", sink="tmp")])
    assert axes == {"method", "sink", SETTINGS}
    assert key(method="stream", sink="tmp").words_without(("concurrency",), axes) == "1,024 MB, stream to tmp"
    assert key(method="stream", sink="tmp").words_of(("method", "sink")) == "stream to tmp"
    assert (
        key(method="stream", settings="prefix=a").words_without(("method", "sink"), axes) == "1,024 MB, N = 1, prefix=a"
    )


def test_a_number_has_a_column_of_its_own_and_texts_one_together():
    axes = distinguishing([copy(), copy(threads=2)])
    assert [column.label for column in head_columns(COPIES.axes, axes)] == ["storage", "data set", "memory", "threads"]
    assert [entry.value for entry in coordinates(copy(threads=2), axes)] == [None, None, 1024, 2]
    axes = distinguishing([key(), key(method="stream")])
    assert [column.label for column in head_columns(DOWNLOAD.axes, axes)] == ["memory", "N", "method"]
    assert [entry.text for entry in coordinates(key(method="stream"), axes)] == ["1,024", "1", "stream"]


def test_other_settings_have_a_column_where_no_text_has_a_default():
    axes = distinguishing([copy(), copy(settings="prefix=a")])
    assert head_columns(COPIES.axes, axes)[-1].label == "settings"
    assert [coordinates(cell, axes)[-1].text for cell in (copy(), copy(settings="prefix=a"))] == ["–", "prefix=a"]
