"""IAM takes seconds to spread."""

import pytest

from stampede.emulator.manners.permissions import Permissions
from tests.unit.emulator.manners.conftest import code_of, policy

NETWORK = {"SubnetIds": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}


@pytest.fixture
def role(aws):
    """AWS, and the ARN of a role without policies that was made this moment."""
    aws = aws(Permissions)
    made = aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")
    return aws, made["Role"]["Arn"]


def test_a_new_role_cannot_be_assumed_yet(role):
    aws, arn = role
    with pytest.raises(Exception, match="role defined for the function cannot be assumed by Lambda"):
        aws.function("f", arn)
    aws.now += Permissions.ROLE_S[1]
    aws.function("f", arn)


def test_a_new_roles_first_policy_is_waited_for_by_a_network_and_a_queue(role):
    aws, arn = role
    aws.now += Permissions.ROLE_S[1]
    aws.client("iam").put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=policy("*"))
    with pytest.raises(Exception, match="permissions to call CreateNetworkInterface on EC2"):
        aws.function("f", arn, VpcConfig=NETWORK)
    aws.function("f", arn)
    functions = aws.client("lambda")
    source = {"FunctionName": "f", "EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:q"}
    with pytest.raises(Exception, match="permissions to call ReceiveMessage on SQS"):
        functions.create_event_source_mapping(**source)
    aws.now += Permissions.POLICY_S[1]
    assert code_of(functions.update_function_configuration, FunctionName="f", VpcConfig=NETWORK) == ""
    assert code_of(functions.create_event_source_mapping, **source) == ""


def test_requests_are_judged_by_the_policies_that_have_spread(role):
    aws, _ = role
    iam, [permissions] = aws.client("iam"), aws.manners

    def actions():
        return [statement.actions for policy in permissions.policies("r", "000000000000") for statement in policy]

    for action, before in (("s3:GetObject", []), ("s3:PutObject", [["s3:GetObject"]])):
        iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=policy(action))
        assert actions() == before
        aws.now += Permissions.POLICY_S[0] - 1
        assert actions() == before
        aws.now += Permissions.POLICY_S[1]
        assert actions() == [[action]]
    iam.delete_role_policy(RoleName="r", PolicyName="p")
    assert actions() == [["s3:PutObject"]]
    aws.now += Permissions.POLICY_S[1]
    assert actions() == []
