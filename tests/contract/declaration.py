"""What is wrong with an experiment's declaration, against infra/, the records, the saved queries and the published
tables; a line each, nothing for one that is complete."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from experiments import Experiment
from stampede.phrases import listed
from stampede.runs.account import OBJECT_COUNTS as OBJECTS
from stampede.stacks.infra_variables import declared
from stampede.variable_rules import RULES

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "functions/agreed/record.json").read_text())
SPREAD = {"count", "min_s", "p25_s", "avg_s", "p75_s", "max_s"}


def wrong(experiment: Experiment) -> list[str]:
    """All of it."""
    parts = (_places, _outputs, _axes, _metrics, _matrices, _controlled, _comparisons, _by_size, _query, _published)
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
    axes = {axis.variable for axis in experiment.axes}
    for swept, values in experiment.controlled.items():
        if swept not in axes:
            yield f"controlled: no axis has the variable {swept}"
        for name in values:
            if name not in declared() or declared()[name].default is not None:
                yield f"controlled: {name} must be a variable of infra/ that is null by default"


def _comparisons(experiment: Experiment) -> Iterator[str]:
    axes = {axis.name for axis in experiment.axes}
    for compare in experiment.compare:
        if unknown := set(compare.axes) - axes:
            yield f"comparison {compare.name}: there is no axis {unknown.pop()}"
        if compare.kind == "choice" and len(compare.base) != len(compare.axes):
            yield f"comparison {compare.name}: its base must have a value for each of {list(compare.axes)}"


def _by_size(experiment: Experiment) -> Iterator[str]:
    if (by_size := experiment.by_size) is None:
        return
    for name in sorted({by_size.choice, by_size.size, by_size.moves[0]} - {axis.name for axis in experiment.axes}):
        yield f"by_size: there is no axis {name}"
    if not any(compare.kind == "choice" and compare.axes[0] == by_size.choice for compare in experiment.compare):
        yield f"by_size: no comparison is a choice of {by_size.choice}, whose base is the other value"
    if wrong := set(by_size.moves[1].values()) - {"write", "read"}:
        yield f"by_size: an operation writes or reads, and {wrong.pop()} is neither"


def _query(experiment: Experiment) -> Iterator[str]:
    file = ROOT / "queries" / experiment.name / f"{experiment.query}.cwli"
    if not file.is_file():
        yield f"there is no saved query {experiment.name}/{experiment.query}"
        return
    columns = {axis.name for axis in experiment.axes} | SPREAD
    columns |= {metric.name for metric in experiment.metrics if metric.queried and metric.how != "spread"}
    for column in sorted(columns - set(re.findall(r"\w+", file.read_text().rpartition("display")[2]))):
        yield f"the saved query {experiment.query} doesn't display {column}"


def _published(experiment: Experiment) -> Iterator[str]:
    for table in experiment.published:
        file = next((ROOT / "experiments").glob(f"*/published/{table.file}.csv"), None)
        if file is None:
            yield f"there is no published table {table.file}"
            continue
        rows = list(csv.DictReader(file.read_text().splitlines()))
        header, in_words = set(rows[0]), set(table.cell(rows[0]))
        for column in sorted({*table.only, *table.runs_ms} - header):
            yield f"published {table.file}: it has no column {column}"
        if not any(table.only.items() <= row.items() for row in rows):
            yield f"published {table.file}: it has no row of {dict(table.only)}"
        for name in sorted(set(table.beside_any) - {axis.name for axis in experiment.axes}):
            yield f"published {table.file}: beside any {name}, which is no axis"
        ours = {axis.name for axis in experiment.axes} | SPREAD | {metric.name for metric in experiment.metrics}
        needed = {axis.name for axis in experiment.axes if not axis.is_variant} - table.fixed.keys() - in_words
        for name in sorted((table.columns.keys() | table.fixed.keys()) - ours):
            yield f"published {table.file}: {name} is no column of ours"
        for column in sorted({table.columns.get(name, name) for name in needed | table.columns.keys()} - header):
            yield f"published {table.file}: it has no column {column}"
