"""docs/permissions.json allows enough to run Stampede, and no more: a user who has it applies,
sweeps and destroys a stack.

The embedded AWS enforces IAM for every key except the run's own; docs/permissions.md says what it
doesn't check.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from loader import drain
from stampede.cli.command_line import main
from stampede.emulator import providers, stack
from stampede.emulator.ministack import Access
from stampede.errors import RunError
from stampede.runs.folder import RunFolder
from stampede.stacks import endpoints
from stampede.stacks.target import aws_terraform
from tests.emulator.applied_stack import left_behind
from tests.emulator.documented_policy import DOCS, NAMES, REGION, actions, make_user, policy
from tests.emulator.embedded_aws import client, embedded_aws, settings

VARIABLES = {
    "object_size_mb": 1,
    "ephemeral_storage_mb": 512,
    "memory_size": 1024,
    "timeout_s": 5,
    "method": "stream",
}
SWEEP = ["download", "--target", "aws", "--messages-per-concurrency", "2"]
SWEEP += settings(*(f"{name}={value}" for name, value in VARIABLES.items()), "concurrency_value=3")


@dataclass
class User:
    """A user of an embedded AWS with the policy alone; this process is the user's shell."""

    iam: Any
    work: Path
    access: Access

    def may(self, *documents: dict[str, Any]) -> None:
        """Replace the user's policies by these."""
        statements = [statement for document in documents for statement in document["Statement"]]
        text = json.dumps(documents[0] | {"Statement": statements})
        self.iam.put_user_policy(UserName="runner", PolicyName="stampede", PolicyDocument=text)

    def may_all_but(self, action: str) -> None:
        document = policy()
        for statement in document["Statement"]:
            if action in statement["Action"]:
                statement["Action"].remove(action)
        self.may(document)

    def client(self, service: str) -> Any:
        """The user's client; boto3's shared session may still have another test's key."""
        return boto3.Session().client(service)

    def stampede(self, verb: str, *arguments: str) -> int:
        into = [] if verb == "dataset" else ["--results-dir", str(self.work / "results")]
        return main([verb, *into, *arguments])


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """A checkout whose infra/ has the overrides, its own embedded AWS, and a user's shell."""
    root, state = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("emulator")
    config = providers.prepare()
    stack.lay_out(root)
    with embedded_aws(state) as emulator, pytest.MonkeyPatch.context() as shell:
        iam, key = make_user(emulator.access)
        shell.setattr(stack, "ROOT", root)
        shell.setattr(endpoints, "is_aws", lambda url: True)  # it stands for AWS here
        # more often than CloudWatch may be asked
        shell.setitem(drain.POLL_S, "aws", 0.5)
        environment = dict.fromkeys(("AWS_ENDPOINT_URL", "HTTP_PROXY"), emulator.endpoint_url) | key
        environment |= {"NO_PROXY": "127.0.0.1", "AWS_DEFAULT_REGION": REGION}
        environment |= {"TF_CLI_CONFIG_FILE": str(config)} if config else {}
        for name, value in environment.items():
            shell.setenv(name, value)
        yield User(iam, root, emulator.access)


@pytest.fixture(scope="module")
def swept(user):
    """A sweep under the policy; it keeps the stack, which a later test changes."""
    user.may(policy())
    assert user.stampede("sweep", *SWEEP, "--keep") == 0
    return user


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_fits_into_one_managed_policy(name):
    text = (DOCS / f"{name}.json").read_text()
    assert len(re.sub(r"\s", "", text)) < 6144  # IAM's quota, white space left out


def test_the_page_explains_every_action_of_the_policies_and_no_other():
    page = (DOCS / "permissions.md").read_text()
    explained = set()
    for service, row in re.findall(r"(?m)^\| `(\w+)` \| (.+?) \|", page):
        explained |= {f"{service}:{name}" for name in re.findall(r"`(\w+)`", row)}
    assert explained == {action for name in NAMES for action in actions(policy(name))}


def test_the_policy_allows_all_that_a_sweep_does_and_no_other_names(swept, capsys):
    folder = RunFolder.find(swept.work / "results", None)
    [account] = folder.read_json("accounting.json")
    assert (account["sent"], account["succeeded"]) == (6, 6)
    assert swept.stampede("evidence", folder.run_id, "--format", "json") == 0
    checks = {row["check"]: row["outcome"] for row in json.loads(capsys.readouterr().out)}
    assert checks["logs-late"] == "held" and "contradicted" not in checks.values()

    assert swept.stampede("doctor", *SWEEP, "--format", "json") == 0
    doctor = json.loads(capsys.readouterr().out)
    findings = {finding["check"]: finding for finding in doctor["checks"]}
    assert findings["credentials"]["found"].endswith(":user/runner")
    assert findings["concurrency"]["status"] == "ok"
    leftovers = "from an earlier deployment: stampede-download (reserves 3)"
    assert findings["leftovers"]["found"] == leftovers
    # A query may be started, read and stopped; the embedded AWS doesn't evaluate stats.
    logs, group = swept.client("logs"), "/aws/lambda/stampede-download"
    asked = {"logGroupName": group, "startTime": 0, "endTime": 1, "queryString": "fields @message"}
    query = logs.start_query(**asked)["queryId"]
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


def test_the_policy_allows_to_change_and_to_destroy_the_stack_which_leaves_nothing(swept):
    # With S3's access logs, which the embedded AWS never delivers.
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

    s3, sqs = root("s3"), root("sqs")
    bucket = {"Bucket": "stampede-download-000000000000-us-east-1"}
    s3.put_object(Key="left/1.dat", Body=b"x", **bucket)
    s3.create_multipart_upload(Key="cut-off.dat", **bucket)
    assert all(left_behind(root).values())
    # The provider would wait 2 minutes for each queue that it deletes.
    for url in sqs.list_queues()["QueueUrls"]:
        sqs.delete_queue(QueueUrl=url)
    terraform.destroy(changed, refresh=False)
    assert terraform.outputs() == {}
    assert not any(left_behind(root).values())
