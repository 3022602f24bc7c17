"""Upload the objects that the functions read.

The manifest is uploaded too, if the experiment has one. Existing objects are
kept. A function of the stack writes the objects that only it can write.
--remove empties the buckets that `terraform destroy` can't empty, or only
slowly.

examples:
  stampede dataset
      upload what the applied stack needs
  stampede dataset --target local --size-mb 64
      a smaller object for the embedded AWS
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from experiments.objects import MEBIBYTE
from stampede.cli.arguments import (
    add,
    add_flag,
    add_own,
    add_stack,
    order_of,
    positive_int,
    whole_number,
)
from stampede.errors import UsageError
from stampede.experiment import DataObject
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.stacks.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack(parser)
    add_own(
        parser,
        "--size-mb",
        "size of the object in MiB, for a data set of one object (default: the stack's)",
        "MIB",
        positive_int,
    )
    add_own(
        parser,
        "--seed",
        "seed of the objects' content (default: %(default)s)",
        "N",
        whole_number,
        default=1,
    )
    add_flag(parser, "--remove", "empty those buckets instead")
    add(parser, "--order")
    add_flag(parser, "--dry-run", "print what would be uploaded or deleted, and stop")


def run(arguments: argparse.Namespace) -> int:
    """Upload the data set of the applied stack; prints each object's s3:// address on stdout."""
    from stampede.stacks import stack_lock
    from stampede.stacks import target as targets

    target = targets.resolve(arguments.target)
    if target.experiment.own_object_of(target.outputs):
        raise UsageError(
            f"dataset: s3://{target['bucket_name']} is your own: nothing is put there or removed",
            "go on with `stampede flood`",
        )
    # Replacing an object during a run makes operations fail.
    with stack_lock.holding(target.option, "dataset"):
        (_remove if arguments.remove else _put)(target, arguments)
    return 0


def _put(target: Target, arguments: argparse.Namespace) -> None:
    """Upload and seed what is missing. Raises UsageError for a size of several objects."""
    from loader.dataset import put_manifest, put_objects
    from loader.invocations import events_of, seed
    from stampede import terminal

    experiment, in_order = target.experiment, order_of(target, arguments.order)
    objects, size_mb = experiment.objects(target), arguments.size_mb
    if size_mb is not None:
        if experiment.shared_list is not None or len(objects) != 1:
            raise UsageError(
                f"--size-mb: is for an experiment that reads one object, not {experiment.name}",
                "apply the stack with another size",
            )
        objects = [DataObject(objects[0].key, size_mb * MEBIBYTE)]
    seeded, dry_run = events_of(target, in_order), arguments.dry_run
    missing = put_objects(target, objects, arguments.seed, dry_run=dry_run)
    if not (put_manifest(target, dry_run=dry_run) or missing):
        say("no object is missing")
    if not dry_run:
        seed(target, in_order, set())
    for event in seeded if dry_run else ():
        say(f"{target[experiment.seeding.function]} would write: {json.dumps(event)}")
    for data_object in objects:
        terminal.hand_over(f"s3://{target['bucket_name']}/{data_object.key}")
    if not (objects or seeded):
        say(f"nothing to upload: this stack of {experiment.name} reads no objects of its own")


def _remove(target: Target, arguments: argparse.Namespace) -> None:
    """Empty the buckets that Terraform can't; prints the s3:// address of each bucket on stdout."""
    from loader.dataset import empty

    buckets = list(filter(None, map(target.outputs.get, target.experiment.emptied_before_destroy)))
    if not buckets:
        raise UsageError(
            f"--remove: `terraform destroy` empties the buckets of {target['experiment']} itself",
            "leave it out",
        )
    for bucket in buckets:
        empty(target, bucket, dry_run=arguments.dry_run)
        print(f"s3://{bucket}")
