"""A browser for all tests of the pages, and the pages that they open."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stampede import report
from tests.browser.chromium import Chromium, Tab, find
from tests.unit.report import synthetic_run
from tests.unit.report.sketches import pictures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the browser tests out only where someone said so."""
    if os.environ.get("STAMPEDE_NO_BROWSER") == "1":
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="STAMPEDE_NO_BROWSER=1"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One headless Chromium. Without one the tests fail: a skipped test would look like a passed one."""
    program = find()
    if program is None:
        pytest.fail("no Chromium for the tests of the pages: apt-get install chromium", pytrace=False)
    with Chromium(program, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def open_tab(browser: Chromium) -> Iterator[Callable[..., Tab]]:
    """A function that opens a page file in a new tab of a given width."""
    tabs: list[Tab] = []

    def open_page(page: Path, width: int = 1200, *, script: bool = True, scheme: str = "light") -> Tab:
        tabs.append(Tab(browser, width, 844 if width < 600 else 900, script=script))
        tabs[-1].media(scheme=scheme)
        tabs[-1].open(page.as_uri())
        return tabs[-1]

    yield open_page
    for tab in tabs:
        tab.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that builds the report of a synthetic run, once for all tests; the folder."""
    built: dict[str, Path] = {}

    def build(name: str = "plain", **settings: object) -> Path:
        if name not in built:
            folder = tmp_path_factory.mktemp(name) / name
            synthetic_run.write(folder, synthetic_run.Synthetic(**settings))
            with pictures(svg=True, png=False):
                report.build(folder)
            built[name] = folder
        return built[name]

    return build
