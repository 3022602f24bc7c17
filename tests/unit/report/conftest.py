"""Synthetic runs for the tests of the report."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stampede import report
from stampede.report.figures import drawing
from tests.unit.report import synthetic_run
from tests.unit.report.sketches import DRAWN, pictures


@pytest.fixture(scope="package", autouse=True)
def sketched():
    """Most tests look at words and numbers."""
    with pictures(svg=False, png=False, composed=False):
        yield


@pytest.fixture
def drawn():
    """For the tests that look at the pictures, or at what might break them."""
    with pictures(svg=True, png=False):
        yield


@pytest.fixture
def slides():
    """For the tests that look at the PNG of each, too."""
    with pictures(svg=True, png=True):
        yield


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a synthetic run with the given settings and returns its folder."""

    def make(name: str = "synthetic-1", **settings: object) -> Path:
        return synthetic_run.write(tmp_path / name, synthetic_run.Synthetic(**settings))

    return make


@pytest.fixture(scope="session")
def built_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that builds the report of a synthetic run once for all tests; they only read in its folder."""
    built: dict[str, Path] = {}

    def build(**settings: object) -> Path:
        name = repr((sorted(settings.items()), drawing.svg is DRAWN["svg"]))
        if name not in built:
            folder = tmp_path_factory.mktemp("built") / "synthetic-1"
            synthetic_run.write(folder, synthetic_run.Synthetic(**settings))
            report.build(folder)
            built[name] = folder
        return built[name]

    return build
