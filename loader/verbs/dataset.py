"""`stampede dataset`: puts the test object that every function downloads."""

from __future__ import annotations

import argparse

from loader import target as targets
from loader.arguments import positive_int, whole_number
from loader.dataset import put_object
from loader.run.stack_lock import holding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    targets.add_options(parser)
    parser.add_argument(
        "--size-mb",
        metavar="MIB",
        type=positive_int,
        help="size of the object in MiB (default: the stack's object_size_mb)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number,
        default=1,
        help="seed of the object's content (default: %(default)s)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be uploaded, and upload nothing (default: off)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Put the object of the applied stack; prints its s3:// address on stdout."""
    target = targets.resolve(arguments)
    size_mb = arguments.size_mb or target["object_size_mb"]
    with holding(target.kind, "dataset"):  # an object that is replaced under a run fails its downloads
        put_object(target, size_mb, arguments.seed, dry_run=arguments.dry_run)
    print(f"s3://{target['bucket_name']}/{target['object_key']}")
    return 0
