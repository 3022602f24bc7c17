"""Puts the manifest of a key plan: its slices straight to S3, and last an object that says that all are there.

A put that was interrupted is completed by the next one. A slice's key names the plan that it is of, and S3 shows an
object whole or not at all, so a slice of the right size is the right one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from loader.in_flight import in_flight
from stampede.errors import UsageError
from stampede.experiment import Manifest
from stampede.phrases import counted
from stampede.progress import bar, say
from stampede.stacks import target as targets
from stampede.stacks.target import Target

PUTS_AT_ONCE = 8


def put_manifest(target: Target, *, dry_run: bool = False) -> int:
    """Put what the applied experiment's manifest lacks; returns how many slices that were, 0 without a key plan.

    Raises RunError when S3 refuses, UsageError where the parameters of the list don't fit.
    """
    if (plan := _plan(target)) is None:
        return 0
    where, words = _address(target, plan), f"{counted(plan.objects, 'row')} in {counted(plan.slice_count, 'slice')}"
    with targets.explained(f"putting {where}", target):
        s3, bucket = target.client("s3", max_pool_connections=PUTS_AT_ONCE), target["bucket_name"]
        sizes = _sizes(s3, bucket, plan)
        if _is_complete(plan, sizes):
            say(f"{where}, {words}: already there")
            return 0
        if dry_run:
            say(f"would upload {where}, {words}")
            return 0
        say(f"uploading {where}, {words}")
        count = _put_slices(s3, bucket, plan, sizes)
        contents = {"slices": plan.slice_count, "manifest": plan.manifest, **plan.parameters()}
        _put(s3, bucket, _complete_key(plan), json.dumps(contents, indent=2) + "\n", "application/json")
    if count < plan.slice_count:
        say(f"{counted(plan.slice_count - count, 'slice')} of an earlier upload kept")
    return count


def check_manifest(target: Target) -> None:
    """Raise UsageError where the manifest that work orders name isn't complete."""
    if (plan := _plan(target)) is None:
        return
    where = _address(target, plan)
    with targets.explained(f"checking {where}", target):
        sizes = _sizes(target.client("s3"), target["bucket_name"], plan)
    if not _is_complete(plan, sizes):
        raise UsageError(f"there is no complete manifest {where}; `stampede dataset` uploads it")


def _plan(target: Target) -> Manifest | None:
    shared_list = target.experiment.shared_list
    return None if shared_list is None else shared_list.manifest(target.outputs)


def _address(target: Target, plan: Manifest) -> str:
    return f"s3://{target['bucket_name']}/{plan.manifest}"


def _complete_key(plan: Manifest) -> str:
    return f"{plan.manifest}complete.json"


def _sizes(s3: Any, bucket: str, plan: Manifest) -> dict[str, int]:
    """What is there of the manifest: keys and their sizes in bytes."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=plan.manifest)
    return {stored["Key"]: stored["Size"] for page in pages for stored in page.get("Contents", ())}


def _is_complete(plan: Manifest, sizes: Mapping[str, int]) -> bool:
    """Whether a put came to its end, and no slice was deleted since: a message would fail at it again and again."""
    return _complete_key(plan) in sizes and all(plan.slice_key(index) in sizes for index in range(plan.slice_count))


def _put_slices(s3: Any, bucket: str, plan: Manifest, sizes: Mapping[str, int]) -> int:
    """Put the slices that aren't there; returns how many."""
    slices = ((plan.slice_key(index), text) for index, text in enumerate(plan.slices()))
    missing = ((key, text) for key, text in slices if sizes.get(key) != len(text))  # its characters are ASCII
    count = 0
    with bar() as progress:
        task = progress.add_task("manifest", total=plan.slice_count, note="slices")
        put = in_flight(lambda item: _put(s3, bucket, *item, "text/csv"), missing, PUTS_AT_ONCE)
        for count, _ in enumerate(put, start=1):
            progress.update(task, completed=count)
    return count


def _put(s3: Any, bucket: str, key: str, text: str, content_type: str) -> None:
    checksum = {"ChecksumAlgorithm": "CRC32"}
    s3.put_object(Bucket=bucket, Key=key, Body=text.encode(), ContentType=content_type, **checksum)
