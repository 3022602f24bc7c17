"""`--target aws` when the shell's configuration leads to an endpoint instead of AWS. How answers
and lost answers are classified."""

import json
import re

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from experiments import EXPERIMENTS
from stampede.cell import FORMAT
from stampede.cli.command_line import main
from stampede.emulator.ministack import Access
from stampede.errors import UsageError
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints, stack_lock
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import Kind, kind_of, kind_of_answer
from stampede.stacks.place import refuse_elsewhere
from tests.fakes import applied

URL, NOWHERE = "http://127.0.0.1:4566", "http://127.0.0.1:9"
AT_AWS, HERE = {"target": "aws"}, {"target": "endpoint", "endpoint_url": URL}
OUTPUTS = {
    "region": "us-east-1",
    "experiment": "download",
    "function_name": "f",
    "log_group_name": "g",
}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (503, "ThrottlingException", Kind.FAULT),  # its effect is unknown
        (408, "", Kind.FAULT),
        (429, "", Kind.THROTTLED),
        (403, "RequestThrottled", Kind.THROTTLED),
        (403, "SignatureDoesNotMatch", Kind.INVALID),
        (400, "InvalidParameterValue", Kind.REFUSED),
    ],
)
def test_an_answer_is_classified_by_status_and_code_and_a_lost_one_is_temporary(status, code, kind):
    assert kind_of_answer(status, code) is kind
    assert kind_of(EndpointConnectionError(endpoint_url=URL)).passes
    assert kind_of(NoCredentialsError()).is_final


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Where an environment and a ~/.aws/config lead."""

    def resolve(config="", **environment):
        (tmp_path / "config").write_text(config)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        for name, value in environment.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        return endpoints.configured()

    return resolve


def test_a_configuration_leads_where_botocore_goes_and_is_shown_without_a_password(configured):
    at_services = f"[default]\nservices = mine\n[services mine]\ns3 =\n  endpoint_url = {URL}\n"
    assert configured(at_services).services == {"s3": URL}
    at_profile = f"[default]\nendpoint_url = {URL}\n"
    assert (configured(at_profile).url, configured(at_profile).services) == (URL, {})
    assert configured(at_profile, IGNORE_CONFIGURED_ENDPOINT_URLS="true") is None
    with_secret = {"ENDPOINT_URL_CLOUDWATCH_LOGS": "http://me:secret@127.0.0.1:4566/?key=1"}
    of_logs = configured(IGNORE_CONFIGURED_ENDPOINT_URLS="", **with_secret)
    assert of_logs.services == {"logs": URL} and f"at {URL} (for logs only" in of_logs.words


@pytest.mark.parametrize(
    ("host", "is_aws"),
    [
        ("myamazonaws.com", False),
        ("amazonaws.com.example.org", False),
        ("sqs-fips.us-gov-west-1.amazonaws.com/", True),
        ("bucket.vpce-0a1b-2c3d.s3.us-east-1.vpce.amazonaws.com", True),
        ("S3.dualstack.cn-north-1.amazonaws.com.cn:443", True),
    ],
)
def test_a_host_that_only_looks_like_aws_is_not_aws(host, is_aws):
    assert endpoints.is_aws(f"https://{host}") is is_aws


@pytest.mark.parametrize(
    ("config", "url", "words"),
    [
        ("garbage", "", "config"),
        ("[default]\nservices = gone\n", "", "config"),
        ("", "localhost:4566", "^AWS_ENDPOINT_URL: .*; write it like"),
        ("", "http://h:port", "^AWS_ENDPOINT_URL: .*; write it like"),
    ],
)
def test_a_damaged_configuration_or_invalid_url_is_refused_in_one_line(
    configured, capsys, config, url, words
):
    with pytest.raises(UsageError, match=words):
        configured(config, ENDPOINT_URL=url)
    assert (main(["doctor", "--target", "aws"]), capsys.readouterr().err.count("\n")) == (2, 1)


def test_the_kind_of_a_target_follows_botocore(configured):
    assert targets.configured(OUTPUTS).place == targets.place("aws") == AT_AWS
    keys = {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
    configured(ENDPOINT_URL=URL, ENDPOINT_URL_S3="https://s3.amazonaws.com", **keys)
    target = targets.configured(OUTPUTS)
    assert (target.kind, target.option) == ("endpoint", "aws")
    assert target.place.items() >= HERE.items()
    for service, url, own in (("sqs", URL, URL), ("s3", "https://s3.amazonaws.com", None)):
        assert (target.client(service).meta.endpoint_url, target.url_of(service)) == (url, own)


# What is printed, and what is refused.


@pytest.fixture
def verb(tmp_path, monkeypatch, capsys):
    """Runs a verb with a stored run "r" present; returns status and stderr."""
    monkeypatch.chdir(tmp_path)
    # another test may hold the lock of this checkout
    monkeypatch.setattr(stack_lock, "_folder", lambda _: tmp_path)
    applied.apply(monkeypatch, tmp_path, OUTPUTS)
    (tmp_path / "x.cwli").write_text("stats sum(x)")
    folder = tmp_path / "results" / "r"
    folder.mkdir(parents=True)
    (folder / "sent.jsonl").write_text(
        '{"cell": "c", "seq": 0, "message_id": "m", "sent_at_ms": 1}\n'
    )

    def run(stored, command, at):
        monkeypatch.setenv("AWS_ENDPOINT_URL", at)
        (folder / "run.json").write_text(
            json.dumps({"format": FORMAT, "experiment": "download"} | stored)
        )
        return main(command.split()), capsys.readouterr().err

    return run


PLAN = make_plan(
    EXPERIMENTS["download"], "aws", ["concurrency_value=1"], messages_per_concurrency=1
)
STORED = {"plan": PLAN.as_dict(), "cells": [cell.as_json() for cell in PLAN.cells]}


@pytest.mark.parametrize(
    ("stored", "at", "words"),
    [
        (AT_AWS, URL, "started at AWS, but .* an endpoint at .*unset AWS_ENDPOINT_URL"),
        (
            HERE,
            "",
            f"started at an endpoint at {URL}, .* this command uses AWS; .*AWS_ENDPOINT_URL={URL}",
        ),
        (HERE, NOWHERE, f"but this command uses an endpoint at {NOWHERE}.*AWS_ENDPOINT_URL={URL}"),
    ],
)
@pytest.mark.parametrize("command", ["sweep download --resume r --dry-run", "drain --run r"])
def test_a_run_is_resumed_only_where_it_was_started(verb, command, stored, at, words):
    status, said = verb(STORED | stored, f"{command} --target aws", at)
    assert status == 2 and re.search(words, said), said


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (HERE, "`stampede drain --run r`"),
        (AT_AWS, "was on AWS, but this shell is configured for an endpoint"),
    ],
)
def test_lines_are_queried_only_where_the_run_was(verb, stored, words):
    status, said = verb(stored, "query x.cwli --run r", NOWHERE)
    assert (status, words in said) == (2, True)


def test_an_endpoints_stack_is_not_used_on_aws_nor_one_of_aws_at_an_endpoint():
    at_endpoint = {
        "queue_url": "http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/q"
    }
    on_aws = {"queue_url": "https://sqs.us-east-1.amazonaws.com/123456789012/q"}
    with pytest.raises(UsageError, match="set AWS_ENDPOINT_URL"):
        refuse_elsewhere(AT_AWS, at_endpoint)
    with pytest.raises(UsageError, match="unset AWS_ENDPOINT_URL and remove the stack"):
        refuse_elsewhere(HERE, on_aws, changes=True)
    for place, outputs in ((AT_AWS, on_aws), (HERE, at_endpoint), (HERE, {}), (AT_AWS, {})):
        refuse_elsewhere(place, outputs, changes=True)


def test_the_embedded_aws_ignores_the_shells_configuration(configured):
    with pytest.raises(UsageError):
        configured("garbage\n", PROFILE="nosuch")
    client = targets.local({"region": "us-east-1"}, Access(NOWHERE, "key", "secret")).client("s3")
    assert client.meta.endpoint_url == NOWHERE
