"""Maps keys of S3 to files: always below the target folder, and never two keys to one file."""

from collections.abc import Iterable

from common.failures import UnsafePath
from common.listing import ListedObject


def by_path(objects: Iterable[ListedObject], prefix: str) -> dict[str, ListedObject]:
    """Return the objects by their path below a folder: the key without `prefix`.

    S3 has no folders: `a//b`, `a/./b` and `../b` are keys like any other, and `a` and `a/b` may
    both exist. Raises UnsafePath for a key that would leave the folder, names no file, or maps to
    the file of another key.
    """
    files: dict[str, ListedObject] = {}
    for listed in objects:
        path = _path(listed.key, prefix)
        if path in files:
            raise _same_file(files[path], listed)
        files[path] = listed
    for path, listed in files.items():
        folder = path.rpartition("/")[0]
        while folder:
            if folder in files:
                raise _same_file(files[folder], listed)
            folder = folder.rpartition("/")[0]
    return files


def _same_file(first: ListedObject, second: ListedObject) -> UnsafePath:
    return UnsafePath(
        f"two keys map to one file, {first.key!a:.100} and {second.key!a:.100}: remove one of them"
    )


def _path(key: str, prefix: str) -> str:
    rest = key.removeprefix(prefix)
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    if not key.startswith(prefix) or rest.startswith("/") or ".." in parts or "\0" in rest:
        raise UnsafePath(
            f"the key {key!a:.200} points outside the target folder: remove the object"
        )
    if not parts or rest.endswith("/"):
        raise UnsafePath(f"the key {key!a:.200} names a folder, not a file: remove the object")
    return "/".join(parts)
