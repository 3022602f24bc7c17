"""EC2 deletes nothing that is still used."""

import pytest

from stampede.emulator.manners.dependencies import Dependencies
from tests.unit.emulator.manners.conftest import code_of, policy

VIOLATION = "DependencyViolation"


def test_a_network_goes_once_the_interfaces_of_a_function_that_left_it_have_gone(aws):
    aws = aws(Dependencies)
    ec2, functions, (vpc, subnet, group) = aws.client("ec2"), aws.client("lambda"), aws.network()
    aws.function("f", VpcConfig={"SubnetIds": [subnet], "SecurityGroupIds": [group]})

    def refusals():
        return [
            code_of(ec2.delete_subnet, SubnetId=subnet),
            code_of(ec2.delete_security_group, GroupId=group),
            code_of(ec2.delete_vpc, VpcId=vpc),
        ]

    assert refusals() == [VIOLATION] * 3
    functions.update_function_configuration(FunctionName="f", MemorySize=256)
    functions.update_function_configuration(FunctionName="f", VpcConfig={"SubnetIds": [], "SecurityGroupIds": []})
    assert refusals() == [VIOLATION] * 3
    aws.now += Dependencies.LINGERS_S[0] - 1
    assert refusals() == [VIOLATION] * 3
    aws.now += Dependencies.LINGERS_S[1]
    assert refusals() == ["", "", ""]


def test_a_deleted_functions_interfaces_stay_too(aws):
    aws = aws(Dependencies)
    ec2, (_, subnet, group) = aws.client("ec2"), aws.network()
    aws.function("f", VpcConfig={"SubnetIds": [subnet], "SecurityGroupIds": [group]})
    aws.client("lambda").delete_function(FunctionName="f")
    with pytest.raises(ec2.exceptions.ClientError, match=f"subnet '{subnet}' has dependencies and cannot be deleted"):
        ec2.delete_subnet(SubnetId=subnet)
    aws.now += Dependencies.LINGERS_S[1]
    ec2.delete_subnet(SubnetId=subnet)


def test_an_endpoint_holds_its_network_subnet_and_group(aws):
    aws = aws(Dependencies)
    ec2, (vpc, subnet, group) = aws.client("ec2"), aws.network()
    service = {"ServiceName": "com.amazonaws.us-east-1.sqs", "VpcEndpointType": "Interface", "VpcId": vpc}
    made = ec2.create_vpc_endpoint(SubnetIds=[subnet], SecurityGroupIds=[group], **service)["VpcEndpoint"]
    assert code_of(ec2.delete_subnet, SubnetId=subnet) == VIOLATION
    assert code_of(ec2.delete_security_group, GroupId=group) == VIOLATION
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    assert code_of(ec2.delete_security_group, GroupId=group) == ""
    assert code_of(ec2.delete_subnet, SubnetId=subnet) == ""
    assert code_of(ec2.delete_vpc, VpcId=vpc) == ""


def test_a_mount_target_and_an_instance_hold_their_subnet(aws):
    aws = aws(Dependencies)
    ec2, efs, (_, subnet, group) = aws.client("ec2"), aws.client("efs"), aws.network()
    system = efs.create_file_system(CreationToken="x")["FileSystemId"]
    target = efs.create_mount_target(FileSystemId=system, SubnetId=subnet, SecurityGroups=[group])["MountTargetId"]
    assert code_of(ec2.delete_security_group, GroupId=group) == VIOLATION
    efs.delete_mount_target(MountTargetId=target)
    assert code_of(ec2.delete_security_group, GroupId=group) == ""
    host = ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1, SubnetId=subnet)["Instances"][0]["InstanceId"]
    assert code_of(ec2.delete_subnet, SubnetId=subnet) == VIOLATION
    ec2.terminate_instances(InstanceIds=[host])
    assert code_of(ec2.delete_subnet, SubnetId=subnet) == ""


def test_a_group_that_a_rule_of_another_names_stays(aws):
    aws = aws(Dependencies)
    ec2, (vpc, _, group) = aws.client("ec2"), aws.network()
    other_group = ec2.create_security_group(VpcId=vpc, GroupName="other", Description="x")["GroupId"]
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=other_group, IpPermissions=[rule])
    assert code_of(ec2.delete_security_group, GroupId=group) == VIOLATION
    ec2.revoke_security_group_ingress(GroupId=other_group, IpPermissions=[rule])
    assert code_of(ec2.delete_security_group, GroupId=group) == ""


def test_what_the_embedded_aws_refuses_by_itself_stays_refused(aws):
    aws = aws()
    iam, s3 = aws.client("iam"), aws.client("s3")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy("s3:GetObject"))
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=policy("s3:GetObject"))
    assert code_of(iam.delete_role, RoleName="r") == "DeleteConflict"
    s3.create_bucket(Bucket="full")
    s3.put_object(Bucket="full", Key="k", Body=b"x")
    assert code_of(s3.delete_bucket, Bucket="full") == "BucketNotEmpty"
