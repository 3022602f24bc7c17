"""`--target aws` where this shell's configuration leads elsewhere: an endpoint, and not AWS."""

import json

import pytest
from botocore.exceptions import ProxyConnectionError

from experiments import EXPERIMENTS
from stampede.cell import FORMAT
from stampede.cli.command_line import main
from stampede.emulator.ministack import Access
from stampede.errors import UsageError
from stampede.planning.cost import estimate
from stampede.planning.plan import make_plan
from stampede.runs.folder import RunFolder
from stampede.stacks import endpoints, stack_lock
from stampede.stacks import target as targets
from stampede.stacks.place import refuse_elsewhere
from stampede.stacks.target import Target
from stampede.sweep.sweep import description_of
from tests.fakes import applied

URL = "http://127.0.0.1:4566"
HERE = {"target": "endpoint", "endpoint_url": URL}
OUTPUTS = {"region": "us-east-1", "experiment": "download", "function_name": "f", "log_group_name": "g"}


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Where an environment and a ~/.aws/config lead."""

    def resolve(environment=None, config=""):
        (tmp_path / "config").write_text(config)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        return endpoints.configured()

    return resolve


def test_a_damaged_configuration_is_named_and_refused(configured, tmp_path):
    with pytest.raises(UsageError, match=rf"{tmp_path}/config; correct or move that file"):
        configured(config="garbage")
    with pytest.raises(UsageError, match=rf"{tmp_path}/config; correct or move that file"):
        Target("aws", OUTPUTS).session()


def test_user_and_password_of_the_url_are_in_nothing_that_is_printed(configured):
    endpoint = configured({"AWS_ENDPOINT_URL": "https://me:secret@gateway.example:8443/aws?key=1"})
    assert endpoint.url == "https://gateway.example:8443/aws"


def test_an_endpoint_for_one_service_says_which(configured):
    endpoint = configured({"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": URL})
    assert (endpoint.url, endpoint.services) == (URL, {"logs": URL})
    assert endpoint.words == f"an endpoint at {URL} (for logs only; everything else is AWS)"


def test_the_profile_counts_as_botocore_reads_it(configured):
    at_profile = f"[default]\nendpoint_url = {URL}\n"
    assert configured(config=at_profile).url == URL
    at_services = f"[default]\nservices = mine\n[services mine]\ns3 =\n  endpoint_url = {URL}\n"
    assert configured(config=at_services).services == {"s3": URL}
    with pytest.raises(UsageError, match=r'~/\.aws/config: .*"gone" services'):
        configured(config="[default]\nservices = gone\n")


def test_configured_endpoints_that_are_to_be_ignored_are_aws(configured):
    assert configured({"AWS_ENDPOINT_URL": URL, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.eu-west-1.amazonaws.com",
        "https://sqs-fips.us-gov-west-1.amazonaws.com/",
        "https://bucket.vpce-0a1b-2c3d.s3.us-east-1.vpce.amazonaws.com",
        "https://lambda.eu-west-1.api.aws",
        "https://S3.dualstack.cn-north-1.amazonaws.com.cn:443",
        "https://sqs.us-iso-east-1.c2s.ic.gov",
        "https://sqs.eusc-de-east-1.amazonaws.eu",
    ],
)
def test_an_address_of_awss_own_is_aws(configured, url):
    assert configured({"AWS_ENDPOINT_URL": url}) is None


@pytest.mark.parametrize("host", ["amazonaws.com.example.org", "myamazonaws.com", "localhost.localstack.cloud:4566"])
def test_what_only_looks_like_aws_is_an_endpoint(configured, host):
    assert configured({"AWS_ENDPOINT_URL": f"https://{host}"}).url == f"https://{host}"


@pytest.mark.parametrize("url", ["localhost:4566", "127.0.0.1", "http://", "http://h:port", "ftp://h"])
def test_what_is_no_url_is_refused_in_one_line(configured, monkeypatch, capsys, url):
    with pytest.raises(
        UsageError, match=r"AWS_ENDPOINT_URL: .* isn't a valid URL; write it like http://127\.0\.0\.1:4566"
    ):
        configured({"AWS_ENDPOINT_URL": url})
    assert main(["doctor", "--target", "aws"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_kind_of_a_target_is_what_botocore_will_do(monkeypatch):
    assert targets.configured(OUTPUTS).place == targets.place("aws") == {"target": "aws"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", URL)
    assert targets.configured(OUTPUTS).place == targets.place("aws") == HERE
    assert targets.place("local") == {"target": "local"}
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.amazonaws.com")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    target = targets.configured(OUTPUTS)
    assert (target.kind, target.option) == ("endpoint", "aws")
    for service, url in (("sqs", URL), ("s3", "https://s3.amazonaws.com")):
        assert target.client(service).meta.endpoint_url == url
    assert (target.url_of("sqs"), target.url_of("s3")) == (URL, None)


# What is printed, and what is refused.


@pytest.fixture
def verb(tmp_path, monkeypatch, capsys):
    """Runs a verb beside a stored run "r"; gives status and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stack_lock, "_folder", lambda _: tmp_path)  # another test may hold the lock of this checkout
    applied.apply(monkeypatch, tmp_path, OUTPUTS)

    def run(stored, *arguments, lines=()):
        folder = tmp_path / "results" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps({"format": FORMAT, "experiment": "download"} | stored))
        (folder / "sent.jsonl").write_text('{"cell": "c", "seq": 0, "message_id": "m", "sent_at_ms": 1}\n')
        if lines:
            (folder / "log_events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return main([*arguments]), capsys.readouterr().err

    return run


PLAN = make_plan(EXPERIMENTS["download"], "aws", ["concurrency_value=1"], messages_per_concurrency=1)


@pytest.mark.parametrize(
    ("stored", "at", "words", "way_out"),
    [
        (
            {"target": "aws"},
            URL,
            f"started at AWS, but this command uses an endpoint at {URL}",
            "unset AWS_ENDPOINT_URL",
        ),
        (
            HERE,
            "",
            f"started at an endpoint at {URL}, which isn't AWS, but this command uses AWS",
            f"AWS_ENDPOINT_URL={URL}",
        ),
        (
            HERE,
            "http://127.0.0.1:1",
            "but this command uses an endpoint at http://127.0.0.1:1",
            f"AWS_ENDPOINT_URL={URL}",
        ),
    ],
    ids=["on AWS", "at an endpoint", "at another endpoint"],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "download", "--target", "aws", "--resume", "r", "--dry-run"),
        ("drain", "--target", "aws", "--run", "r"),
    ],
    ids=["resume", "drain"],
)
def test_a_run_is_resumed_only_where_it_was_started(verb, monkeypatch, arguments, stored, at, words, way_out):
    if at:
        monkeypatch.setenv("AWS_ENDPOINT_URL", at)
    status, err = verb(stored | {"plan": PLAN.as_dict(), "cells": [cell.as_json() for cell in PLAN.cells]}, *arguments)
    assert status == 2
    assert words in err and way_out in err


LINES = [{"timestamp": 1, "message": json.dumps({"run_id": "r", "message_id": "m", "x": 7}), "logStream": "s"}]


def test_the_lines_of_a_run_at_an_endpoint_are_evaluated_here(verb, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # where nobody answers
    (tmp_path / "x.cwli").write_text("stats sum(x)")
    assert verb(HERE, "query", "x.cwli", "--run", "r", lines=LINES) == (0, "")
    (tmp_path / "results" / "r" / "log_events.jsonl").unlink()
    status, err = verb(HERE, "query", "x.cwli", "--run", "r")
    assert (status, "has no log events yet; `stampede drain --run r` fetches them" in err) == (2, True)


def test_the_lines_of_a_run_on_aws_are_never_asked_of_an_endpoint(verb, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    (tmp_path / "x.cwli").write_text("stats sum(x)")
    arguments = ("query", "x.cwli", "--run", "r")
    status, err = verb({"target": "aws"}, *arguments)
    assert (status, "run r was on AWS, but this shell's configuration leads to an endpoint at" in err) == (2, True)
    status, err = verb({"target": "aws"}, *arguments, lines=LINES)
    assert (status, "using results/r/log_events.jsonl" in err) == (0, True)


def test_a_stack_of_an_endpoint_is_not_looked_for_on_aws_nor_one_of_aws_changed_at_an_endpoint():
    at_endpoint = {"queue_url": "http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/q"}
    on_aws = {"queue_url": "https://sqs.us-east-1.amazonaws.com/123456789012/q"}
    with pytest.raises(UsageError, match=r"applied at an endpoint .*set AWS_ENDPOINT_URL"):
        refuse_elsewhere({"target": "aws"}, at_endpoint)
    with pytest.raises(UsageError, match=r"applied on AWS, .*unset AWS_ENDPOINT_URL and remove the stack first"):
        refuse_elsewhere(HERE, on_aws, changes=True)
    for place, outputs in (({"target": "aws"}, on_aws), (HERE, at_endpoint), (HERE, {}), ({"target": "aws"}, {})):
        refuse_elsewhere(place, outputs, changes=True)


def test_a_sweep_notes_the_endpoint_in_its_run_json(monkeypatch, tmp_path):
    plan = make_plan(EXPERIMENTS["download"], "aws", (), messages_per_concurrency=1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:secret@127.0.0.1:4566")
    folder = RunFolder.create(tmp_path, "r")
    description_of(folder, plan, estimate(plan)).write()
    noted = folder.read_json("run.json")
    assert {name: noted[name] for name in HERE} == HERE and "secret" not in json.dumps(noted)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    description_of(folder, plan, estimate(plan)).write()
    assert (folder.read_json("run.json")["target"], "endpoint_url" in folder.read_json("run.json")) == ("aws", False)


def test_a_proxy_that_does_not_answer_is_named_and_not_the_credentials():
    error = targets.explain(ProxyConnectionError(proxy_url="http://***:***@10.0.0.9"), "asking", Target("aws", OUTPUTS))
    assert error.found == "asking: the proxy http://***:***@10.0.0.9 doesn't answer"
    assert error.way_out == "check HTTP_PROXY, HTTPS_PROXY and the network"


def test_the_embedded_aws_needs_no_configuration_of_the_shell(monkeypatch, tmp_path):
    (tmp_path / "config").write_text("garbage\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    client = targets.local({"region": "us-east-1"}, Access("http://127.0.0.1:9", "key", "secret")).client("s3")
    assert client.meta.endpoint_url == "http://127.0.0.1:9"
