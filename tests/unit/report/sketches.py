"""Reports whose pictures nobody looks at: to draw them takes most of a report's time."""

import contextlib
from collections.abc import Iterator

import pytest

from stampede.report.figures import drawing

DRAWN = {"svg": drawing.svg, "png": drawing.png}
SKETCHED = {"svg": lambda figure: '<svg width="1pt" height="1pt"></svg>', "png": lambda figure: b""}


@contextlib.contextmanager
def pictures(svg: bool, png: bool) -> Iterator[None]:
    """Draw the pictures of the reports that are built within in these forms, and put an empty file for the other."""
    with pytest.MonkeyPatch.context() as patch:
        for form, wanted in (("svg", svg), ("png", png)):
            patch.setattr(drawing, form, (DRAWN if wanted else SKETCHED)[form])
        yield
