"""The stats command: aggregates over groups of rows."""

from collections.abc import Hashable, Iterable, Sequence

from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.expressions import percentiles
from stampede.insights.expressions.aggregates import AGGREGATES, QUANTILES, LoggedExtreme
from stampede.insights.expressions.compiler import Compiler, check_arity, moves_a_time
from stampede.insights.expressions.exact import columns, selected
from stampede.insights.language import syntax
from stampede.insights.language.identity import functions, names, tree
from stampede.insights.language.syntax import Expression, refusal
from stampede.insights.values import Kind, Value, as_number, as_text

# commands in one query; CloudWatch Logs user guide, "Use multiple stats commands" (until June
# 2026: 2)
MOST_STATS = 10


def compile_stats(command: syntax.Stats, pipeline: Pipeline) -> None:
    """Replaces all columns by the keys, in order, and the aggregates.

    Key values with the same text form one group: 1, "1" and true do, 1.0 doesn't. Rows that lack a
    key form a group of their own, without that column. Without `by` there is one row, even for no
    events. Without a sort, rows come by bin, newest first, as in recorded answers, then in
    ascending order of the other keys.
    """
    if pipeline.stats_count == MOST_STATS:
        raise refusal(command.span, f"a query has at most {MOST_STATS} stats commands")
    keys = _keys(command, pipeline)
    scope = _GroupScope(pipeline, keys, _by_tree(command.keys, keys))
    for key in command.keys:
        scope.name(key)
    items = [_item(item, scope) for item in command.items]
    _check_titles(command)
    grouped = _grouped(keys.values())
    group_by = f" GROUP BY {', '.join(grouped.values())}" if grouped else ""
    pipeline.append(
        f"SELECT {', '.join([*grouped, *scope.selected()])} FROM {{previous}}{group_by}"
    )
    for stage in scope.later:
        pipeline.append(stage)
    outputs = {
        item.title: pipeline.store(value) for item, value in zip(command.items, items, strict=True)
    }
    by_title = keys | outputs
    bins = {
        item.title: keys[item.title] for item in command.keys if _is_bin(item.expression, pipeline)
    }
    items_made = (*command.keys, *command.items)
    pipeline.regroup(items_made, by_title, _by_tree(items_made, by_title))
    pipeline.bins, pipeline.binned = bins, list(dict.fromkeys(scope.binned))
    pipeline.order = []
    for title in sorted(keys, key=lambda title: title not in bins):
        pipeline.order += pipeline.order_terms(keys[title], descending=title in bins)


def _keys(command: syntax.Stats, pipeline: Pipeline) -> dict[str, Value]:
    """The columns of the `by` expressions, by title."""
    compiler = Compiler(pipeline)
    return {
        item.title: pipeline.store(compiler.no_map(item.expression, "stats"))
        for item in command.keys
    }


def _grouped(keys: Iterable[Value]) -> dict[str, str]:
    """Maps what is selected for each key to the SQL to group by: text, so that 1, "1" and true are
    one group."""
    grouped = {}
    for key in keys:
        if key.kind is Kind.DYNAMIC:
            grouped[f"max({key.sql}) AS {key.sql}"] = as_text(key)
        else:
            grouped |= {column: column for column in (key.sql, key.big) if column}
    return grouped


def _is_bin(expression: Expression, pipeline: Pipeline) -> bool:
    """Whether a key divides the events' time into periods."""
    if moves_a_time(expression):
        return _is_bin(expression.left, pipeline)
    if isinstance(expression, syntax.Name):
        return expression.text in pipeline.bins
    periodic = ("bin", "datefloor", "dateceil")
    if not isinstance(expression, syntax.Call) or expression.function not in periodic:
        return False
    time = expression.arguments[0]
    while moves_a_time(time):
        time = time.left
    return expression.function == "bin" or (
        isinstance(time, syntax.Name) and (time.text == "@timestamp" or time.text in pipeline.bins)
    )


def _by_tree(items: Sequence[syntax.Item], by_title: dict[str, Value]) -> dict[Hashable, Value]:
    """The columns by their expressions, which name them as their titles do.

    Omits `by strlen(a) as a`: after it, strlen(a) is the length of the column a.
    """
    aliases = {item.title for item in items if item.alias is not None}
    aggregates = AGGREGATES.keys() | QUANTILES.keys()
    return {
        tree(item.expression): by_title[item.title]
        for item in items
        if item.alias is None
        or not names(item.expression) & aliases
        or functions(item.expression) & aggregates
    }


def _item(item: syntax.Item, scope: "_GroupScope") -> Value:
    scope.used = False
    value = Compiler(scope).value(item.expression)
    if not scope.used:
        raise refusal(
            item.expression.span,
            f"{item.title} is not an aggregate; use a function such as avg or count",
        )
    if item.alias is None:
        return value
    scope.named[item.alias.text] = value if value.simple else scope.store(value)
    scope.name(item)
    return scope.named[item.alias.text]


def _check_titles(command: syntax.Stats) -> None:
    titles: set[str] = set()
    for item in (*command.keys, *command.items):
        if item.title in titles:
            raise refusal(
                item.expression.span,
                f"two columns are named {item.title}; give one of them an alias",
            )
        titles.add(item.title)


class _GroupScope:
    """What an item of stats may refer to: directly, keys and earlier aliases; anything else only
    inside an aggregate.

    `_made` holds aliases whose columns aren't computed from a field of that name; aggregates refuse
    them, because which of the two is meant isn't clear. `later` holds further stages over the
    grouped columns, `binned` the columns that say whether a percentile came from a histogram.
    """

    def __init__(
        self, pipeline: Pipeline, keys: dict[str, Value], trees: dict[Hashable, Value]
    ) -> None:
        self.used = False
        self.named: dict[str, Value] = {}
        self._made: set[str] = set()
        self.now_s, self.notes = pipeline.now_s, pipeline.notes
        self.python_functions = pipeline.python_functions
        self._aggregates: list[str] = []
        self._quantiles: dict[str, tuple[str, str, list[str]]] = {}
        self.binned: list[str] = []
        self._choices: dict[str, str] = {}
        self.later: list[str] = []
        self._pipeline = pipeline
        self._keys, self._trees = keys, trees

    def name(self, item: syntax.Item) -> None:
        """Registers a column that this stats creates."""
        if item.alias is not None and item.alias.text not in names(item.expression):
            self._made.add(item.alias.text)

    def field(self, name: syntax.Name) -> Value:
        if name.text in self.named:
            self.used = True
            return self.named[name.text]
        if name.text not in self._keys:
            known = name.text.lower()
            if known in AGGREGATES or known in QUANTILES:
                raise refusal(
                    name.span, f"{name.text} takes parentheses, as in count(*) or avg(field)"
                )
            raise refusal(
                name.span,
                f"{name.text} is neither aggregated nor a key; use avg({name.text}) or list it "
                "after `by`",
            )
        self.used = True
        return self._keys[name.text]

    def titled(self, expression: Expression) -> Value | None:
        if isinstance(expression, syntax.Name | syntax.Number | syntax.Text):
            return None
        key = self._trees.get(tree(expression))
        self.used = self.used or key is not None
        return key

    def aggregate(self, call: syntax.Call) -> Value:
        self.used = True
        if call.star and call.function != "count":
            raise refusal(call.span, f"{call.function}(*) has no meaning; only count takes *")
        if call.function in QUANTILES:
            return self._quantile(call)
        aggregate = AGGREGATES[call.function]
        if not call.star:
            check_arity(call, aggregate.least, aggregate.most)
        arguments = [self._argument(argument) for argument in call.arguments]
        if aggregate.numeric:
            arguments = [self._pipeline.numbered(argument) for argument in arguments]
        if call.function in ("min", "max") and arguments[0].kind in (Kind.DYNAMIC, Kind.TEXT):
            return self._extreme(LoggedExtreme(call.function, arguments[0]))
        time = self._pipeline.timestamp()
        value = aggregate.build(call, arguments, time.sql if time else None)
        made, column = columns(value, self._pipeline.fresh, aggregate=True)
        self._aggregates.append(selected(made))
        return column

    def _extreme(self, sought: LoggedExtreme) -> Value:
        """The columns of a min or max of logged values: two from the grouping, and one computed
        from both."""
        rank = sought.rank()
        if rank not in self._choices:
            self._choices[rank] = self._pipeline.store(Value(rank, Kind.TEXT)).sql
        number, chosen = self._pipeline.fresh(), self._pipeline.fresh()
        self._aggregates.append(
            selected({number: sought.number(), chosen: sought.chosen(self._choices[rank])})
        )
        return self.store(sought.value(number, chosen))

    def _argument(self, expression: Expression) -> Value:
        for name in sorted(names(expression) & self._made):
            raise refusal(
                expression.span,
                f"{name} is a column that this stats creates; aggregate it in another stats, or "
                "give it another alias",
            )
        value = Compiler(self._pipeline).no_map(expression, "stats")
        is_usable = value.simple and not isinstance(value.literal, int)
        return value if is_usable else self._pipeline.store(value)

    def _quantile(self, call: syntax.Call) -> Value:
        """An element of the list of all quantiles requested of the same numbers."""
        check_arity(call, QUANTILES[call.function], QUANTILES[call.function])
        share = percentiles.share(call)
        numbers = as_number(self._pipeline.numbered(self._argument(call.arguments[0])))
        if numbers not in self._quantiles:
            self._quantiles[numbers] = (self._pipeline.fresh(), self._pipeline.fresh(), [])
        column, many, shares = self._quantiles[numbers]
        shares.append(share)
        if share not in ("0", "1"):
            self.binned.append(many)
        return self.store(Value(percentiles.result(column, len(shares), many, share), Kind.NUMBER))

    def selected(self) -> list[str]:
        """The columns that the grouping computes."""
        quantiles = [
            percentiles.aggregates(numbers, shares, column, many)
            for numbers, (column, many, shares) in self._quantiles.items()
        ]
        return self._aggregates + quantiles

    def store(self, value: Value) -> Value:
        made, column = columns(value, self._pipeline.fresh)
        self.later.append(f"SELECT *, {selected(made)} FROM {{previous}}")
        return column

    def numbered(self, value: Value) -> Value:
        return value

    def event_time(self, call: syntax.Call) -> Value:
        raise refusal(call.span, f"{call.function} must be after `by` or inside an aggregate")
