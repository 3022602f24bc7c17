"""docs/permissions.json is enough for whoever runs Stampede, and not too much: the whole life of a
stack, by a user who has it.

The embedded AWS enforces IAM for every key but its run's own; docs/permissions.md says what it
doesn't ask.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from loader import patience
from stampede.cli.command_line import main
from stampede.emulator import providers, stack
from stampede.emulator.ministack import Access
from stampede.errors import RunError
from stampede.runs.folder import RunFolder
from stampede.stacks import endpoints
from stampede.stacks.target import aws_terraform
from tests.emulator.applied_stack import left_behind
from tests.emulator.documented_policy import DOCS, NAMES, REGION, actions, make_user, policy
from tests.emulator.embedded_aws import client, embedded_aws

VARIABLES = {
    "object_size_mb": 1,
    "ephemeral_storage_mb": 512,
    "memory_size": 1024,
    "timeout_s": 5,
    "method": "stream",
}
SWEEP = ["download", "--target", "aws", "--messages-per-concurrency", "2"]
SWEEP += [
    word
    for name, value in (VARIABLES | {"concurrency_value": 3}).items()
    for word in ("--set", f"{name}={value}")
]


@dataclass
class User:
    """A user of an embedded AWS who has the policy and nothing else, and whose shell this process
    is."""

    iam: Any
    work: Path
    access: Access

    def may(self, *documents: dict[str, Any]) -> None:
        """Give the user these policies in place of what he had."""
        document = documents[0] | {
            "Statement": [
                statement for document in documents for statement in document["Statement"]
            ]
        }
        self.iam.put_user_policy(
            UserName="runner", PolicyName="stampede", PolicyDocument=json.dumps(document)
        )

    def may_all_but(self, action: str) -> None:
        document = policy()
        for statement in document["Statement"]:
            if action in statement["Action"]:
                statement["Action"] = [
                    allowed for allowed in statement["Action"] if allowed != action
                ]
        self.may(document)

    def client(self, service: str) -> Any:
        """The user's own client; boto3's shared session may still have another test's key."""
        return boto3.Session().client(service)

    def stampede(self, verb: str, *arguments: str) -> int:
        into = [] if verb == "dataset" else ["--results-dir", str(self.work / "results")]
        return main([verb, *into, *arguments])


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """A checkout whose infra/ has the overrides laid over it, an embedded AWS of its own, and a
    user in his shell."""
    root, state = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("emulator")
    config = providers.prepare()
    stack.lay_out(root)
    with embedded_aws(state) as emulator, pytest.MonkeyPatch.context() as shell:
        iam, key = make_user(emulator.access)
        shell.setattr(stack, "ROOT", root)
        shell.setattr(endpoints, "is_aws", lambda url: True)  # it stands for AWS here
        # CloudWatch isn't asked so often; here nobody minds
        shell.setitem(patience.POLL_S, "aws", 0.5)
        environment = dict.fromkeys(("AWS_ENDPOINT_URL", "HTTP_PROXY"), emulator.endpoint_url) | key
        environment |= {"NO_PROXY": "127.0.0.1", "AWS_DEFAULT_REGION": REGION}
        environment |= {"TF_CLI_CONFIG_FILE": str(config)} if config else {}
        for name, value in environment.items():
            shell.setenv(name, value)
        yield User(iam, root, emulator.access)


@pytest.fixture(scope="module")
def swept(user):
    """A sweep under the policy; the stack is kept, and a later test changes it."""
    user.may(policy())
    assert user.stampede("sweep", *SWEEP, "--keep") == 0
    return user


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_fits_into_one_managed_policy(name):
    text = (DOCS / f"{name}.json").read_text()
    assert len(re.sub(r"\s", "", text)) < 6144  # IAM's quota, white space left out


def test_the_page_says_of_every_action_why_it_is_needed_and_of_no_other():
    page = (DOCS / "permissions.md").read_text()
    explained = set()
    for service, row in re.findall(r"(?m)^\| `(\w+)` \| (.+?) \|", page):
        explained |= {f"{service}:{name}" for name in re.findall(r"`(\w+)`", row)}
    assert explained == {action for name in NAMES for action in actions(policy(name))}


def test_all_that_a_sweep_does_passes_under_the_policy_and_other_names_are_out_of_reach(
    swept, capsys
):
    folder = RunFolder.find(swept.work / "results", None)
    [account] = folder.read_json("accounting.json")
    assert (account["sent"], account["succeeded"]) == (6, 6)
    assert swept.stampede("evidence", folder.run_id, "--format", "json") == 0
    checks = {row["check"]: row["outcome"] for row in json.loads(capsys.readouterr().out)}
    assert checks["logs-late"] == "held" and "contradicted" not in checks.values()

    assert swept.stampede("doctor", *SWEEP, "--format", "json") == 0
    findings = {
        finding["check"]: finding for finding in json.loads(capsys.readouterr().out)["checks"]
    }
    assert findings["credentials"]["found"].endswith(":user/runner")
    assert findings["concurrency"]["status"] == "ok"
    assert (
        findings["leftovers"]["found"]
        == "from an earlier deployment: stampede-download (reserves 3)"
    )
    # The embedded AWS doesn't evaluate stats; that a query may be started, read and stopped is what
    # counts here.
    logs, group = swept.client("logs"), "/aws/lambda/stampede-download"
    query = logs.start_query(
        logGroupName=group, startTime=0, endTime=1, queryString="fields @message"
    )["queryId"]
    assert logs.get_query_results(queryId=query)["status"]
    logs.stop_query(queryId=query)
    for service, call in OF_OTHERS.items():
        with pytest.raises(ClientError, match="AccessDenied"):
            call(swept.client(service))


OF_OTHERS = {
    "sqs": lambda sqs: sqs.create_queue(QueueName="someone-elses"),
    "iam": lambda iam: iam.get_role(RoleName="someone-elses"),
    "s3": lambda s3: s3.create_bucket(Bucket="someone-elses"),
}


def applied_anew():
    return aws_terraform().apply(VARIABLES | {"concurrency_value": 2, "s3_file_name": "other.dat"})


@pytest.mark.parametrize(
    ("action", "verb"),
    [
        ("logs:FilterLogEvents", ["drain"]),
        ("s3:PutObject", ["dataset", "--seed", "2"]),
        ("iam:PutRolePolicy", None),
    ],
)
def test_without_one_of_its_actions_a_verb_or_terraform_fails_and_names_it(
    swept, capsys, action, verb
):
    swept.may_all_but(action)
    try:
        if verb is None:
            with pytest.raises(RunError, match=f"not authorized to perform: {action}"):
                applied_anew()
        else:
            assert swept.stampede(*verb, "--target", "aws") == 1
            assert re.search(r"AccessDenied|not authorized", capsys.readouterr().err)
    finally:
        swept.may(policy())


def test_the_stack_is_changed_and_taken_down_under_the_policy_and_leaves_nothing(swept):
    # S3's access logs are asked for here; the embedded AWS never delivers any.
    changed = VARIABLES | {"concurrency_value": 5, "server_side_proof": True}
    swept.may(policy(), policy("permissions_server_side_proof"))
    terraform = aws_terraform()
    assert terraform.apply(changed)
    functions = swept.client("lambda")
    reserved = functions.get_function_concurrency(FunctionName="stampede-download")
    assert reserved["ReservedConcurrentExecutions"] == 5
    assert terraform.apply(changed) == []

    def root(service):
        return client(service, swept.access)

    s3, sqs, bucket = (
        root("s3"),
        root("sqs"),
        {"Bucket": "stampede-download-000000000000-us-east-1"},
    )
    s3.put_object(Key="left/1.dat", Body=b"x", **bucket)
    s3.create_multipart_upload(Key="cut-off.dat", **bucket)
    assert all(left_behind(root).values())
    # The provider waits 2 minutes for a deleted queue to vanish everywhere, but not for one that is
    # gone already.
    for url in sqs.list_queues()["QueueUrls"]:
        sqs.delete_queue(QueueUrl=url)
    terraform.destroy(changed, refresh=False)
    assert terraform.outputs() == {}
    assert not any(left_behind(root).values())
