"""A client of the calibration, a process of its own as a function is: reads a large object as boto3 does by default, or
a small one, for as long as it is told on stdin, and says on stdout what that took."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import boto3
from boto3.s3.transfer import TransferConfig

LARGE, SMALL = "large", "small"


def main(endpoint_url: str, region: str, bucket: str, path: str) -> None:
    """Answer `large 2.5` and `small 0.3`, readings for so many seconds and one at least, with a line: how many, and
    the seconds. `path` is where the large object is read to."""
    s3 = boto3.client("s3", endpoint_url=endpoint_url, region_name=region)
    config = TransferConfig(preferred_transfer_client="classic")

    def read_large() -> None:
        s3.download_file(bucket, LARGE, path, Config=config)
        Path(path).unlink()

    def read_small() -> None:
        s3.get_object(Bucket=bucket, Key=SMALL)["Body"].read()

    print("ready", flush=True)
    for line in sys.stdin:
        what, seconds = line.split()
        read = {LARGE: read_large, SMALL: read_small}[what]
        times, began_s = 0, time.monotonic()
        while not times or time.monotonic() < began_s + float(seconds):
            read()
            times += 1
        print(times, time.monotonic() - began_s, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
