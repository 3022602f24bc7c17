"""What a calibration's figures mean for the model, by hand arithmetic; and one that fails is only said."""

import pytest

from experiments import EXPERIMENTS
from loader.predicting import parameters_of
from loader.run import calibration
from loader.run.calibration import Measured, Took, calibrated, measure, parameters
from loader.target import Target

KNOWN = parameters_of(EXPERIMENTS["download"], "local")
DOWNLOADED_GIB = calibration.DOWNLOADS * calibration.LARGE_MB / 1024
# Four downloads of 64 MiB (nine requests each) and 150 requests by a client twice as slow as the one of the file, at an
# embedded AWS that takes 1 ms a request and 2 s a GiB.
ALONE = Took(0.9, 2 * KNOWN["download_file_tmp_cpu_s_per_gib"] * DOWNLOADED_GIB, 36 * 0.001 + 2 * DOWNLOADED_GIB)
MANY = 3 * calibration.DOWNLOADS_TOGETHER
ASKED = Took(0.5, 2 * KNOWN["calibration_request_cpu_s"] * 150, 150 * 0.001)


def values(together_s, processors=4, server_s=ALONE.server_s / calibration.DOWNLOADS * MANY):
    rows = parameters(Measured(ALONE, ASKED, Took(together_s, 9.0, server_s), 3), KNOWN, processors)
    assert all(row.low <= row.value <= row.high and row.known == "measured" for row in rows)
    return {row.name: pytest.approx(row.value) for row in rows}


def test_clients_and_embedded_aws_are_told_by_what_they_took_alone():
    found = values(30.0)
    assert found["client_slowness"] == 2
    assert found["embedded_request_cpu_s"] == 0.001
    assert found["embedded_get_cpu_s_per_gib"] == 2


def test_what_passed_together_is_what_is_left_of_the_processors():
    each_s = (ALONE.client_s + ALONE.server_s) / calibration.DOWNLOADS
    assert values(MANY * each_s / 1.5, processors=2)["processors"] == 1.5
    assert values(MANY * each_s / 2.2, processors=2)["processors"] == 2


def test_an_embedded_aws_that_held_all_clients_up_tells_nothing_of_the_processors():
    assert values(10.0, processors=16, server_s=9.5)["processors"] == 16


def test_a_clock_too_coarse_for_what_was_measured_is_no_parameter(monkeypatch, capsys):
    monkeypatch.delenv(calibration.LEFT_OUT)
    nothing = Took(0.5, ASKED.client_s, 0.0)
    monkeypatch.setattr(calibration, "measure", lambda target: Measured(ALONE, nothing, Took(9.0, 9.0, 1.0), 3))
    assert calibrated(Target("local", {}), KNOWN) is KNOWN
    assert "embedded_request_cpu_s: value must be a number above 0" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("error", [calibration.CalibrationError("a client ended"), OSError("no room")])
def test_a_calibration_that_fails_is_said_and_the_file_s_parameters_stay(error, monkeypatch, capsys):
    def fail(target):
        raise error

    monkeypatch.delenv(calibration.LEFT_OUT)
    monkeypatch.setattr(calibration, "measure", fail)
    assert calibrated(Target("local", {}), KNOWN) is KNOWN
    assert f"couldn't be calibrated ({error})" in " ".join(capsys.readouterr().err.split())


def test_nothing_is_measured_where_no_embedded_aws_runs(monkeypatch):
    monkeypatch.setattr(calibration.ministack, "running", lambda folder: None)
    with pytest.raises(calibration.CalibrationError, match="doesn't tell"):
        measure(Target("local", {}))


def test_a_client_that_ends_without_a_word_is_an_error(monkeypatch):
    monkeypatch.setattr(calibration.sys, "executable", "true")
    target = Target("local", {"region": "us-east-1"}, "http://127.0.0.1:9")
    with calibration._clients(target, 1) as [client], pytest.raises(calibration.CalibrationError, match="ended"):
        client.line()
