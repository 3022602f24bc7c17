"""The result of compiling commands: a chain of SQL stages and the columns in scope.

Each command appends one SELECT over the previous stage, its sub-query. Names in the query map to
generated column names, so user text never becomes an identifier.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace

from stampede.insights.events.discovery import FIELDS, Discovery
from stampede.insights.events.source import Source
from stampede.insights.expressions import percentiles
from stampede.insights.expressions.exact import columns, printed, selected
from stampede.insights.expressions.structures import element, refuse_map, scalar
from stampede.insights.language import syntax
from stampede.insights.language.identity import mentions, tree
from stampede.insights.language.syntax import Expression, Span, refusal
from stampede.insights.values import (
    STRUCTURES,
    Kind,
    Value,
    as_double,
    as_text,
    order_keys,
    sort_number,
)

# rows, if a query has no limit; GetQueryResults, CloudWatch Logs user guide
DEFAULT_LIMIT = 10_000
# Planning time and memory grow with the square of the nested stages: each passes on all columns.
MOST_STAGES = 400


class Pipeline:
    """A query being compiled. `columns` maps the names defined so far: aliases, parsed fields,
    stats outputs."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self.python_functions: set[str] = set()
        self.notes: list[str] = []
        self.discovery = Discovery()
        self.columns: dict[str, Value] = {}
        self.shown: list[str] = []
        self.parsed: list[str] = []
        self.has_parse = False  # since the last stats: without fields, only parsed fields are shown
        self.displayed: list[str] | None = None
        self.order = ["event_ms DESC", "ordinal"]
        # the order terms that the reference or a sort determines
        self.determined = ["event_ms DESC"]
        self.stats_count = 0
        self.limited = False
        self.bins: dict[str, Value] = {}
        self.binned: list[str] = []  # columns that say whether a percentile came from a histogram
        self._stages: list[str] = []
        self._added: list[dict[str, str]] = []  # levels of columns, each over the previous ones
        self._at = Span(1, 1, 0, 0)
        self._names = 0
        self._numbers: dict[str, str] = {}
        self._sorted: dict[str, tuple[str, str]] = {}
        self._elements: dict[str, Value] = {}
        self._spellings: dict[str, syntax.Name] = {}
        self._titles: dict[str, Hashable] = {}
        self._trees: dict[Hashable, Value] = {}

    # names

    def define(self, name: syntax.Name, value: Value) -> None:
        """Makes an alias available to the following commands. Raises QueryError if the name
        is taken."""
        if name.text in FIELDS:
            raise refusal(name.span, f"{name.text} is a field of every event and can't be an alias")
        if name.text in self.columns:
            raise refusal(name.span, f"{name.text} is already defined; choose another alias")
        self.columns[name.text] = value
        # Forget what was computed from the discovered field of that name: from here on the name
        # means something else.
        self._titles = {
            title: known for title, known in self._titles.items() if not mentions(known, name.text)
        }
        self._trees = {
            known: column for known, column in self._trees.items() if not mentions(known, name.text)
        }

    def computed(self, item: syntax.Item) -> bool:
        """Whether an item without an alias already has its column. Raises QueryError if another
        column has its title."""
        if item.title in self._titles and self._titles[item.title] == tree(item.expression):
            return True
        if item.title in self.columns or item.title in self._spellings:
            raise refusal(
                item.expression.span, f"two columns are named {item.title}; give this one an alias"
            )
        return False

    def compute(self, item: syntax.Item, value: Value) -> None:
        """Adds the column of an item without an alias."""
        self.columns[item.title], self._titles[item.title] = value, tree(item.expression)

    def redefine(self, name: syntax.Name, value: Value) -> None:
        """Gives a defined or discovered field another value for the following commands."""
        self.columns[name.text] = value
        self._elements.clear()
        self._titles.clear()
        self._trees.clear()

    def note(self, text: str) -> None:
        """Adds a note to the result, once."""
        if text not in self.notes:
            self.notes.append(text)

    def fresh(self) -> str:
        """An unused column name."""
        self._names += 1
        return f"column_{self._names}"

    def field(self, name: syntax.Name) -> Value:
        """The column of a name: a defined column or an element of it; before any stats also a
        discovered field."""
        if name.text in self.columns:
            return self.columns[name.text]
        if key := self._trees.get(tree(name)):  # after `stats ... by name as alias`
            return key
        if tree(self._spellings.setdefault(name.text, name)) != tree(name):
            raise refusal(
                name.span,
                f"{name.text} has other backticks earlier in the query; write both the same way",
            )
        if name.text not in self._elements and (value := self._element(name)):
            self._elements[name.text] = self.store(value)
        if name.text in self._elements:
            return self._elements[name.text]
        if self.stats_count:
            raise refusal(
                name.span,
                f"{name.text} isn't available after stats, which keeps only "
                f"{', '.join(self.columns)}; add it there, or use it before stats",
            )
        if name.text.lower() == "null":
            raise refusal(
                name.span, "null is not a value; find missing fields with `not ispresent(field)`"
            )
        if name.text.lower() in ("true", "false"):
            raise refusal(
                name.span,
                f"{name.text} is not a value: JSON's true is 1 here and false 0; write 1 or 0, as "
                "in ok = 1",
            )
        return self.discovery.field(name)

    def _element(self, name: syntax.Name) -> Value | None:
        """The part of a defined map or list that a name such as `map.key` refers to, if any."""
        head = (name.head or name.text).split(".")
        for length in range(len(head), 0, -1):
            known = self.columns.get(".".join(head[:length]))
            steps = (*head[length:], *name.steps)
            if known is not None and steps and known.kind in STRUCTURES:
                return element(known, steps)
            if known is not None and name.steps:
                known_name = ".".join(head[:length])
                raise refusal(
                    name.span, f"{known_name} is not a map or list; jsonParse makes one from text"
                )
        return None

    def scalar_field(self, name: syntax.Name, command: str) -> Value:
        """The column of a field in a command that accepts no map or list. Raises QueryError
        for these."""
        value = self.field(name)
        refuse_map(value, command, name.span)
        return scalar(value, self.store)

    # what a row's expressions may refer to (expressions.Scope)

    def titled(self, expression: Expression) -> Value | None:
        """After stats, an output column can also be named by its expression, as in
        `sort count(*)`."""
        self.at(expression.span)
        if not self._trees or isinstance(expression, syntax.Name | syntax.Number | syntax.Text):
            return None
        return self._trees.get(tree(expression))

    def aggregate(self, call: syntax.Call) -> Value:
        fix = "refer to its column by an alias" if self.stats_count else "add a stats command"
        raise refusal(
            call.span,
            f"the aggregate {call.function} is allowed only in stats, not after `by` or in another "
            f"aggregate; {fix}",
        )

    def event_time(self, call: syntax.Call) -> Value:
        time = self.timestamp()
        if time is None:
            raise refusal(
                call.span,
                f"{call.function} needs @timestamp, which stats dropped; use datefloor on a "
                "timestamp that stats kept",
            )
        return time

    def store(self, value: Value) -> Value:
        """The value as a column; adds a stage unless it is one already."""
        if value.column:
            return replace(value, number=None)
        made, column = columns(value, self.fresh)
        self._add(made)
        return column

    def numbered(self, value: Value) -> Value:
        """The value, with its numeric reading in a column of its own, created once."""
        if value.kind not in (Kind.DYNAMIC, Kind.TEXT) or not value.column:
            return value
        if value.sql not in self._numbers:
            double = self.fresh()
            self._add({double: as_double(value)})
            self._numbers[value.sql] = self.store(Value(double, Kind.NUMBER)).sql
        return replace(value, number=self._numbers[value.sql])

    def order_terms(self, value: Value, descending: bool) -> list[str]:
        """ORDER BY terms for the service's natural sorting of a column; missing values come last in
        both directions.

        Ascending: strings before numbers; strings by chunks, digits by length and then value, the
        rest by Unicode. Source:
        https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Sort.html
        """
        number = sort_number(value)
        if number is not None and value.sql not in self._sorted:
            names = (self.fresh(), self.fresh())
            self._add(dict(zip(names, (number, as_text(value)), strict=True)))
            self._sorted[value.sql] = names
        keys = order_keys(value, *self._sorted.get(value.sql, ()))
        direction = "DESC" if descending else "ASC"
        return [f"({value.sql} IS NULL) ASC", *(f"{key} {direction}" for key in keys)]

    def timestamp(self) -> Value | None:
        """The column of @timestamp; None after a stats without it."""
        if self.stats_count:
            return self.columns.get("@timestamp")
        return self.discovery.field(syntax.Name(Span(1, 1, 0, 0), "@timestamp"))

    # SQL

    def regroup(
        self, items: Sequence[syntax.Item], columns: dict[str, Value], trees: dict[Hashable, Value]
    ) -> None:
        """After stats: only the `columns` of `items` remain; `trees` maps their expressions
        to them."""
        self.stats_count += 1
        if self.binned:  # later stages no longer show which rows it affected
            self.note(percentiles.NOTE)
        self.binned = []
        self.columns, self._trees = columns, trees
        self._elements, self._numbers, self._spellings, self._sorted = {}, {}, {}, {}
        self._titles = {item.title: tree(item.expression) for item in items if item.alias is None}
        self.shown = list(columns)
        self.parsed, self.has_parse, self.displayed = [], False, None
        self.determined = []

    def append(self, select: str) -> None:
        """Adds a stage; `select` reads from `{previous}`. Raises QueryError
        beyond `MOST_STAGES`."""
        self._close()
        self._stages.append(select)
        self._check_stages()

    def _add(self, made: dict[str, str]) -> None:
        """Adds columns in the first stage after all columns that their SQL mentions."""
        used = set(re.findall(r"\bcolumn_\d+\b", " ".join(made.values())))
        levels = [
            number for number, added in enumerate(self._added, start=1) if used & added.keys()
        ]
        level = max(levels, default=0)
        if level == len(self._added):
            self._added.append({})
            self._check_stages()
        self._added[level] |= made

    def _close(self) -> None:
        """Ends the stages that columns are being added to."""
        self._stages += [f"SELECT *, {selected(added)} FROM {{previous}}" for added in self._added]
        self._added = []

    def _check_stages(self) -> None:
        if len(self._stages) + len(self._added) > MOST_STAGES:
            raise refusal(
                self._at,
                f"here the query needs more than {MOST_STAGES} steps, each on top of the one "
                "before; join conditions with `and`, and compute fewer columns from one another",
            )

    def at(self, span: Span) -> None:
        """Notes the place being compiled, for refusals that concern no single expression."""
        self._at = span

    def sql(
        self, source: Source, fragments: bool, first_fields: bool
    ) -> tuple[str, list[tuple[str, Kind]]]:
        """The whole statement over the events of `source`, and the name and kind of each column
        it returns.

        Without a limit it returns one row more than the default allows, to show truncation. Event
        rows end with an extra column, the event's place in its source; rows with percentiles, with
        whether any came from a histogram. `Discovery.sql` explains `fragments` and `first_fields`.
        """
        outputs = []
        for title in self._output_names():
            spelled = self._spellings.get(title) or syntax.Name(Span(1, 1, 0, 0), title)
            outputs.append((title, self.field(spelled)))
        raw, fields = self.discovery.sql(source, not self.stats_count, fragments, first_fields)
        self._close()
        relation = "found"
        for select in self._stages:  # nested: common table expressions take twice the time to plan
            relation = f"({select.replace('{previous}', relation)})"
        shown = ", ".join(
            f"{printed(value)} AS output_{number}" for number, (_, value) in enumerate(outputs)
        )
        if not self.stats_count:
            shown += ", ordinal"
        if self.binned:
            shown += f", {' OR '.join(self.binned)} AS binned"
        order = f" ORDER BY {', '.join(self.order)}" if self.order else ""
        limit = "" if self.limited else f" LIMIT {DEFAULT_LIMIT + 1}"
        statement = (
            f"WITH raw AS ({raw}), found AS ({fields}) SELECT {shown} FROM {relation}{order}{limit}"
        )
        return statement, [(name, value.kind) for name, value in outputs]

    def _output_names(self) -> list[str]:
        if self.displayed is not None:
            return self.displayed
        shown = self.shown or (
            [] if self.stats_count or self.has_parse else ["@timestamp", "@message"]
        )
        return list(dict.fromkeys([*shown, *self.parsed]))
