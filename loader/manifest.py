"""Uploads the slices of a key plan's manifest.

The next upload completes an interrupted one. A slice's key contains the id of its plan, and S3
shows an object whole or not at all, so a slice of the right size is the right one.
"""

from __future__ import annotations

from typing import Any

from loader.dataset import in_flight
from stampede.errors import UsageError
from stampede.experiment import Manifest
from stampede.phrases import counted
from stampede.progress import bar, detail, say
from stampede.stacks import target as targets
from stampede.stacks.target import Target

PUTS_AT_ONCE = 8


def put_manifest(target: Target, *, dry_run: bool = False) -> int:
    """Upload the missing slices of the applied experiment's manifest; returns how many there were,
    0 without a key plan.

    Raises RunError when S3 refuses, UsageError for parameters of the list that don't fit.
    """
    if (plan := _plan(target)) is None:
        return 0
    s3, bucket = target.client("s3", max_pool_connections=PUTS_AT_ONCE), target["bucket_name"]
    where = (
        f"s3://{bucket}/{plan.manifest}, {counted(plan.objects, 'row')} in "
        f"{counted(plan.slice_count, 'slice')}"
    )

    def put(key_and_text: tuple[str, str]) -> None:
        key, text = key_and_text
        s3.put_object(Bucket=bucket, Key=key, Body=text.encode(), ChecksumAlgorithm="CRC32")

    with targets.explained(f"putting {where}", target), bar() as progress:
        sizes = _sizes(s3, bucket, plan)
        if _is_complete(plan, sizes):
            detail(f"{where}: already there")
            return 0
        say(f"{'would upload' if dry_run else 'uploading'} {where}")
        if dry_run:
            return plan.slice_count
        slices = ((plan.slice_key(index), text) for index, text in enumerate(plan.slices()))
        # in ASCII, so its characters are bytes
        missing = ((key, text) for key, text in slices if sizes.get(key) != len(text))
        task = progress.add_task("manifest", total=plan.slice_count, note="slices")
        count = 0
        for _ in in_flight(put, missing, PUTS_AT_ONCE):
            count += 1
            progress.advance(task)
    return count


def check_manifest(target: Target) -> None:
    """Raise UsageError if the manifest that the work orders name isn't complete."""
    if (plan := _plan(target)) is None:
        return
    where = f"s3://{target['bucket_name']}/{plan.manifest}"
    with targets.explained(f"checking {where}", target):
        sizes = _sizes(target.client("s3"), target["bucket_name"], plan)
    if not _is_complete(plan, sizes):
        raise UsageError(f"there is no complete manifest {where}; `stampede dataset` uploads it")


def _plan(target: Target) -> Manifest | None:
    shared_list = target.experiment.shared_list
    return shared_list and shared_list.manifest(target.outputs)


def _sizes(s3: Any, bucket: str, plan: Manifest) -> dict[str, int]:
    """The keys of the manifest in S3, with their sizes in bytes."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=plan.manifest)
    return {stored["Key"]: stored["Size"] for stored in filter(None, pages.search("Contents[]"))}


def _is_complete(plan: Manifest, sizes: dict[str, int]) -> bool:
    """Whether no slice is missing: a message would fail at it again and again."""
    return set(map(plan.slice_key, range(plan.slice_count))) <= sizes.keys()
