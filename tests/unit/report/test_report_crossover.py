"""Which choice is the faster one for files of which size: lines between what was measured, and where they cross."""

from itertools import product

import pytest

from experiments.filesystem.declaration import FILESYSTEM
from stampede.report.sections.variants import crossover_sentences
from stampede.report.statistics.crossover import places

COMPARE = FILESYSTEM.compare[0]


def cell(storage, dataset, mbit_per_s, memory=1024, read="first", within=1.1):
    """A cell whose copies moved 1,000 files of 55 KB, or one of 1 GB; its median lies `within` this factor."""
    size, files = (55e6, 1000) if dataset == "small" else (1e9, 1)
    method = "copy" if storage in ("efs", "s3files") else "download_file"
    values = (storage, dataset, memory, read, method, 30, 10, 1)
    coordinates = {axis.name: value for axis, value in zip(FILESYSTEM.axes, values, strict=True)}
    mean_s = size * 8 / 1e6 / mbit_per_s
    return coordinates | {
        "client": {"files": files, "mbit_per_s": mbit_per_s},
        "seconds": {"mean_s": mean_s, "median_interval": within and {"low": mean_s / within, "high": mean_s * within}},
    }


def test_where_two_lines_cross_neither_is_the_faster():
    cells = [cell("s3", "small", 10), cell("s3", "large", 1000), cell("efs", "small", 100), cell("efs", "large", 100)]
    [place] = places(FILESYSTEM, COMPARE, cells)
    [(size, below, above)] = place.crossings
    assert (below, above) == ("efs", "s3")
    # A tenth at 55 KB, ten times at 1 GB: half the way, as logarithms go.
    assert size == pytest.approx((55e3 * 1e9) ** 0.5)
    assert place.words == "1,024 MB"
    assert crossover_sentences(place) == [
        "With 1,024 MB, efs is faster than s3 at 53.71 KiB per file, and s3 at 953.7 MiB; "
        "the lines between these sizes cross at about 7.1 MiB."
    ]


def test_one_that_is_faster_all_along_crosses_nothing():
    cells = [cell("s3", "small", 10), cell("s3", "large", 20), cell("efs", "small", 100), cell("efs", "large", 100)]
    [place] = places(FILESYSTEM, COMPARE, cells)
    assert (place.crossings, place.fastest) == ([], "efs")


@pytest.mark.parametrize("within", [None, 1.5])
def test_of_one_copy_each_and_of_intervals_that_overlap_none_is_called_the_faster(within):
    speeds = {("s3", "small"): 100, ("s3", "large"): 90, ("efs", "small"): 90, ("efs", "large"): 100}
    [place] = places(FILESYSTEM, COMPARE, [cell(*named, speed, within=within) for named, speed in speeds.items()])
    assert (place.crossings, place.fastest, place.compared) == ([], None, within is not None)
    [sentence] = crossover_sentences(place)
    assert ("no variant is clearly the fastest" if within else "each median needs 10 measurements") in sentence


def test_sentences_about_three_name_the_two_that_they_are_about():
    speeds = {"s3": (10, 1000), "efs": (100, 100), "s3files": (50, 50)}
    cells = [
        cell(name, *figures)
        for name, (small, large) in speeds.items()
        for figures in (("small", small), ("large", large))
    ]
    [place] = places(FILESYSTEM, COMPARE, cells)
    told = [sentence.partition(" at")[0] for sentence in crossover_sentences(place)]
    assert told == ["With 1,024 MB, efs is faster than s3", "With 1,024 MB, s3files is faster than s3"]


def test_each_memory_and_each_kind_of_read_is_a_place_of_its_own():
    settings = product(("s3", "efs"), ("small", "large"), (512, 1024), ("first", "repeat"))
    cells = [cell(storage, dataset, 10, memory, read) for storage, dataset, memory, read in settings]
    names = [f"{memory} MB, {read} read" for memory in ("512", "1,024") for read in ("first", "repeat")]
    assert [place.words for place in places(FILESYSTEM, COMPARE, cells)] == names


def test_a_choice_measured_at_one_size_gives_no_place():
    assert places(FILESYSTEM, COMPARE, [cell("s3", "small", 10), cell("efs", "small", 20)]) == []
