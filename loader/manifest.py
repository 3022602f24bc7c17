"""Puts the manifest of a key plan: its slices straight to S3, and last an object that says that all
are there.

A put that was interrupted is completed by the next one. A slice's key names the plan that it is of,
and S3 shows an object whole or not at all, so a slice of the right size is the right one.
"""

from __future__ import annotations

import json
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
    """Put what the applied experiment's manifest lacks; returns how many slices were missing, 0
    without a key plan.

    Raises RunError when S3 refuses, UsageError where the parameters of the list don't fit.
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
        # its characters are ASCII
        missing = ((key, text) for key, text in slices if sizes.get(key) != len(text))
        task = progress.add_task("manifest", total=plan.slice_count, note="slices")
        count = 0
        for _ in in_flight(put, missing, PUTS_AT_ONCE):
            count += 1
            progress.advance(task)
        put((_complete_key(plan), json.dumps(plan.parameters(), indent=2)))
    return count


def check_manifest(target: Target) -> None:
    """Raise UsageError where the manifest that work orders name isn't complete."""
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


def _complete_key(plan: Manifest) -> str:
    return f"{plan.manifest}complete.json"


def _sizes(s3: Any, bucket: str, plan: Manifest) -> dict[str, int]:
    """What is there of the manifest: keys and their sizes in bytes."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=plan.manifest)
    return {stored["Key"]: stored["Size"] for page in pages for stored in page.get("Contents", ())}


def _is_complete(plan: Manifest, sizes: dict[str, int]) -> bool:
    """Whether a put came to its end, and no slice was deleted since: a message would fail at it
    again and again."""
    return {_complete_key(plan), *map(plan.slice_key, range(plan.slice_count))} <= sizes.keys()
