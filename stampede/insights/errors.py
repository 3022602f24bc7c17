"""Errors: a query that is refused, or events that can't be read."""


class InsightsError(ValueError):
    """The base of all errors of a query; `str()` of it is one line."""


class QueryError(InsightsError):
    """A refused query. `line` and `column` count from 1 and point to the construct."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {' '.join(message.split())}")


class EventsError(InsightsError):
    """Log events that can't be read: the message names the file or event and the rule."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
