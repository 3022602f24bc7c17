"""A stack applied by hand in infra/: the values of `terraform output`, without Terraform."""

from types import SimpleNamespace

from stampede.emulator import stack
from stampede.stacks import target as targets


def apply(monkeypatch, root, outputs):
    """Gives the folder `root` an infra/ with an applied stack of these outputs, for
    `--target aws`."""
    (root / "infra" / ".terraform").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(stack, "ROOT", root)
    monkeypatch.setattr(
        targets, "aws_terraform", lambda: SimpleNamespace(outputs=lambda: dict(outputs))
    )
