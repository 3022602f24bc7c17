"""OpenTofu reads infra/ as Terraform does. If installed, it plans every experiment; without it, a
search finds what only Terraform supports."""

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
TERRAFORM_ONLY = re.compile(
    r"(?mx) ^\s*(?:ephemeral|state_key|parallel|override_during|action_trigger"
    r"|action|list|test|skip_cleanup|\w+_wo)"
    r'(?:\s+".*)? \s*[={] | \bephemeralasnull\( | ^mock_provider [^}]* ^\s*source\s*='
)


def test_infra_uses_nothing_that_only_terraform_supports():
    code = {
        path: re.sub(r"(?m)#.*$", "", path.read_text())
        for path in FILES
        if path.suffix in (".tf", ".hcl")
    }
    matches = {
        str(path): words[0] for path, text in code.items() if (words := TERRAFORM_ONLY.search(text))
    }
    assert (matches, len(code) > 50) == ({}, True)


@pytest.fixture(scope="module")
def tofu():
    """Run OpenTofu as `terraform`, if it is installed."""
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
