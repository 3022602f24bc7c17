"""A copy of infra/, functions/ and queries/ with Terraform ready in it; the repository's own infra/
stays untouched."""

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
    """`terraform` for `terraform test`, which would start the provider for each of several walks a
    run, to ask it for its schemas and no more."""
    with running_provider(infra) as settings:
        yield functools.partial(terraform, **settings)


@pytest.fixture(scope="session")
def terraform() -> Terraform:
    """Run Terraform in a folder, with no AWS account but what is given: terraform(folder,
    *arguments, **account)."""
    return runner(providers.terraform_binary())


def runner(binary: str) -> Terraform:
    """What `terraform` is, of this program."""
    config = providers.prepare()
    unset = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "TF_VAR_"))
    }
    environment = providers.terraform_environment(config, unset) | {
        "AWS_EC2_METADATA_DISABLED": "true"
    }

    def run(folder: Path, *arguments: str, **account: str) -> subprocess.CompletedProcess:
        command = [binary, f"-chdir={folder}", *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment | account,
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def copy_of_the_tree(tmp_path_factory) -> Callable[[str], Path]:
    """Copy the folders that Terraform reads, together with what must stay out of the zip; returns
    infra/.

    Each file of a function is a line: Terraform sorts the texts of a zip again and again.
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
    """Put something in the place of what `make functions` builds, whatever was built here
    before."""
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
    """Plan an experiment's test file with one line of variables more, for its errors:
    planned_wrong(name, line)."""
    return functools.partial(errors_of_a_plan, infra, mocking)


def errors_of_a_plan(
    infra: Path, mocking: Terraform, name: str, variables: str = "", overrides: str = ""
) -> list[str]:
    """Plan infra/tests/<name>.tftest.hcl with variables of its own; `overrides` are blocks of the
    run."""
    text = (infra / f"tests/{name}.tftest.hcl").read_text().partition('\nrun "')[0]
    folder = infra / "planned"
    folder.mkdir()
    run = (
        f'run "planned" {{\n  command = plan\n  variables {{\n    {variables}\n  '
        f"}}\n{overrides}}}\n"
    )
    (folder / "planned.tftest.hcl").write_text(f"{text}\n{run}")
    try:
        lines = [
            json.loads(line)
            for line in mocking(
                infra, "test", "-json", "-test-directory=planned"
            ).stdout.splitlines()
        ]
        assert "test_summary" in {line["type"] for line in lines}, lines
        return [line["diagnostic"]["detail"] for line in lines if line["type"] == "diagnostic"]
    finally:
        shutil.rmtree(folder)
