"""The syntax tree of a query: one small class for each expression and each command.

Every node has the `Span` of its text, so that every refusal can name line and column.
"""

from dataclasses import dataclass

from stampede.insights.errors import QueryError


@dataclass(frozen=True)
class Span:
    """The position of a node: line and column count from 1; `start` and `end` are offsets into
    the text."""

    line: int
    column: int
    start: int
    end: int


def refusal(span: Span, message: str) -> QueryError:
    """The QueryError that points to the beginning of `span`."""
    return QueryError(message, span.line, span.column)


@dataclass(frozen=True)
class Name:
    """A field. For `json.users[1].name` the head is `json.users` and the steps are 1 and "name"."""

    span: Span
    text: str  # without backticks
    head: str = ""  # the text before the steps; all of the text if there are none
    steps: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Number:
    span: Span
    value: float


@dataclass(frozen=True)
class Text:
    span: Span
    value: str  # without quotes and escapes


@dataclass(frozen=True)
class Regex:
    span: Span
    body: str  # as written between the slashes


@dataclass(frozen=True)
class Period:
    span: Span
    count: int
    unit: str


@dataclass(frozen=True)
class Call:
    span: Span
    function: str  # lower case; function names ignore case
    arguments: tuple["Expression", ...]
    star: bool  # count(*)


@dataclass(frozen=True)
class Access:
    """`jsonParse(x).a[0]`: steps into what a call returns."""

    span: Span
    subject: Call
    steps: tuple[str | int, ...]


@dataclass(frozen=True)
class Arithmetic:
    span: Span
    operator: str  # + - * / % ^
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Comparison:
    span: Span
    operator: str  # = != < <= > >=
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Match:
    span: Span
    subject: "Expression"
    pattern: Text | Regex
    negated: bool


@dataclass(frozen=True)
class Membership:
    span: Span
    subject: "Expression"
    items: tuple[Number | Text, ...]
    negated: bool


@dataclass(frozen=True)
class Junction:
    span: Span
    operator: str  # and, or
    items: tuple["Expression", ...]


@dataclass(frozen=True)
class Negation:
    span: Span
    item: "Expression"


Expression = (
    Name
    | Number
    | Text
    | Period
    | Call
    | Access
    | Arithmetic
    | Comparison
    | Match
    | Membership
    | Junction
    | Negation
)


@dataclass(frozen=True)
class Item:
    """An expression and its column title: its alias, or else its own text."""

    expression: Expression
    title: str
    alias: Name | None


@dataclass(frozen=True)
class SortKey:
    expression: Expression
    title: str
    descending: bool


@dataclass(frozen=True)
class Fields:
    span: Span
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Display:
    span: Span
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Filter:
    span: Span
    condition: Expression


@dataclass(frozen=True)
class Parse:
    """`pattern` is a glob, a regular expression, or the name of a line format: logfmt or csv.

    With `multi` an event produces a row for each match of the expression.
    """

    span: Span
    source: Name | None
    pattern: Text | Regex | str
    aliases: tuple[Name, ...] | None
    multi: bool = False


@dataclass(frozen=True)
class Stats:
    span: Span
    items: tuple[Item, ...]
    keys: tuple[Item, ...]


@dataclass(frozen=True)
class Sort:
    span: Span
    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class Limit:
    span: Span
    count: int


@dataclass(frozen=True)
class Dedup:
    span: Span
    names: tuple[Name, ...]


@dataclass(frozen=True)
class Unnest:
    """One record for each item of the list in `field`; `alias` names the item."""

    span: Span
    field: Name
    alias: Name


@dataclass(frozen=True)
class Expand:
    """One event for each item of the array in `field`, which then holds the item."""

    span: Span
    field: Name


@dataclass(frozen=True)
class Json:
    """`json field=request "user.name" as name`: the value at a path in a field's JSON."""

    span: Span
    field: Name
    path: Text
    alias: Name


Command = Fields | Display | Filter | Parse | Stats | Sort | Limit | Dedup | Unnest | Expand | Json
