"""An object of the user's own: looked at before anything is sent, held to what it was then, and never touched."""

import json
from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.download.own_object import OWN_OBJECT
from loader.cell_load import CellLoad
from loader.dataset import stored_objects
from stampede.emulator.ministack import Access
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject
from stampede.finding import OK, PROBLEM
from stampede.planning.checks import account
from stampede.planning.cost import estimate
from stampede.planning.plan import make_plan
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import embedded, own_object, stack_lock
from stampede.stacks.target import Target
from tests.fakes.s3 import KEY, FakeS3, Faults

OUTPUTS = {"experiment": "download", "region": "us-east-1", "bucket_name": "my-own", "object_key": KEY}
OUTPUTS |= {"existing_bucket": True, "requester_pays": False, "object_size_mb": 1, "concurrency_value": 1}
OUTPUTS |= {"method": "stream", "sink": "discard"}
ETAG = '"generation-1"'
MINE = DataObject(KEY, 1000, etag=ETAG, bucket="my-own")


def target(s3, **outputs):
    return Target("local", OUTPUTS | outputs, s3.url)


def test_every_message_is_held_to_the_object_as_it_is_before_the_first_one():
    with FakeS3(1000) as s3:
        [held] = stored_objects(target(s3))
        load = CellLoad.of(target(s3), {}, [held])
    assert held == MINE and held.url == f"s3://my-own/{KEY}"
    assert load.order == {"object_bytes": 1000, "object_etag": ETAG}
    assert [operation for operation, _ in s3.calls] == ["HeadObject"] * 2, "something else was asked"


def test_an_object_that_the_sweep_puts_has_no_etag_to_be_held_to():
    with FakeS3(1000) as s3:
        [stored] = stored_objects(target(s3, existing_bucket=False))
    assert "object_etag" not in EXPERIMENTS["download"].order(OUTPUTS, [stored])


@pytest.mark.parametrize("pays", [False, True])
def test_who_pays_is_said_where_the_requester_does(pays):
    with FakeS3(1000) as s3:
        own_object.of_stack(target(s3, requester_pays=pays))
    assert s3.requests[-1].headers.get("x-amz-request-payer") == ("requester" if pays else None)


@pytest.mark.parametrize(
    ("faults", "key", "words"),
    [
        ({"refuse": {"HeadObject": [(404, "NoSuchBucket")]}}, KEY, "no bucket s3://my-own; "),
        ({}, "other", "no object s3://my-own/other; "),
        ({"status": 403}, KEY, "you may not read it .*s3:GetObject.*; allow it .*requester_pays=true"),
        ({"region": "eu-west-1"}, KEY, "is in eu-west-1 .* us-east-1; .*0.02 USD a GB.*; .*--set region=eu-west-1"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(faults, key, words):
    with FakeS3(1000, Faults(**faults)) as s3, pytest.raises(UsageError, match=words):
        own_object.of_stack(target(s3, object_key=key))


def test_an_answer_that_says_nothing_of_the_object_is_no_refusal_of_it():
    with FakeS3(1000, Faults(status=400)) as s3, pytest.raises(RunError, match="looking at the object"):
        own_object.of_stack(target(s3))


class Told:
    """A client whose HeadBucket and HeadObject answer as it is told."""

    def __init__(self, **answer):
        self.answer = {"ContentLength": 2**30, "ETag": ETAG, **answer}

    def head_bucket(self, Bucket):
        headers = {"x-amz-bucket-region": "eu-west-1"}
        return {"ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": headers}}

    def head_object(self, **asked):
        return self.answer


VALUES = {"s3_bucket_name": "my-own", "s3_file_name": "k", "requester_pays": False, "object_kms_key_arn": None}
OTHERS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"ContentLength": 0}, "is empty"),
        ({"StorageClass": "DEEP_ARCHIVE"}, "is archived .*restore-object"),
        ({"SSEKMSKeyId": OTHERS_KEY}, f"KMS key .*--set object_kms_key_arn={OTHERS_KEY}"),
    ],
)
def test_an_object_that_functions_could_not_read_is_refused(answer, words):
    with pytest.raises(UsageError, match=words):
        OWN_OBJECT.find(Told(**answer), VALUES | {"region": "eu-west-1"}, 10)


def test_a_restored_object_an_own_key_and_an_etag_of_parts_are_fine():
    restored = {"StorageClass": "GLACIER", "Restore": 'ongoing-request="false", expiry-date="..."'}
    client = Told(SSEKMSKeyId=OTHERS_KEY, ETag='"d41d8cd98f-7"', **restored)
    values = VALUES | {"region": "eu-west-1", "object_kms_key_arn": OTHERS_KEY}
    assert OWN_OBJECT.find(client, values, 10).etag == '"d41d8cd98f-7"'


def test_another_region_has_its_price_for_all_downloads_of_the_plan():
    with pytest.raises(UsageError, match=r"20\.00 USD for the 1000 GiB of this plan"):
        OWN_OBJECT.find(Told(), VALUES | {"region": "us-east-1"}, 1000)


def test_its_bill_has_no_upload_and_no_storage():
    def lines(*settings):
        plan = make_plan(EXPERIMENTS["download"], "aws", settings, messages_per_concurrency=10)
        return {item.what: item.quantity for item in estimate(plan).items}

    ours, own = lines("object_size_mb=8"), lines("object_size_mb=8", "existing_bucket=true", "s3_bucket_name=my-own")
    assert ours.keys() - own.keys() == {"PUT of the object's parts", "storage of the object"}
    assert own["GET and HEAD"] == ours["GET and HEAD"]


def test_a_run_goes_on_with_the_version_that_it_began_with_and_no_other(tmp_path):
    folder = RunFolder.create(tmp_path, "r")

    def description():
        return RunDescription(folder, "download", {"target": "aws"})

    begun = description()
    begun.hold("--resume", MINE)
    begun.write()
    assert folder.read_json("run.json")["object"] == {"url": MINE.url, "bytes": 1000, "etag": ETAG}
    description().hold("--resume", MINE)
    changed = DataObject(KEY, 1000, etag='"generation-2"', bucket="my-own")
    with pytest.raises(UsageError, match=r"^--resume: r began with .*generation-1.*generation-2.*; put that one back"):
        description().hold("--resume", changed)


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        (lambda *plan: MINE, OK, f"s3://my-own/{KEY}, 1000 bytes, ETag {ETAG}"),
        (lambda *plan: replace(MINE, size_bytes=2**20 + 1), PROBLEM, "start a new run with --set object_size_mb=2"),
        (lambda *plan: own_object._without_a_stack("local", "us-east-1"), PROBLEM, "isn't running"),
    ],
)
def test_the_doctor_says_which_object_it_is_or_what_is_wrong_with_it(monkeypatch, asked, status, words):
    monkeypatch.setattr(own_object, "of_plan", asked)
    own = ["existing_bucket=true", "s3_bucket_name=my-own", "object_size_mb=1"]
    plan = make_plan(EXPERIMENTS["download"], "local", own, messages_per_concurrency=1)
    [finding] = account.own_object(plan)
    assert (finding.check, finding.status) == ("object", status) and words in finding.sentence


def test_without_an_embedded_aws_there_is_no_bucket_in_it(monkeypatch):
    monkeypatch.setattr(own_object.ministack, "running", lambda state_dir: None)
    own = ["existing_bucket=true", "s3_bucket_name=my-own"]
    plan = make_plan(EXPERIMENTS["download"], "local", own, messages_per_concurrency=1)
    with pytest.raises(UsageError, match=r"isn't running.*; start it with `stampede emulator start`"):
        own_object.of_plan("local", "download", plan.cells)


def test_an_emulator_that_is_started_anew_is_no_killed_sweeps(monkeypatch, tmp_path):
    """It would be stopped at the end of the next sweep, with the buckets in it."""
    monkeypatch.setattr(stack_lock.stack, "STATE_DIR", tmp_path)
    monkeypatch.setattr(embedded.ministack, "running", lambda state_dir: None)
    monkeypatch.setattr(embedded.stack, "forget_state", lambda: None)
    started = type("Started", (), {"endpoint_url": "u", "pid": 1, "access": Access("u", "k", "s")})
    monkeypatch.setattr(embedded.ministack, "start", lambda state_dir, follow_parent: started)
    stack_lock.own("local", "killed", started_emulator=True)
    embedded.start()
    assert stack_lock.owner("local") == {}


# The command line


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sweep download --set object=my-own/k", "must be s3://BUCKET/KEY"),
        ("sweep download --set object=s3://my-own/", "must be s3://BUCKET/KEY"),
        ("sweep download --set object=s3://my-own/folder/", "not of a folder"),
        ("sweep download --set object=s3://my-own/k*", "s3_file_name: must be"),
        ("sweep download --set object=s3://My/k", "s3_bucket_name: must be"),
        ("sweep download --set object=s3://my-own/k --set object_size_mb=3", "says it already"),
        ("doctor download --set object=s3://my-own/k --set s3_bucket_name=b-b", "says it already"),
        ("sweep download --set object=s3://my-own/k --set object=s3://my-own/l", "given more than once"),
        ("sweep copy --set object=s3://my-own/k", "copy takes no object of yours"),
        ("simulate copy --set object=s3://my-own/k", "copy takes no object of yours"),
        ("simulate download --set object=s3://my-own/k", "use --set object_size_mb="),
    ],
)
def test_wrong_input_is_refused_in_one_line(stampede, command, words):
    done = stampede(*command.split())
    assert (done.status, done.err.count("\n")) == (2, 1) and words in done.err


def test_a_dry_run_plans_with_the_size_that_s3_says(stampede, monkeypatch):
    seen = []
    monkeypatch.setattr(own_object, "of_plan", lambda option, name, cells: seen.append(cells[0].values) or MINE)
    options = ["--set", "object=s3://my-own/a, [b]/k", "--set", "concurrency_value=1", "--dry-run", "--format", "json"]
    done = stampede("sweep", "download", *options)
    assert done.status == 0 and json.loads(done.out)
    [values] = seen
    assert (values["s3_file_name"], values["existing_bucket"]) == ("a, [b]/k", True)


@pytest.mark.parametrize("options", [[], ["--remove"], ["--size-mb", "3"]])
def test_dataset_leaves_the_users_bucket_alone(stampede, apply, options):
    apply(OUTPUTS | {"queue_name": "q", "function_name": "f"})
    done = stampede("dataset", *options)
    assert done.status == 2 and "s3://my-own is your own: nothing is put there or removed" in done.err
