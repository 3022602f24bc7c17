"""The commands that work row by row: fields, display, filter and parse."""

from stampede.insights.commands.multiply import parse_multi
from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.expressions import patterns
from stampede.insights.expressions.compiler import Compiler
from stampede.insights.expressions.structures import scalar
from stampede.insights.language import syntax
from stampede.insights.language.syntax import refusal
from stampede.insights.values import Kind, Value, as_text, sql_string
from stampede.phrases import counted


def compile_fields(command: syntax.Fields, pipeline: Pipeline) -> None:
    """Adds columns to the result; later items may use an alias."""
    for item in command.items:
        _column(item, pipeline)
        pipeline.shown.append(item.title)


def _column(item: syntax.Item, pipeline: Pipeline) -> None:
    """Ensures that a column exists with the item's title and expression."""
    if item.alias is not None:
        pipeline.define(item.alias, pipeline.store(Compiler(pipeline).raw(item.expression)))
    elif isinstance(item.expression, syntax.Name):
        pipeline.field(item.expression)
    elif not pipeline.computed(item):
        pipeline.compute(item, pipeline.store(Compiler(pipeline).raw(item.expression)))


def compile_display(command: syntax.Display, pipeline: Pipeline) -> None:
    """Sets the columns of the result; the last display wins."""
    for item in command.items:
        _column(item, pipeline)
    pipeline.displayed = list(dict.fromkeys(item.title for item in command.items))


def compile_filter(command: syntax.Filter, pipeline: Pipeline) -> None:
    """Keeps the rows for which the condition is true, neither false nor missing."""
    condition = Compiler(pipeline).condition(command.condition)
    pipeline.append(f"SELECT * FROM {{previous}} WHERE {condition}")


def compile_parse(command: syntax.Parse, pipeline: Pipeline) -> None:
    """Adds the captured fields, all TEXT; a row that doesn't match stays, without them. Without
    `fields` the result has only these (recorded: aws/aws-sdk-js-v3#6928).

    An optional group that didn't match is missing too, unless its content can be empty.
    `line_formats` describes logfmt and csv.
    """
    pipeline.has_parse = True
    source = pipeline.field(command.source or syntax.Name(command.span, "@message"))
    text = as_text(scalar(source, pipeline.store))
    if command.pattern == "logfmt":
        return _parse_logfmt(command, text, pipeline)
    if command.pattern == "csv":
        return _parse_csv(command, text, pipeline)
    pattern, names = _pattern_and_names(command, pipeline)
    return (parse_multi if command.multi else _parse_once)(text, pattern, names, pipeline)


def _parse_logfmt(command: syntax.Parse, text: str, pipeline: Pipeline) -> None:
    """Adds one field, a map of the pairs."""
    pipeline.python_functions.add("insights_logfmt")
    (alias,) = command.aliases
    pipeline.define(alias, pipeline.store(Value(f"insights_logfmt({text})", Kind.MAP)))
    pipeline.parsed.append(alias.text)


def _parse_csv(command: syntax.Parse, text: str, pipeline: Pipeline) -> None:
    """Adds a field for each value, in order; drops values without a name; names without a value
    are missing."""
    pipeline.python_functions.add("insights_csv")
    values = pipeline.fresh()
    pipeline.append(f"SELECT *, insights_csv({text}) AS {values} FROM {{previous}}")
    for number, alias in enumerate(command.aliases, start=1):
        pipeline.define(alias, pipeline.store(Value(f"{values}[{number}]", Kind.TEXT)))
        pipeline.parsed.append(alias.text)


def _parse_once(
    text: str, pattern: patterns.Pattern, names: list[syntax.Name | None], pipeline: Pipeline
) -> None:
    matched = pipeline.fresh()
    groups = ", ".join(sql_string(f"g{number}") for number in range(1, len(pattern.groups) + 1))
    re2 = sql_string(pattern.re2)
    extract = f"regexp_extract({text}, {re2}, [{groups}])"
    if any(group.may_be_empty for group in pattern.groups):
        extract = f"CASE WHEN regexp_matches({text}, {re2}) THEN {extract} END"
    columns = []
    for number, (name, group) in enumerate(zip(names, pattern.groups, strict=True), start=1):
        if name is None:
            continue
        column = Value(pipeline.fresh(), Kind.TEXT, column=True)
        content = f"{matched}.g{number}"
        captured = content if group.may_be_empty else f"nullif({content}, '')"
        columns.append(f"{captured} AS {column.sql}")
        pipeline.define(name, column)
        pipeline.parsed.append(name.text)
    pipeline.append(f"SELECT *, {extract} AS {matched} FROM {{previous}}")
    pipeline.append(f"SELECT * EXCLUDE ({matched}), {', '.join(columns)} FROM {{previous}}")


def _pattern_and_names(
    command: syntax.Parse, pipeline: Pipeline
) -> tuple[patterns.Pattern, list[syntax.Name | None]]:
    """The pattern and the name of each group's field."""
    if isinstance(command.pattern, syntax.Regex):
        pattern = patterns.regex(command.pattern)
        if command.multi and patterns.finds_nothing(pattern):
            message = "with multi the expression must not match empty text; use + instead of * or ?"
            raise refusal(command.pattern.span, message)
        return pattern, _regex_names(command, pattern)
    pattern = patterns.glob(command.pattern)
    aliases = command.aliases or ()
    if len(aliases) != len(pattern.groups):
        raise refusal(
            command.pattern.span,
            f"the glob has {len(pattern.groups)} * but {counted(len(aliases), 'name')} after `as`; "
            "their numbers must be equal",
        )
    return pattern, list(aliases)


def _regex_names(command: syntax.Parse, pattern: patterns.Pattern) -> list[syntax.Name | None]:
    """The field name of each group: its own name, or for all groups the names after `as`, as in
    `/(.*)/ as text`."""
    groups, span = pattern.groups, command.pattern.span
    if command.aliases is None:
        if not any(group.name for group in groups):
            raise refusal(
                span,
                "the expression names no field; name a group as (?<name>...), or write `as name`",
            )
        return [syntax.Name(span, group.name) if group.name else None for group in groups]
    if len(command.aliases) != len(groups):
        raise refusal(
            command.aliases[0].span,
            f"the expression has {counted(len(groups), 'group')} but "
            f"{counted(len(command.aliases), 'name')} after `as`; their numbers must be equal: "
            "write a group that is not a field as (?:...)",
        )
    for alias, group in zip(command.aliases, groups, strict=True):
        if group.name not in (None, alias.text):
            raise refusal(
                alias.span,
                f"the group is already named {group.name}; write that name after `as`, or none",
            )
    return list(command.aliases)
