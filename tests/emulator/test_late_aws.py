"""Sweeps through an embedded AWS that is as late as AWS (tests/fakes/late_aws.py), as a user types
them."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from botocore.exceptions import ClientError

from stampede.emulator import ministack
from tests.commands import ROOT
from tests.emulator.embedded_aws import client, embedded_aws, make_role, settings
from tests.fakes import late_aws

SWEEPS = {
    "download": ["memory_size=1024", "object_size_mb=2", "timeout_s=20", "concurrency_value=1,3"],
    # The function moves into its network and out of it again. Where Terraform destroys a network
    # before it updates the function, EC2 says DependencyViolation for longer than MOST_S.
    "express": [
        *(
            "placement=any_zone,same_zone",
            "storage_class=standard,express",
            "operation=upload,download",
        ),
        *("object_bytes=1000", "parallel_limit=5", "concurrency_value=2"),
    ],
}
LATE = {"download": ["lines aren't shown yet"], "express": []}
MOST_S = 900
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


def test_a_network_is_in_use_as_long_as_a_function_is_in_it_and_a_while_after(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(ministack, "KEEPER", "tests.fakes.late_aws")
    with embedded_aws(tmp_path / "state") as running:
        ec2, functions, iam = (
            client(service, running.access) for service in ("ec2", "lambda", "iam")
        )
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20")["Subnet"]["SubnetId"]
        network = {"SubnetIds": [subnet], "SecurityGroupIds": ["sg-1"]}
        runs = {
            "Runtime": "python3.12",
            "Handler": "i.h",
            "Role": make_role(iam, "r"),
            "Code": {"ZipFile": EMPTY_ZIP},
        }
        functions.create_function(FunctionName="f", VpcConfig=network, **runs)
        for leave in (lambda **_: None, functions.delete_function):
            leave(FunctionName="f")
            with pytest.raises(ClientError, match="DependencyViolation"):
                ec2.delete_subnet(SubnetId=subnet)
        time.sleep(late_aws.LINGERS_S)
        ec2.delete_subnet(SubnetId=subnet)


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """All of them at once, each with an embedded AWS of its own: they mostly wait. Process and
    folder of each."""
    started = {}
    for experiment, assignments in SWEEPS.items():
        work = tmp_path_factory.mktemp(experiment)
        command = [
            sys.executable,
            "-m",
            "tests.fakes.late_aws",
            "sweep",
            experiment,
            "--messages-per-concurrency",
            "3",
        ]
        environment = os.environ | {
            "STAMPEDE_STATE_DIR": str(work / "state"),
            "PYTHONPATH": str(ROOT),
        }
        with (work / "output").open("w") as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            command += settings(*assignments)
            started[experiment] = (
                work,
                subprocess.Popen(command, cwd=work, env=environment, **streams),
            )
    yield started
    for _, process in started.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)


@pytest.mark.slow
@pytest.mark.timeout(MOST_S + 60)
@pytest.mark.parametrize("experiment", SWEEPS)
def test_a_sweep_passes_and_accounts_for_every_message(sweeps, experiment):
    work, process = sweeps[experiment]
    status, output = process.wait(timeout=MOST_S), (work / "output").read_text()
    assert status == 0, output[-3000:]
    assert "0 dead-lettered" in output
    log = (work / "state" / "emulator.log").read_text()
    assert all(lateness in log for lateness in [*LATE[experiment], "judged by the policies before"])
    if experiment == "express":
        # The function leaves its network in one apply. It sits there until Terraform has updated
        # it: what goes before would be refused for as long (issue #13661 of
        # terraform-provider-aws).
        placements = re.findall(r"placement=(\w+),\S+ terraform apply", output)
        assert ("same_zone", "any_zone") in itertools.pairwise(placements)
