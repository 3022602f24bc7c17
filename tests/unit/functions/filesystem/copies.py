"""What the tests of the file system experiment share: its data sets, and what becomes of them."""

import random

# 23 files in two folders, one of them empty, and one name with what a URL must not hold as it is.
SMALL = {
    f"{number:05}.bin": random.Random(number).randbytes(number % 10 * 1000) for number in range(20)
}
SMALL |= {
    "more/a b+c&d=e%f.bin": b"x" * 10,
    "more/ä.bin": b"y" * 2_000_000,
    "more/and/more.bin": b"z",
}
LARGE = random.Random(1).randbytes(20 * 2**20 + 7)
OBJECTS = {f"small/{name}": content for name, content in SMALL.items()} | {"large/file.bin": LARGE}
SMALL_BYTES = sum(map(len, SMALL.values()))


def keep_what_is_copied(monkeypatch):
    """Return a list that gets the content of the target folder of every copy from now on, before it
    is removed."""
    from filesystem.reading import Reading

    copied, verify = [], Reading.verify

    def keep(reading):
        files = (path for path in reading.target.rglob("*") if path.is_file())
        copied.append(
            {path.relative_to(reading.target).as_posix(): path.read_bytes() for path in files}
        )
        return verify(reading)

    monkeypatch.setattr(Reading, "verify", keep)
    return copied


def put_on_mount(mount, dataset="small", files=SMALL):
    """Write files into a data set's folder of the mount."""
    for name, content in files.items():
        path = mount / dataset / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
