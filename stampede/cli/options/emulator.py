"""What `stampede emulator` takes."""

from __future__ import annotations

import argparse

DESCRIPTION = """Start or stop the embedded AWS (MiniStack, on loopback), or print its status.

`start --apply` also applies the local copy of infra/, so that you can try
dataset, flood, drain and query by hand. `stop` deletes everything in it."""
EXAMPLES = (
    ("stampede emulator start --apply --set experiment=copy", "start it and deploy an experiment"),
    ("stampede emulator status", "print its URL, or exit with 1 if it isn't running"),
    ("stampede emulator stop", "stop it and delete everything in it"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        "action", choices=("start", "stop", "status"), metavar="start|stop|status", help="what to do with it"
    )
    parser.add_argument(
        "--apply", action="store_true", help="with start: apply the local copy of infra/ too (default: start only)"
    )
    parser.add_argument(
        "--set",
        metavar="VARIABLE=VALUE",
        action="append",
        default=[],
        help="with --apply: set a Terraform variable; may be repeated (default: the experiment's local values)",
    )
