"""A client of the calibration, a process of its own as a function is: downloads as boto3's defaults do, or asks for
little, when it is told to on stdin, and says on stdout what that took."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
from boto3.s3.transfer import TransferConfig

LARGE, SMALL = "large", "small"


def main(endpoint_url: str, region: str, bucket: str) -> None:
    """Answer `download 4` and `ask 100`, a line each, with one of JSON: seconds and CPU seconds of all of them."""
    s3 = boto3.client("s3", endpoint_url=endpoint_url, region_name=region)
    config = TransferConfig(preferred_transfer_client="classic")
    with TemporaryDirectory(prefix="stampede-calibration-") as folder:
        path = str(Path(folder, "object"))

        def download() -> None:
            s3.download_file(bucket, LARGE, path, Config=config)
            Path(path).unlink()

        def ask() -> None:
            s3.get_object(Bucket=bucket, Key=SMALL)["Body"].read()

        print("ready", flush=True)
        for line in sys.stdin:
            what, times = line.split()
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            for _ in range(int(times)):
                {"download": download, "ask": ask}[what]()
            took = {"seconds": time.perf_counter() - began_s, "cpu_s": time.process_time() - began_cpu_s}
            print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
