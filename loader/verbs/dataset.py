"""`stampede dataset`: puts the objects that the operations read, and the manifest where they take one."""

from __future__ import annotations

import argparse

from experiments.objects import MEBIBYTE, DataObject
from loader import target as targets
from loader.arguments import positive_int, whole_number
from loader.dataset import put_objects
from loader.errors import UsageError
from loader.manifest import put_manifest
from loader.placing import place
from loader.run.stack_lock import holding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    targets.add_options(parser)
    parser.add_argument(
        "--size-mb",
        metavar="MIB",
        type=positive_int,
        help="size in MiB of a data set of one object (default: as the stack is set)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number,
        default=1,
        help="seed of the objects' content (default: %(default)s)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be uploaded, and upload nothing (default: off)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Put the data set of the applied stack; prints the s3:// address of each object on stdout."""
    target = targets.resolve(arguments)
    objects = target.experiment.objects(target)
    if arguments.size_mb is not None:
        if target.experiment.key_plan is not None:
            raise UsageError(
                f"--size-mb: {target['experiment']} counts bytes by the size that its stack was given; leave it out, "
                "and apply the stack with another size"
            )
        if len(objects) != 1:
            raise UsageError(f"--size-mb: {target['experiment']} has {len(objects):,} objects, not one; leave it out")
        objects = [DataObject(objects[0].key, arguments.size_mb * MEBIBYTE)]
    with holding(target.kind, "dataset"):  # an object that is replaced under a run fails its operations
        put_objects(target, objects, arguments.seed, dry_run=arguments.dry_run)
        put_manifest(target, dry_run=arguments.dry_run)
        if not arguments.dry_run:
            place(target)
    for one in objects:
        print(f"s3://{target['bucket_name']}/{one.key}")
    return 0
