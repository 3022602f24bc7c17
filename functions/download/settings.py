"""The settings of a download, from the environment that Terraform gives to the function."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.environment import Labels, choice, flag, read_labels, read_region, text, whole_number
from download.methods import METHODS


@dataclass(frozen=True)
class Settings(Labels):
    """The settings: the labels of the record, the object to download, and how.

    `ranges` and `crt` fetch ranges of `range_part_mb` MiB, `ranges` over `range_parallel`
    connections, `crt` over a number of its own. `requester_pays` accepts the charges of a bucket
    whose owner doesn't pay.
    """

    bucket: str
    key: str
    region: str
    sink: str = "tmp"
    range_parallel: int = 8
    range_part_mb: int = 16
    requester_pays: bool = False


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings; raises SettingsError for the first missing or wrong variable.

    By default the method is `download_file`, the sink the method's first, and 8 connections fetch
    ranges of 16 MiB.
    """
    method = choice(environ, "METHOD", tuple(METHODS))
    return Settings(
        **read_labels(environ),
        method=method,
        bucket=text(environ, "BUCKET_NAME"),
        key=text(environ, "FILE_NAME"),
        region=read_region(environ),
        sink=choice(environ, "SINK", METHODS[method], f" with METHOD={method}"),
        range_parallel=whole_number(environ, "RANGE_PARALLEL", 1, 64, default="8"),
        # With smaller ranges, hundreds of functions would exceed the request rate of an S3 prefix.
        range_part_mb=whole_number(environ, "RANGE_PART_MB", 16, 64, default="16"),
        requester_pays=flag(environ, "REQUESTER_PAYS"),
    )
