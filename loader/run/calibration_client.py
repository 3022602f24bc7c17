"""A client of the calibration, a process of its own as a function is: reads a large object as boto3 does by default, or
a small one, so often as it is told on stdin, and says on stdout what that took."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
from boto3.s3.transfer import TransferConfig

LARGE, SMALL = "large", "small"


def main(endpoint_url: str, region: str, bucket: str) -> None:
    """Answer `large 4` and `small 100`, so many readings, with a line: the CPU seconds of all of them."""
    s3 = boto3.client("s3", endpoint_url=endpoint_url, region_name=region)
    config = TransferConfig(preferred_transfer_client="classic")
    with TemporaryDirectory(prefix="stampede-calibration-") as folder:
        path = str(Path(folder, "object"))

        def read_large() -> None:
            s3.download_file(bucket, LARGE, path, Config=config)
            Path(path).unlink()

        def read_small() -> None:
            s3.get_object(Bucket=bucket, Key=SMALL)["Body"].read()

        print("ready", flush=True)
        for line in sys.stdin:
            what, times = line.split()
            began_s = time.process_time()
            for _ in range(int(times)):
                {LARGE: read_large, SMALL: read_small}[what]()
            print(time.process_time() - began_s, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
