"""The pictures of the report, one module each, drawn from the numbers of statistics.json.

`draw_all` gives them ready for the page and for files; `drawing` holds what they share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from report import published
from report.figures import (
    aggregate_throughput,
    cold_starts,
    download_seconds,
    drawing,
    overlap_timeline,
    throughput_per_function,
)
from report.measured import by_cell
from report.run import Run
from report.ways import Key

NAMES = tuple(
    module.NAME
    for module in (throughput_per_function, aggregate_throughput, download_seconds, overlap_timeline, cold_starts)
)


@dataclass(frozen=True)
class Picture:
    """One picture: its file name without ending, its title, what it shows in words, how to read it, SVG and PNG."""

    name: str
    title: str
    words: str
    reading: str
    svg: str
    png: bytes


def draw_all(run: Run, numbers: Mapping[str, Any]) -> dict[str, Picture]:
    """Every picture that `numbers` of `run` allow, by name, in the order of NAMES."""
    few = numbers["rules"]["minimum_for_p5_p95"]
    drawn = {
        throughput_per_function: throughput_per_function.draw(numbers, beside_published=_like_published(run)),
        aggregate_throughput: aggregate_throughput.draw(numbers),
        download_seconds: download_seconds.draw(numbers, _few_downloads(run, few)),
        overlap_timeline: overlap_timeline.draw(numbers),
        cold_starts: cold_starts.draw(numbers),
    }
    pictures = {}
    for module, figure in drawn.items():
        if figure is not None:
            reading = module.READING.replace("{few}", str(few))
            pictures[module.NAME] = _picture(module.NAME, module.TITLE, module.words(numbers), reading, figure)
    return pictures


def _picture(name: str, title: str, words: str, reading: str, figure: Figure) -> Picture:
    return Picture(name, title, words, reading, drawing.svg(figure), drawing.png(figure))


def _like_published(run: Run) -> bool:
    return run.target == "aws" and run.object_bytes == published.DOWNLOAD_OBJECT_BYTES


def _few_downloads(run: Run, few: int) -> dict[Key, Sequence[float]]:
    """The seconds of each download, for the cells with fewer than `few`."""
    cells = by_cell(run.downloads).items()
    return {key: [r["download_time_seconds"] for r in group] for key, group in cells if len(group) < few}
