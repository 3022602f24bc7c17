"""The options by which every verb finds its applied stack."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_stack_options(parser: argparse.ArgumentParser) -> None:
    """Declare --target, --outputs and --region."""
    group = parser.add_argument_group("stack")
    group.add_argument(
        "--target",
        choices=("local", "aws"),
        default=os.environ.get("STAMPEDE_TARGET"),
        help="local is the embedded AWS; aws is the account of this shell's AWS configuration, or the endpoint that "
        "AWS_ENDPOINT_URL names (default: $STAMPEDE_TARGET, else the only stack that is applied)",
    )
    group.add_argument(
        "--outputs",
        metavar="FILE",
        type=Path,
        help="read a saved `terraform output -json` instead of running Terraform (default: run Terraform)",
    )
    group.add_argument("--region", metavar="NAME", help="AWS region (default: the stack's, from Terraform's outputs)")
