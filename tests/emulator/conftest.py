"""One applied local stack for all tests of this folder: real Terraform, provider and functions."""

import shutil

import pytest

from loader.dataset import put_objects
from stampede.emulator import ministack, stack
from stampede.stacks import embedded
from stampede.stacks import target as targets
from tests.emulator.applied_stack import VARIABLES, LocalStack, finding
from tests.running_provider import running_provider


@pytest.fixture(scope="session")
def local_stack(tmp_path_factory):
    """The embedded AWS with an applied download stack and its object, until the session ends."""
    emulator = embedded.start(follow_parent=True)
    try:
        infra = stack.lay_out()
        targets.local_terraform(emulator.access).init()
        with running_provider(infra, stack.environment(emulator.access)) as provider:
            yield _applied(emulator.access, tmp_path_factory.mktemp("work"), provider)
    finally:
        ministack.stop(stack.STATE_DIR)
        shutil.rmtree(stack.STATE_DIR, ignore_errors=True)


def _applied(access, work, provider):
    with finding(provider):
        outputs = embedded.apply_copy(access, VARIABLES)
    target = targets.local(outputs, access)
    put_objects(target, target.experiment.objects(target))
    return LocalStack(target, access, work, provider)
