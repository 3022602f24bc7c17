"""The command json, and maps and lists in a field of the event.

Source: CWL_QuerySyntax-Parse, "JSON field extraction".
"""

import re

from stampede.insights.commands.pipeline import Pipeline
from stampede.insights.expressions.compiler import Compiler
from stampede.insights.expressions.structures import element
from stampede.insights.language import syntax
from stampede.insights.language.syntax import refusal
from stampede.insights.values import STRUCTURES, Kind, Value


def compile_json(command: syntax.Json, pipeline: Pipeline) -> None:
    """Adds a field with the value at the path in a field's JSON, as text or as an object; keeps
    all rows."""
    if not re.fullmatch(r"[\w@-]+(\.[\w@-]+)*", command.path.value):
        message = (
            'the path must be keys with dots, as in "user.name"; for other characters use '
            "jsonParse and map.`odd key`"
        )
        raise refusal(command.path.span, message)
    steps = command.path.value.split(".")
    held = pipeline.field(command.field)
    candidates = []
    if held.kind in STRUCTURES:
        candidates.append(element(held, steps))
    elif command.field.text not in pipeline.columns and held.kind is Kind.DYNAMIC:
        candidates.append(
            pipeline.field(
                syntax.Name(command.field.span, f"{command.field.text}.{command.path.value}")
            )
        )
        candidates.append(element(in_event(command.field, pipeline), steps))
    candidates.append(element(_parsed(command.field, pipeline), steps))
    value = Value(f"coalesce({', '.join(candidate.sql for candidate in candidates)})", Kind.JSON)
    pipeline.define(command.alias, pipeline.store(value))
    pipeline.parsed.append(command.alias.text)


def in_event(name: syntax.Name, pipeline: Pipeline) -> Value:
    """The column of a discovered name's value in the event's JSON, which may be an object or
    an array."""
    parsed = _parsed(syntax.Name(name.span, "@message"), pipeline)
    return pipeline.store(element(parsed, [*(name.head or name.text).split("."), *name.steps]))


def _parsed(name: syntax.Name, pipeline: Pipeline) -> Value:
    """The column of jsonParse(name)."""
    return pipeline.store(
        Compiler(pipeline).raw(syntax.Call(name.span, "jsonparse", (name,), star=False))
    )
