"""The pictures of the report, one module each, drawn from the numbers of statistics.json.

`series` are the cells as lines of a picture, `panels` and `ranked` what many of them become, `drawing` holds what all
pictures share.
"""

from dataclasses import dataclass
from types import ModuleType

from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.series import Drawn


@dataclass(frozen=True)
class Picture:
    """One picture: its file name without ending, its title, what it shows in words, how to read it, SVG and PNG."""

    name: str
    title: str
    words: str
    reading: str
    svg: str
    png: bytes


def picture(module: ModuleType, figure: Figure | None, drawn: Drawn, like: ModuleType | None = None) -> Picture | None:
    """What `module` drew, ready for the page and for files; None for nothing. `like` is a picture with whose title and
    reading it goes."""
    if figure is None:
        return None
    one, many = drawn.operation
    worker, workers = drawn.experiment.worker
    title, reading = (
        text.replace("{one}", one)
        .replace("{many}", many)
        .replace("{worker}", worker)
        .replace("{workers}", workers)
        .replace("{few}", str(drawn.numbers["rules"]["minimum_for_p5_p95"]))
        for text in ((like or module).TITLE, (like or module).READING)
    )
    title += f" ({drawn.common})" if drawn.common else ""
    return Picture(module.NAME, title, module.words(drawn), reading, drawing.svg(figure), drawing.png(figure))
