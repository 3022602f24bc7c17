"""OpenTofu reads everything in infra/, as Terraform does: one that is there plans every experiment,
and what is known to be Terraform's alone is seen without it."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.emulator import opentofu
from tests.running_provider import running_provider
from tests.terraform.conftest import errors_of_a_plan, runner

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    path for folder in ("infra", "stampede/emulator") for path in (ROOT / folder).rglob("*.tf*")
]
# Blocks, attributes and functions that OpenTofu 1.10 refuses (internal/configs of its sources).
TERRAFORMS_ALONE = re.compile(
    r"(?mx) ^\s*(?:ephemeral|state_key|parallel|override_during|action_trigger"
    r"|action|list|test|skip_cleanup|\w+_wo)"
    r'(?:\s+".*)? \s*[={] | \bephemeralasnull\( | ^mock_provider [^}]* ^\s*source\s*='
)


def test_nothing_in_infra_is_terraforms_alone():
    code = {
        path: re.sub(r"(?m)#.*$", "", path.read_text())
        for path in FILES
        if path.suffix in (".tf", ".hcl")
    }
    found = {
        str(path): words[0]
        for path, text in code.items()
        if (words := TERRAFORMS_ALONE.search(text))
    }
    assert (found, len(code) > 50) == ({}, True)


@pytest.fixture(scope="module")
def tofu():
    """Run OpenTofu like `terraform`, where there is one."""
    program = shutil.which("tofu") or opentofu.built()
    if program is None:
        pytest.skip("no `tofu` on the PATH, and none built here")
    return runner(program)


def test_opentofu_finds_the_configuration_valid_and_plans_every_experiment(copy_of_the_tree, tofu):
    infra = copy_of_the_tree("tofu")
    done = tofu(infra, "init", "-backend=false", "-input=false", "-no-color")
    assert done.returncode == 0, done.stderr
    assert json.loads(tofu(infra, "validate", "-json").stdout)["diagnostics"] == []
    with running_provider(infra) as settings:
        mocking = functools.partial(tofu, **settings)
        wrong = {name: errors_of_a_plan(infra, mocking, name) for name in EXPERIMENTS}
    assert {name: errors for name, errors in wrong.items() if errors} == {}
