"""The commands that turn one row into several: unnest, expand, and parse with `multi`.

Sources: CWL_QuerySyntax-Unnest, CWL_QuerySyntax-Expand and CWL_QuerySyntax-Parse ("Multi-match
mode") of the CloudWatch Logs user guide. The rows of an event keep the order of its items.
"""

import re

from stampede.insights.commands.json_path import in_event
from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.commands.row_errors import refuse_rows
from stampede.insights.expressions.exact import selected
from stampede.insights.expressions.patterns import Pattern
from stampede.insights.expressions.structures import items
from stampede.insights.language import syntax
from stampede.insights.language.syntax import refusal
from stampede.insights.values import STRUCTURES, Kind, Value, sql_string


def compile_unnest(command: syntax.Unnest, pipeline: Pipeline) -> None:
    """One record for each item of a list, none for an empty one; a map, text or number counts as a
    list of one item.

    A record without the field stops the query: the service's behaviour isn't documented.
    """
    name = command.field
    value = pipeline.field(name)
    if value.kind is Kind.DYNAMIC and name.text not in pipeline.columns:
        message = (
            "unnest takes a list from jsonParse: `fields jsonParse(@message) as m | unnest "
            f"m.{name.text} into x`"
        )
        raise refusal(name.span, message)
    value = pipeline.store(value)
    missing = refuse_rows(
        name.span,
        f"an event has no {name.text}, and what unnest does with it isn't documented; put"
        f" `filter ispresent({_spelled(name.text)})` before it",
    )
    listed = f"[{value.sql}]"
    if value.kind in STRUCTURES:
        listed = f"CASE WHEN starts_with({value.sql}, '[') THEN {_items(value)} ELSE {listed} END"
    listed = f"CASE WHEN {value.sql} IS NULL THEN {missing} ELSE {listed} END"
    item = Value(
        pipeline.fresh(), Kind.JSON if value.kind in STRUCTURES else value.kind, column=True
    )
    _multiply({item.sql: listed}, pipeline)
    pipeline.define(command.alias, item)
    pipeline.parsed.append(command.alias.text)


def compile_expand(command: syntax.Expand, pipeline: Pipeline) -> None:
    """One event for each item of a JSON array, none for an empty one; the field then holds
    the item.

    Any other value in the field stops the query: the service's behaviour isn't documented.
    """
    name = command.field
    value, kept = pipeline.field(name), f"jsonArraySize({_spelled(name.text)}) >= 0"
    if value.kind is Kind.DYNAMIC and name.text not in pipeline.columns:
        value, kept = in_event(name, pipeline), f"ispresent({_spelled(f'{name.text}.0')})"
    if value.kind not in STRUCTURES:
        raise refusal(
            name.span, f"expand takes a field with a JSON array, but {name.text} isn't one"
        )
    titles = (*pipeline.shown, *(pipeline.displayed or ()))
    if any(title.startswith(f"{name.text}.") for title in titles):
        raise refusal(
            name.span, f"part of {name.text} is already displayed; put `fields` after expand"
        )
    other = refuse_rows(
        name.span,
        f"an event has no array {name.text}, and what expand does with it isn't documented;"
        f" put `filter {kept}` before it",
    )
    item = Value(pipeline.fresh(), Kind.JSON, column=True)
    items = f"CASE WHEN starts_with({value.sql}, '[') THEN {_items(value)} ELSE {other} END"
    _multiply({item.sql: items}, pipeline)
    pipeline.redefine(name, item)


def _spelled(name: str) -> str:
    return name if re.fullmatch(r"[\w@.\[\]]+", name) else f"`{name}`"


def _items(value: Value) -> str:
    """SQL of the items of a JSON array, as JSON text; null counts as missing."""
    return items(value.sql, "nullif(CAST(item AS VARCHAR), 'null')")


def parse_multi(
    text: str, pattern: Pattern, names: list[syntax.Name | None], pipeline: Pipeline
) -> None:
    """One row for each match of the expression in `text`; a row without a match stays, without
    the fields."""
    lists, stored = {}, {}
    for number, (name, group) in enumerate(zip(names, pattern.groups, strict=True), start=1):
        if name is None:
            continue
        match, column = pipeline.fresh(), Value(pipeline.fresh(), Kind.TEXT, column=True)
        matches = f"regexp_extract_all({text}, {sql_string(pattern.re2)}, {number})"
        lists[match] = (
            f"CASE WHEN len({matches}) > 0 THEN {matches} ELSE [CAST(NULL AS VARCHAR)] END"
        )
        captured = match if group.may_be_empty else f"nullif({match}, '')"
        stored[column.sql] = captured
        pipeline.define(name, column)
        pipeline.parsed.append(name.text)
    _multiply(lists, pipeline)
    pipeline.append(f"SELECT * EXCLUDE ({', '.join(lists)}), {selected(stored)} FROM {{previous}}")


def _multiply(lists: dict[str, str], pipeline: Pipeline) -> None:
    """One row for each item of the lists, which have equal lengths; each list's key names the
    column of its items."""
    held = {column: pipeline.fresh() for column in lists}
    place = pipeline.fresh()
    pipeline.append(
        f"SELECT *, {selected({held[column]: sql for column, sql in lists.items()})} "
        "FROM {previous}"
    )
    rows = ", ".join(f"unnest({held[column]}) AS {column}" for column in lists)
    first = next(iter(held.values()))
    pipeline.append(
        f"SELECT * EXCLUDE ({', '.join(held.values())}), {rows}, generate_subscripts({first}, 1) "
        f"AS {place} FROM {{previous}}"
    )
    pipeline.order.append(place)
    pipeline.limited = False
