"""What an experiment's declaration names that isn't there, in infra/ or among the records. What the
report of a default sweep would stumble over isn't asked here."""

import json
import re
from pathlib import Path

from experiments import Experiment
from stampede.report.published import every_cell
from stampede.runs.account import OBJECT_COUNTS
from stampede.variable_rules import RULES

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "functions/agreed/record.json").read_text())


def wrong(experiment: Experiment) -> list[str]:
    """All of it, a line each."""
    axes, name = experiment.axes, experiment.name
    variables, stack_outputs, fields = RULES.keys(), outputs(), _fields(experiment)
    order, of_stack = (
        experiment.order_axes,
        {axis.variable for axis in axes if axis.variable and not axis.in_order},
    )
    matrices = [experiment.matrices[target] for target in ("aws", "local")]
    named = [
        {*matrix.swept, *matrix.fixed, *matrix.rest}.union(*matrix.also) for matrix in matrices
    ]
    places = (
        f"experiments/{name}/declaration.py",
        f"infra/{name}.tf",
        f"infra/variables_{name}.tf",
        f"queries/{name}",
    )
    filled = [experiment.seeding.function] if experiment.seeding else []
    cells, controlled = every_cell(experiment), experiment.controlled
    times = {RECORD["time"].get(kind) for kind in kinds(experiment)}
    metrics = {metric.field for metric in experiment.metrics}
    # The work order may say what is another experiment's variable.
    own = _blocks("variable", "variables.tf", f"variables_{name}.tf")
    doubts = {
        "no file": {place for place in places if not (ROOT / place).exists()},
        "no value of the variable experiment": {name} - set(RULES["experiment"].choices),
        "no output of infra/": {*filled, *experiment.emptied_before_destroy, *of_stack}
        - stack_outputs,
        "no row is of a cell": {
            table.file
            for table in experiment.published
            if not any(cell.published is table for cell in cells)
        },
        "no field of a record": ({axis.record_field for axis in axes} | metrics) - fields,
        "neither variable nor default": {
            axis.name for axis in axes if not axis.variable and not axis.is_variant
        },
        "no variable of infra/": of_stack.union(controlled, *controlled.values()) - variables,
        "in the order, and a variable of the stack": {
            axis.variable for axis in axes if axis.in_order
        }
        & own,
        "no axis": {axis for compare in experiment.compare for axis in compare.axes}
        - {axis.name for axis in axes},
        "no metric": set(OBJECT_COUNTS) - metrics if experiment.shared_list else set(),
        "not the time of a record": {experiment.time_field} ^ times,
        "neither a variable nor an axis of the order": set().union(*named)
        - variables
        - order.keys(),
        "an axis without a value": {
            axis
            for names in named
            for axis in order
            if not order[axis].is_variant and axis not in names
        },
    }
    return [f"{what}: {name}" for what, names in doubts.items() for name in sorted(names, key=str)]


def outputs() -> set[str]:
    """The names of infra's outputs."""
    return _blocks("output", "outputs*.tf")


def _blocks(kind: str, *patterns: str) -> set[str]:
    files = [file for pattern in patterns for file in (ROOT / "infra").glob(pattern)]
    return {
        name for file in files for name in re.findall(rf'(?m)^{kind} "(\w+)"', file.read_text())
    }


def kinds(experiment: Experiment) -> list[str]:
    """The kinds of its records: of its functions, and of its queries where `stampede` has a service
    carry some out."""
    return [experiment.name, *([f"{experiment.name}_query"] if experiment.athena else [])]


def _fields(experiment: Experiment) -> set[str]:
    """The fields of its records that hold a value."""
    common = {
        RECORD["time"].get(experiment.name) if name == "<time>" else name
        for name in RECORD["common"]
    }
    return common.union(*(RECORD["own"].get(kind, ()) for kind in kinds(experiment)))
