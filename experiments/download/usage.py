"""What a download uses: requests, memory, and the object that all functions download."""

from __future__ import annotations

from experiments.download.own_object import is_read
from experiments.objects import MEBIBYTE, put_requests, stored
from experiments.reading import GIB_IN_MIB, HEADS, parts
from stampede.experiment import Usage, Use, Values


class DownloadValues(Values):
    """The variables and keys of the work order that the download reads."""

    object_size_mb: int
    region: str
    s3_bucket_name: str | None
    s3_file_name: str
    existing_bucket: bool
    requester_pays: bool
    object_kms_key_arn: str | None
    server_side_proof: bool
    method: str
    sink: str
    range_parallel: int
    range_part_mb: int


# Memory of a function of the embedded AWS besides the object: the proportional set size
# (/proc/*/smaps_rollup) of the largest of 20 processes that work on an object of 1 MiB, rounded up
# [tried, x86_64]. It differs by machine: the largest of 500 go_stream processes had 2.9 MB on one,
# and 5.8 MB with the object on another.
PROCESS_MB = {
    "download_file": 44,
    "crt": 44,
    "stream": 44,
    "ranges": 44,
    "go_stream": 5,
    "go_ranges": 5,
}


def usage(values: DownloadValues) -> Usage:
    """The needs of a cell of these variables."""
    object_mb = values["object_size_mb"]
    put_mb = 0 if is_read(values) else object_mb
    return Usage(
        moved_mb=object_mb,
        data_mb=put_mb,
        process_mb=PROCESS_MB.get(values["method"], max(PROCESS_MB.values())),
        tmp_mb=values["ephemeral_storage_mb"],
        sized_by="object_size_mb",
        uses=(
            Use("S3", "GET and HEAD", "s3_get", each=requests(object_mb, values)),
            *(_put_and_stored(put_mb) if put_mb else ()),
        ),
    )


def _put_and_stored(object_mb: int) -> tuple[Use, ...]:
    """Putting the object and storing it; the user's own is there already."""
    puts = put_requests(object_mb * MEBIBYTE)
    return (
        Use("S3", "PUT of the object's parts", "s3_put", once=puts),
        stored("S3", "storage of the object", "s3_gb_month", object_mb / GIB_IN_MIB),
    )


def requests(object_mb: int, values: DownloadValues) -> int:
    """S3 requests of one download; only `download_file` makes a HEAD."""
    if values["method"] == "download_file":
        return HEADS + parts(object_mb)
    if values["method"].endswith("stream"):
        return 1
    return -(-object_mb // max(1, values["range_part_mb"]))
