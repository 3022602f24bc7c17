"""An operation on one machine, by hand arithmetic: client and embedded S3 at once or in turn, and what they share."""

from dataclasses import replace

import numpy as np
import pytest

from stampede.model.flood import Flood
from stampede.model.machine import EMBEDDED, PROCESSORS, cold_start, operation
from stampede.model.operations import of
from stampede.model.parameters import CALIBRATION, Parameter, Parameters
from stampede.model.simulation import run
from stampede.model.trigger import Trigger
from stampede.model.work import Step, Work

GIB, MIB = 2**30, 2**20
VALUES = {
    "processors": 2.0,
    "client_slowness": 1.0,
    "embedded_request_cpu_s": 0.0008,
    "embedded_role_slowness": 1.25,
    "embedded_get_cpu_s_per_gib": 1.0,
    "embedded_large_get_cpu_s_per_gib": 2.0,
    "embedded_put_cpu_s_per_gib": 4.0,
    "large_body_bytes": 2 * GIB,
    "message_cpu_s": 0.02,
    "message_elsewhere_cpu_s": 0.01,
    "hand_over_s": 0.05,
    "cold_spread": 0.1,
    "socket_buffer_bytes": 2**18,
}


def parameters(**changed):
    rows = (VALUES | changed).items()
    return Parameters([Parameter(name, v, v, v, "", "guessed", "test", "2026") for name, v in rows], "local")


def alone(*steps, changed=None, **work):
    return operation(Work(steps, **work), parameters(**(changed or {})))[0]


def test_requests_one_at_a_time_take_client_and_embedded_s3_in_turn():
    op = alone(Step("gets", requests=100, rate="s3_get", cpu_s=0.3, threads=1))
    assert op.mean_s == pytest.approx(0.3 + 100 * 0.001)
    assert op.requests_per_s == pytest.approx(100 / 0.4)


def test_requests_many_at_a_time_take_as_long_as_the_busier_of_client_and_embedded_s3():
    many = {"requests": 1000, "rate": "s3_get", "at_once": 10}
    client, server = alone(Step("gets", cpu_s=3.0, **many)), alone(Step("gets", cpu_s=0.2, **many))
    assert (client.mean_s, client.bottleneck) == (pytest.approx(3.0), "the client's processing")
    assert (server.mean_s, server.bottleneck) == (pytest.approx(1.0), EMBEDDED)


def test_one_large_body_is_sent_and_received_at_the_same_time():
    assert alone(Step("get", requests=1, rate="s3_get", bytes=GIB, cpu_s=0.5)).mean_s == pytest.approx(1.001)


def test_what_the_embedded_s3_takes_costs_it_more_than_what_it_sends():
    sent, taken = (alone(Step("it", requests=1, rate=rate, bytes=GIB)) for rate in ("s3_get", "s3_put"))
    assert (sent.mean_s, taken.mean_s) == (pytest.approx(1.001), pytest.approx(4.001))


def test_a_mount_and_a_cap_of_the_worker_s_own_are_no_work_of_the_embedded_s3():
    mount = alone(Step("copy", requests=10, request_s=0.01, mount_bytes=300, mount_bytes_per_s=100, cpu_s=1))
    assert (mount.mean_s, mount.bottleneck) == (pytest.approx(3.0), "the mount")
    assert mount.demands[EMBEDDED] == pytest.approx(0.02 / (3.0 + 0.05))
    assert alone(Step("copies", requests=100, rate="s3_put"), calls_per_s_cap=20).mean_s == pytest.approx(5.0)


def test_a_machine_that_is_busy_makes_the_client_slower_and_more_memory_changes_nothing():
    work = Work([Step("it", cpu_s=2.0)])
    slow = parameters(client_slowness=1.5)
    assert [of(work, memory_mb, slow)[0].mean_s for memory_mb in (128, 10240)] == [pytest.approx(3.0)] * 2


def test_a_body_for_which_memory_is_new_costs_the_embedded_s3_more():
    large = alone(Step("it", requests=2, rate="s3_get", bytes=2 * GIB), changed={"large_body_bytes": GIB / 2})
    assert large.mean_s == pytest.approx(2 * 2.0 + 0.002)


def test_handing_messages_out_is_work_beside_that_of_the_operations():
    op = alone(Step("gets", requests=100, rate="s3_get", cpu_s=0.3))
    assert op.demands[PROCESSORS] == pytest.approx(1.0 + 0.03 / (0.4 + 0.05))
    assert op.demands[EMBEDDED] == pytest.approx(0.25 + 0.02 / (0.4 + 0.05))


def test_an_operation_that_the_embedded_aws_holds_up_alone_is_not_slowed_by_handing_out():
    op, limits = operation(Work([Step("it", requests=1, rate="s3_get", bytes=GIB)]), parameters())
    assert all(op.demands[limit.name] <= limit.per_s[0] + 1e-9 for limit in limits)


def test_calibrated_processors_are_those_that_were_free():
    row = parameters().row("processors")
    calibrated = parameters().with_rows([replace(row, source=f"{CALIBRATION} at the start of the run")])
    units = [operation(Work([Step("it", cpu_s=1.0)]), rows)[1][0].unit for rows in (parameters(), calibrated)]
    assert units == ["for all", "free at the calibration"]


def test_ten_at_once_share_the_processors():
    work = Work([Step("it", requests=1, rate="s3_get", at_once=9, bytes=GIB, cpu_s=2.0, threads=2)])
    op, limits = operation(work, parameters(message_cpu_s=1e-9, message_elsewhere_cpu_s=1e-9))
    assert [(limit.name, limit.per_s) for limit in limits] == [(PROCESSORS, (2.0,)), (EMBEDDED, (1.0,))]
    flood = Flood(100, 10, 1e6, Trigger(10, 0, 10), 900, 900)
    assert run(flood, op, limits, 1).avg_s == pytest.approx(10 * (2.0 + 1.001) / 2, rel=0.02)


def test_the_first_operation_of_an_environment_may_be_another_and_all_scatter_around_their_mean():
    later = Work([Step("it", cpu_s=1.0)], spread=0.2)
    op = alone(Step("prepare", cpu_s=0.5), Step("it", cpu_s=1.0), repeat=later)
    random = np.random.default_rng(1)
    drawn = op.draw(random, 10_000, False)
    assert op.draw(random, 2, True).tolist() == [1.5, 1.5]
    assert (drawn.mean(), drawn.std()) == (pytest.approx(1.0, rel=0.01), pytest.approx(0.2, rel=0.05))


def test_cold_starts_at_once_share_the_processors_and_come_one_after_the_other():
    assert cold_start(0.4, 10, parameters()) == (pytest.approx(2.0), 0.1)
    assert cold_start(0.4, 1, parameters()) == (0.4, 0.0)
    cold_s, spread = cold_start(0.4, 10, parameters())
    flood = Flood(10, 10, 1e6, Trigger(10, 0, 10), 900, 900, cold_start_s=cold_s, cold_spread=spread)
    op, limits = operation(Work([Step("it", cpu_s=10.0)]), parameters())
    result = run(flood, op, limits, 1)
    assert 0.2 < result.time_to_n_s < 1.2
    assert run(replace(flood, cold_spread=0.0), op, limits, 1).time_to_n_s < 0.001
