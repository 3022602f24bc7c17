"""A copy of infra/, functions/ and queries/ with Terraform initialised; the repository's own infra/
isn't touched."""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stampede.emulator import providers
from tests.running_provider import running_provider

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".terraform", "*.tfstate*", ".build", ".terraform.lock.hcl"
)

Terraform = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def mocking(infra, terraform) -> Iterator[Terraform]:
    """`terraform` with a running provider, which `terraform test` would start several times a run
    just to ask for its schemas."""
    with running_provider(infra) as settings:
        yield functools.partial(terraform, **settings)


@pytest.fixture(scope="session")
def terraform() -> Terraform:
    """Run Terraform with this account alone: terraform(folder, *arguments, **account)."""
    return runner(providers.terraform_binary())


def runner(binary: str) -> Terraform:
    """The same for this program."""
    config = providers.prepare()
    unset = ("AWS_", "TF_VAR_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    environment = providers.terraform_environment(config, kept)
    environment |= {"AWS_EC2_METADATA_DISABLED": "true"}

    def run(folder: Path, *arguments: str, **account: str) -> subprocess.CompletedProcess:
        command = [binary, f"-chdir={folder}", *arguments]
        options = {"env": environment | account, "timeout": 600, "check": False}
        return subprocess.run(command, capture_output=True, text=True, **options)

    return run


@pytest.fixture(scope="session")
def copy_of_the_tree(tmp_path_factory) -> Callable[[str], Path]:
    """Copy the folders that Terraform reads, and add files that don't belong in the zip; return
    infra/.

    Each file of a function is one line, since Terraform sorts the texts of a zip again and again.
    """

    def copy(name: str) -> Path:
        tree = tmp_path_factory.mktemp(name)
        for folder in ("infra", "functions", "queries", "examples"):
            shutil.copytree(ROOT / folder, tree / folder, ignore=LEFT_OUT)
        for path in (tree / "functions").glob("*/*.py"):
            path.write_text(f"# {path.relative_to(tree)}\n")
        for functions in (tree / "functions/common", tree / "functions/download"):
            (functions / "__pycache__").mkdir()
            (functions / "__pycache__/handler.cpython-312.pyc").write_bytes(b"\xff\x00")
            (functions / "notes.txt").write_text("not for Lambda")
        for architecture in ("x86_64", "arm64"):
            pretend_built(tree / "functions", architecture)
        queries = tree / "queries/download"
        queries.mkdir(parents=True, exist_ok=True)
        (queries / "sample.cwli").write_text("# ours\nfields @message | limit 1\n")
        (queries / "notes.txt").write_text("not a query")
        return tree / "infra"

    return copy


def pretend_built(functions: Path, architecture: str) -> None:
    """Replace all that `make functions` builds by small texts."""
    program = functions / "transfer/build" / architecture / "bootstrap"
    package = functions / "download/build" / architecture / "python/awscrt/__init__.py"
    for path in (program, package):
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        path.write_text(f"built for {architecture}")
    program.chmod(0o755)


@pytest.fixture(scope="session")
def infra(copy_of_the_tree, terraform) -> Path:
    """The copy of infra/, initialised."""
    folder = copy_of_the_tree("tree")
    result = terraform(folder, "init", "-backend=false", "-input=false", "-no-color")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def planned_wrong(infra, mocking) -> Callable[..., list[str]]:
    """Plan an experiment's test file with a line of variables: planned_wrong(name, line) returns
    the errors."""
    return functools.partial(errors_of_a_plan, infra, mocking)


def errors_of_a_plan(
    infra: Path, mocking: Terraform, name: str, variables: str = "", overrides: str = ""
) -> list[str]:
    """Plan infra/tests/<name>.tftest.hcl with more variables and `overrides`, blocks of the run."""
    text = (infra / f"tests/{name}.tftest.hcl").read_text().partition('\nrun "')[0]
    folder = infra / "planned"
    folder.mkdir()
    block = f"variables {{\n    {variables}\n  }}"
    run = f'run "planned" {{\n  command = plan\n  {block}\n{overrides}}}\n'
    (folder / "planned.tftest.hcl").write_text(f"{text}\n{run}")
    try:
        done = mocking(infra, "test", "-json", "-test-directory=planned")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert "test_summary" in {line["type"] for line in lines}, lines
        return [line["diagnostic"]["detail"] for line in lines if line["type"] == "diagnostic"]
    finally:
        shutil.rmtree(folder)
