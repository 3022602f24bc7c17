"""The local copy of infra/ holds what infra/ holds now."""

from stampede.emulator import stack


def test_a_tfvars_file_that_was_removed_is_gone_from_the_copy_and_its_state_stays(tmp_path, monkeypatch):
    root = tmp_path / "root"
    for name in ("infra", "functions", "queries"):
        (root / name).mkdir(parents=True)
    monkeypatch.setattr(stack, "ROOT", root)
    (root / "infra" / "x.auto.tfvars").write_text("memory_size = 512\n")
    infra = stack.lay_out(tmp_path / "copy")
    (infra / "terraform.tfstate").write_text("{}")
    assert (infra / "x.auto.tfvars").exists()
    (root / "infra" / "x.auto.tfvars").unlink()
    stack.lay_out(tmp_path / "copy")
    assert not (infra / "x.auto.tfvars").exists()
    assert (infra / "terraform.tfstate").exists()
