"""What comes from outside: the order, the environment, and the keys that become files."""

import pytest

from common.environment import SettingsError
from common.failures import UnsafePath
from common.listing import ListedObject
from common.work_order import WorkOrderError
from filesystem.copy_order import parse_copy_order
from filesystem.names import by_path
from filesystem.settings import read_settings
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, order


def files_of(*keys):
    return list(by_path((ListedObject(f"small/{key}", 1, "etag") for key in keys), "small/"))


@pytest.mark.parametrize(
    "keys",
    [
        *(["a", key] for key in ("../../stolen", "/etc/stolen", "a/../../../stolen")),
        *(["a", key] for key in ("", "a/", "x\0y", "./a", "a/b")),
    ],
)
def test_a_key_that_leads_out_names_a_folder_or_falls_on_the_file_of_another_is_refused(keys):
    with pytest.raises(UnsafePath):
        files_of(*keys)


def test_names_that_only_look_alike_are_different_files():
    keys = ["a", "a.b", "b/a", "ba", "..a", "A"]
    assert files_of(*keys) == keys


@pytest.mark.parametrize(
    "changes",
    [
        *({"threads": value} for value in (0, 257, True, 1.0)),
        {"connections": 0},
        *({"dataset": value} for value in ("medium", ["small"])),
        {"files": -1},
        {"object_bytes": 5},
    ],
)
def test_a_wrong_order_is_refused(changes):
    with pytest.raises(WorkOrderError, match=next(iter(changes))):
        parse_copy_order(order(**{"dataset": "small"} | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("STORAGE", value) for value in ("", "nfs")),
        *(("MOUNT_PATH", value) for value in ("", "data")),
        ("CACHE", "empty"),
    ],
)
def test_a_wrong_environment_is_refused(name, value):
    with pytest.raises(SettingsError, match=name):
        read_settings(ENVIRONMENT | {"STORAGE": "efs", "MOUNT_PATH": "/mnt/data"} | {name: value})
