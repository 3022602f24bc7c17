"""What the tests of the file system experiment share: its environment, its data sets, its work orders, its records."""

import json
import random
from pathlib import Path

from tests.unit.functions.lambda_sandbox import ERROR_TYPES, LambdaSandbox, order

_AGREED = json.loads((Path(__file__).parents[4] / "functions" / "agreed" / "record.json").read_text())
OK_KEYS = [_AGREED["time"]["filesystem"] if key == "<time>" else key for key in _AGREED["common"]]
OK_KEYS += _AGREED["own"]["filesystem"]
ERROR_KEYS = [key for key in OK_KEYS if key != "elapsed_seconds"] + _AGREED["error"]

# 23 files in two folders, one of them empty, and one name with what a URL must not hold as it is.
SMALL = {f"{number:05}.bin": random.Random(number).randbytes(number % 10 * 1000) for number in range(20)}
SMALL |= {"more/a b+c&d=e%f.bin": b"x" * 10, "more/ä.bin": b"y" * 2_000_000, "more/and/more.bin": b"z"}
LARGE = random.Random(1).randbytes(20 * 2**20 + 7)
OBJECTS = {f"small/{name}": content for name, content in SMALL.items()} | {"large/file.bin": LARGE}
SMALL_BYTES = sum(map(len, SMALL.values()))


def keep_what_is_copied(monkeypatch):
    """Return a list that gets the content of the target folder of every copy from now on, before it is removed."""
    from filesystem.reading import Reading

    copied, verify = [], Reading.verify

    def keep(reading):
        files = (path for path in reading.target.rglob("*") if path.is_file())
        copied.append({path.relative_to(reading.target).as_posix(): path.read_bytes() for path in files})
        return verify(reading)

    monkeypatch.setattr(Reading, "verify", keep)
    return copied


def put_on_mount(mount, dataset="small", files=SMALL):
    """Write files into a data set's folder of the mount."""
    for name, content in files.items():
        path = mount / dataset / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def success(function: LambdaSandbox, **changes):
    """Invoke once and return the record, which must be a good one."""
    [record], failed = function.invoke(order(**{"dataset": "small"} | changes))
    assert (failed, record["status"]) == ([], "ok"), record
    assert list(record) == OK_KEYS
    return record


def failure(function: LambdaSandbox, folder: Path, remaining_s=60, **changes):
    """Invoke once, check what every failure has in common, and return the record."""
    [record], failed = function.invoke(order(**{"dataset": "small"} | changes), remaining_s=remaining_s)
    assert list(record) == ERROR_KEYS
    assert record["error_type"] in ERROR_TYPES
    assert record["error_message"].isprintable()
    assert failed == [record["message_id"]]
    assert list(folder.iterdir()) == [], "something was left in the temporary folder"
    return record
