"""Sweeps through an embedded AWS that is as late as AWS (tests/fakes/late_aws.py), as a user types them."""

import itertools
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.commands import ROOT

SWEEPS = {
    "download": ["memory_size=1024", "object_size_mb=2", "timeout_s=20", "concurrency_value=1,3"],
    # Storages with and without a network, and subnets that come and go.
    "filesystem": [
        *("storage=efs,s3,s3_in_vpc", "subnet_count=1,2", "dataset=small", "small_files=5", "concurrency_value=2")
    ],
    # The function moves into its network and out of it again. Where Terraform destroys a network before it updates the
    # function, EC2 says DependencyViolation for longer than MOST_S.
    "express": [
        *("placement=any_zone,same_zone", "storage_class=standard,express", "operation=upload,download"),
        *("object_bytes=1000", "parallel_limit=5", "concurrency_value=2"),
    ],
}
MOST_S = 900

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MOST_S + 60)]


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """All of them at once, each with an embedded AWS of its own: they mostly wait. Process and folder of each."""
    started = {}
    for experiment, settings in SWEEPS.items():
        work = tmp_path_factory.mktemp(experiment)
        command = [sys.executable, "-m", "tests.fakes.late_aws", "sweep", experiment, "--messages-per-concurrency", "3"]
        command += [part for setting in settings for part in ("--set", setting)]
        environment = os.environ | {"STAMPEDE_STATE_DIR": str(work / "state"), "PYTHONPATH": str(ROOT)}
        with (work / "output").open("w") as output:
            started[experiment] = (
                work,
                subprocess.Popen(
                    command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
                ),
            )
    yield started
    for _, process in started.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)


@pytest.mark.parametrize(
    ("experiment", "lateness"),
    [
        ("download", "lines aren't shown yet"),
        ("download", "judged by the policies before"),
        ("express", "judged by the policies before"),
        ("filesystem", "is in use"),
    ],
)
def test_a_sweep_passes_and_accounts_for_every_message(sweeps, experiment, lateness):
    work, process = sweeps[experiment]
    status, output = process.wait(timeout=MOST_S), (work / "output").read_text()
    assert status == 0, output[-3000:]
    assert "0 dead-lettered" in output
    assert lateness in (work / "state" / "emulator.log").read_text()


def test_a_function_leaves_its_network_in_one_apply(sweeps):
    """It sits there until Terraform has updated it: what goes before would be refused for as long (issue #13661 of
    terraform-provider-aws)."""
    work, process = sweeps["express"]
    assert process.wait(timeout=MOST_S) == 0
    placements = re.findall(r"apply .*-var=placement=(\w+)", (work / "output").read_text())
    assert ("same_zone", "any_zone") in itertools.pairwise(placements)
