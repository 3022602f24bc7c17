"""What the loader takes null for is what Terraform does: the defaults of every experiment."""

import pytest

from experiments import EXPERIMENTS
from tests.terraform.deployed import outputs


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_the_loader_takes_null_for_is_what_terraform_does(infra, terraform, name):
    applied = outputs(infra, terraform, name, "defaults")["defaults"]
    declared = EXPERIMENTS[name].defaults

    nullable = {"architecture", "ephemeral_storage_mb", "memory_size", "timeout_s"}
    assert nullable <= declared.keys()
    assert {variable: applied[variable] for variable in nullable} == {one: declared[one] for one in nullable}
