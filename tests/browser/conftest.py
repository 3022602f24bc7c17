"""A browser for all page tests, and the reports that they open."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.report.charts import Chart
from tests.browser.chromium import Chromium, program
from tests.contract import synthetic

HEIGHTS = {390: 844, 1200: 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the browser tests only on request."""
    if os.environ.get("STAMPEDE_NO_BROWSER") == "1":
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="STAMPEDE_NO_BROWSER=1"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A headless Chromium. Without one the tests fail: a skipped test looks like a passed one."""
    path = program()
    if path is None:
        pytest.fail(
            "no Chromium for the tests of the pages: apt-get install chromium", pytrace=False
        )
    with Chromium(path, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def open_tab(browser: Chromium) -> Callable[..., Chromium]:
    """A function that opens a page file at the given width and returns the browser."""

    def open_page(page: Path, width: int = 1200, **settings: object) -> Chromium:
        browser.open(page.as_uri(), width, HEIGHTS[width], **settings)
        return browser

    return open_page


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that builds the page of an experiment's synthetic run, once for all tests."""

    @cache
    def page_of(experiment: str, name: str = "", **settings: object) -> Path:
        folder = tmp_path_factory.mktemp("runs") / (name or experiment)
        synthetic.write(folder, EXPERIMENTS[experiment], **{"per_n": 10, **settings})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Chart, "png", b"")  # no page shows them
            return report.build(folder).page

    return page_of
