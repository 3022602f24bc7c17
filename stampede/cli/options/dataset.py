"""What `stampede dataset` takes."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import positive_int, whole_number
from stampede.cli.options.message import add_order_option
from stampede.cli.options.stack import add_stack_options

DESCRIPTION = """Upload the objects that the operations read.

The manifest is uploaded too, where the experiment has one. What is already
there is kept. Objects that only a function of the stack can write are written
by that function. --remove empties the buckets that `terraform destroy` can't
empty, or only slowly."""
EXAMPLES = (
    ("stampede dataset", "upload what the applied stack needs"),
    ("stampede dataset --target local --size-mb 64", "a smaller object for the embedded AWS"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack_options(parser)
    parser.add_argument(
        "--size-mb",
        metavar="MIB",
        type=positive_int,
        help="size of the object in MiB, for a data set of one object (default: the stack's object size)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number,
        default=1,
        help="seed of the objects' content (default: %(default)s)",
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help="instead of uploading, delete all objects in the buckets that `terraform destroy` can't empty, "
        "or only slowly "
        "(default: upload)",
    )
    add_order_option(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be uploaded or deleted, and stop (default: do it)"
    )
