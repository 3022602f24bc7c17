"""What the model knows: each row is asked for by some experiment's work or some part, and says the
same everywhere."""

import json
from collections import Counter

from experiments import EXPERIMENTS
from experiments.copy import work as copy_work
from experiments.parameters import files, known_parameters
from stampede.checkout import ROOT
from stampede.model import function
from stampede.model.parameters import AWS, Parameters, read
from stampede.model.scenario import flood_of
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.planning.predicting import scenario_of

FILES = [AWS, *(ROOT / "experiments").glob("*/parameters.json")]
# What a default matrix doesn't come to, as the plans that do.
SETTINGS = {
    "download": [
        ["method=crt"],
        ['provisioned_pollers={"minimum":2,"maximum":5}'],
        *(
            ["method=stream,ranges,go_stream,go_ranges", f"sink={sink}"]
            for sink in ("discard", "memory", "tmp")
        ),
    ],
    "filesystem": [["read_method=pool"], ["storage=s3files", "with_s3files=true"]],
    "copy": [["pace=adaptive"]],
    "copy_host": [["bucket_key=false"]],
    "express": [["placement=same_zone"]],
}


class RecordedReads(Parameters):
    """Parameters that remember which of them were asked for."""

    def __init__(self, parameters):
        super().__init__([parameters.row(name) for name in parameters])
        self.names = set()

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)


def test_a_row_is_a_line_of_its_own_and_a_name_stands_once_in_a_file_and_has_one_unit():
    units = {}
    for path in FILES:
        rows = read(path)
        lines = [
            json.loads(line.strip(" ,"))["name"] for line in path.read_text().splitlines()[1:-1]
        ]
        assert Counter(lines) == Counter({row.name for row in rows})
        for row in rows:
            assert units.setdefault(row.name, row.unit) == row.unit, (path.name, row.name)


def ask(experiment, parameters, settings=()):
    """Everything that the model asks about the cells of a plan."""
    plan = make_plan(experiment, "aws", settings, messages_per_concurrency=1)
    for demand in demands(plan):
        work = experiment.work(demand.cell.values, parameters)
        for quota in (False, True):
            function.operation(work, demand.memory_mb, parameters, quota)
        flood_of(scenario_of(experiment, plan, demand), work, parameters)
        for published in experiment.published:
            if published.work:
                published.work(demand.cell.values, parameters)


def ask_of_checks(parameters):
    busy = {"concurrency_value": 9, "parallel_limit": 900, "object_bytes": 1000, "calls_per_s": 0}
    busy |= {"retry_mode": "standard", "retry_attempts": 5}
    for pace in ("fixed", "adaptive"):
        copy_work.throttled(busy | {"pace": pace}, parameters)


def test_every_row_is_asked_for_by_a_work_a_part_or_a_check():
    unasked = {path: {row.name for row in read(path)} for path in FILES}
    for name, experiment in EXPERIMENTS.items():
        parameters = RecordedReads(known_parameters(name))
        for settings in ([], *SETTINGS.get(name, ())):
            ask(experiment, parameters, settings)
        if name == "copy":
            ask_of_checks(parameters)
        for path in files(name):
            unasked[path] -= parameters.names
    assert {path: rows for path, rows in unasked.items() if rows} == {}
