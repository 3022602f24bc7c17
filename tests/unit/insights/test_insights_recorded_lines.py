"""The lines that Lambda was recorded to write are found by the evaluator as what they are, and aren't records."""

import re

from loader.log_events import records
from stampede.insights import evaluate
from tests.aws_answers import ANSWERS

VALUES = {"<request-id>": "5e0b5d5c-97ac-4eb2-9b5a-000000000001", "<duration>": "12.34", "<memory>": "40"}


def test_each_line_has_its_type_and_the_report_its_figures():
    lines = [
        re.sub(r"<[\w-]+>", lambda match: VALUES[match[0]], line)
        for line in ANSWERS["lam-74"]["answer"]["fields"]["logs"]
    ]
    events = [{"timestamp": number, "message": line} for number, line in enumerate(lines)]
    fields = "fields @type, @requestId, @duration, @billedDuration, @memorySize, @maxMemoryUsed, @initDuration"
    rows = evaluate(f"{fields} | sort @timestamp asc", events).rows
    request = {"@requestId": VALUES["<request-id>"]}
    assert [rows[0], rows[2]] == [{"@type": "START"} | request, {"@type": "END"} | request]
    assert rows[1] == {}
    assert (
        rows[3]
        == {
            "@type": "REPORT",
            "@duration": 12.34,
            "@billedDuration": 12.34,
            "@memorySize": 128_000_000,
            "@maxMemoryUsed": 40_000_000,
            "@initDuration": 12.34,
        }
        | request
    )
    assert list(records(events)) == []
