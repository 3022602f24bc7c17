"""The evidence book: each assumption about AWS names its code and its proof or open question, and
each recorded answer has a test that replays it."""

import re

from tests.aws_answers import ANSWERS
from tests.evidence import BOOK, PAGE, ROOT, kind, page

ROWS = {row["id"]: row for row in BOOK["assumption"]}
UNUSED = [name for names in BOOK["unused"].values() for name in names]
FOLDER = ROOT / "tests/data/aws_answers"
# The tests that replay recorded answers.
REPLAYS = [
    "tests/unit/emulator/test_recorded_answers.py",
    "tests/unit/loader/test_recorded_answers.py",
    "tests/unit/loader/test_executions.py",
    "tests/unit/functions/common/test_common_recorded_answers.py",
    "tests/unit/insights/test_insights_recorded.py",
    *(
        f"functions/transfer/internal/{file}_test.go"
        for file in ("bucket/bucket", "copy/copyobject", "worker/fake_aws", "s3test/recorded")
    ),
]


def test_every_row_has_a_unique_id_existing_code_and_a_proof_or_an_open_question():
    assert len(ROWS) == len(BOOK["assumption"])
    for row in ROWS.values():
        assert (
            row["code"] and [file for file in row["code"] if not (ROOT / file).is_file()] == []
        ), row["id"]
        assert [
            name
            for name in row.get("recorded", ())
            if name not in ANSWERS and not (FOLDER / name).exists()
        ] == []


def test_every_recorded_answer_is_replayed_by_a_test_or_its_absence_is_explained():
    text = "".join((ROOT / file).read_text(encoding="utf-8") for file in REPLAYS)
    limits = ["lam-71"]  # the next test has it
    assert [
        name for name in ANSWERS if f'"{name}"' not in text and name not in [*UNUSED, *limits]
    ] == []
    assert [name for name in UNUSED if name not in ANSWERS] == []


def test_what_a_function_may_start_is_within_what_was_recorded():
    text = (ROOT / "functions/filesystem/copy_order.py").read_text()
    most = int(re.search(r"(?m)^MOST_THREADS = (\d+)", text)[1])
    assert most < ANSWERS["lam-71"]["answer"]["fields"]["RLIMIT_NPROC"][0]


def test_the_page_is_current_and_begins_with_unproven_assumptions():
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), "docs/evidence.md: run `make evidence`"
    first, _, _ = written.partition("## Proven")
    assert all(
        row["text"] in first for row in ROWS.values() if "open" in row or kind(row) == "nothing"
    )


def test_no_account_and_no_machine_is_in_the_recorded_answers():
    for file in FOLDER.iterdir():
        text = file.read_text()
        assert set(re.findall(r"(?<![\d.])\d{12}\b", text)) <= {"111111111111"}, file
        assert not re.search(r"/(?:work|home|root|tmp)/", text), file
