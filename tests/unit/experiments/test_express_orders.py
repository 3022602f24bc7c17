"""The work orders of the storage classes: their objects, their slices, and Athena's queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.express import orders as express_orders
from experiments.express.work import alone
from tests.unit.plans import plan, values

COUNTS, SLICES = st.integers(1, 100_000), st.integers(1, 1000)


def order(operation="download", **changes):
    return values("express", operation=operation, **{"object_count": 7, "slices": 1} | changes)


def in_a_row(shares):
    """Whether the shares start at 0, have no gaps and are never empty; and their end."""
    ends = [0, *(share["first_object"] + share["objects"] for share in shares)]
    return [share["first_object"] for share in shares] == ends[:-1] == sorted({*ends[:-1]}), ends[
        -1
    ]


@pytest.mark.parametrize(
    ("operation", "object_bytes", "count"),
    [
        ("upload", 10_000, 77_577),
        ("download", 1_000_000, 775),
        ("download", 100_000_000, 100),
        ("count", 10_000, 700_000),
    ],
)
def test_a_set_has_as_many_objects_as_the_published_one_and_about_as_many_bytes(
    operation, object_bytes, count
):
    variables = values("express", operation=operation, object_bytes=object_bytes)
    assert variables["object_count"] == count


def test_each_slice_of_the_default_matrix_ends_well_within_lambdas_15_minutes():
    sliced = {}
    for cell in (cell.values for cell in plan(experiment="express").cells):
        assert cell["operation"] == "count" or alone(cell).mean_s <= 600
        if cell["slices"] > 1:
            assert (cell["object_count"], cell["parallel_limit"]) == (77_577, 1)
            sliced[cell["operation"], cell["storage_class"]] = cell["slices"]
    assert sliced == {("upload", "standard"): 6, ("download", "standard"): 4}


@given(COUNTS, SLICES)
def test_the_slices_hold_every_object_once_and_restart_with_each_repeat(count, slices):
    slices = min(slices, count)
    cell = order(object_count=count, slices=slices)
    messages = express_orders.messages(cell | {"messages_per_concurrency": 2})
    shares = [express_orders.its_slice(cell, index) for index in range(messages)]
    assert messages == 2 * slices and shares[:slices] == shares[slices:]
    assert in_a_row(shares[:slices]) == (True, count)


def test_a_query_reads_the_whole_set_regardless_of_slices():
    cell = order("count", slices=3)
    assert express_orders.messages(cell | {"messages_per_concurrency": 2}) == 2
    assert express_orders.its_slice(cell, 1) == {"first_object": 0, "objects": 7}


@pytest.mark.parametrize(
    ("object_bytes", "count", "parts"),
    [(10_000, 700_000, 2), (10_000, 77_577, 1), (1_000_000_000, 100, 4), (100, 1, 1)],
)
def test_a_data_set_is_uploaded_whole_in_parts_that_fit_an_invocation(object_bytes, count, parts):
    events = express_orders.seeding(order("count", object_bytes=object_bytes, object_count=count))
    placed = [event["place"] for event in events]
    assert (len(placed), in_a_row(placed)) == (parts, (True, count))
    most = max(part["objects"] for part in placed)
    assert most <= 350_000 and most * object_bytes <= 25_000_000_000
    assert {part["storage_class"] for part in placed} == {"standard"}
    assert [*express_orders.seeding(order("upload"))] == []


@pytest.mark.parametrize(
    ("operation", "selected"),
    [
        ("count", "count(*) AS row_count"),
        ("aggregate", "count(*) AS row_count, sum(value) AS value_sum, max(value) AS value_max"),
    ],
)
def test_the_query_selects_the_partition_of_the_set(operation, selected):
    stack = {"athena_workgroup_name": "w", "athena_database_name": "d"}
    query = express_orders.execution(order(operation, storage_class="express") | stack)
    where = "object_bytes = '10000' AND object_count = '7'"
    assert query.sql == f'SELECT {selected} FROM "express" WHERE {where}'
    assert (query.workgroup, query.database, query.limit_s) == ("w", "d", 600.0)


@pytest.mark.parametrize("object_bytes", [100, 199, 99_999, 100_000, 123_456])
def test_the_expected_result_is_the_sum_of_the_rows(object_bytes):
    rows = [number % 1000 for number in range(object_bytes // 100)]
    wanted = tuple(map(str, (3 * len(rows), 3 * sum(rows), max(rows))))
    assert express_orders.expected("aggregate", object_bytes, 3) == wanted
    assert express_orders.expected("count", object_bytes, 3) == wanted[:1]
