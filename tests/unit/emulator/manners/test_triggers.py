"""An event source mapping takes seconds to change."""

import pytest

from stampede.emulator.manners.triggers import Triggers
from tests.unit.emulator.manners.conftest import code_of

SOURCE = {"FunctionName": "f", "EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:q"}
IN_USE = "ResourceInUseException"


@pytest.fixture
def mapped(aws):
    """AWS, a client of Lambda, and what names a mapping that was made this moment."""
    aws = aws(Triggers)
    aws.function("f")
    functions = aws.client("lambda")
    made = functions.create_event_source_mapping(**SOURCE)
    assert made["State"] == "Creating"
    return aws, functions, {"UUID": made["UUID"]}


def test_a_new_mapping_neither_reads_nor_changes_yet(mapped):
    aws, functions, mapping = mapped
    assert functions.get_event_source_mapping(**mapping)["State"] == "Creating"
    assert code_of(functions.update_event_source_mapping, **mapping, BatchSize=1) == IN_USE
    assert code_of(functions.delete_event_source_mapping, **mapping) == IN_USE
    assert aws.manners[0].is_new(mapping["UUID"])
    aws.now += Triggers.CHANGES_S[1]
    assert functions.get_event_source_mapping(**mapping)["State"] == "Enabled"
    assert not aws.manners[0].is_new(mapping["UUID"])


@pytest.mark.parametrize(
    ("change", "state", "later"),
    [
        ({"BatchSize": 1}, "Updating", "Enabled"),
        ({"Enabled": False}, "Disabling", "Disabled"),
        ({"Enabled": True}, "Enabling", "Enabled"),
    ],
)
def test_a_change_takes_seconds(mapped, change, state, later):
    aws, functions, mapping = mapped
    aws.now += Triggers.CHANGES_S[1]
    assert functions.update_event_source_mapping(**mapping, **change)["State"] == state
    aws.now += Triggers.CHANGES_S[0] - 1
    assert functions.get_event_source_mapping(**mapping)["State"] == state
    assert code_of(functions.delete_event_source_mapping, **mapping) == IN_USE
    aws.now += Triggers.CHANGES_S[1]
    assert functions.get_event_source_mapping(**mapping)["State"] == later


def test_a_deleted_mapping_is_still_there_for_a_while_and_makes_another_one_wait(mapped):
    aws, functions, mapping = mapped
    assert code_of(functions.create_event_source_mapping, **SOURCE) == "ResourceConflictException"
    aws.now += Triggers.CHANGES_S[1]
    functions.delete_event_source_mapping(**mapping)
    assert functions.get_event_source_mapping(**mapping)["State"] == "Deleting"
    assert code_of(functions.create_event_source_mapping, **SOURCE) == "ResourceConflictException"
    aws.now += Triggers.CHANGES_S[1]
    assert code_of(functions.get_event_source_mapping, **mapping) == "ResourceNotFoundException"
    assert code_of(functions.create_event_source_mapping, **SOURCE) == ""
