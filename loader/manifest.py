"""Uploads the slices of a key plan's manifest.

The next upload completes an interrupted one. A slice's key contains the id of its plan, and S3
shows an object whole or not at all, so a slice that is there is the right one.
"""

from __future__ import annotations

from loader.dataset import in_flight
from stampede.errors import UsageError
from stampede.experiment import Manifest
from stampede.phrases import counted
from stampede.progress import bar, say
from stampede.stacks import target as targets
from stampede.stacks.target import Target

PUTS_AT_ONCE = 8


def put_manifest(target: Target, *, dry_run: bool = False) -> int:
    """Upload the missing slices of the applied experiment's manifest; returns how many there were,
    0 without a key plan.

    Raises RunError when S3 refuses, UsageError for parameters of the list that don't fit.
    """
    missing = _missing(target)
    if not missing:
        return 0
    plan, bucket = _plan(target), target["bucket_name"]
    where = f"s3://{bucket}/{plan.manifest}, {counted(plan.objects, 'row')}"
    say(f"{'would upload' if dry_run else 'uploading'} {where}")
    if dry_run:
        return len(missing)
    s3 = target.client("s3", max_pool_connections=PUTS_AT_ONCE)

    def put(key_and_text: tuple[str, str]) -> None:
        key, text = key_and_text
        s3.put_object(Bucket=bucket, Key=key, Body=text.encode(), ChecksumAlgorithm="CRC32")

    slices = ((plan.slice_key(index), text) for index, text in enumerate(plan.slices()))
    lacking = ((key, text) for key, text in slices if key in missing)
    with targets.explained(f"putting {where}", target), bar() as progress:
        task = progress.add_task("manifest", total=len(missing), note="slices")
        for _ in in_flight(put, lacking, PUTS_AT_ONCE):
            progress.advance(task)
    return len(missing)


def check_manifest(target: Target) -> None:
    """Raise UsageError if the manifest that the work orders name isn't complete: a message would
    fail at it again and again."""
    if _missing(target):
        where = f"s3://{target['bucket_name']}/{_plan(target).manifest}"
        raise UsageError(f"there is no complete manifest {where}; `stampede dataset` uploads it")


def _plan(target: Target) -> Manifest | None:
    shared_list = target.experiment.shared_list
    return shared_list and shared_list.manifest(target.outputs)


def _missing(target: Target) -> set[str]:
    """The keys of the slices that aren't in S3."""
    if (plan := _plan(target)) is None:
        return set()
    where = {"Bucket": target["bucket_name"], "Prefix": plan.manifest}
    with targets.explained(f"looking for s3://{where['Bucket']}/{where['Prefix']}", target):
        pages = target.client("s3").get_paginator("list_objects_v2").paginate(**where)
        there = set(filter(None, pages.search("Contents[].Key")))
    return {plan.slice_key(index) for index in range(plan.slice_count)} - there
