"""A cell is the same from its plan to its record, and in run.json of this and the first edition."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.cell import FORMAT, MOST_CELLS, Cell, cells_of
from stampede.planning.plan import make_plan

DOWNLOAD = EXPERIMENTS["download"]


def cells(*settings, **options):
    return make_plan(DOWNLOAD, "local", settings, messages_per_concurrency=2, **options).cells


def test_run_json_keeps_the_cells_and_their_order():
    planned = cells("method=stream,ranges", "object_size_mb=1,2", repeats=2)
    stored = json.loads(
        json.dumps({"format": FORMAT, "cells": [cell.as_json() for cell in planned]})
    )
    found = cells_of(stored, DOWNLOAD)
    assert list(found) == [cell.name for cell in planned]
    assert [vars(found[cell.name]) for cell in planned] == [vars(cell) for cell in planned]


def test_a_record_is_compared_with_the_settings_of_its_cell():
    [cell] = cells("memory_size=1024", "concurrency_value=5")
    record = {"memory_size": 1024, "concurrency_limit": 5, "method": "download_file"}
    assert cell.difference(record) is None
    difference = cell.difference(record | {"memory_size": 512})
    assert str(difference) == "memory_size 512 where the cell has 1024"
    assert cell.difference(record | {"sink": "discard"}).field == "sink"


FIRST_EDITION = {
    "format": 1,
    "plan": {
        "swept": {"concurrency_value": [1, 5], "object_size_mb": [1, 2]},
        "fixed": {"memory_size": 1024},
        "repeats": 2,
        "order": ["a", "b", "c"],
        "cells": [
            {"cell": "a", "repeat": 1, "concurrency_value": 1, "object_size_mb": 1},
            {"cell": "b", "repeat": 2, "concurrency_value": 5, "object_size_mb": 2},
        ],
    },
    "cells": [{"cell": "a", "repeat": 1, "concurrency_value": 1, "finished_at": "now"}],
    "settings": {"b": {"method": "stream", "sink": "discard"}},
}


def test_the_cells_of_a_first_edition_run_come_from_its_plan_floods_and_stacks():
    found = cells_of(FIRST_EDITION, DOWNLOAD)
    assert list(found) == ["a", "b", "c"]
    assert found["a"].words == "1,024 MB, N = 1, download_file, object_size_mb=1"
    assert found["b"].words == "1,024 MB, N = 5, stream, object_size_mb=2"
    assert (found["a"].repeat, found["b"].repeat, found["c"].repeat) == (1, 2, None)
    assert found["a"].block != found["b"].block
    assert found["c"].place() is None  # its N is unknown


@pytest.mark.parametrize(
    "manifest",
    [
        {"format": FORMAT, "cells": [3, None, {"cell": 5}, {"cell": "a", "values": "x"}]},
        {"format": 1, "cells": [{"cell": ["a"]}, 7], "plan": [], "settings": "x"},
        {"format": 1, "plan": {"cells": {"a": 1}, "order": [1, None], "swept": [], "fixed": 3}},
        {},
    ],
)
def test_an_invalid_cell_is_left_out(manifest):
    assert cells_of(manifest, DOWNLOAD) == {}


def test_the_number_of_cells_is_limited():
    row = Cell("a", {}, DOWNLOAD.axes).as_json()
    stored = {
        "format": FORMAT,
        "cells": [row | {"cell": str(number)} for number in range(MOST_CELLS + 1)],
    }
    assert len(cells_of(stored, DOWNLOAD)) == MOST_CELLS
