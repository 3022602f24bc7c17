"""A file system and its mount targets take their time."""

import pytest

from stampede.emulator.manners.file_systems import FileSystems
from tests.unit.emulator.manners.conftest import code_of


@pytest.fixture
def made(aws):
    """AWS, a client of EFS, a subnet, and a file system that was made this moment."""
    aws = aws(FileSystems)
    efs, (_, subnet, group) = aws.client("efs"), aws.network()
    return aws, efs, {"SubnetIds": [subnet], "SecurityGroupIds": [group]}, efs.create_file_system()["FileSystemId"]


def test_a_file_system_is_created_before_it_takes_a_mount_target(made):
    aws, efs, network, system = made
    target = {"FileSystemId": system, "SubnetId": network["SubnetIds"][0]}
    assert efs.describe_file_systems()["FileSystems"][0]["LifeCycleState"] == "creating"
    assert code_of(efs.create_mount_target, **target) == "IncorrectFileSystemLifeCycleState"
    aws.now += FileSystems.SYSTEM_S[1]
    assert efs.describe_file_systems()["FileSystems"][0]["LifeCycleState"] == "available"
    assert code_of(efs.create_mount_target, **target) == ""


def test_a_function_waits_for_the_mount_target(made):
    aws, efs, network, system = made
    aws.now += FileSystems.SYSTEM_S[1]
    target = efs.create_mount_target(FileSystemId=system, SubnetId=network["SubnetIds"][0])
    assert target["LifeCycleState"] == "creating"
    point = efs.create_access_point(FileSystemId=system)
    mounted = {"FileSystemConfigs": [{"Arn": point["AccessPointArn"], "LocalMountPath": "/mnt/data"}]}
    aws.now += FileSystems.TARGET_S[0] - 1
    assert efs.describe_access_points()["AccessPoints"][0]["LifeCycleState"] == "available"
    with pytest.raises(Exception, match="not all are in the available life cycle state yet"):
        aws.function("f", VpcConfig=network, **mounted)
    aws.now += FileSystems.TARGET_S[1]
    aws.function("f", VpcConfig=network, **mounted)


def test_a_file_system_goes_after_its_mount_target(made):
    aws, efs, network, system = made
    aws.now += FileSystems.SYSTEM_S[1]
    target = efs.create_mount_target(FileSystemId=system, SubnetId=network["SubnetIds"][0])["MountTargetId"]
    efs.delete_mount_target(MountTargetId=target)
    [shown] = efs.describe_mount_targets(MountTargetId=target)["MountTargets"]
    assert shown["LifeCycleState"] == "deleting"
    assert code_of(efs.delete_file_system, FileSystemId=system) == "FileSystemInUse"
    aws.now += FileSystems.DELETING_S[1]
    assert code_of(efs.describe_mount_targets, MountTargetId=target) == "MountTargetNotFound"
    assert code_of(efs.delete_file_system, FileSystemId=system) == ""
