"""Compiles an expression to SQL, in the scope of its stage."""

from typing import Protocol

from stampede.insights.errors import QueryError
from stampede.insights.events.discovery import FIELDS
from stampede.insights.expressions import patterns, periods
from stampede.insights.expressions.aggregates import AGGREGATES, QUANTILES
from stampede.insights.expressions.comparing import as_written, compare
from stampede.insights.expressions.exact import combined
from stampede.insights.expressions.functions.function import Function, unified
from stampede.insights.expressions.functions.table import FUNCTIONS, UNSUPPORTED
from stampede.insights.expressions.structures import element, refuse_map, scalar
from stampede.insights.language import syntax
from stampede.insights.language.names import proposal, spelled
from stampede.insights.language.syntax import Expression, refusal
from stampede.insights.values import (
    NUMERIC,
    Kind,
    Value,
    as_number,
    as_text,
    number_literal,
    sql_string,
    text_literal,
)

# Compiled by their own methods: their arguments aren't plain values.
_SPECIAL = {
    "bin": "_period_call",
    "datefloor": "_period_call",
    "dateceil": "_period_call",
    "now": "_now",
    "if": "_if",
    "case": "_case",
}
KNOWN_FUNCTIONS = frozenset([*FUNCTIONS, *AGGREGATES, *QUANTILES, *_SPECIAL])
_ONE_OR_ZERO = ("strcontains", "startswith", "endswith")  # numbers, according to the reference
MOST_BRANCHES = 10  # in case; "General functions" of the CloudWatch Logs user guide
_DEEPEST = 40  # each level may repeat its operands in SQL; real queries stay below ten


class Scope(Protocol):
    """What an expression may refer to, and what compiling it collects."""

    now_s: float
    notes: list[str]
    python_functions: set[str]

    def field(self, name: syntax.Name) -> Value: ...
    def titled(self, expression: Expression) -> Value | None: ...
    def aggregate(self, call: syntax.Call) -> Value: ...
    def event_time(self, call: syntax.Call) -> Value: ...
    def store(self, value: Value) -> Value: ...
    def numbered(self, value: Value) -> Value: ...


class Compiler:
    """Compiles expressions in one scope; raises QueryError at the place of anything that can't be
    evaluated exactly."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._depth = 0

    def value(self, expression: Expression) -> Value:
        """The value as a scalar; a map or list becomes missing."""
        return scalar(self.raw(expression), self._scope.store)

    def raw(self, expression: Expression) -> Value:
        """The value, which may be a map or list."""
        known = self._scope.titled(expression)
        if known is not None:
            return known
        self._depth += 1
        if self._depth > _DEEPEST:
            message = "compute part of it in an earlier `fields`, under a name"
            raise _error(
                expression, f"the expression is nested deeper than {_DEEPEST} levels; {message}"
            )
        value = getattr(self, f"_{type(expression).__name__.lower()}")(expression)
        self._depth -= 1
        return value

    def no_map(self, expression: Expression, command: str) -> Value:
        """The value in a command that accepts no map or list. Raises QueryError for these."""
        value = self.raw(expression)
        refuse_map(value, command, expression.span)
        return scalar(value, self._scope.store)

    def simple(self, expression: Expression) -> Value:
        """The value as a column or a literal; anything else is stored in a new column."""
        return self._stored(self.value(expression))

    def _stored(self, value: Value) -> Value:
        return value if value.simple else self._scope.store(value)

    def condition(self, expression: Expression) -> str:
        """SQL of type boolean. Raises QueryError if the expression isn't a condition.

        A field alone is short for `field = 1`: true only for JSON's true, the number 1 and the text
        "1"; if the field is missing, neither it nor its `not` is true.
        """
        value = self.value(expression)
        if isinstance(expression, syntax.Call) and expression.function in _ONE_OR_ZERO:
            return f"({value.sql} = 1)"
        if value.kind is Kind.BOOLEAN:
            return value.sql
        if _may_be_one(expression, value):
            return compare("=", self._stored(value), number_literal(1.0), expression.span).sql
        raise _error(
            expression, "this is not a condition; compare it with a value, or use ispresent(...)"
        )

    def _name(self, name: syntax.Name) -> Value:
        return self._scope.field(name)

    def _number(self, number: syntax.Number) -> Value:
        return number_literal(number.value)

    def _text(self, text: syntax.Text) -> Value:
        return text_literal(text.value)

    def _period(self, period: syntax.Period) -> Value:
        raise _error(period, periods.misplaced(period))

    def _arithmetic(self, node: syntax.Arithmetic) -> Value:
        # Sums and products pass infinity on; the others may turn it into a number, so it must
        # become missing first.
        if node.operator in "+-*":
            left, right = self._operand(node.left), self._operand(node.right)
        elif node.operator == "%":
            left, right = self._operand(node.left), self._scope.numbered(self.simple(node.right))
        else:
            left, right = self._settled(node.left, node.operator == "^"), self.simple(node.right)
        numbers = as_number(left), as_number(right)
        if node.operator == "^":
            return Value(f"pow({numbers[0]}, {numbers[1]})", Kind.NUMBER)
        known = None if node.operator == "/" else combined(node.operator, left, right)
        if left.kind is Kind.TIMESTAMP and moves_a_time(node):
            return Value(
                f"insights_time(floor({numbers[0]} {node.operator} {numbers[1]}))", Kind.TIMESTAMP
            )
        return Value(f"({numbers[0]} {node.operator} {numbers[1]})", Kind.NUMBER, exact=known)

    def _operand(self, expression: Expression) -> Value:
        """An operand that may be a whole number; stored in a column unless its kind is NUMBER."""
        value = self.value(expression)
        return value if value.kind is Kind.NUMBER else self._scope.numbered(self._stored(value))

    def _settled(self, expression: Expression, simple: bool) -> Value:
        """The value, stored in a column if `simple` asks for it or its double may not be exact."""
        value = self.value(expression)
        is_stored = simple or value.exact is not None or value.kind is not Kind.NUMBER
        return self._stored(value) if is_stored else value

    def _comparison(self, node: syntax.Comparison) -> Value:
        _check_true(node)
        left, right = self._stored(self.raw(node.left)), self._stored(self.raw(node.right))
        if Kind.MAP in (left.kind, right.kind):
            # as documented for a map or list and any other field
            return Value("FALSE", Kind.BOOLEAN)
        left, right = scalar(left, self._scope.store), scalar(right, self._scope.store)
        if left.kind in NUMERIC and not as_written(node.operator, right, left):
            right = self._scope.numbered(right)
        elif right.kind in NUMERIC and not as_written(node.operator, left, right):
            left = self._scope.numbered(left)
        self._note_words(left, right)
        return compare(node.operator, left, right, node.span)

    def _note_words(self, *sides: Value) -> None:
        """Notes what comparing a discovered field with "true" or "false" finds."""
        words = {side.literal.lower() for side in sides if isinstance(side.literal, str)}
        if any(side.kind is Kind.DYNAMIC for side in sides):
            for word in sorted(words & {"true", "false"}):
                bit = int(word == "true")
                note = (
                    f'"{word}" in quotes matches only text: a JSON {word} is {bit}, so write = '
                    f"{bit} for it"
                )
                if note not in self._scope.notes:
                    self._scope.notes.append(note)

    def _match(self, node: syntax.Match) -> Value:
        stored = self.simple(node.subject)
        if isinstance(node.pattern, syntax.Text):
            self._note_words(stored, text_literal(node.pattern.value))
        subject = as_text(stored)
        if isinstance(node.pattern, syntax.Regex):
            pattern = patterns.regex(node.pattern)
            sql = f"regexp_matches({subject}, {sql_string(pattern.re2)})"
        else:
            sql = f"contains({subject}, {sql_string(node.pattern.value)})"
        return Value(f"(NOT {sql})" if node.negated else sql, Kind.BOOLEAN)

    def _membership(self, node: syntax.Membership) -> Value:
        subject = self.simple(node.subject)
        items = [(self.value(item), item.span) for item in node.items]
        self._note_words(subject, *(item for item, _ in items))
        equal = [compare("=", subject, item, span).sql for item, span in items]
        sql = f"({' OR '.join(equal)})"
        return Value(f"(NOT {sql})" if node.negated else sql, Kind.BOOLEAN)

    def _junction(self, node: syntax.Junction) -> Value:
        return Value(
            f"({f' {node.operator.upper()} '.join(map(self.condition, node.items))})", Kind.BOOLEAN
        )

    def _negation(self, node: syntax.Negation) -> Value:
        return Value(f"(NOT {self.condition(node.item)})", Kind.BOOLEAN)

    def _call(self, call: syntax.Call) -> Value:
        if call.function in _SPECIAL:
            return getattr(self, _SPECIAL[call.function])(call)
        if call.function in AGGREGATES or call.function in QUANTILES:
            return self._scope.aggregate(call)
        function = FUNCTIONS.get(call.function)
        if function is None:
            raise unknown_function(call)
        if call.star:
            raise _error(call, f"{spelled(call.function)}(*) has no meaning; only count takes *")
        check_arity(call, function.least, function.most)
        if function.check is not None:
            function.check(call)
        if function.python is not None:
            self._scope.python_functions.add(function.python)
        arguments = [self._argument(call, place, function) for place in range(len(call.arguments))]
        if function.time:
            _check_time(call, arguments[0])
        return function.build(arguments)

    def _argument(self, call: syntax.Call, place: int, function: Function) -> Value:
        argument = call.arguments[place]
        if place == function.flag:
            word = argument.text.lower() if isinstance(argument, syntax.Name) else ""
            if word not in ("true", "false"):
                raise _error(
                    argument, f"this argument of {spelled(call.function)} must be true or false"
                )
            return text_literal(word)
        if function.structures:
            return self._stored(self.raw(argument))
        return self._settled(argument, function.simple)

    def _access(self, node: syntax.Access) -> Value:
        subject = self._stored(self.raw(node.subject))
        if subject.kind is not Kind.MAP:
            function = spelled(node.subject.function)
            message = f"{function} returns no map or list; jsonParse makes one from text"
            raise _error(node, message)
        return element(subject, node.steps)

    def _now(self, call: syntax.Call) -> Value:
        check_arity(call, 0, 0)
        now_s = int(self._scope.now_s)
        return Value(f"CAST({now_s} AS BIGINT)", Kind.INTEGER, literal=float(now_s))

    def _if(self, call: syntax.Call) -> Value:
        check_arity(call, 3, 3)
        condition, chosen, other = call.arguments
        return self._choice([(condition, chosen)], other)

    def _case(self, call: syntax.Call) -> Value:
        check_arity(call, 2, 2 * MOST_BRANCHES + 1)
        arguments = call.arguments
        pairs = list(zip(arguments[0::2], arguments[1::2], strict=False))
        return self._choice(pairs, arguments[-1] if len(arguments) % 2 else None)

    def _choice(
        self, branches: list[tuple[Expression, Expression]], default: Expression | None
    ) -> Value:
        conditions = [self.condition(condition) for condition, _ in branches]
        values = [self.simple(value) for _, value in branches]
        if default:
            values.append(self.simple(default))
        texts, kind = unified(values)
        whens = " ".join(
            f"WHEN {condition} THEN {sql}"
            for condition, sql in zip(conditions, texts, strict=False)
        )
        otherwise = f" ELSE {texts[-1]}" if default else ""
        return Value(f"CASE {whens}{otherwise} END", kind)

    def _period_call(self, call: syntax.Call) -> Value:
        count = 1 if call.function == "bin" else 2
        if call.function == "bin" and len(call.arguments) == 2:
            # Not in the reference, but AWS (observability-best-practices) and others publish
            # such queries.
            time = call.arguments[0]
            if not (isinstance(time, syntax.Name) and time.text == "@timestamp"):
                message = (
                    "bin takes a period and always uses @timestamp; for another time write "
                    "datefloor(time, 5m)"
                )
                raise _error(call, message)
            count = 2
        check_arity(call, count, count)
        period = call.arguments[-1]
        if not isinstance(period, syntax.Period):
            raise _error(period, f"{call.function} takes a period, such as 5m, without quotes")
        if call.function == "bin":
            time = self._scope.event_time(call)
        else:
            time = self.simple(call.arguments[0])
        _check_time(call, time)
        period, note = periods.capped(period)
        if note and note not in self._scope.notes:
            self._scope.notes.append(note)
        build = periods.ceiling if call.function == "dateceil" else periods.floor
        return Value(build(time.sql, period), Kind.TIMESTAMP)


def moves_a_time(node: Expression) -> bool:
    """Whether it adds or subtracts milliseconds, as in `@timestamp - 21600000`: a time then stays
    a time.

    Recorded: the result of `by datefloor(@timestamp - 21600000, 1h) +
    21600000` (tests/data/aws_answers/found.json).
    """
    return (
        isinstance(node, syntax.Arithmetic)
        and node.operator in "+-"
        and isinstance(node.right, syntax.Number)
    )


def _check_time(call: syntax.Call, time: Value) -> None:
    if time.kind is not Kind.TIMESTAMP:
        message = (
            f"{spelled(call.function)} takes a timestamp; convert milliseconds with fromMillis"
        )
        raise _error(call.arguments[0], message)


def check_arity(call: syntax.Call, least: int, most: int | None) -> None:
    """Raises QueryError if a call has too few or too many arguments."""
    count = len(call.arguments)
    if count >= least and (most is None or count <= most):
        return
    wanted = str(least) if least == most else f"{least} to {most}"
    if most is None:
        wanted = f"at least {least}"
    plural = "" if wanted in ("1", "at least 1") else "s"
    raise _error(call, f"{spelled(call.function)} takes {wanted} argument{plural}, not {count}")


def unknown_function(call: syntax.Call) -> QueryError:
    if call.function in UNSUPPORTED:
        return _error(call, UNSUPPORTED[call.function])
    likely = proposal(call.function, KNOWN_FUNCTIONS)
    hint = f"did you mean {likely}?" if likely else "docs/insights.md lists the supported ones"
    return _error(call, f"unknown function {spelled(call.function)}; {hint}")


def _check_true(node: syntax.Comparison) -> None:
    """Raises QueryError if bare true or false is compared."""
    for side, other in ((node.right, node.left), (node.left, node.right)):
        if isinstance(side, syntax.Name) and side.text.lower() in ("true", "false"):
            word = side.text.lower()
            bit = int(word == "true")
            field = other.text if isinstance(other, syntax.Name) else "field"
            written = f"{field} {node.operator} {bit}"
            raise _error(
                side, f"{side.text} is not a value: JSON's {word} is {bit} here, write {written}"
            )


def _may_be_one(expression: Expression, value: Value) -> bool:
    """Whether it is a bare field that can be 1; timestamps and fields that the service
    generates can't."""
    if isinstance(expression, syntax.Name):
        return expression.text not in FIELDS and value.kind is not Kind.TIMESTAMP
    return isinstance(expression, syntax.Access)


def _error(node, message: str) -> QueryError:
    return refusal(node.span, message)
