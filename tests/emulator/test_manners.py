"""A sweep of each experiment through AWS's manners, as a user types it: `make test-slow`."""

import itertools
import os
import re
import signal
import subprocess

import pytest

from tests.emulator.applied_stack import STAMPEDE

SWEEPS = {
    "download": ["memory_size=1024", "object_size_mb=2", "timeout_s=20", "concurrency_value=1,3"],
    # Storages with and without a network, and mount targets that come and go.
    "filesystem": [
        "storage=efs,s3,s3_in_vpc",
        "subnet_count=1,2",
        "dataset=small",
        "small_files=5",
        "concurrency_value=2",
    ],
    "copy": ["parallel_limit=5,10"],
    "copy_host": ["parallel_limit=10", "object_count=300"],
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
        command = [*STAMPEDE, "sweep", experiment, *(part for setting in settings for part in ("--set", setting))]
        command += [] if experiment.startswith("copy") else ["--messages-per-concurrency", "3"]
        environment = os.environ | {"STAMPEDE_STATE_DIR": str(work / "state"), "STAMPEDE_MANNERS": "1"}
        with (work / "output").open("w") as output:
            process = subprocess.Popen(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        started[experiment] = process, work
    yield started
    for process, _ in started.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)


@pytest.mark.parametrize("experiment", SWEEPS)
def test_a_sweep_passes_and_accounts_for_every_message(sweeps, experiment):
    process, work = sweeps[experiment]
    status, output = process.wait(timeout=MOST_S), (work / "output").read_text()
    assert status == 0, output[-3000:]
    assert "0 dead-lettered" in output
    answered = (work / "state" / "emulator.log").read_text()
    assert "stampede.emulator.manners" in answered, "nothing was refused: it ran without manners"


def test_a_function_leaves_its_network_in_one_apply(sweeps):
    """It sits there until Terraform has updated it: what goes before would be refused for as long (issue #13661 of
    terraform-provider-aws)."""
    process, work = sweeps["express"]
    assert process.wait(timeout=MOST_S) == 0
    placements = re.findall(r"apply .*-var=placement=(\w+)", (work / "output").read_text())
    assert ("same_zone", "any_zone") in itertools.pairwise(placements)
