"""Charts take most of the time of a page, and have their own tests."""

import pytest

from stampede.report.charts import Chart


@pytest.fixture
def unpainted(monkeypatch):
    """Charts are empty."""
    monkeypatch.setattr(Chart, "svg", '<svg width="1pt" height="1pt" viewBox="0 0 1 1"></svg>')
    monkeypatch.setattr(Chart, "png", b"")
