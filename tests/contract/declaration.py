"""What an experiment's declaration names that isn't there, in infra/ or among the records. What the report of a default
sweep would stumble over isn't asked here."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments import Experiment
from stampede.report.published import every_cell
from stampede.runs.account import OBJECT_COUNTS
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "functions/agreed/record.json").read_text())


def wrong(experiment: Experiment) -> list[str]:
    """All of it, a line each."""
    parts = (_places, _axes, _metrics, _matrices)
    return [f"{what}: {name}" for part in parts for what, names in part(experiment) for name in names]


def outputs() -> set[str]:
    """The names of infra's outputs."""
    return _blocks("output", "outputs*.tf")


def _blocks(kind: str, *patterns: str) -> set[str]:
    files = [file for pattern in patterns for file in (ROOT / "infra").glob(pattern)]
    return {name for file in files for name in re.findall(rf'(?m)^{kind} "(\w+)"', file.read_text())}


def kinds(experiment: Experiment) -> list[str]:
    """The kinds of its records: of its functions, and of its queries where `stampede` has a service carry some out."""
    return [experiment.name, *([f"{experiment.name}_query"] if experiment.athena else [])]


def _fields(experiment: Experiment) -> set[str]:
    """The fields of its records that hold a value."""
    common = {RECORD["time"].get(experiment.name) if name == "<time>" else name for name in RECORD["common"]}
    return common.union(*(RECORD["own"].get(kind, ()) for kind in kinds(experiment)))


def _places(experiment: Experiment) -> Iterator[tuple[str, Iterable[str]]]:
    name = experiment.name
    places = (f"experiments/{name}/declaration.py", f"infra/{name}.tf", f"infra/variables_{name}.tf", f"queries/{name}")
    yield "no file", [place for place in places if not (ROOT / place).exists()]
    yield "no value of the variable experiment", {name} - set(RULES["experiment"].choices)
    filled = [experiment.seeding.function] if experiment.seeding else []
    yield "no output of infra/", {*filled, *experiment.emptied_before_destroy} - outputs()
    cells = every_cell(experiment)
    tables = [table for table in experiment.published if not any(cell.published is table for cell in cells)]
    yield "no row is of a cell", [table.file for table in tables]


def _axes(experiment: Experiment) -> Iterator[tuple[str, Iterable[str]]]:
    axes = experiment.axes
    yield "no field of a record", {axis.record_field for axis in axes} - _fields(experiment)
    yield "neither variable nor default", [axis.name for axis in axes if not axis.variable and not axis.is_variant]
    of_stack = {axis.variable for axis in axes if axis.variable and not axis.in_order}
    yield "no variable of infra/", of_stack - declared().keys()
    yield "no output of infra/", of_stack - outputs()
    # The work order may say what is another experiment's variable.
    own = _blocks("variable", "variables.tf", f"variables_{experiment.name}.tf")
    yield "in the order, and a variable of the stack", {axis.variable for axis in axes if axis.in_order} & own
    for names in ([axis.name for axis in axes], [axis.variable for axis in axes if axis.variable]):
        yield "twice", {name for name in names if names.count(name) > 1}
    compared = {name for compare in experiment.compare for name in compare.axes}
    yield "no axis", compared - {axis.name for axis in axes}


def _metrics(experiment: Experiment) -> Iterator[tuple[str, Iterable[str]]]:
    fields = {metric.field for metric in experiment.metrics}
    yield "no field of a record", fields - _fields(experiment)
    yield "no metric", set(OBJECT_COUNTS) - fields if experiment.shared_list else ()
    times = {RECORD["time"].get(kind) for kind in kinds(experiment)}
    yield "not the time of a record", {experiment.time_field} ^ times
    numbers = {axis.name for axis in experiment.axes if axis.kind is int}
    yield "no axis of numbers", {*(experiment.knee or ())[:1]} - numbers


def _matrices(experiment: Experiment) -> Iterator[tuple[str, Iterable[str]]]:
    variables, order = declared().keys(), experiment.order_axes
    for matrix in (experiment.matrices["aws"], experiment.matrices["local"]):
        names = {*matrix.swept, *matrix.fixed, *matrix.rest}.union(*matrix.also)
        yield "neither a variable nor an axis of the order", names - variables - order.keys()
        yield "in `also` alone", set().union(*matrix.also) - matrix.swept.keys()
        yield "an axis without a value", {name for name in order if not order[name].is_variant} - names
    controlled = {name for values in experiment.controlled.values() for name in values}
    yield "no variable of infra/", {*experiment.controlled, *controlled} - variables
