"""A function that was made or changed isn't ready yet."""

import pytest

from stampede.emulator.manners.function_states import FunctionStates
from tests.unit.emulator.manners.conftest import code_of

CONFLICT = "ResourceConflictException"


def state_of(functions, name):
    """Its State and LastUpdateStatus."""
    configuration = functions.get_function(FunctionName=name)["Configuration"]
    return configuration["State"], configuration["LastUpdateStatus"]


def test_a_new_function_is_pending_and_neither_changed_nor_invoked(aws):
    aws = aws(FunctionStates)
    functions = aws.client("lambda")
    assert aws.function("f")["State"] == "Pending"
    assert state_of(functions, "f") == ("Pending", "InProgress")
    assert functions.get_function_configuration(FunctionName="f")["State"] == "Pending"
    with pytest.raises(functions.exceptions.ResourceConflictException, match="in the following state: Pending"):
        functions.update_function_configuration(FunctionName="f", MemorySize=256)
    assert code_of(functions.invoke, FunctionName="f") == CONFLICT
    aws.now += FunctionStates.UPDATE_S[1]
    functions.update_function_configuration(FunctionName="f", MemorySize=256)


def test_a_second_update_waits_for_the_first(aws):
    aws = aws(FunctionStates)
    functions = aws.client("lambda")
    arn = aws.function("f")["FunctionArn"]
    aws.now += FunctionStates.UPDATE_S[1]
    functions.update_function_configuration(FunctionName="f", MemorySize=256)
    assert state_of(functions, "f") == ("Active", "InProgress")
    with pytest.raises(functions.exceptions.ResourceConflictException, match=f"in progress for resource: {arn}$"):
        functions.publish_version(FunctionName="f")
    aws.now += FunctionStates.UPDATE_S[1]
    assert code_of(functions.publish_version, FunctionName="f") == ""


def test_a_change_of_network_takes_longer(aws):
    aws = aws(FunctionStates)
    functions, (_, subnet, group) = aws.client("lambda"), aws.network()
    aws.function("f")
    aws.now += FunctionStates.UPDATE_S[1]
    network = {"SubnetIds": [subnet], "SecurityGroupIds": [group]}
    for vpc, most_s in ((network, 90), (network, 5), ({"SubnetIds": [], "SecurityGroupIds": []}, 5)):
        functions.update_function_configuration(FunctionName="f", VpcConfig=vpc)
        aws.now += most_s / 6  # more than any quick change's first second, less than the least of a network's
        if most_s == 90:
            assert state_of(functions, "f")[1] == "InProgress"
        aws.now += most_s
        assert code_of(functions.update_function_configuration, FunctionName="f", MemorySize=512) == ""
        aws.now += 5
