"""What the work orders of the storage classes say: which objects, in how many slices, and what Athena is asked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import EXPERIMENTS
from experiments.express import orders as express_orders
from experiments.express import work as express_work
from stampede.planning.plan import make_plan
from tests.unit.experiments import express_values

EXPRESS = EXPERIMENTS["express"]
COUNTS, SLICES = st.integers(1, 100_000), st.integers(1, 1000)


def values(operation="download", **changes):
    usual = {"storage_class": "standard", "object_bytes": 10_000, "object_count": 7, "slices": 1, "parallel_limit": 1}
    return {"operation": operation, **usual, "query_limit_s": 600, **changes}


def plan(*settings, target="aws"):
    return make_plan(EXPRESS, target, settings, messages_per_concurrency=10)


def cell_values(plan, *names):
    return [tuple(cell.values[name] for name in names) for cell in plan.cells]


@pytest.mark.parametrize(
    ("operation", "object_bytes", "count"),
    [
        ("upload", 10_000, 77_577),
        ("upload", 1000, 77_577),
        ("download", 1_000_000, 775),
        ("download", 100_000_000, 100),
        ("count", 10_000, 700_000),
        ("aggregate", 100_000_000, 100),
    ],
)
def test_a_set_has_as_many_objects_as_the_published_one_and_about_as_many_bytes_at_other_sizes(
    operation, object_bytes, count
):
    assert express_orders.usual_count(operation, "express", object_bytes, 1) == count


def test_each_slice_of_the_default_matrix_ends_well_within_lambdas_15_minutes():
    names = ("operation", "storage_class", "object_bytes", "parallel_limit", "object_count", "slices")
    cells = {cell[:-1]: cell[-1] for cell in cell_values(plan(), *names)}
    for cell, slices in cells.items():
        if cell[0] in ("upload", "download"):
            values = express_values.cell(**dict(zip(names, (*cell, slices), strict=True)))
            assert express_work.alone(values).mean_s <= 600
    assert {cell: slices for cell, slices in cells.items() if slices > 1} == {
        ("upload", "standard", 10_000, 1, 77_577): 6,
        ("download", "standard", 10_000, 1, 77_577): 4,
    }


@given(COUNTS, SLICES)
def test_the_slices_have_every_object_once_and_begin_anew_with_each_repeat(count, slices):
    slices = min(slices, count)
    settings = values(object_count=count, slices=slices)
    messages = express_orders.messages(settings | {"messages_per_concurrency": 2})
    shares = [express_orders.its_slice(settings, index) for index in range(messages)]
    assert messages == 2 * slices
    assert shares[:slices] == shares[slices:]
    ends = [share["first_object"] + share["objects"] for share in shares[:slices]]
    assert [share["first_object"] for share in shares[:slices]] == [0, *ends[:-1]]
    assert ends[-1] == count and min(share["objects"] for share in shares) > 0


def test_a_query_is_over_the_whole_set_into_however_many_slices_a_plan_divides_it():
    settings = values(operation="count", object_count=9, slices=3)
    assert express_orders.messages(settings | {"messages_per_concurrency": 2}) == 2
    assert express_orders.its_slice(settings, 1) == {"first_object": 0, "objects": 9}


@pytest.mark.parametrize(
    ("object_bytes", "count", "parts"),
    [(10_000, 700_000, 2), (10_000, 77_577, 1), (100_000_000, 100, 1), (1_000_000_000, 100, 4), (100, 1, 1)],
)
def test_what_is_read_is_placed_whole_in_parts_that_one_invocation_can_do(object_bytes, count, parts):
    events = express_orders.seeding(values("count", object_bytes=object_bytes, object_count=count))
    assert json.loads(json.dumps(events)) == events
    orders = [event["place"] for event in events]
    ends = [order["first_object"] + order["objects"] for order in orders]
    assert (len(orders), ends[-1]) == (parts, count)
    assert [order["first_object"] for order in orders] == [0, *ends[:-1]]
    assert max(order["objects"] for order in orders) <= 350_000
    assert max(order["objects"] * object_bytes for order in orders) <= 25_000_000_000
    assert {(order["storage_class"], order["object_count"]) for order in orders} == {("standard", count)}


def test_nothing_is_placed_before_an_upload_and_it_is_no_query():
    assert list(express_orders.seeding(values("upload"))) == []
    from_functions = [EXPRESS.execution(values(operation)) for operation in ("upload", "download")]
    assert from_functions == [None, None]


def test_athena_is_asked_for_the_partition_of_the_set_where_the_stack_has_it():
    query = express_orders.execution(
        values("aggregate", storage_class="express", athena_workgroup_name="w", athena_database_name="d")
    )
    assert query.sql == (
        'SELECT count(*) AS row_count, sum(value) AS value_sum, max(value) AS value_max FROM "express" '
        "WHERE object_bytes = '10000' AND object_count = '7'"
    )
    assert (query.workgroup, query.database, query.limit_s) == ("w", "d", 600.0)
    assert express_orders.execution(values("count")).sql == (
        "SELECT count(*) AS row_count FROM \"standard\" WHERE object_bytes = '10000' AND object_count = '7'"
    )


@pytest.mark.parametrize("object_bytes", [100, 199, 5000, 99_999, 100_000, 100_100, 123_456, 1_000_000])
def test_the_expected_result_is_what_the_rows_add_up_to(object_bytes):
    rows = [number % 1000 for number in range(object_bytes // 100)]
    wanted = tuple(map(str, (3 * len(rows), 3 * sum(rows), max(rows))))
    assert express_orders.expected("aggregate", object_bytes, 3) == wanted
    assert express_orders.expected("count", object_bytes, 3) == wanted[:1]
