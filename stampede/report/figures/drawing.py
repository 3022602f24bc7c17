"""How every picture is drawn: one style, colours that the page can change, SVG with text as text, PNG for slides.

Deterministic: the same figures give the same bytes.
"""

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from textwrap import fill
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

INK, MUTED, GRID, PAPER = "#1c2024", "#60646c", "#dfe1e6", "#ffffff"
# Okabe and Ito's palette, told apart by people with any of the common colour deficiencies; each series also
# has its own marker, for print in grey.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
MARKERS = ("D", "o", "s", "^", "v", "P")
# Wide enough for six values of N, narrow enough that its text can still be read 360 px wide.
WIDTH_IN = 6.0
PNG_DPI = 200
LEGEND_LETTERS = 52
TEXT_LINE_IN = 0.18
# Of a name beside its line: letters in a row, and what a row takes.
NAME_LETTERS, NAME_LINE_IN = 30, 0.21
# Lines of a legend that the usual height has room for, and the height of one.
LEGEND_LINES, LEGEND_LINE_IN = 4, 0.24

_STYLE = {
    "svg.hashsalt": "stampede",  # ids depend on the content alone
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.4,
    "hatch.linewidth": 0.6,
    "lines.solid_capstyle": "butt",  # an interval ends where it ends
}


def look(at: int) -> tuple[str, str]:
    """Colour and marker of series `at`; both come again after the last of them."""
    return SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)]


def style() -> AbstractContextManager[None]:
    """The style of the report for what is drawn inside; matplotlib's own settings stay as they are."""
    return matplotlib.rc_context(_STYLE)


def plot(height_in: float = 3.7) -> tuple[Figure, Axes]:
    """A figure with one set of axes: a line at the bottom, faint lines across, nothing else."""
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.add_subplot()
    plain(axes)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    return figure, axes


def lines(names: Sequence[str], line_in: float = 0.3, rest_in: float = 0.95) -> tuple[Figure, Axes]:
    """A figure with a line for each of `names`, the first on top, at least `line_in` inches high each; faint lines
    upwards.

    Of a name that takes several lines, each is a label of its own: matplotlib aligns them by the widths of its font,
    and a browser has another one.
    """
    names = [fill(name, NAME_LETTERS) for name in names]
    line_in = max(line_in, NAME_LINE_IN * (1 + max(name.count("\n") for name in names)))
    figure, axes = plot(rest_in + line_in * len(names))
    figure.get_layout_engine().set(w_pad=0.1)  # a name may come out wider than it was laid out for
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    labels = [
        (at + (number - name.count("\n") / 2) * TEXT_LINE_IN / line_in, text)
        for at, name in enumerate(names)
        for number, text in enumerate(name.split("\n"))
    ]
    axes.set_yticks([at for at, _ in labels], [text for _, text in labels])
    axes.set_ylim(len(names) - 0.4, -0.6)
    return figure, axes


def ratio_axis(axes: Axes, label: str) -> None:
    """A logarithmic x axis of ratios, named `label`, with a line at 1 and never much narrower than 0.7 to 1.45."""
    axes.set_xscale("log")
    axes.axvline(1, color=INK, linewidth=1)
    lowest, highest = axes.get_xlim()
    axes.set_xlim(min(lowest, 0.7), max(highest, 1.45))
    spread = highest / lowest  # the longest names leave the plot a third of the width: room for five labels
    places = (1, 2, 5) if spread > 6 else (0.5, 1, 2) if spread > 3 else (0.5, 0.7, 1, 1.4, 2)
    axes.xaxis.set_major_locator(LogLocator(subs=places))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g} ×"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def plain(axes: Axes) -> None:
    """Take the frame off `axes`, but for the line at the bottom."""
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def legend_above(axes: Axes, handles: list[Any] | None = None) -> None:
    """A legend over the plot, in as many columns as fit; a long one makes the figure taller, not the plot smaller."""
    handles = handles or axes.get_legend_handles_labels()[0]
    columns = 4
    while columns > 1 and _columns_width(handles, columns) > LEGEND_LETTERS:
        columns -= 1
    rows = -(-len(handles) // columns)
    axes.figure.set_figheight(axes.figure.get_figheight() + LEGEND_LINE_IN * max(0, rows - LEGEND_LINES))
    axes.figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def _columns_width(handles: list[Any], columns: int) -> int:
    """Letters in the widest row of a legend; matplotlib fills it column by column."""
    rows = -(-len(handles) // columns)
    widths = [max(len(handle.get_label()) for handle in handles[at : at + rows]) for at in range(0, len(handles), rows)]
    return sum(widths) + 5 * len(widths)


def dodge(number: int, of: int, numbers: list[int]) -> float:
    """The factor by which series `number` of `of` stands beside its N, so that markers don't cover each other."""
    room = max(numbers) / min(numbers)
    return max(room, 2) ** (0.012 * (number - (of - 1) / 2))


def n_axis(axes: Axes, numbers: list[int], label: str = "N (logarithmic)") -> None:
    """A logarithmic x axis, named `label`: a tick at each N that was run, as many labelled as there is room for."""
    axes.set_xscale("log")
    lowest, highest = min(numbers), max(numbers)
    margin = (highest / lowest) ** 0.06 if highest > lowest else 2
    axes.set_xlim(lowest / margin, highest * margin)
    room = (highest / lowest) ** 0.055
    labelled: list[int] = []
    for n in sorted(numbers, reverse=True):
        if not labelled or labelled[-1] / n >= room:
            labelled.append(n)
    axes.xaxis.set_major_locator(FixedLocator(sorted(numbers)))
    axes.set_xticks(sorted(numbers), [str(n) if n in labelled else "" for n in sorted(numbers)])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def svg(figure: Figure) -> str:
    """`figure` as a complete SVG document."""
    text = io.StringIO()
    no_metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with style():
        FigureCanvasSVG(figure).print_svg(text, metadata=no_metadata)
    figure.set_layout_engine("none")  # to find the places of all parts takes as long as to draw them: once is enough
    # Two digits are a hundredth of a point; six make a long timeline three times as large.
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text.getvalue())


def png(figure: Figure) -> bytes:
    """`figure` as PNG, on white, for where SVG can't go; laid out as it was if it was drawn before."""
    data = io.BytesIO()
    figure.set_facecolor(PAPER)
    figure.set_dpi(PNG_DPI)
    with style():
        # Not by `savefig`, which draws it once more without showing it, only to lay it out.
        FigureCanvasAgg(figure).print_png(data, metadata={"Software": None})
    return data.getvalue()


def inline(document: str, name: str, title: str, words: str) -> str:
    """The SVG `document` for use inside an HTML page: no XML prologue, colours and text size from CSS variables, `name`
    before every id. `title` and `words` become its accessible name and description; both must be escaped already.
    """
    body = document[document.index("<svg") :]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", body)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", body, count=1)  # the page sets the size
    body = re.sub(r"font-family: [^;]*; ", "", body)  # and the typeface
    body = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", body)
    body = re.sub(r"font-size: ([\d.]+)px", r"font-size: calc(\1px * var(--figure-text, 1))", body)
    body = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{name}-", body).replace("xlink:href", "href")
    for variable, colour in _variables().items():
        body = body.replace(colour, f"var({variable})")
    label = f'<title id="{name}-title">{title}</title><desc id="{name}-words">{words}</desc>'
    opening = f'<svg role="img" aria-labelledby="{name}-title {name}-words"'
    return re.sub(r"<svg([^>]*)>", lambda found: f"{opening}{found[1]}>{label}", body, count=1)


def css_variables() -> str:
    """Declarations of the colours that `inline` refers to, for light pages."""
    return " ".join(f"{variable}: {colour};" for variable, colour in _variables().items())


def _variables() -> dict[str, str]:
    series = {f"--series-{at}": colour for at, colour in enumerate(SERIES)}
    return {
        "--figure-ink": INK,
        "--figure-muted": MUTED,
        "--figure-grid": GRID,
        "--figure-paper": PAPER,
    } | series
