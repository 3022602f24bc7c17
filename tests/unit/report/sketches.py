"""Reports whose pictures nobody looks at: to draw them takes most of a report's time."""

import contextlib
from collections.abc import Iterator

import pytest
from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture

DRAWN = {"svg": drawing.svg, "png": drawing.png}
SKETCHED = {"svg": lambda figure: '<svg width="1pt" height="1pt"></svg>', "png": lambda figure: b""}
FIGURE, BLANK = Picture.__dict__["figure"], Figure()


@contextlib.contextmanager
def pictures(svg: bool, png: bool, composed: bool = True) -> Iterator[None]:
    """Draw the pictures of the reports that are built within in these forms, and put an empty file for the other.

    Without `composed` a picture that has something to show is a blank one, which neither form may be drawn of."""
    with pytest.MonkeyPatch.context() as patch:
        for form, wanted in (("svg", svg), ("png", png)):
            patch.setattr(drawing, form, (DRAWN if wanted else SKETCHED)[form])
        patch.setattr(Picture, "figure", FIGURE if composed else property(_blank))
        yield


class _HasSomethingToShow(Exception):
    pass


def _blank(picture: Picture) -> Figure | None:
    """A blank figure in the place of one; None where nothing is to be shown, which `draw` finds out before all else."""

    def begin_figure(*size: object, **layout: object) -> None:
        raise _HasSomethingToShow

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "__init__", begin_figure)
        try:
            return picture.draw()
        except _HasSomethingToShow:
            return BLANK
