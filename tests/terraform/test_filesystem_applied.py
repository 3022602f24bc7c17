"""The file system experiment on the embedded AWS, with real Terraform: applied, and swept as a user sweeps it.

Nothing is mounted there: a folder stands in.
"""

import csv
import json
import os
import re
import signal
import subprocess

import pytest

from tests.emulator.applied_stack import STAMPEDE
from tests.emulator.documented_policy import policy
from tests.terraform.applied import UNCHANGED, Stack, applied_stack

VARIABLES = {
    "experiment": "filesystem",
    "large_file_mb": 1,
    "small_files": 10,
    "ephemeral_storage_mb": 512,
    "timeout_s": 5,
}
BUCKET = "stampede-filesystem-000000000000-us-east-1"
# What the function is invoked with, tried with the role that it has.
PROBE = """
import os
import boto3

def handler(event, context):
    s3, bucket = boto3.client("s3"), os.environ["BUCKET_NAME"]
    def tried(call, **arguments):
        try:
            call(Bucket=bucket, **arguments)
            return "may"
        except Exception as error:
            return error.response["Error"]["Code"]
    path = os.path.join(os.environ["MOUNT_PATH"], "written")
    with open(path, "w") as file:
        file.write("x")
    return {
        "path": path,
        "list": [tried(s3.list_objects_v2, Prefix=prefix) for prefix in ("small/", "large/", "other/", "")],
        "get": [tried(s3.get_object, Key=key) for key in ("small/00000.bin", "large/file.bin", "other/file.bin")],
        "put": tried(s3.put_object, Key="small/00000.bin"),
    }
"""


FILES = 20


@pytest.fixture(scope="module", autouse=True)
def sweep(tmp_path_factory):
    """A sweep over S3 and EFS with an emulator of its own, beside the other tests: it mostly waits for queues."""
    work, state = tmp_path_factory.mktemp("filesystem"), tmp_path_factory.mktemp("state")
    command = [
        *STAMPEDE, "sweep", "filesystem", "--set", f"small_files={FILES}", "--set", "large_file_mb=1",
        "--set", "timeout_s=20", "--messages-per-concurrency", "3", "--format", "json",
    ]  # fmt: skip
    environment = os.environ | {"STAMPEDE_STATE_DIR": str(state / "local"), "STAMPEDE_MANNERS": "1"}
    with (work / "said").open("w") as said, (work / "printed").open("w") as printed:
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=said
        )
    yield process, work
    if process.poll() is None:  # nobody has waited for it
        process.send_signal(signal.SIGINT)
        process.wait(timeout=500)


@pytest.fixture(scope="module")
def swept(sweep):
    """The table that the sweep printed, what it said, and its results folder."""
    process, work = sweep
    status = process.wait(timeout=500)
    said = (work / "said").read_text()
    assert status == 0, said[-3000:]
    [folder] = (work / "results").iterdir()
    return json.loads((work / "printed").read_text()), said, folder


@pytest.fixture(scope="module")
def applied(copy_of_the_tree, terraform, tmp_path_factory) -> Stack:
    """The stack with its defaults, its placing function a probe, and the folder that stands in for the mount."""
    folder = copy_of_the_tree("filesystem")
    (folder.parent / "functions/filesystem/placing.py").write_text(PROBE)
    (folder.parent / "mount").mkdir()
    with applied_stack(folder, terraform, tmp_path_factory.mktemp("emulator"), VARIABLES) as stack:
        yield stack


def test_what_places_the_data_may_read_the_data_set_and_writes_to_the_folder_that_stands_in(applied):
    s3 = applied.client("s3")
    for key in ("small/00000.bin", "large/file.bin", "other/file.bin"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")

    name = json.loads(applied.run("output", "-json").stdout)["placing_function_name"]["value"]
    found = json.load(applied.client("lambda").invoke(FunctionName=name)["Payload"])

    assert found.pop("path").endswith("/mount/written")
    assert found == {
        "list": ["may", "may", "AccessDenied", "AccessDenied"],
        "get": ["may", "may", "AccessDenied"],
        "put": "AccessDenied",
    }


@pytest.mark.parametrize("storage", ["efs", "s3"])
def test_from_storage_to_storage_only_the_function_and_its_policy_change(applied, storage):
    result = applied.terraform("apply", "-auto-approve", storage=storage)

    changed = set(re.findall(r"(?m)^(\S+): Modifications complete", result.stdout))
    assert changed == {"module.worker[0].aws_iam_role_policy.worker", "module.worker[0].aws_lambda_function.worker"}
    assert not re.findall(r"(?m)^\S+: (?:Creation|Destruction) complete", result.stdout)
    assert applied.plan(storage=storage) == UNCHANGED


def test_without_one_of_the_documented_actions_terraform_fails_and_names_it(applied):
    action = "elasticfilesystem:DescribeFileSystemPolicy"
    documented = policy("permissions_filesystem")
    less = {
        **documented,
        "Statement": [{**one, "Action": _without(one["Action"], action)} for one in documented["Statement"]],
    }
    user = {"UserName": "runner", "PolicyName": "permissions_filesystem"}
    applied.iam.put_user_policy(**user, PolicyDocument=json.dumps(less))
    try:
        with pytest.raises(AssertionError, match=action):
            applied.plan()
    finally:
        applied.iam.put_user_policy(**user, PolicyDocument=json.dumps(documented))


def _without(actions, action):
    return actions if isinstance(actions, str) else [one for one in actions if one != action]


def test_destroy_leaves_nothing(applied):
    def left():
        ec2, efs = applied.client("ec2"), applied.client("efs")
        networks = [one for one in ec2.describe_vpcs()["Vpcs"] if not one["IsDefault"]]
        return applied.left() | {
            "networks": networks,
            "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
            "file systems": efs.describe_file_systems()["FileSystems"],
        }

    assert all(left().values())
    assert applied.destroy().returncode == 0
    assert left() == {name: [] for name in left()}


def test_every_storage_and_data_set_has_its_first_read_and_its_repeats(swept):
    rows = {(row["storage"], row["dataset"], row["read"]): row for row in swept[0] if row["count"]}
    assert {key: row["count"] for key, row in rows.items()} == {
        (storage, dataset, read): count
        for storage in ("s3", "efs") for dataset in ("large", "small") for read, count in (("first", 1), ("repeat", 2))
    }  # fmt: skip
    assert {row["source"] for (storage, *_), row in rows.items() if storage == "efs"} == {"this machine, a folder"}
    assert {(storage, row["method"]) for (storage, *_), row in rows.items()} == {
        ("s3", "download_file"),
        ("efs", "copy"),
    }


def test_the_records_say_what_was_copied_and_how(swept):
    records = [json.loads(line) for line in (swept[2] / "records.jsonl").read_text().splitlines()]
    assert {(one["dataset"], one["files"], one["bytes"]) for one in records} == {
        ("large", 1, 2**20), ("small", FILES, 2 * 550_000)
    }  # fmt: skip
    assert {one["storage"] for one in records if one["listing_seconds"] is not None} == {"s3"}
    assert {one["read_order"] for one in records} == {1, 2, 3}


def test_cells_that_differ_in_their_work_orders_share_an_apply_and_take_turns(swept):
    lines = swept[1].splitlines()
    assert sum(", interleaved in 3 rounds: terraform apply" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("round ")] == 2 * [f"round {at} of 3" for at in (1, 2, 3)]
    assert sum("seeding what is missing" in line for line in lines) == 2


def test_the_published_figures_stand_beside_and_the_page_has_its_own_sections(swept):
    _, _, folder = swept
    page = (folder / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in ("choice", "crossover", "reads", "monthly"))
    assert 'id="warnings"' not in page
    assert "The figures below are in doubt" not in page
    with (folder / "cells.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 8
    assert "AWS, published" in (folder / "table.md").read_text()
