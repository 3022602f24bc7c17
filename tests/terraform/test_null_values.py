"""What the loader takes null for is what Terraform does: the defaults of every experiment."""

import pytest

from experiments import EXPERIMENTS
from tests.terraform.deployed import outputs

PLANNED = {"object_count": "objects", "object_bytes": "object_bytes", "slice_rows": "slice_rows"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_the_loader_takes_null_for_is_what_terraform_does(infra, mocking, name):
    applied = outputs(infra, mocking, name, "defaults")["defaults"]
    applied |= {variable: applied["key_plan"][part] for variable, part in PLANNED.items() if "key_plan" in applied}
    declared = EXPERIMENTS[name].defaults

    nullable = {"architecture", "ephemeral_storage_mb", "memory_size", "timeout_s"}
    nullable |= PLANNED.keys() if "key_plan" in applied else set()
    assert declared == {variable: applied[variable] for variable in nullable}
