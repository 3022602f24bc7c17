"""Maps and lists: their elements, and their value where a scalar is needed.

Source: "Structure types" of the CloudWatch Logs user guide: `map.attribute`, `list[index]` and, for
other characters, `` map.`special.char` ``; "maps and lists are treated as null for string, number,
and datetime functions"; not allowed in sort, stats and dedup.
"""

from collections.abc import Callable, Sequence

from stampede.insights.language.syntax import Span, refusal
from stampede.insights.values import Kind, Value, pointer, sql_string

Store = Callable[[Value], Value]


def element(structure: Value, steps: Sequence[str | int]) -> Value:
    """The element at `steps` in a map or list: nested keys, or the one key that contains
    the dots."""
    pointers = [pointer(map(str, steps))]
    if len(steps) > 1 and all(isinstance(step, str) for step in steps):
        pointers.append(pointer([".".join(steps)]))
    parts = [
        f"nullif(CAST(json_extract({structure.sql}, {sql_string(path)}) AS VARCHAR), 'null')"
        for path in pointers
    ]
    return Value(parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})", Kind.JSON)


def items(array: str, item: str) -> str:
    """SQL of the list of `item`, an SQL expression of `item`, for each item of the JSON
    text `array`.

    The cast gives the type: for an array that is NULL when the statement is bound, DuckDB doesn't
    infer a list.
    """
    return f"list_transform(CAST(json_extract({array}, '$[*]') AS JSON[]), lambda item: {item})"


def scalar(value: Value, store: Store) -> Value:
    """The value where a scalar is needed, in a column of its own; a map or list becomes missing."""
    if value.kind is Kind.MAP:
        return store(Value("CAST(NULL AS VARCHAR)", Kind.DYNAMIC))
    if value.kind is Kind.JSON:
        column = value if value.column else store(value)
        return store(Value(f"insights_scalar({column.sql})", Kind.DYNAMIC))
    return value


def refuse_map(value: Value, command: str, span: Span) -> None:
    """Raises QueryError for a map or list in a command that doesn't accept one."""
    if value.kind is Kind.MAP:
        message = (
            f"a map or list can't be used in {command}; name an element of it, as in map.key or "
            "list[0]"
        )
        raise refusal(span, message)
