"""One applied local stack for all tests of this folder: real Terraform, real provider, real function code."""

import json
import shutil

import pytest

from loader.dataset import put_objects
from stampede.emulator import ministack, stack
from stampede.stacks import embedded
from stampede.stacks import target as targets
from tests.emulator.applied_stack import VARIABLES, LocalStack


@pytest.fixture(scope="session")
def local_stack(tmp_path_factory):
    """The embedded AWS with the download stack applied and the object in place; gone at the end."""
    emulator = embedded.start(follow_parent=True)
    try:
        outputs = embedded.apply_copy(emulator.endpoint_url, VARIABLES)
        target = targets.local(outputs, emulator.endpoint_url)
        put_objects(target, target.experiment.objects(target))
        work = tmp_path_factory.mktemp("work")
        outputs_file = work / "outputs.json"
        outputs_file.write_text(json.dumps({name: {"value": value} for name, value in outputs.items()}))
        yield LocalStack(target, outputs_file, work)
    finally:
        ministack.stop(stack.STATE_DIR)
        shutil.rmtree(stack.STATE_DIR, ignore_errors=True)
