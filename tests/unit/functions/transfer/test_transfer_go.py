"""The Go program as Lambda takes it."""

import platform

from tests.unit.functions.transfer.transfer_program import build_transfer


def test_the_function_builds_for_the_other_processor_too(tmp_path):
    architecture, machine = ("amd64", 0x3E) if platform.machine() in ("aarch64", "arm64") else ("arm64", 0xB7)
    build_transfer(tmp_path / "bootstrap", GOOS="linux", GOARCH=architecture)
    header = (tmp_path / "bootstrap").read_bytes()[:20]
    assert int.from_bytes(header[18:], "little") == machine  # e_machine of the ELF header
