"""What a calibration's figures mean for the model, by hand arithmetic; and one that fails is only said."""

import time
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede.planning.predicting import parameters_of
from stampede.stacks.target import Target
from stampede.sweep import calibration
from stampede.sweep.calibration import CalibrationError, Measured, Took, calibrated, measure, parameters

KNOWN = parameters_of(EXPERIMENTS["download"], "local")
DOWNLOADED_GIB = 4 * calibration.LARGE_MB / 1024
# Four downloads of 64 MiB (nine requests each) and 150 requests by a client twice as slow as the one of the file, at an
# embedded AWS that takes 1 ms a request and 2 s a GiB.
EACH_CLIENT_S = 2 * KNOWN["download_file_tmp_cpu_s_per_gib"] * DOWNLOADED_GIB / 4
ALONE_S = EACH_CLIENT_S / KNOWN["python_processors"] + KNOWN["last_part_s"]
ALONE = Took(4, 1 / ALONE_S, 36 * 0.001 + 2 * DOWNLOADED_GIB)
REQUESTS = Took(150, 300, 150 * 0.001)
EACH_SERVER_S = ALONE.server_s / 4
EACH_S = EACH_CLIENT_S + EACH_SERVER_S


def values(per_s, processors=4):
    together = Took(20, per_s, 20 * EACH_SERVER_S)
    rows = parameters(Measured(ALONE, REQUESTS, together, 3), KNOWN, processors)
    assert all(row.low <= row.value <= row.high and row.known == "measured" for row in rows)
    return {row.name: pytest.approx(row.value) for row in rows}


def test_clients_and_embedded_aws_are_measured_by_what_they_took_alone():
    parameter_values = values(3.0)
    assert parameter_values["client_slowness"] == 2
    assert parameter_values["embedded_request_cpu_s"] == 0.001
    assert parameter_values["embedded_get_cpu_s_per_gib"] == 2


def test_what_passed_together_is_what_the_processors_give_in_seconds_of_one_that_is_alone():
    assert values(1.5 / EACH_S, processors=2)["processors"] == 1.5
    assert values(2.2 / EACH_S, processors=2)["processors"] == 2.2


def test_an_embedded_aws_that_held_all_clients_up_tells_nothing_of_the_processors():
    assert values(0.95 / EACH_SERVER_S, processors=16)["processors"] == 16


def test_a_clock_too_coarse_for_what_was_measured_is_no_parameter(monkeypatch, capsys):
    monkeypatch.delenv(calibration.LEFT_OUT)
    nothing = Took(150, 300, 0.0)
    monkeypatch.setattr(calibration, "measure", lambda target: Measured(ALONE, nothing, ALONE, 3))
    assert calibrated(Target("local", {}), KNOWN) is KNOWN
    assert "embedded_request_cpu_s: value must be a number above 0" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("error", [calibration.CalibrationError("a client exited"), OSError("no room")])
def test_a_calibration_that_fails_is_said_and_the_file_s_parameters_stay(error, monkeypatch, capsys):
    def fail(target):
        raise error

    monkeypatch.delenv(calibration.LEFT_OUT)
    monkeypatch.setattr(calibration, "measure", fail)
    assert calibrated(Target("local", {}), KNOWN) is KNOWN
    assert f"couldn't be calibrated ({error})" in " ".join(capsys.readouterr().err.split())


def test_nothing_is_measured_where_no_embedded_aws_runs(monkeypatch):
    monkeypatch.setattr(calibration.ministack, "running", lambda folder: None)
    with pytest.raises(calibration.CalibrationError, match="doesn't report"):
        measure(Target("local", {}))


def test_a_stack_in_another_region_is_measured_where_buckets_need_no_location(monkeypatch):
    def end(target, count):
        raise CalibrationError(f"{count} clients in {target.region}")

    monkeypatch.setattr(calibration.ministack, "running", lambda folder: SimpleNamespace(pid=1))
    monkeypatch.setattr(calibration, "cpu_seconds", lambda pid: 1.0)
    monkeypatch.setattr(calibration.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(calibration, "_clients", end)
    with pytest.raises(CalibrationError, match="2 clients in us-east-1"):
        measure(Target("local", {"region": "eu-west-1"}, "http://127.0.0.1:9"))


def clients(monkeypatch, tmp_path, program):
    """Two clients that are this shell program."""
    monkeypatch.setattr(calibration.stack, "STATE_DIR", tmp_path / "state")
    executable = tmp_path / "client"
    executable.write_text(f"#!/bin/sh\n{program}\n")
    executable.chmod(0o700)
    monkeypatch.setattr(calibration.sys, "executable", executable)
    return calibration._clients(Target("local", {"region": "us-east-1"}, "http://127.0.0.1:9"), 2)


def test_a_client_that_ends_without_a_word_is_an_error(monkeypatch, tmp_path):
    with (
        clients(monkeypatch, tmp_path, "true") as [client, _],
        pytest.raises(CalibrationError, match="a client exited"),
    ):
        client.line()


def test_a_calibration_takes_so_long_at_most_and_leaves_nothing_behind(monkeypatch, tmp_path):
    program = 'touch "$6"; echo ready; exec sleep 60'
    with clients(monkeypatch, tmp_path, program) as both:
        assert [client.line() for client in both] == ["ready\n"] * 2
        assert len(list((tmp_path / "state" / "calibration").iterdir())) == 2
        both[0]._deadline_s = time.monotonic()
        with pytest.raises(CalibrationError, match="took longer than 30 s"):
            both[0].line()
    assert not (tmp_path / "state" / "calibration").exists()
    assert all(client._process.poll() is not None for client in both)


def test_what_was_calibrated_is_reported_with_units(monkeypatch, capsys):
    together = Took(20, 1.5 / EACH_S, 20 * EACH_SERVER_S)
    monkeypatch.delenv(calibration.LEFT_OUT, raising=False)
    monkeypatch.setattr(calibration, "measure", lambda target: Measured(ALONE, REQUESTS, together, 3))
    calibrated(Target("local", {}), KNOWN)
    assert capsys.readouterr().err.endswith(
        "s: a client takes 2 times the seconds of the model's machine; the embedded S3 takes 1 ms of CPU for a request "
        "and 2 s for a GiB; all clients together get the work of 1.5 processors\n"
    )
