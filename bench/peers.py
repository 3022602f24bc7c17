"""The clients to compare with, as programs: `python -S -P peers.py NAME ARGUMENTS`.

They are written as users write them, and no slower: boto3's `download_file` of one object, and of
many in 30 threads, `copy_object` in several processes, `put_object` and `get_object` in one loop.
Endpoint and keys come from the environment. They print a JSON object with the seconds and CPU
seconds of the calls, without imports.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

THREADS = 30
Work = Callable[[], None]


def download_file(bucket: str, key: str, path: str) -> Work:
    """boto3's `download_file` with its defaults."""
    import boto3

    s3 = boto3.client("s3")
    return lambda: s3.download_file(bucket, key, path)


def download_many(bucket: str, prefix: str, folder: str) -> Work:
    """`download_file` of every object under a prefix, in 30 threads with one client."""
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    from botocore.config import Config

    s3 = boto3.client("s3", config=Config(max_pool_connections=THREADS))

    def work() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for key in _keys(s3, bucket, prefix):
                pool.submit(s3.download_file, bucket, key, f"{folder}/{key.removeprefix(prefix)}")

    return work


def copy_many(bucket: str, pairs: str, processes: str) -> Work:
    """CopyObject for each `source,destination` line of the file `pairs`, in several processes."""
    from multiprocessing import Pool

    import boto3  # noqa: F401 - once here, not in every process

    with open(pairs) as file:  # noqa: PTH123
        rows = [line.rstrip("\n").split(",") for line in file]
    count = int(processes)

    def work() -> None:
        with Pool(count) as pool:
            pool.starmap(_copy, [(bucket, rows[first::count]) for first in range(count)], 1)
            pool.close()
            pool.join()  # so that this process's CPU time includes theirs

    return work


def _copy(bucket: str, rows: list[list[str]]) -> None:
    import boto3

    s3 = boto3.client("s3")
    for source, destination in rows:
        s3.copy_object(Bucket=bucket, Key=destination, CopySource={"Bucket": bucket, "Key": source})


def put_loop(bucket: str, prefix: str, folder: str) -> Work:
    """One `put_object` after the other, of the files of a folder."""
    import boto3

    s3, names = boto3.client("s3"), sorted(os.listdir(folder))  # noqa: PTH208

    def work() -> None:
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                s3.put_object(Bucket=bucket, Key=prefix + name, Body=file)

    return work


def get_loop(bucket: str, prefix: str, folder: str) -> Work:
    """One `get_object` after the other, of listed objects to files.

    `download_file` would make two requests for each object (HeadObject, GetObject).
    """
    import boto3

    s3 = boto3.client("s3")
    keys = _keys(s3, bucket, prefix)

    def work() -> None:
        for key in keys:
            with open(f"{folder}/{key.removeprefix(prefix)}", "wb") as file:  # noqa: PTH123
                file.write(s3.get_object(Bucket=bucket, Key=key)["Body"].read())

    return work


def _keys(s3: Any, bucket: str, prefix: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [listed["Key"] for page in pages for listed in page["Contents"]]


def main(name: str, *arguments: str) -> None:
    """Run the function with this name and print its report."""
    # awscrt is installed for the method `crt`. boto3 would only spend time on its import.
    sys.modules["awscrt"] = None
    work: Work = globals()[name](*arguments)
    cpu_s, started = time.process_time(), time.perf_counter()
    work()
    took = {"seconds": time.perf_counter() - started, "client_cpu_s": time.process_time() - cpu_s}
    print(json.dumps(took))


if __name__ == "__main__":
    main(*sys.argv[1:])
