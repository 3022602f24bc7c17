"""Synthetic runs for the tests of the report."""

from collections.abc import Callable
from pathlib import Path

import pytest

import report
from report.figures import drawing
from tests.unit.report import synthetic_run

PNG = drawing.png


@pytest.fixture(scope="package", autouse=True)
def without_slides():
    """PNG takes a third of a report's time, and no page has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "png", lambda figure: b"")
        yield


@pytest.fixture
def slides(monkeypatch):
    """For the tests that look at it: it is drawn."""
    monkeypatch.setattr(drawing, "png", PNG)


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
        name = repr(sorted(settings.items()))
        if name not in built:
            folder = tmp_path_factory.mktemp("built") / "synthetic-1"
            synthetic_run.write(folder, synthetic_run.Synthetic(**settings))
            report.build(folder)
            built[name] = folder
        return built[name]

    return build
