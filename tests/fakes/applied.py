"""A stack that was applied by hand in infra/: what `terraform output` prints, without Terraform."""

from types import SimpleNamespace

from stampede.emulator import stack
from stampede.stacks import target as targets


def apply(monkeypatch, root, outputs):
    """From now on the folder `root` has infra/ with a stack of these outputs applied, as `--target
    aws` finds it."""
    (root / "infra" / ".terraform").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(stack, "ROOT", root)
    monkeypatch.setattr(
        targets, "aws_terraform", lambda: SimpleNamespace(outputs=lambda: dict(outputs))
    )
