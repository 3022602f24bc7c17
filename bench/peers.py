"""The clients that ours are measured against, each a program of its own: `python -S peers.py NAME REPORT ARGUMENTS...`.

Written as their users would, and no slower: boto3's `download_file`, for one object and for many in 30 threads, its
`copy_object` in several processes, its `put_object` and `get_object` in one loop; and a bare socket, the limit of what
one connection gives. Endpoint and keys come
from the environment. The report is a JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

THREADS = 30
WINDOW_BYTES = 2**20


class Stopwatch:
    """Wall and CPU time from its making on."""

    def __init__(self) -> None:
        self._cpu_s, self._wall_s = time.process_time(), time.perf_counter()

    def report(self, received_bytes: int) -> dict[str, float]:
        """Return seconds, CPU seconds of the process and the bytes received."""
        seconds = time.perf_counter() - self._wall_s
        return {"seconds": seconds, "client_cpu_s": time.process_time() - self._cpu_s, "bytes": received_bytes}


def download_file(bucket: str, key: str, path: str) -> dict[str, float]:
    """boto3's `download_file` with its defaults; gives what the call took."""
    import boto3

    s3 = boto3.client("s3")
    stopwatch = Stopwatch()
    s3.download_file(bucket, key, path)
    return stopwatch.report(os.path.getsize(path))  # noqa: PTH202


def download_many(bucket: str, prefix: str, folder: str) -> dict[str, float]:
    """`download_file` of every object under a prefix, in 30 threads with one client."""
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    from botocore.config import Config

    s3 = boto3.client("s3", config=Config(max_pool_connections=THREADS))
    stopwatch = Stopwatch()
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    objects = [listed for page in pages for listed in page["Contents"]]

    def download(one: dict) -> None:
        s3.download_file(bucket, one["Key"], f"{folder}/{one['Key'].removeprefix(prefix)}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(download, objects))
    return stopwatch.report(sum(listed["Size"] for listed in objects)) | {"objects": len(objects)}


def copy_many(bucket: str, pairs: str, processes: str) -> dict[str, float]:
    """CopyObject for each `source,destination` line of the file `pairs`, in a loop of each of so many processes."""
    from multiprocessing import Pool

    import boto3  # noqa: F401 - once here, and not in every process

    with open(pairs) as file:  # noqa: PTH123
        rows = [line.rstrip("\n").split(",") for line in file]
    count = int(processes)
    stopwatch = Stopwatch()
    with Pool(count) as pool:
        pool.starmap(_copy, [(bucket, rows[first::count]) for first in range(count)], 1)
        pool.close()
        pool.join()  # so that their CPU time is told to who waits for this process
    return stopwatch.report(0)


def _copy(bucket: str, rows: list[list[str]]) -> None:
    import boto3

    s3 = boto3.client("s3")
    for source, destination in rows:
        s3.copy_object(Bucket=bucket, Key=destination, CopySource={"Bucket": bucket, "Key": source})


def put_loop(bucket: str, prefix: str, folder: str, count: str) -> dict[str, float]:
    """One `put_object` after the other, of the first `count` files of a folder."""
    import boto3

    s3 = boto3.client("s3")
    names = sorted(os.listdir(folder))[: int(count)]  # noqa: PTH208
    stopwatch = Stopwatch()
    for name in names:
        with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
            s3.put_object(Bucket=bucket, Key=prefix + name, Body=file)
    return stopwatch.report(0)


def get_loop(bucket: str, prefix: str, folder: str, count: str) -> dict[str, float]:
    """One `get_object` after the other, each to a file: the first `count` objects under a prefix, listed before.

    `download_file` would ask for each object twice (HeadObject, GetObject).
    """
    import boto3

    s3 = boto3.client("s3")
    first = {"MaxItems": int(count)}
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, PaginationConfig=first)
    keys = [listed["Key"] for page in pages for listed in page["Contents"]]
    received_bytes, stopwatch = 0, Stopwatch()
    for key in keys:
        with open(f"{folder}/{key.removeprefix(prefix)}", "wb") as file:  # noqa: PTH123
            received_bytes += file.write(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    return stopwatch.report(received_bytes)


def bare_socket(url: str) -> dict[str, float]:
    """Ask for a presigned http URL and receive the answer's bytes into one buffer, without looking at them."""
    import mmap
    import socket

    host_port, _, path = url.removeprefix("http://").partition("/")
    host, _, port = host_port.partition(":")
    # Beginning at a page: a bytearray's address makes the kernel's copy slower on some processors.
    buffer = memoryview(mmap.mmap(-1, WINDOW_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    stopwatch = Stopwatch()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host_port}\r\nConnection: close\r\n\r\n".encode())
        received, receive = 0, connection.recv_into
        while count := receive(buffer, WINDOW_BYTES, socket.MSG_WAITALL):
            received += count
    return stopwatch.report(received)  # with the head of the answer, which is below a kilobyte


PEERS: dict[str, Callable[..., dict[str, float]]] = {
    "download_file": download_file,
    "download_many": download_many,
    "copy_many": copy_many,
    "put_loop": put_loop,
    "get_loop": get_loop,
    "bare_socket": bare_socket,
}

if __name__ == "__main__":
    # Not a part of boto3: it is in this environment for the method `crt`, and boto3 would spend time on importing it.
    sys.modules["awscrt"] = None
    report = PEERS[sys.argv[1]](*sys.argv[3:])
    with open(sys.argv[2], "w") as file:  # noqa: PTH123 - pathlib would be a part of what is measured
        json.dump(report, file)
