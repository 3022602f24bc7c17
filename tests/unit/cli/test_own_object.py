"""A user's own object is checked before any message, must stay the same, and is never changed.

tests/emulator/test_own_object.py sweeps one."""

import pytest

from experiments.download.own_object import OWN_OBJECT
from loader.cell_load import CellLoad
from loader.dataset import stored_objects
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject
from stampede.finding import OK, PROBLEM
from stampede.planning.checks import account
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import own_object
from stampede.stacks.target import Target
from tests.fakes.s3 import KEY, FakeS3, Faults
from tests.unit.plans import plan

OUTPUTS = {
    "experiment": "download",
    "region": "us-east-1",
    "bucket_name": "my-own",
    "object_key": KEY,
}
OUTPUTS |= {
    "existing_bucket": True,
    "requester_pays": False,
    "object_size_mb": 1,
    "concurrency_value": 1,
}
OUTPUTS |= {"method": "stream", "sink": "discard", "queue_name": "q", "function_name": "f"}
ETAG = '"generation-1"'
MINE = DataObject(KEY, 1000, etag=ETAG, bucket="my-own")


def target(s3, **outputs):
    return Target("local", OUTPUTS | outputs, s3.url)


@pytest.mark.parametrize("pays", [False, True])
def test_every_message_insists_on_the_objects_first_state_and_the_payer_is_named(
    pays,
):
    with FakeS3(1000) as s3:
        [held] = stored_objects(target(s3, requester_pays=pays))
        load = CellLoad.of(target(s3), {}, [held])
    assert (held, held.url) == (MINE, f"s3://my-own/{KEY}")
    assert load.order == {"object_bytes": 1000, "object_etag": ETAG}
    assert [operation for operation, _ in s3.calls] == ["HeadObject"] * 2, "another call was made"
    assert s3.requests[-1].headers.get("x-amz-request-payer") == ("requester" if pays else None)


@pytest.mark.parametrize(
    ("faults", "key", "refusal", "words"),
    [
        (
            {"refuse": {"HeadObject": [(404, "NoSuchBucket")]}},
            KEY,
            UsageError,
            "no bucket s3://my-own; ",
        ),
        ({}, "other", UsageError, "no object s3://my-own/other; "),
        (
            {"refuse": {"HeadObject": [None, (403, "")]}},
            KEY,
            UsageError,
            "s3:GetObject.*requester_pays=true",
        ),
        ({"region": "eu-west-1"}, KEY, UsageError, "0.02 USD a GB.*--set region=eu-west-1"),
        (
            {"region": "eu-west-1", "refuse": {"HeadObject": [None] + [(400, "")] * 9}},
            KEY,
            UsageError,
            "--set region=eu-west-1",
        ),
        (
            {"refuse": {"HeadObject": [None] + [(400, "")] * 9}},
            KEY,
            RunError,
            "looking at the object",
        ),
    ],
)
def test_an_object_that_cannot_be_read_is_refused_with_the_way_out(faults, key, refusal, words):
    with FakeS3(1000, Faults(**faults)) as s3, pytest.raises(refusal, match=words):
        own_object.of_stack(target(s3, object_key=key))


class Told:
    """A client with given answers to HeadBucket and HeadObject."""

    def __init__(self, **answer):
        self.answer = {"ContentLength": 2**30, "ETag": ETAG, **answer}

    def head_bucket(self, Bucket):
        headers = {"x-amz-bucket-region": "eu-west-1"}
        return {"ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": headers}}

    def head_object(self, **asked):
        return self.answer


OTHERS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"
VALUES = {
    "s3_bucket_name": "my-own",
    "s3_file_name": "k",
    "requester_pays": False,
    "region": "eu-west-1",
}


def test_a_restored_object_under_an_own_key_is_fine():
    restored = {"StorageClass": "GLACIER", "Restore": 'ongoing-request="false", expiry-date="..."'}
    client = Told(SSEKMSKeyId=OTHERS_KEY, **restored)
    assert OWN_OBJECT.find(client, VALUES | {"object_kms_key_arn": OTHERS_KEY}, 10).etag == ETAG


@pytest.mark.parametrize(
    ("answer", "region", "words"),
    [
        ({"ContentLength": 0}, "eu-west-1", "is empty"),
        ({"StorageClass": "DEEP_ARCHIVE"}, "eu-west-1", "restore-object"),
        ({"SSEKMSKeyId": OTHERS_KEY}, "eu-west-1", f"--set object_kms_key_arn={OTHERS_KEY}"),
        ({}, "us-east-1", r"20\.00 USD for the 1000 GiB"),
    ],
)
def test_an_object_that_functions_could_not_read_is_refused(answer, region, words):
    with pytest.raises(UsageError, match=words):
        OWN_OBJECT.find(
            Told(**answer), VALUES | {"object_kms_key_arn": None, "region": region}, 1000
        )


def test_a_resumed_run_accepts_only_the_version_that_it_began_with(tmp_path):
    folder = RunFolder.create(tmp_path, "r")

    def description():
        return RunDescription(folder, "download", {"target": "aws"})

    begun = description()
    begun.hold("--resume", MINE)
    begun.write()
    description().hold("--resume", MINE)
    changed = DataObject(KEY, 1000, etag='"generation-2"', bucket="my-own")
    with pytest.raises(UsageError, match=r"^--resume: r began with .*generation-1.*generation-2"):
        description().hold("--resume", changed)


def test_an_object_in_an_embedded_aws_that_does_not_run_is_refused(stampede):
    done = stampede("sweep", "download", "--set", "object=s3://my-own/k", "--dry-run")
    assert (done.status, "`stampede emulator start`" in done.err) == (2, True)


def test_a_dry_run_plans_with_the_size_from_s3(stampede, monkeypatch):
    seen = []
    monkeypatch.setattr(
        own_object, "of_plan", lambda option, name, cells: seen.append(cells[0].values) or MINE
    )
    options = ["--set", "object=s3://my-own/a, [b]/k", "--set", "concurrency_value=1", "--dry-run"]
    done = stampede("sweep", "download", *options)
    assert done.status == 0
    [values] = seen
    assert (values["s3_file_name"], values["existing_bucket"]) == ("a, [b]/k", True)


def test_an_object_of_another_size_than_planned_is_a_problem(monkeypatch):
    monkeypatch.setattr(own_object, "of_plan", lambda *_: MINE)
    own = "existing_bucket=true s3_bucket_name=my-own object_size_mb="
    for size_mb, status in ((1, OK), (7, PROBLEM)):
        [finding] = account.own_object(plan(f"{own}{size_mb}"))
        assert finding.status == status and "my-own" in finding.found


@pytest.mark.parametrize("options", [[], ["--remove"]])
def test_dataset_leaves_the_users_bucket_alone(stampede, apply, options):
    apply(OUTPUTS)
    done = stampede("dataset", *options)
    assert done.status == 2 and "s3://my-own is your own" in done.err
