"""The settings of a copy, from the environment that Terraform gives to the function."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from common.environment import Labels, SettingsError, choice, read_labels, read_region, text

S3_STORAGES = ("s3", "s3_in_vpc")
MOUNTED_STORAGES = ("efs", "s3files")
# How S3 is read, the published method first. For a mount there is only COPY.
READ_METHODS = ("download_file", "pool")
COPY = "copy"
KEEP, DROP = "keep", "drop"


@dataclass(frozen=True)
class Settings(Labels):
    """The settings: the labels of the record, where the data set is, and what to do with its cache.

    `mount_path` is empty for S3. `cache` "drop" drops a file's pages before it is read again.
    """

    storage: str
    bucket: str
    region: str
    mount_path: str = ""
    cache: str = KEEP

    @property
    def is_mounted(self) -> bool:
        """Whether files of a mount are read, not objects."""
        return self.storage in MOUNTED_STORAGES


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings; raises SettingsError for the first missing or wrong variable.

    By default S3 is read with `download_file`, and caches are kept. READ_METHOD has no effect on a
    mounted storage.
    """
    # required: a wrong storage would look like a right measurement
    text(environ, "STORAGE")
    storage = choice(environ, "STORAGE", S3_STORAGES + MOUNTED_STORAGES)
    is_mounted = storage in MOUNTED_STORAGES
    return Settings(
        **read_labels(environ),
        method=COPY if is_mounted else choice(environ, "READ_METHOD", READ_METHODS),
        storage=storage,
        bucket=text(environ, "BUCKET_NAME"),
        region=read_region(environ),
        mount_path=read_mount_path(environ) if is_mounted else "",
        cache=_cache(environ),
    )


def read_mount_path(environ: Mapping[str, str]) -> str:
    """Return MOUNT_PATH; raises SettingsError unless it is an absolute path."""
    path = text(environ, "MOUNT_PATH")
    if not os.path.isabs(path) or not path.isprintable():  # noqa: PTH117 - pathlib would change what is shown
        raise SettingsError(
            "the environment variable MOUNT_PATH must be an absolute path like /mnt/data, not "
            f"{path[:60]!a}"
        )
    return path


def _cache(environ: Mapping[str, str]) -> str:
    cache = choice(environ, "CACHE", (KEEP, DROP))
    if cache == DROP and not hasattr(os, "posix_fadvise"):
        raise SettingsError(
            "the environment variable CACHE can't be drop: this system has no posix_fadvise"
        )
    return cache
