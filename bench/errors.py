"""The one way in which a measurement ends badly."""

from __future__ import annotations

from stampede.errors import FixableError


class BenchError(FixableError):
    """A tool is missing, a server doesn't come up, or a measurement isn't one; a single line with the way out."""
