"""Sweeps on an embedded AWS with the delays of AWS (tests/fakes/late_aws.py)."""

import itertools
import re
import signal

import pytest

from tests.emulator.embedded_aws import begin, settings

SWEEPS = {
    "download": ["memory_size=1024", "object_size_mb=2", "timeout_s=20", "concurrency_value=1,3"],
    # The function moves into its network and out again. If Terraform destroyed a network before it
    # updates the function, EC2 would answer DependencyViolation for longer than MOST_S.
    "express": [
        "placement=any_zone,same_zone",
        "storage_class=standard,express",
        "operation=upload,download",
        "object_bytes=1000",
        "parallel_limit=5",
        "concurrency_value=2",
    ],
}
LATE = {"download": ["lines aren't shown yet"], "express": []}
MOST_S = 900


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """Folders and processes of all sweeps, which run at once: they mostly wait."""
    started = {}
    for experiment, assignments in SWEEPS.items():
        work = tmp_path_factory.mktemp(experiment)
        command = ["sweep", experiment, "--messages-per-concurrency", "3", *settings(*assignments)]
        with (work / "output").open("w") as output:
            streams = {"stdout": output, "stderr": output}
            process = begin(work, *command, program="tests.fakes.late_aws", **streams)
        started[experiment] = (work, process)
    yield started
    for _, process in started.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)


@pytest.mark.slow
@pytest.mark.timeout(MOST_S + 60)
@pytest.mark.parametrize("experiment", SWEEPS)
def test_a_sweep_on_a_late_aws_accounts_for_every_message(sweeps, experiment):
    work, process = sweeps[experiment]
    status, output = process.wait(timeout=MOST_S), (work / "output").read_text()
    assert status == 0, output[-3000:]
    assert "0 dead-lettered" in output
    log = (work / "state" / "emulator.log").read_text()
    assert all(lateness in log for lateness in [*LATE[experiment], "judged by the policies before"])
    if experiment == "express":
        # In one apply the function leaves its network. A network can't be destroyed until the
        # function is updated (issue #13661 of terraform-provider-aws).
        placements = re.findall(r"placement=(\w+),\S+ terraform apply", output)
        assert ("same_zone", "any_zone") in itertools.pairwise(placements)
