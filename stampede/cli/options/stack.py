"""The options by which every verb finds its applied stack."""

from __future__ import annotations

import argparse
import os

from stampede.cli.arguments import path

TARGETS = ("local", "aws")


def add_stack_options(parser: argparse.ArgumentParser) -> None:
    """Declare --target, --outputs and --region."""
    group = parser.add_argument_group("stack")
    group.add_argument(
        "--target",
        type=_target,
        choices=TARGETS,
        default=os.environ.get("STAMPEDE_TARGET") or None,
        help="local is the embedded AWS; aws is the account of this shell's AWS configuration, or the endpoint that "
        "AWS_ENDPOINT_URL names (default: $STAMPEDE_TARGET, else the only stack that is applied)",
    )
    group.add_argument(
        "--outputs",
        metavar="FILE",
        type=path,
        help="read a saved `terraform output -json` instead of running Terraform (default: run Terraform)",
    )
    group.add_argument("--region", metavar="NAME", help="refuse a stack in another AWS region (default: any region)")


def _target(text: str) -> str:
    """--target as it is given, which argparse checks itself, or the default, which it doesn't."""
    if text == os.environ.get("STAMPEDE_TARGET") and text not in TARGETS:
        raise argparse.ArgumentTypeError(f"STAMPEDE_TARGET must be local or aws, got {text!r}")
    return text
