"""What the published figures say, and only about cells that were published."""

from report import answer
from report.run import Run
from report.spread import spread
from report.ways import Key


def test_the_published_ratio_is_that_of_the_published_means(tmp_path):
    cells = {Key(1024, 1): spread([1.0]), Key(1024, 500): spread([1.0])}
    assert "1.04 × with 1024 MB" in answer.published_sentence(Run(tmp_path), cells)  # 13.24 / 12.67 = 1.045


def test_a_cell_that_the_write_up_lacks_has_no_published_ratio(tmp_path):
    assert answer.published_sentence(Run(tmp_path), {Key(512, 1): spread([1.0]), Key(512, 3): spread([1.0])}) is None


def test_without_downloads_there_is_nothing_to_set_the_published_figures_beside(tmp_path):
    assert answer.published_sentence(Run(tmp_path), {}) is None


def test_a_planned_largest_n_without_downloads_is_not_passed_over(tmp_path):
    run = Run(tmp_path, {"cells": [{"cell": "a", "memory_size": 1024, "concurrency_value": 500}]})
    cells = {Key(1024, n): spread([1.0] * 10) for n in (1, 5)}
    assert "from N = 1 to N = 500" in answer.published_sentence(run, cells)


def test_the_published_means_stand_beside_the_published_way_only(tmp_path):
    other = {Key(1024, 1, "crt"): spread([1.0]), Key(1024, 500, "crt"): spread([1.0])}
    assert answer.published_sentence(Run(tmp_path), other) is None
    both = other | {Key(1024, 1): spread([1.0]), Key(1024, 5): spread([1.0])}
    assert "from N = 1 to N = 5" in answer.published_sentence(Run(tmp_path), both)
