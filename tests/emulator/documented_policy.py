"""The policies of docs/, filled in for the embedded AWS, and a user with them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3

from stampede.emulator import ministack
from stampede.emulator.ministack import Access

DOCS = Path(__file__).resolve().parents[2] / "docs"
ACCOUNT_ID, REGION, PREFIX = "000000000000", ministack.REGION, "stampede"
NAMES = (
    "permissions",
    "permissions_filesystem",
    "permissions_s3files",
    "permissions_copy",
    "permissions_copy_host",
    "permissions_express",
    "permissions_function",
    "permissions_server_side_proof",
    "permissions_own_object",
)
# Allowed in addition to the policy. The embedded AWS checks the first action without a function's
# name and the second without lambda:FunctionArn; AWS asks for lambda:GetEventSourceMapping and
# sqs:SendMessage in place of the next two. For an instance profile it checks no ARN, or the role's.
# It ignores a key's policy, by which its maker may manage the key, and the query of a request to
# EFS, so that these actions apply to any file system.
ASKED_OTHERWISE = (
    "lambda:CreateFunction",
    "lambda:CreateEventSourceMapping",
    "lambda:ListEventSourceMappings",
    "sqs:SendMessageBatch",
    "elasticfilesystem:DescribeFileSystems",
    "elasticfilesystem:DescribeAccessPoints",
    "elasticfilesystem:DescribeMountTargets",
    "iam:CreateInstanceProfile",
    "iam:GetInstanceProfile",
    "iam:AddRoleToInstanceProfile",
    "iam:RemoveRoleFromInstanceProfile",
    "iam:DeleteInstanceProfile",
    "kms:DescribeKey",
    "kms:EnableKeyRotation",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListResourceTags",
    "kms:ScheduleKeyDeletion",
    "athena:CreateWorkGroup",
    "athena:DeleteWorkGroup",
    "athena:GetWorkGroup",
    "athena:ListTagsForResource",
    "athena:GetQueryExecution",
    "athena:GetQueryResults",
    "athena:StopQueryExecution",
    "glue:CreateDatabase",
    "glue:GetDatabase",
    "glue:DeleteDatabase",
    "glue:CreateTable",
    "glue:GetTable",
    "glue:DeleteTable",
    "glue:GetTags",
)


def policy(name: str = "permissions") -> dict[str, Any]:
    """The policy with its placeholders filled in."""
    text = (DOCS / f"{name}.json").read_text()
    values = {"ACCOUNT_ID": ACCOUNT_ID, "REGION": REGION, "PREFIX": PREFIX}
    values |= {"DATABASE": f"{PREFIX}_express"}
    values |= {"OWN_BUCKET": "my-bucket", "OWN_KEY": "models/v3.bin"}
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return json.loads(text)


def actions(document: Mapping[str, Any]) -> list[str]:
    """Every action of a policy."""
    statement_actions = [statement["Action"] for statement in document["Statement"]]
    return [
        action
        for entry in statement_actions
        for action in ([entry] if isinstance(entry, str) else entry)
    ]


def make_user(access: Access, *names: str) -> tuple[Any, dict[str, str]]:
    """Make the user `runner` with these policies and ASKED_OTHERWISE. Return IAM's client and the
    user's key, as environment variables."""
    iam = boto3.client("iam", endpoint_url=access.endpoint_url, region_name=REGION, **access.key)
    iam.create_user(UserName="runner")
    documents = {name: policy(name) for name in names}
    # The embedded AWS has few tags, so actions that a policy limits by tags are allowed for all.
    by_tags = [
        action
        for document in documents.values()
        for statement in document["Statement"]
        if "Tag/" in json.dumps(statement.get("Condition"))
        for action in actions({"Statement": [statement]})
    ]
    more = {"Effect": "Allow", "Action": [*ASKED_OTHERWISE, *by_tags], "Resource": "*"}
    documents["asked-otherwise"] = {"Version": "2012-10-17", "Statement": [more]}
    for name, document in documents.items():
        iam.put_user_policy(UserName="runner", PolicyName=name, PolicyDocument=json.dumps(document))
    key = iam.create_access_key(UserName="runner")["AccessKey"]
    return iam, {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }
