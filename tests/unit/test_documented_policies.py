"""The policies of docs/ keep their holder from taking over, changing or deleting resources that
aren't Stampede's.

Each row has one resource of a request, for the embedded AWS's own evaluator; AWS checks every
resource of a request.
"""

import pytest
from ministack.core import iam_evaluator

from tests.emulator.documented_policy import policy

OURS = {"aws:ResourceTag/project": "stampede"}
OTHERS = {"aws:ResourceTag/project": "payroll"}
ASKED = {"aws:RequestTag/project": "stampede"}
UNTAGGED: dict[str, str] = {}

KEY = "arn:aws:kms:us-east-1:000000000000:key/1"
VPC = "arn:aws:ec2:us-east-1:000000000000:vpc/vpc-1"
SUBNET = "arn:aws:ec2:us-east-1:000000000000:subnet/subnet-1"
GROUP = "arn:aws:ec2:us-east-1:000000000000:security-group/sg-1"
INSTANCE = "arn:aws:ec2:us-east-1:000000000000:instance/i-1"
INTERFACE = "arn:aws:ec2:us-east-1:000000000000:network-interface/eni-1"
EFS = "arn:aws:elasticfilesystem:us-east-1:000000000000:file-system/fs-1"
S3_FILES = "arn:aws:s3files:us-east-1:000000000000:file-system/fs-1"
RULE = "arn:aws:events:us-east-1:000000000000:rule/"
STACK = "arn:aws:cloudformation:us-east-1:000000000000:stack/"
TRIGGER = "arn:aws:lambda:us-east-1:000000000000:event-source-mapping:1"
DELIVERY = "arn:aws:logs:us-east-1:000000000000:delivery:1"
TABLE = "arn:aws:glue:us-east-1:000000000000:table/"
TAG_KEYS = {"aws:TagKeys": ["project", "experiment", "managed_by"]}
OF_S3_FILES = {"events:ManagedBy": "elasticfilesystem.amazonaws.com"}


def allowed(name: str, action: str, resource: str, context: dict) -> bool:
    asked = iam_evaluator.EvalContext(
        principal_arn="arn:aws:iam::000000000000:user/runner",
        principal_type="User",
        principal_account="000000000000",
        action=action,
        resource_arn=resource,
        region="us-east-1",
        service_context={key.lower(): value for key, value in context.items()},
    )
    statements = iam_evaluator.parse_policy_document(policy(name))
    return iam_evaluator.evaluate(asked, [statements]).decision == "Allow"


@pytest.mark.parametrize(
    ("name", "action", "resource", "context"),
    [
        # a tag first, and then whatever the tag allows
        ("copy_host", "ec2:CreateTags", INSTANCE, OTHERS | ASKED),
        ("filesystem", "ec2:CreateTags", GROUP, UNTAGGED | ASKED),
        ("s3files", "s3files:TagResource", S3_FILES, UNTAGGED | ASKED),
        ("copy_host", "kms:TagResource", KEY, OTHERS | ASKED | TAG_KEYS),
        ("copy_host", "kms:TagResource", KEY, ASKED | {"aws:TagKeys": ["project", "owner"]}),
        ("copy_host", "kms:Decrypt", KEY, OURS),
        ("", "lambda:TagResource", TRIGGER, OTHERS | ASKED),
        # an own object's neighbours, and everything but to read it
        ("own_object", "s3:GetObject", "arn:aws:s3:::my-bucket/models/v4.bin", UNTAGGED),
        ("own_object", "s3:PutObject", "arn:aws:s3:::my-bucket/models/v3.bin", UNTAGGED),
        ("", "s3:GetObject", "arn:aws:s3:::my-bucket/models/v3.bin", UNTAGGED),
        # others' networks and hosts
        ("copy_host", "ec2:TerminateInstances", INSTANCE, OTHERS),
        ("copy_host", "ec2:RunInstances", SUBNET, OTHERS),
        ("copy_host", "ec2:RunInstances", INTERFACE, {"ec2:AssociatePublicIpAddress": "true"}),
        (
            "copy_host",
            "ec2:RunInstances",
            "arn:aws:ec2:us-east-1::image/ami-1",
            {"ec2:Owner": "999999999999"},
        ),
        ("filesystem", "ec2:AuthorizeSecurityGroupIngress", GROUP, UNTAGGED | ASKED),
        # others' file systems, rules, stacks, deliveries and tables
        ("s3files", "s3files:DeleteFileSystem", S3_FILES, OTHERS),
        ("s3files", "events:PutTargets", f"{RULE}payroll", OF_S3_FILES),
        ("s3files", "events:PutRule", f"{RULE}DO-NOT-DELETE-S3-Files-1", UNTAGGED),
        ("s3files", "cloudformation:UpdateStack", f"{STACK}stampede-payroll/1", UNTAGGED),
        ("server_side_proof", "logs:DeleteDelivery", DELIVERY, OTHERS),
        ("express", "glue:DeleteTable", f"{TABLE}payroll_express/standard", UNTAGGED),
    ],
)
def test_the_holder_may_not(name, action, resource, context):
    assert not allowed(f"permissions_{name}".rstrip("_"), action, resource, context)


@pytest.mark.parametrize(
    ("name", "action", "resource", "context"),
    [
        ("copy_host", "ec2:CreateTags", INSTANCE, ASKED | {"ec2:CreateAction": "RunInstances"}),
        ("copy_host", "ec2:RunInstances", SUBNET, OURS),
        ("copy_host", "ec2:RunInstances", INTERFACE, {"ec2:AssociatePublicIpAddress": "false"}),
        (
            "copy_host",
            "ec2:RunInstances",
            "arn:aws:ec2:us-east-1::image/ami-1",
            {"ec2:Owner": "amazon"},
        ),
        ("copy_host", "kms:TagResource", KEY, ASKED | TAG_KEYS),
        (
            "filesystem",
            "elasticfilesystem:TagResource",
            EFS,
            {"elasticfilesystem:CreateAction": "CreateFileSystem"},
        ),
        ("s3files", "s3files:TagResource", S3_FILES, {"s3files:CreateAction": "CreateFileSystem"}),
        ("s3files", "events:PutRule", f"{RULE}DO-NOT-DELETE-S3-Files-1", OF_S3_FILES),
        (
            "s3files",
            "cloudformation:CreateStack",
            f"{STACK}stampede-filesystem-s3files-mount-target-0/1",
            UNTAGGED,
        ),
        ("express", "glue:DeleteTable", f"{TABLE}stampede_express/standard", UNTAGGED),
        ("", "lambda:TagResource", TRIGGER, ASKED),
        ("own_object", "s3:GetObject", "arn:aws:s3:::my-bucket/models/v3.bin", UNTAGGED),
    ],
)
def test_the_holder_may(name, action, resource, context):
    assert allowed(f"permissions_{name}".rstrip("_"), action, resource, context)
