"""The Go and the Python function, given the same message and the same server, write the same
record."""

import re

import pytest

from tests.fakes.s3 import Faults, refused_reads
from tests.unit.functions.lambda_sandbox import order, sqs_record

MIB = 2**20
# What no two runs have in common, and the method and its SDK, which are told apart.
OWN = re.compile(r"_seconds$|_at_ms$|_id$|^method$|^sdk$|^error_message$")
BAD_BODIES = [
    *("hello", "[]", '{"run_id": "r", "run_id": "r", "cell": "c", "seq": 1}'),
    *map(
        lambda key, value: order(**{key: value}),
        ("speed", "seq", "seq", "run_id", "cell", "warm_up", "object_bytes"),
        (1, True, 1.0, "\ud800", "x" * 257, 2, 2**53),
    ),
    order(checksum="md5:00"),
]


def test_a_line_has_the_same_form(start_s3, sandbox, monkeypatch):
    """Separators, order, digits and escapes: everything but the digits themselves."""
    start_s3(1000)
    monkeypatch.setenv("EXPERIMENT_TAG", "première, n°1 <&>")
    event = {"Records": [sqs_record(order(cell='a "quoted" é¡ cell\\'))]}

    def form(method):
        function = sandbox(method)
        function.deliver(event)
        line = re.sub(r'("(?:\w+_id|sdk|method)": )"[^"]+"', r"\1own", function.log)
        return re.sub(r'("\w+_(?:seconds|at_ms)": )(?:\d+\.\d{9}|\d{13})\b', r"\1own", line)

    assert form("go_stream") == form("stream")


@pytest.mark.parametrize(
    ("method", "sink"), [("stream", "discard"), ("ranges", "memory"), ("ranges", "tmp")]
)
def test_the_record_of_a_message_is_the_same_whatever_becomes_of_it(
    start_s3, sandbox, monkeypatch, method, sink
):
    monkeypatch.setenv("SINK", sink)
    s3 = start_s3(17 * MIB)
    functions = sandbox(method), sandbox(f"go_{method}")
    good = order(object_bytes=17 * MIB, warm_up=1)
    for make_faults, bodies in (
        (Faults, [good, order(object_bytes=5), order(checksum=f"sha256:{'0' * 64}")]),
        (lambda: refused_reads(403, "AccessDenied"), [order()]),
        (lambda: refused_reads(400, "InvalidRequest"), [order()]),
        (lambda: refused_reads(503, "SlowDown", times=1), [order(seq=8)]),
        (Faults, BAD_BODIES),
    ):
        records = []
        for function in functions:
            s3.faults = make_faults()
            records.append(function.invoke(*bodies, attempt=3)[0])
        assert len(records[0]) == len(records[1]) == len(bodies)
        for python_record, go_record in zip(*records, strict=True):
            assert [(key, type(value)) for key, value in go_record.items()] == [
                (key, type(value)) for key, value in python_record.items()
            ]
            differing = {key for key, value in go_record.items() if value != python_record[key]}
            assert [key for key in differing if not OWN.search(key)] == []
            assert (go_record["method"], go_record["attempt"]) == (f"go_{method}", 3)
