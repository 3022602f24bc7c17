"""Sweeps through an embedded AWS that is as late as AWS (tests/fakes/late_aws.py), as a user types them."""

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

import boto3
import pytest
from botocore.exceptions import ClientError

from stampede.emulator import ministack
from tests.commands import ROOT
from tests.fakes import late_aws

SWEEPS = {
    "download": ["memory_size=1024", "object_size_mb=2", "timeout_s=20", "concurrency_value=1,3"],
    # The function moves into its network and out of it again. Where Terraform destroys a network before it updates the
    # function, EC2 says DependencyViolation for longer than MOST_S.
    "express": [
        *("placement=any_zone,same_zone", "storage_class=standard,express", "operation=upload,download"),
        *("object_bytes=1000", "parallel_limit=5", "concurrency_value=2"),
    ],
}
MOST_S = 900
TRUST = json.dumps(
    {"Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
)


def test_a_network_is_in_use_as_long_as_a_function_is_in_it_and_a_while_after(tmp_path, monkeypatch):
    monkeypatch.setattr(ministack, "KEEPER", "tests.fakes.late_aws")
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("i.py", "def h(event, context): ...")
    where = {"region_name": ministack.REGION}
    access = ministack.start(tmp_path / "state", follow_parent=True).access
    try:
        ec2, functions, iam = (
            boto3.client(service, endpoint_url=access.endpoint_url, **where, **access.key)
            for service in ("ec2", "lambda", "iam")
        )
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20")["Subnet"]["SubnetId"]
        network = {"SubnetIds": [subnet], "SecurityGroupIds": ["sg-1"]}
        role = iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
        settings = {"Runtime": "python3.12", "Handler": "i.h", "Role": role}
        functions.create_function(FunctionName="f", Code={"ZipFile": code.getvalue()}, VpcConfig=network, **settings)
        for leave in (lambda **_: None, functions.delete_function):
            leave(FunctionName="f")
            with pytest.raises(ClientError, match="DependencyViolation"):
                ec2.delete_subnet(SubnetId=subnet)
        time.sleep(late_aws.LINGERS_S)
        ec2.delete_subnet(SubnetId=subnet)
    finally:
        ministack.stop(tmp_path / "state")


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


@pytest.mark.slow
@pytest.mark.timeout(MOST_S + 60)
@pytest.mark.parametrize(
    ("experiment", "lateness"),
    [
        ("download", "lines aren't shown yet"),
        ("download", "judged by the policies before"),
        ("express", "judged by the policies before"),
    ],
)
def test_a_sweep_passes_and_accounts_for_every_message(sweeps, experiment, lateness):
    work, process = sweeps[experiment]
    status, output = process.wait(timeout=MOST_S), (work / "output").read_text()
    assert status == 0, output[-3000:]
    assert "0 dead-lettered" in output
    assert lateness in (work / "state" / "emulator.log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(MOST_S + 60)
def test_a_function_leaves_its_network_in_one_apply(sweeps):
    """It sits there until Terraform has updated it: what goes before would be refused for as long (issue #13661 of
    terraform-provider-aws)."""
    work, process = sweeps["express"]
    assert process.wait(timeout=MOST_S) == 0
    placements = re.findall(r"apply .*-var=placement=(\w+)", (work / "output").read_text())
    assert ("same_zone", "any_zone") in itertools.pairwise(placements)
