"""What is wrong with an experiment's declaration, against infra/ and the records; a line each, nothing for one that is
complete. What the report of a default sweep would stumble over isn't asked here."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from experiments import Experiment
from stampede.phrases import listed
from stampede.report.published import every_cell
from stampede.runs.account import OBJECT_COUNTS as OBJECTS
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "functions/agreed/record.json").read_text())
SPREAD = {"count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"}


def wrong(experiment: Experiment) -> list[str]:
    """All of it."""
    parts = (_places, _outputs, _axes, _metrics, _matrices, _controlled, _comparisons, _published)
    return [line for part in parts for line in part(experiment)]


def outputs() -> list[str]:
    """The names of infra's outputs."""
    files = sorted((ROOT / "infra").glob("outputs*.tf"))
    return [name for file in files for name in re.findall(r'^output "(\w+)"', file.read_text(), re.MULTILINE)]


def _places(experiment: Experiment) -> Iterator[str]:
    name = experiment.name
    for place in (
        f"experiments/{name}/declaration.py",
        f"infra/{name}.tf",
        f"infra/variables_{name}.tf",
        f"queries/{name}",
    ):
        if not (ROOT / place).exists():
            yield f"{place} isn't there"
    if name not in RULES["experiment"].choices:
        yield "the variable experiment of infra/ doesn't take it"


def _outputs(experiment: Experiment) -> Iterator[str]:
    named = [*([experiment.seeding.function] if experiment.seeding else []), *experiment.emptied_before_destroy]
    for name in sorted(set(named) - set(outputs())):
        yield f"infra/ has no output {name}, which seeding or emptied_before_destroy names"


def kinds(experiment: Experiment) -> list[str]:
    """The kinds of its records: of its functions, and of its queries where `stampede` has a service carry some out."""
    return [experiment.name, *([f"{experiment.name}_query"] if experiment.athena else [])]


def _fields(experiment: Experiment) -> set[str]:
    """The fields of its records that hold a value."""
    common = {RECORD["time"].get(experiment.name) if name == "<time>" else name for name in RECORD["common"]}
    return common.union(*(RECORD["own"].get(kind, ()) for kind in kinds(experiment)))


def _own_variables(experiment: Experiment) -> set[str]:
    """The variables of infra/ that a stack of it may be given: those of all, and its own."""
    files = [ROOT / "infra/variables.tf", *(ROOT / "infra").glob(f"variables_{experiment.name}.tf")]
    return {name for file in files for name in re.findall(r'^variable "(\w+)"', file.read_text(), re.MULTILINE)}


def _axes(experiment: Experiment) -> Iterator[str]:
    variables = outputs()
    for axis in experiment.axes:
        if axis.record_field not in _fields(experiment):
            yield f"axis {axis.name}: no record has {axis.record_field}"
        if not axis.variable:
            if not axis.is_variant:
                yield f"axis {axis.name}: without a variable it must have a default, for cells that have no record yet"
            continue
        # The work order may say what is another experiment's variable.
        if axis.variable in _own_variables(experiment) if axis.in_order else axis.variable not in declared():
            yield f"axis {axis.name}: {axis.variable} must be a variable of infra/, or else be in_order"
        if not axis.in_order and axis.variable not in variables:
            yield f"axis {axis.name}: infra/ has no output {axis.variable}, against which records are set"
    for names in (
        [axis.name for axis in experiment.axes],
        [axis.variable for axis in experiment.axes if axis.variable],
    ):
        if len(set(names)) < len(names):
            yield f"axes: a name stands there twice in {names}"


def _metrics(experiment: Experiment) -> Iterator[str]:
    metrics = {metric.field for metric in experiment.metrics}
    if experiment.shared_list and (missing := set(OBJECTS) - metrics):
        yield f"its records account for objects, so {listed(sorted(missing))} must be metrics"
    if experiment.knee and experiment.knee[0] not in {axis.name for axis in experiment.axes if axis.kind is int}:
        yield f"knee: there is no axis of numbers {experiment.knee[0]}"
    for kind in kinds(experiment):
        if experiment.time_field != RECORD["time"].get(kind):
            yield f"the first metric must be the time of its records, {RECORD['time'].get(kind)}"
    for metric in experiment.metrics:
        if metric.field not in _fields(experiment):
            yield f"metric {metric.name}: no record has {metric.field}"


def _matrices(experiment: Experiment) -> Iterator[str]:
    known = declared().keys() | experiment.order_axes.keys()
    for target in ("aws", "local"):
        matrix = experiment.matrices.get(target)
        if matrix is None:
            yield f"there is no matrix for {target}"
            continue
        named = matrix.swept.keys() | matrix.fixed.keys() | matrix.rest.keys()
        for name in sorted(named.union(*matrix.also) - known):
            yield f"matrix for {target}: {name} is neither a variable of infra/ nor an axis of the work order"
        for name in sorted(set().union(*matrix.also) - matrix.swept.keys()):
            yield f"matrix for {target}: {name} is in a product of `also` and not in the first"
        for name in sorted(experiment.order_axes.keys() - named):
            if not experiment.order_axes[name].is_variant:
                yield f"matrix for {target}: the axis {name} of the work order has no value"


def _controlled(experiment: Experiment) -> Iterator[str]:
    names = {name for values in experiment.controlled.values() for name in values}
    for name in sorted({*experiment.controlled, *names} - declared().keys()):
        yield f"controlled: {name} is no variable of infra/"


def _comparisons(experiment: Experiment) -> Iterator[str]:
    axes = {axis.name for axis in experiment.axes}
    for compare in experiment.compare:
        for name in sorted(set(compare.axes) - axes):
            yield f"comparison {compare.name}: there is no axis {name}"


def _published(experiment: Experiment) -> Iterator[str]:
    cells = every_cell(experiment)
    for table in experiment.published:
        if not any(cell.published is table for cell in cells):
            yield f"published {table.file}: no row is of a cell"
