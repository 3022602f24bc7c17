"""The Go and the Python function, given the same message and the same server, write the same
record."""

import platform
import re

import pytest

from tests.fakes.s3 import Faults
from tests.unit.functions.lambda_sandbox import order, sqs_record
from tests.unit.functions.transfer.transfer_program import build_transfer

MIB = 2**20
# What no two runs have in common, and the method and its SDK, which are told apart.
OWN = re.compile(r"_seconds$|_at_ms$|_id$|^method$|^sdk$|^error_message$")
BAD_BODIES = [
    "hello",
    "[]",
    *(
        order(**changes)
        for changes in ({"speed": 1}, {"seq": True}, {"seq": -1}, {"seq": 1.0}, {"warm_up": 1.0})
    ),
    *(
        order(**changes)
        for changes in ({"run_id": ""}, {"run_id": "line\nbreak"}, {"run_id": "\ud800"})
    ),
    *(
        order(**changes)
        for changes in ({"cell": "x" * 257}, {"warm_up": 2}, {"object_bytes": 2**53})
    ),
    order(checksum="md5:00"),
    '{"run_id": "r", "run_id": "r", "cell": "c", "seq": 1}',
]


def test_a_line_has_the_same_form(start_s3, sandbox, monkeypatch):
    """Separators, order, digits and escapes: everything but the digits themselves."""
    start_s3(1000)
    monkeypatch.setenv("EXPERIMENT_TAG", "première, n°1 <&>")
    event = {"Records": [sqs_record(order(cell='a "quoted" é¡ cell\\'))]}

    def form(method):
        function = sandbox(method)
        function.deliver(event)
        line = re.sub(
            r'("(?:message_id|request_id|sandbox_id|sdk|method)": )"[^"]+"',
            r'\1"own"',
            function.log,
        )
        line = re.sub(r'("\w+_seconds": )\d+\.\d{9}', r"\1seconds", line)
        return re.sub(r'("\w+_at_ms": )\d{13}', r"\1ms", line)

    assert form("go_stream") == form("stream")


@pytest.mark.parametrize(
    ("method", "sink"), [("stream", "discard"), ("ranges", "memory"), ("ranges", "tmp")]
)
def test_the_record_of_a_message_is_the_same_whatever_becomes_of_it(
    start_s3, sandbox, monkeypatch, method, sink
):
    for name, value in {"SINK": sink, "RANGE_PARALLEL": "3"}.items():
        monkeypatch.setenv(name, value)
    s3 = start_s3(17 * MIB)
    functions = sandbox(method), sandbox(f"go_{method}")
    for faults, bodies in (
        (
            {},
            [
                order(object_bytes=17 * MIB, warm_up=1),
                order(object_bytes=5),
                order(checksum="crc32:00000000"),
            ],
        ),
        ({"status": 403, "error_code": "AccessDenied"}, [order()]),
        ({"status": 400, "error_code": "InvalidRequest"}, [order()]),
        ({"slow_down_gets": 1}, [order(seq=8)]),
        ({}, BAD_BODIES),
    ):
        records = []
        for function in functions:
            s3.faults = Faults(**faults)
            records.append(function.invoke(*bodies, attempt=3)[0])
        assert len(records[0]) == len(records[1]) == len(bodies)
        for python_record, go_record in zip(*records, strict=True):
            assert [(key, type(value)) for key, value in go_record.items()] == [
                (key, type(value)) for key, value in python_record.items()
            ]
            differing = {key for key, value in go_record.items() if value != python_record[key]}
            assert [key for key in differing if not OWN.search(key)] == []
            assert (go_record["method"], go_record["attempt"]) == (f"go_{method}", 3)


def test_the_function_builds_for_the_other_processor_too(tmp_path):
    architecture, machine = (
        ("amd64", 0x3E) if platform.machine() in ("aarch64", "arm64") else ("arm64", 0xB7)
    )
    build_transfer(tmp_path / "bootstrap", GOOS="linux", GOARCH=architecture)
    header = (tmp_path / "bootstrap").read_bytes()[:20]
    assert int.from_bytes(header[18:], "little") == machine  # e_machine of the ELF header
