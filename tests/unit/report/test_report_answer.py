"""What the published figures say, and only about cells that were published."""

from report import answer
from report.run import Run
from report.spread import spread


def test_the_published_ratio_is_that_of_the_published_means(tmp_path):
    cells = {(1024, 1): spread([1.0]), (1024, 500): spread([1.0])}
    assert "1.04 × with 1024 MB" in answer.published_sentence(Run(tmp_path), cells)  # 13.24 / 12.67 = 1.045


def test_a_cell_that_the_write_up_lacks_has_no_published_ratio(tmp_path):
    assert answer.published_sentence(Run(tmp_path), {(512, 1): spread([1.0]), (512, 3): spread([1.0])}) is None


def test_without_downloads_there_is_nothing_to_set_the_published_figures_beside(tmp_path):
    assert answer.published_sentence(Run(tmp_path), {}) is None


def test_a_planned_largest_n_without_downloads_is_not_passed_over(tmp_path):
    run = Run(tmp_path, {"cells": ["memory_size=1024,concurrency_value=500"]})
    cells = {(1024, n): spread([1.0] * 10) for n in (1, 5)}
    assert "from N = 1 to N = 500" in answer.published_sentence(run, cells)
