"""What can go wrong: a query that is not understood, or events that cannot be read."""


class InsightsError(ValueError):
    """Anything that keeps a query from being answered; `str()` of it is one line."""


class QueryError(InsightsError):
    """A query that is refused. `line` and `column` count from 1 and point at the construct."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {' '.join(message.split())}")


class EventsError(InsightsError):
    """Log events that cannot be read: the message names the file or event and the rule."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
