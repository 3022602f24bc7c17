"""The local copy of infra/ has the repository's present files, and none of earlier ones."""

import subprocess

import pytest

from stampede.emulator import stack

REPOSITORY = {
    "infra/main.tf",
    "infra/x.auto.tfvars",
    "infra/modules/old/main.tf",
    "functions/f/h.py",
    "queries/q",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """The folder of a small repository with overrides, and a function that copies the repository
    and returns the copy's files."""
    write(tmp_path / "root", *REPOSITORY)
    write(tmp_path / "overrides", "local_override.tf")
    monkeypatch.setattr(stack, "ROOT", tmp_path / "root")
    monkeypatch.setattr(stack, "OVERRIDES", tmp_path / "overrides")
    copy = tmp_path / "copy"

    def lay_out():
        assert stack.lay_out(copy) == copy / "infra"
        return {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}

    return tmp_path, lay_out


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_the_copy_follows_renamed_deleted_and_replaced_files_and_keeps_its_state(tree):
    folder, lay_out = tree
    root = folder / "root"
    assert lay_out() == REPOSITORY | {"infra/local_override.tf"}
    (root / "infra/modules/old").rename(root / "infra/modules/new")
    (root / "infra/x.auto.tfvars").unlink()
    (root / "queries/q").unlink()
    write(root, "queries/q/inside")
    (folder / "overrides/local_override.tf").unlink()
    kept = {"infra/.terraform/providers/aws", "infra/terraform.tfstate", "mount/small/00000.bin"}
    write(folder / "copy", *kept, "infra/.terraform.lock.hcl")
    assert lay_out() == kept | {
        "infra/main.tf",
        "infra/modules/new/main.tf",
        "functions/f/h.py",
        "queries/q/inside",
    }


def test_a_late_write_of_an_older_terraform_is_not_in_the_state_of_the_next_emulator(tree):
    folder, lay_out = tree
    lay_out()
    write(folder / "copy", "infra/.terraform/providers/aws", "mount/small/00000.bin")
    write_state = "echo > terraform.tfstate"
    script = f"{write_state}; echo ready; read -r go; {write_state}; echo > errored.tfstate"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["/bin/sh", "-c", script], cwd=folder / "copy/infra", **pipes) as orphan:
        orphan.stdout.readline()
        stack.forget_state(folder / "copy")
        paths = lay_out()
        orphan.communicate("go\n")
    assert "infra/.terraform/providers/aws" in paths and "mount/small/00000.bin" not in paths
    assert not list((folder / "copy").rglob("*.tfstate"))
