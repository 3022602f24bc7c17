"""The result of a check: ok, a warning or a problem, in one line, with the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

OK, WARNING, PROBLEM = "ok", "warning", "problem"
# The fix for a function that isn't built yet: nothing can run, but plans and estimates can be made.
BUILD = "run `make functions`"
# A status, what is wrong, and what to do; None where nothing is wrong.
Wrong = tuple[str, str, str] | None


@dataclass(frozen=True)
class Finding:
    """`check` names what was checked; `way_out` says what to do, if anything."""

    check: str
    status: str
    found: str = ""
    way_out: str = ""

    @property
    def sentence(self) -> str:
        """What was found and the way out, in one line."""
        return f"{self.found}; {self.way_out}" if self.way_out else self.found


def worst(check: str, look: Callable[[Any], Wrong], cells: Iterable[Any]) -> Finding:
    """What `look` finds in the first cell with a problem, or else in the first with a warning."""
    wrong = [found for cell in cells if (found := look(cell)) is not None]
    return Finding(check, *min(wrong, key=lambda found: found[0] != PROBLEM, default=(OK,)))
