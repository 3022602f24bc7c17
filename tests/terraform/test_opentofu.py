"""OpenTofu reads everything in infra/, as Terraform does: what it doesn't know is seen without it, and one that is
there plans every experiment."""

import functools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import EXPERIMENTS
from stampede.emulator import opentofu
from stampede.stacks import hcl
from tests.running_provider import running_provider
from tests.terraform.conftest import errors_of_a_plan, runner

ROOT = Path(__file__).resolve().parents[2]

# Attributes and blocks in each kind of block, as OpenTofu 1.10 reads them (internal/configs of its sources); `*` is
# what a provider or the user names.
RULE = "condition error_message"
CONFIGURATION = {
    "file": "terraform provider variable locals output module resource data moved import check removed",
    "terraform": "required_version required_providers backend cloud provider_meta encryption",
    "variable": "type description default sensitive deprecated nullable validation",
    "output": "value description sensitive deprecated depends_on precondition",
    "resource": "* lifecycle",
    "data": "* lifecycle",
    "lifecycle": "create_before_destroy prevent_destroy ignore_changes replace_triggered_by destroy precondition "
    "postcondition",
    "moved": "from to",
    "import": "to id provider for_each",
    "check": "data assert",
    "removed": "from lifecycle provisioner connection",
} | dict.fromkeys(("validation", "precondition", "postcondition", "assert"), RULE)
TESTS = {
    "file": "run provider variables override_resource override_data override_module mock_provider",
    "run": "command providers expect_failures plan_options assert variables module override_resource override_data "
    "override_module",
    "plan_options": "mode refresh replace target",
    "module": "source version",
    "assert": RULE,
    "mock_provider": "alias mock_resource mock_data override_resource override_data",
    "override_module": "target outputs",
} | {f"mock_{kind}": "defaults" for kind in ("resource", "data")}
TESTS |= {f"override_{kind}": "target values" for kind in ("resource", "data")}
# Of a test, only these may call functions.
CALLING = {"file", "run", "assert", "provider", "mock_provider"}
FUNCTIONS = """
    abs abspath alltrue anytrue base64decode base64encode base64gunzip base64gzip base64sha256 base64sha512 basename
    bcrypt can ceil chomp chunklist cidrcontains cidrhost cidrnetmask cidrsubnet cidrsubnets coalesce coalescelist
    compact concat contains csvdecode dirname distinct element endswith file filebase64 filebase64sha256
    filebase64sha512 fileexists filemd5 fileset filesha1 filesha256 filesha512 flatten floor format formatdate
    formatlist indent index issensitive join jsondecode jsonencode keys length list log lookup lower map matchkeys
    max md5 merge min nonsensitive one parseint pathexpand pow range regex regexall replace reverse rsadecrypt
    sensitive setintersection setproduct setsubtract setunion sha1 sha256 sha512 signum slice sort split startswith
    strcontains strrev substr sum templatefile templatestring textdecodebase64 textencodebase64 timeadd timecmp
    timestamp title tobool tolist tomap tonumber toset tostring transpose trim trimprefix trimspace trimsuffix try
    upper urldecode urlencode uuid uuidv5 values yamldecode yamlencode zipmap any object optional set tuple
""".split()  # noqa: SIM905 - a list of 130 would take as many lines


def unknown_to_opentofu(text: str, schema: dict[str, str]) -> list[str]:
    """What a file of this schema says that OpenTofu refuses."""
    return list(_unknown("file", hcl.read(text), schema))


def _unknown(kind: str, body: dict[str, Any], schema: dict[str, str]) -> Iterator[str]:
    names = schema.get(kind, "*").split()
    for name, value in body.items():
        if name == "__is_block__":
            continue
        if (name not in names and "*" not in names) or name.endswith("_wo"):
            yield f"{kind}: {name}"
        blocks = list(_blocks(value))
        for block in blocks:
            yield from _unknown(name if name in names else "*", block, schema)
        if not blocks:
            known = FUNCTIONS if schema is CONFIGURATION or kind in CALLING else set()
            yield from (f"{kind}: {name}: {call}()" for call in _calls(value) if call not in known)


def _blocks(value: Any) -> Iterator[dict[str, Any]]:
    """The bodies of the blocks that `hcl.read` gives for one name, below their labels."""
    for body in value if isinstance(value, list) else ():
        while isinstance(body, dict) and "__is_block__" not in body and len(body) == 1:
            [body] = body.values()
        if isinstance(body, dict) and "__is_block__" in body:
            yield body


def _calls(value: Any) -> Iterator[str]:
    """The functions, but not those of providers, that an expression calls."""
    if isinstance(value, dict | list):
        for part in [*value.keys(), *value.values()] if isinstance(value, dict) else value:
            yield from _calls(part)
    else:
        without_texts = re.sub(r'"(?:[^"\\$]|\\.|\$(?!\{))*"', "", str(value))
        yield from re.findall(r"(?<![\w:.])([a-z]\w*)\(", without_texts)


FILES = [
    *((path, CONFIGURATION) for folder in ("infra", "stampede/emulator") for path in (ROOT / folder).rglob("*.tf")),
    *((path, TESTS) for path in (ROOT / "infra/tests").glob("*.tftest.hcl")),
]


def test_nothing_in_infra_is_unknown_to_opentofu():
    unknown = {str(path.relative_to(ROOT)): unknown_to_opentofu(path.read_text(), schema) for path, schema in FILES}
    assert {path: words for path, words in unknown.items() if words} == {}
    assert len(unknown) > 50


@pytest.mark.parametrize(
    ("schema", "text", "word"),
    [
        (TESTS, 'mock_provider "aws" {\n  source = "./mocks"\n}', "mock_provider: source"),
        (TESTS, 'mock_provider "aws" {\n  override_during = plan\n}', "override_during"),
        (TESTS, "override_data {\n  target = data.a.b\n  values = { n = max(1, 2) }\n}", "max()"),
        (TESTS, 'run "a" {\n  state_key = "b"\n}', "run: state_key"),
        (TESTS, 'run "a" {\n  variables {\n    prefix = format("%s", "b")\n  }\n}', "format()"),
        (TESTS, "test {\n  parallel = true\n}", "file: test"),
        (CONFIGURATION, 'ephemeral "a" "b" {\n}', "file: ephemeral"),
        (CONFIGURATION, 'variable "a" {\n  ephemeral = true\n}', "variable: ephemeral"),
        (CONFIGURATION, 'resource "a" "b" {\n  password_wo = "c"\n}', "password_wo"),
        (CONFIGURATION, 'resource "a" "b" {\n  lifecycle {\n    action_trigger {\n    }\n  }\n}', "action_trigger"),
        (CONFIGURATION, 'locals {\n  a = ["x ${ephemeralasnull(1)}", "not a call(1)"]\n}', "ephemeralasnull()"),
    ],
)
def test_what_opentofu_does_not_know_is_seen(schema, text, word):
    [unknown] = unknown_to_opentofu(text, schema)
    assert word in unknown


@pytest.fixture(scope="module")
def tofu():
    """Run OpenTofu like `terraform`, where there is one."""
    program = shutil.which("tofu") or opentofu.built()
    if program is None:
        pytest.skip("no `tofu` on the PATH, and none built here")
    return runner(program)


@pytest.fixture(scope="module")
def initialised(copy_of_the_tree, tofu):
    """A copy of infra/ that OpenTofu has initialised, tests and all."""
    infra = copy_of_the_tree("tofu")
    done = tofu(infra, "init", "-backend=false", "-input=false", "-no-color")
    assert done.returncode == 0, done.stderr
    return infra


def test_opentofu_finds_the_configuration_valid(initialised, tofu):
    assert json.loads(tofu(initialised, "validate", "-json").stdout)["diagnostics"] == []


def test_opentofu_plans_every_experiment(initialised, tofu):
    with running_provider(initialised) as settings:
        mocking = functools.partial(tofu, **settings)
        wrong = {name: errors_of_a_plan(initialised, mocking, name) for name in EXPERIMENTS}
    assert {name: errors for name, errors in wrong.items() if errors} == {}
