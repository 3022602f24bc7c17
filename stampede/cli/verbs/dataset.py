"""`stampede dataset`: puts the objects that the operations read, and the manifest where they take one.

What a function of the stack puts is put by it. With --remove the buckets are emptied that `terraform destroy` can't
empty.
"""

from __future__ import annotations

import argparse
import json

from experiments.objects import MEBIBYTE
from loader.dataset import put_objects
from loader.emptying import empty
from loader.manifest import put_manifest
from loader.seeding import events_of, seed
from stampede import terminal
from stampede.cli.verbs.order_option import order_of
from stampede.errors import UsageError
from stampede.experiment import DataObject
from stampede.progress import say
from stampede.stacks import target as targets
from stampede.stacks.stack_lock import holding
from stampede.stacks.target import Target


def run(arguments: argparse.Namespace) -> int:
    """Put the data set of the applied stack; prints the s3:// address of each object on stdout."""
    target = targets.resolve(arguments)
    if arguments.remove:
        return _remove(target, arguments)
    in_order = order_of(target, arguments.order)
    objects = target.experiment.objects(target)
    if arguments.size_mb is not None:
        if target.experiment.shared_list is not None:
            raise UsageError(
                f"--size-mb: {target['experiment']} takes the size from its stack; leave it out, and apply "
                "the stack with another size"
            )
        if len(objects) != 1:
            raise UsageError(
                f"--size-mb: is for an experiment that reads one object, and {target['experiment']} doesn't; "
                "leave it out"
            )
        objects = [DataObject(objects[0].key, arguments.size_mb * MEBIBYTE)]
    with holding(target.option, "dataset"):  # an object that is replaced under a run fails its operations
        put_objects(target, objects, arguments.seed, dry_run=arguments.dry_run)
        put_manifest(target, dry_run=arguments.dry_run)
        if not arguments.dry_run:
            seed(target, in_order)
    if arguments.dry_run:
        for event in events_of(target, in_order):
            say(f"{target[target.experiment.seeding.function]} would seed what is missing: {json.dumps(event)}")
    for data_object in objects:
        terminal.hand_over(f"s3://{target['bucket_name']}/{data_object.key}")
    if not (objects or events_of(target, in_order)):
        say(f"nothing to upload: this stack of {target['experiment']} reads no objects of its own")
    return 0


def _remove(target: Target, arguments: argparse.Namespace) -> int:
    """Empty what Terraform can't; prints the s3:// address of each bucket on stdout."""
    if arguments.size_mb is not None or arguments.order:
        raise UsageError("--remove: deletes everything that is there; leave --size-mb and --order out")
    named = map(target.outputs.get, target.experiment.emptied_before_destroy)
    if not (buckets := [bucket for bucket in named if bucket]):
        raise UsageError(
            f"--remove: `terraform destroy` empties the buckets of {target['experiment']} itself; leave it out"
        )
    with holding(target.option, "dataset"):
        for bucket in buckets:
            empty(target, bucket, dry_run=arguments.dry_run)
            print(f"s3://{bucket}")
    return 0
