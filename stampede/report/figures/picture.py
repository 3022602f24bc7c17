"""What every picture is: a name, a title, a caption, and what it is drawn from."""

from abc import ABC, abstractmethod
from functools import cached_property

from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.subject import Subject


class Picture(ABC):
    """A picture of a run. `name` is that of its files and of its id on the page.

    `title` and `caption`, which says how to read it, may name attributes in braces: {operation} and {operations},
    {worker} and {workers} are the words of the experiment, others are set by a subclass before it calls this class.
    """

    name: str
    title: str
    caption: str

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.operation, self.operations = subject.experiment.operation
        self.worker, self.workers = subject.experiment.worker
        self.title, self.caption = (text.format(**vars(self)) for text in (self.title, self.caption))
        self.title += f" ({subject.common})" if subject.common else ""

    @abstractmethod
    def description(self) -> str:
        """The text alternative of what was drawn."""

    @abstractmethod
    def draw(self) -> Figure | None:
        """The figure, None where there is nothing to show; `figure` has it in the style of the report."""

    @cached_property
    def figure(self) -> Figure | None:
        with drawing.style():
            return self.draw()

    @cached_property
    def svg(self) -> str:
        """A complete document."""
        return drawing.svg(self.figure)

    @property
    def png(self) -> bytes:
        return drawing.png(self.figure)
