"""Upload the objects that the functions read.

The manifest is uploaded too, where the experiment has one. What is already
there is kept. Objects that only a function of the stack can write are written
by that function. --remove empties the buckets that `terraform destroy` can't
empty, or only slowly.

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
from stampede.cli.arguments import add, add_stack, order_of, positive_int, whole_number
from stampede.errors import UsageError
from stampede.experiment import DataObject
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.stacks.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack(parser)
    of_one = (
        "size of the object in MiB, for a data set of one object (default: the stack's object size)"
    )
    parser.add_argument("--size-mb", metavar="MIB", type=positive_int, help=of_one)
    seed = "seed of the objects' content (default: %(default)s)"
    parser.add_argument("--seed", metavar="N", type=whole_number, default=1, help=seed)
    parser.add_argument(
        "--remove", action="store_true", help="empty those buckets instead (default: upload)"
    )
    add(parser, "--order")
    dry_run = "print what would be uploaded or deleted, and stop (default: do it)"
    parser.add_argument("--dry-run", action="store_true", help=dry_run)


def run(arguments: argparse.Namespace) -> int:
    """Put the data set of the applied stack; prints the s3:// address of each object on stdout."""
    from loader.dataset import put_objects
    from loader.manifest import put_manifest
    from loader.seeding import events_of, seed
    from stampede import terminal
    from stampede.stacks import stack_lock
    from stampede.stacks import target as targets

    target = targets.resolve(arguments.target)
    if target.experiment.own_object_of(target.outputs):
        untouched = f"s3://{target['bucket_name']} is your own: nothing is put there or removed"
        raise UsageError(f"dataset: {untouched}", "go on with `stampede flood`")
    if arguments.remove:
        return _remove(target, arguments)
    in_order, objects = order_of(target, arguments.order), target.experiment.objects(target)
    if arguments.size_mb is not None:
        if target.experiment.shared_list is not None or len(objects) != 1:
            of_one = (
                f"is for an experiment that reads one object, and {target['experiment']} doesn't"
            )
            raise UsageError(
                f"--size-mb: {of_one}; leave it out, and apply the stack with another size"
            )
        objects = [DataObject(objects[0].key, arguments.size_mb * MEBIBYTE)]
    seeded = events_of(target, in_order)
    # an object that is replaced under a run fails its operations
    with stack_lock.holding(target.option, "dataset"):
        missing = put_objects(target, objects, arguments.seed, dry_run=arguments.dry_run)
        if not (put_manifest(target, dry_run=arguments.dry_run) or missing):
            say("no object is missing")
        if not arguments.dry_run:
            seed(target, in_order)
    for event in seeded if arguments.dry_run else ():
        say(
            f"{target[target.experiment.seeding.function]} would seed what is missing: "
            f"{json.dumps(event)}"
        )
    for data_object in objects:
        terminal.hand_over(f"s3://{target['bucket_name']}/{data_object.key}")
    if not (objects or seeded):
        say(f"nothing to upload: this stack of {target['experiment']} reads no objects of its own")
    return 0


def _remove(target: Target, arguments: argparse.Namespace) -> int:
    """Empty what Terraform can't; prints the s3:// address of each bucket on stdout."""
    from loader.emptying import empty
    from stampede.stacks import stack_lock

    buckets = list(filter(None, map(target.outputs.get, target.experiment.emptied_before_destroy)))
    if not buckets:
        itself = f"`terraform destroy` empties the buckets of {target['experiment']} itself"
        raise UsageError(f"--remove: {itself}; leave it out")
    with stack_lock.holding(target.option, "dataset"):
        for bucket in buckets:
            empty(target, bucket, dry_run=arguments.dry_run)
            print(f"s3://{bucket}")
    return 0
