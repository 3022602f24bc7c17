"""The local copy of infra/: what Terraform reads there is what the repository has, and nothing of before."""

import subprocess

import pytest

from stampede.emulator import stack


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with overrides; returns a function that lays it out and lists the copy's files."""
    root, copy = tmp_path / "root", tmp_path / "copy"
    for name in ("infra/main.tf", "infra/modules/old/main.tf", "functions/f/handler.py", "queries/f/q.cwli"):
        _write(root / name)
    _write(tmp_path / "overrides/local_override.tf")
    monkeypatch.setattr(stack, "ROOT", root)
    monkeypatch.setattr(stack, "OVERRIDES", tmp_path / "overrides")

    def lay_out():
        assert stack.lay_out(copy) == copy / "infra"
        return {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}

    return tmp_path, lay_out


def _write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name)


def test_what_was_renamed_or_deleted_is_gone_from_the_copy_too(tree):
    folder, lay_out = tree
    before = lay_out()
    assert before == {
        "infra/main.tf",
        "infra/local_override.tf",
        "infra/modules/old/main.tf",
        "functions/f/handler.py",
        "queries/f/q.cwli",
    }
    root = folder / "root"
    (root / "infra/modules/old").rename(root / "infra/modules/new")
    (root / "infra/main.tf").rename(root / "infra/download.tf")
    (root / "functions/f/handler.py").unlink()
    (folder / "overrides/local_override.tf").unlink()

    assert lay_out() == {"infra/download.tf", "infra/modules/new/main.tf", "queries/f/q.cwli"}
    assert not (folder / "copy/infra/modules/old").exists()


def test_providers_state_and_zips_of_the_copy_stay_and_the_lock_file_goes(tree):
    folder, lay_out = tree
    lay_out()
    kept = {
        ".terraform/providers/aws",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        ".terraform.tfstate.lock.info",
        ".build/download.zip",
    }
    for name in kept | {".terraform.lock.hcl"}:
        _write(folder / "copy/infra" / name)

    paths = lay_out()
    assert {f"infra/{name}" for name in kept} <= paths
    assert "infra/.terraform.lock.hcl" not in paths


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file_are_replaced(tree):
    folder, lay_out = tree
    lay_out()
    root = folder / "root"
    (root / "infra/main.tf").unlink()
    _write(root / "infra/main.tf/inside.tf")
    (root / "functions/f/handler.py").unlink()
    (root / "functions/f").rmdir()
    _write(root / "functions/f")

    assert lay_out() >= {"infra/main.tf/inside.tf", "functions/f"}


def test_the_folder_that_stands_in_for_a_mount_keeps_its_files_until_the_emulator_goes(tree):
    folder, lay_out = tree
    lay_out()
    _write(folder / "copy/mount/small/00000.bin")
    assert "mount/small/00000.bin" in lay_out()

    stack.forget_state(folder / "copy")
    assert not (folder / "copy/mount").exists()


def test_what_an_older_terraform_still_writes_is_not_in_the_state_of_the_next_emulator(tree):
    folder, lay_out = tree
    lay_out()
    infra = folder / "copy/infra"
    _write(infra / ".terraform/providers/aws")
    script = (
        "echo > terraform.tfstate; echo ready; read -r go; echo late > terraform.tfstate; echo late > errored.tfstate"
    )
    with subprocess.Popen(
        ["/bin/sh", "-c", script], cwd=infra, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as orphan:
        orphan.stdout.readline()
        stack.forget_state(folder / "copy")
        paths = lay_out()
        orphan.communicate("go\n")

    assert "infra/.terraform/providers/aws" in paths
    assert not list((folder / "copy").rglob("*.tfstate"))
