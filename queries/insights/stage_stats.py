"""The stats command: aggregates over groups of rows."""

from queries.insights import syntax
from queries.insights.aggregates import AGGREGATES, QUANTILES, fraction
from queries.insights.expressions import Compiler, check_arity
from queries.insights.pipeline import Pipeline, order_terms, refusal
from queries.insights.syntax import Expression
from queries.insights.values import Kind, Value, as_number, as_text, columns

MOST_STATS = 2  # commands in one query; CloudWatch Logs user guide, "Use multiple stats commands"


def compile_stats(command: syntax.Stats, pipeline: Pipeline) -> None:
    """Replaces all columns by the keys, in order, and the aggregates.

    Values of a key are one group when their text is the same: 1, "1" and true are, 1.0 is not. Rows that lack a key
    form a group of their own, without that column. Without `by` there is one row, even over no events. Without a sort,
    rows come in ascending order of the keys (undocumented on the service).
    """
    if pipeline.stats_count == MOST_STATS:
        raise refusal(command.span, f"a query has at most {MOST_STATS} stats commands")
    keys = _keys(command, pipeline)
    scope = _GroupScope(pipeline, keys)
    items = [_item(item, scope) for item in command.items]
    _check_titles(command)
    grouped = dict(pair for key in keys.values() for pair in _grouped(key))
    group_by = f" GROUP BY {', '.join(grouped.values())}" if grouped else ""
    pipeline.append(f"SELECT {', '.join([*grouped, *scope.selected()])} FROM {{previous}}{group_by}")
    for stage in scope.later:
        pipeline.append(stage)
    outputs = {item.title: pipeline.store(value) for item, value in zip(command.items, items, strict=True)}
    found = keys | outputs
    aliased = [item for item in (*command.keys, *command.items) if item.alias is not None]
    pipeline.regroup(found, {pipeline.written(item.expression): found[item.title] for item in aliased})
    pipeline.order = [term for key in keys.values() for term in order_terms(key, descending=False)]


def _keys(command: syntax.Stats, pipeline: Pipeline) -> dict[str, Value]:
    """The columns of the `by` expressions, by name."""
    compiler = Compiler(pipeline)
    return {item.title: pipeline.store(compiler.no_map(item.expression, "stats")) for item in command.keys}


def _grouped(key: Value) -> list[tuple[str, str]]:
    """What is selected for a key, and what its groups go by: the text, so that 1, "1" and true are one group."""
    if key.kind is Kind.DYNAMIC:
        return [(f"min({key.sql}) AS {key.sql}", as_text(key))]
    return [(name, name) for name in (key.sql, key.big) if name]


def _item(item: syntax.Item, scope: "_GroupScope") -> Value:
    scope.used = False
    value = Compiler(scope).value(item.expression)
    if not scope.used:
        raise refusal(item.expression.span, f"{item.title} aggregates nothing; use a function such as avg or count")
    if item.alias is None:
        return value
    scope.named[item.alias.text] = value if value.simple else scope.store(value)
    return scope.named[item.alias.text]


def _check_titles(command: syntax.Stats) -> None:
    titles: set[str] = set()
    for item in (*command.keys, *command.items):
        if item.title in titles:
            raise refusal(item.expression.span, f"two columns are named {item.title}; give one of them an alias")
        titles.add(item.title)


class _GroupScope:
    """What an item of stats may refer to: keys and the aliases before it as they are, all else inside of an aggregate.

    `later` are the stages over what the grouping computes that items need.
    """

    def __init__(self, pipeline: Pipeline, keys: dict[str, Value]) -> None:
        self.used = False
        self.named: dict[str, Value] = {}
        self.now_s, self.notes, self.python_functions = pipeline.now_s, pipeline.notes, pipeline.python_functions
        self._aggregates: list[str] = []
        self._quantiles: dict[str, tuple[str, list[float]]] = {}
        self.later: list[str] = []
        self._pipeline = pipeline
        self._keys = keys

    def field(self, name: syntax.Name) -> Value:
        if name.text in self.named:
            self.used = True
            return self.named[name.text]
        if name.text not in self._keys:
            known = name.text.lower()
            if known in AGGREGATES or known in QUANTILES:
                raise refusal(name.span, f"{name.text} takes parentheses, as in count(*) or avg(field)")
            raise refusal(
                name.span, f"{name.text} is neither aggregated nor a key; use avg({name.text}) or add it to by"
            )
        self.used = True
        return self._keys[name.text]

    def titled(self, expression: Expression) -> Value | None:
        if isinstance(expression, syntax.Name | syntax.Number | syntax.Text):
            return None
        key = self._keys.get(self._pipeline.written(expression))
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
        time = self._pipeline.timestamp()
        value = aggregate.build(call, arguments, time.sql if time else None)
        items, column = columns(value, self._pipeline.fresh, aggregate=True)
        self._aggregates.append(items)
        return column

    def _argument(self, expression: Expression) -> Value:
        value = Compiler(self._pipeline).no_map(expression, "stats")
        return value if value.simple else self._pipeline.store(value)

    def _quantile(self, call: syntax.Call) -> Value:
        """An element of the list of all quantiles that are asked of the same numbers."""
        check_arity(call, QUANTILES[call.function], QUANTILES[call.function])
        share = fraction(call)
        numbers = as_number(self._pipeline.numbered(self._argument(call.arguments[0])))
        column, shares = self._quantiles.setdefault(numbers, (self._pipeline.fresh(), []))
        shares.append(share)
        return self.store(Value(f"{column}[{len(shares)}]", Kind.NUMBER))

    def selected(self) -> list[str]:
        """The columns that the grouping computes."""
        quantiles = [
            f"quantile_cont({numbers}, [{', '.join(map(repr, shares))}]) AS {column}"
            for numbers, (column, shares) in self._quantiles.items()
        ]
        return self._aggregates + quantiles

    def store(self, value: Value) -> Value:
        items, column = columns(value, self._pipeline.fresh)
        self.later.append(f"SELECT *, {items} FROM {{previous}}")
        return column

    def numbered(self, value: Value) -> Value:
        return value

    def event_time(self, call: syntax.Call) -> Value:
        raise refusal(call.span, f"{call.function} belongs after by, or inside of an aggregate")
