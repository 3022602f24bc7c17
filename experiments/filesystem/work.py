"""One copy of a data set in the words of the model: by boto3, or from a mount by one thread."""

from __future__ import annotations

from dataclasses import replace

from experiments.filesystem.usage import PROCESS_MB, FilesystemValues, is_mounted, what_arrives
from experiments.objects import pages
from experiments.reading import AT_ONCE, HEADS, parts, reading, with_first_use
from stampede.model.file_system import fits_in_page_cache
from stampede.model.parameters import Parameters
from stampede.model.work import Step, Work

GIB = 2**30
# Lambda's own rule for direct reads of S3 Files.
DIRECT_READ_FROM_MB = 512


def work(values: FilesystemValues, parameters: Parameters) -> Work:
    """One copy of the data set of `values` to /tmp."""
    storage, mounted = values["storage"], is_mounted(values)
    once = Work(
        _mounted(values, parameters, cached=False) if mounted else _from_s3(values, parameters),
        network="function" if storage == "s3" else "vpc",
        subnets=values["subnet_count"],
        spread=parameters["spread"],
        cold_s=parameters["python_start_s"] + (0.0 if mounted else parameters["boto3_start_s"]),
    )
    if mounted:
        if values["cache"] != "drop" and fits_in_page_cache(
            what_arrives(values)["bytes"], PROCESS_MB, values["memory_size"]
        ):
            return replace(
                once, repeat=replace(once, steps=_mounted(values, parameters, cached=True))
            )
    elif values["read_method"] != "pool":
        return with_first_use(once, parameters)
    return once


def _mounted(values: FilesystemValues, parameters: Parameters, cached: bool) -> list[Step]:
    """One thread reads and writes in turn. A cached file is still opened at the server, because NFS
    asks whether it has changed, but not read there."""
    files = values["small_files"] if values["dataset"] == "small" else 1
    read_bytes = what_arrives(values)["bytes"]
    cpu_s = (
        files * parameters["mount_cpu_s_per_file"]
        + read_bytes / GIB * parameters["mount_cpu_s_per_gib"]
    )
    opening = Step(
        "opening files",
        requests=files,
        request_s=parameters["efs_open_s"] + (0.0 if cached else parameters["efs_read_s"]),
    )
    reading = Step(
        "reading the mount",
        mount_bytes=read_bytes,
        mount_bytes_per_s=_mount_bytes_per_s(values, parameters),
    )
    return [opening, *([] if cached else [reading]), Step("copying", cpu_s=cpu_s, threads=1.0)]


def _mount_bytes_per_s(values: FilesystemValues, parameters: Parameters) -> float:
    """The rate at which one thread reads the mount. Nothing is published of S3 Files: direct reads
    are assumed to be as fast as a connection to S3, the others as fast as EFS."""
    if values["storage"] == "efs":
        return min(parameters["efs_stream_bytes_per_s"], parameters["efs_client_bytes_per_s"])
    direct = values["direct_s3_read"] == "AUTO" and values["memory_size"] >= DIRECT_READ_FROM_MB
    alone = (
        parameters["s3_connection_bytes_per_s"] if direct else parameters["efs_stream_bytes_per_s"]
    )
    return min(alone, parameters["s3files_client_bytes_per_s"])


def _from_s3(values: FilesystemValues, parameters: Parameters) -> list[Step]:
    """Many threads read the small files after a listing; the large one is read in parts or, by
    `pool`, whole."""
    pool, large_mb = values["read_method"] == "pool", values["large_file_mb"]
    processors = parameters["python_processors"]
    if values["dataset"] != "small":
        method, requests, at_once, heads = "download_file", HEADS + parts(large_mb), AT_ONCE, HEADS
        if pool:
            method, requests, at_once, heads, processors = "stream", 1, 1, 0, 1.0
        cpu_s_per_gib = parameters[f"{method}_tmp_cpu_s_per_gib"]
        return [reading(large_mb, requests, at_once, cpu_s_per_gib, processors, parameters, heads)]
    files, threads, connections = values["small_files"], values["threads"], values["connections"]
    listing = Step(
        "listing", requests=pages(files), request_s=parameters["list_page_s"], rate="s3_get"
    )
    # The SDK makes a HEAD first, and opens a connection beyond its pool for each request.
    requests = 1 if pool else 2
    at_once = min(threads, files, connections if pool else threads)
    cpu_s = parameters["pool_cpu_s_per_file"]
    if not pool:
        beyond = max(0.0, 1 - connections / threads)
        cpu_s = (
            parameters["download_file_cpu_s_per_file"]
            + requests * beyond * parameters["connecting_cpu_s"]
        )
    copying = Step(
        "copying objects",
        requests=requests * files,
        request_s=parameters["s3_get_s"],
        at_once=at_once,
        rate="s3_get",
        bytes=what_arrives(values)["bytes"],
        stream_bytes_per_s=parameters["s3_connection_bytes_per_s"],
        cpu_s=files * cpu_s,
        threads=processors,
    )
    return [listing, copying]
