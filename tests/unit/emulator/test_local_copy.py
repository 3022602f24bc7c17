"""The local copy of infra/: what Terraform reads there is what the repository has, and nothing of before."""

import subprocess

import pytest

from stampede.emulator import stack


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with overrides; returns a function that lays it out and lists the copy's files."""
    root, copy = tmp_path / "root", tmp_path / "copy"
    for name in ("infra/main.tf", "infra/x.auto.tfvars", "infra/modules/old/main.tf", "functions/f/h.py", "queries/q"):
        write(root / name)
    write(tmp_path / "overrides/local_override.tf")
    monkeypatch.setattr(stack, "ROOT", root)
    monkeypatch.setattr(stack, "OVERRIDES", tmp_path / "overrides")

    def lay_out():
        assert stack.lay_out(copy) == copy / "infra"
        return {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}

    return tmp_path, lay_out


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name)


def test_what_was_renamed_deleted_or_changed_its_kind_is_so_in_the_copy_too(tree):
    folder, lay_out = tree
    root = folder / "root"
    before = {"infra/main.tf", "infra/x.auto.tfvars", "infra/modules/old/main.tf", "functions/f/h.py", "queries/q"}
    assert lay_out() == before | {"infra/local_override.tf"}
    (root / "infra/modules/old").rename(root / "infra/modules/new")
    (root / "infra/main.tf").rename(root / "infra/download.tf")
    (root / "infra/x.auto.tfvars").unlink()
    (root / "functions/f/h.py").unlink()
    (root / "functions/f").rmdir()
    write(root / "functions/f")
    (root / "queries/q").unlink()
    write(root / "queries/q/inside")
    (folder / "overrides/local_override.tf").unlink()
    assert lay_out() == {"infra/download.tf", "infra/modules/new/main.tf", "functions/f", "queries/q/inside"}
    assert not (folder / "copy/infra/modules/old").exists()


def test_providers_state_zips_and_the_mount_stay_and_the_lock_file_goes(tree):
    folder, lay_out = tree
    lay_out()
    files = (".terraform/providers/aws", "terraform.tfstate", ".terraform.tfstate.lock.info", ".build/download.zip")
    kept = {*(f"infra/{name}" for name in files), "mount/small/00000.bin"}
    for name in kept | {"infra/.terraform.lock.hcl"}:
        write(folder / "copy" / name)
    paths = lay_out()
    assert kept <= paths and "infra/.terraform.lock.hcl" not in paths


def test_what_an_older_terraform_still_writes_is_not_in_the_state_of_the_next_emulator(tree):
    folder, lay_out = tree
    lay_out()
    infra = folder / "copy/infra"
    write(infra / ".terraform/providers/aws")
    write(folder / "copy/mount/small/00000.bin")
    script = "echo > terraform.tfstate; echo ready; read -r go; echo > terraform.tfstate; echo > errored.tfstate"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["/bin/sh", "-c", script], cwd=infra, **pipes) as orphan:
        orphan.stdout.readline()
        stack.forget_state(folder / "copy")
        paths = lay_out()
        orphan.communicate("go\n")
    assert "infra/.terraform/providers/aws" in paths and "mount/small/00000.bin" not in paths
    assert not list((folder / "copy").rglob("*.tfstate"))
