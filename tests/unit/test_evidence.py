"""The evidence book: each assumption about AWS has its code, its proof or the lack of one, and each recorded answer its
use. Where one of them goes, a test here fails."""

import re

import pytest

from tests.aws_answers import ANSWERS
from tests.evidence import BOOK, PAGE, ROOT, WEIGHTS, citing, is_open, kind, page, statements

RESULTS = ("insights.json", "found.json")  # of queries
ROWS = {row["id"]: row for row in BOOK["assumption"]}
UNUSED = [name for unused in BOOK["unused"] for name in unused["answers"]]
# The tests that replay, by the name of their list in the book.
REPLAYS = {
    "embedded": ["tests/unit/emulator/test_recorded_answers.py"],
    "loader": ["tests/unit/loader/test_recorded_answers.py", "tests/unit/loader/test_executions.py"],
    "python": ["tests/unit/functions/common/test_common_recorded_answers.py"],
    "go": [
        f"functions/transfer/internal/{file}_test.go"
        for file in ("bucket/bucket", "copy/copyobject", "s3test/recorded", "worker/fake_aws")
    ],
    "fakes": ["tests/unit/loader/test_recorded_answers.py", "functions/transfer/internal/s3test/recorded_test.go"],
    "limits": ["tests/unit/test_evidence.py"],
    "evaluator": ["tests/unit/insights/test_insights_recorded_lines.py"],
}
SYMBOL = {
    ".py": r"(?m)(?:^\s*(?:async )?(?:def|class) {0}\b|^\s*(?:\w+, )?{0}\b.*=)",
    ".go": r"(?m)(?:^func (?:\([^)]*\) )?{0}\(|^\s*(?:var |const |type )?{0}\b.*(?:=|struct))",
}


def names(symbol, file):
    """Whether a file has a symbol of its language, or in any other kind of file, or in text, the words."""
    text = file.read_text(encoding="utf-8")
    if symbol == "MODULE":
        return True
    if re.fullmatch(r"\w+", symbol) and file.suffix in SYMBOL:
        return re.search(SYMBOL[file.suffix].format(symbol), text) is not None
    return symbol in text


def test_every_row_has_what_it_needs_and_an_id_of_its_own():
    assert len(ROWS) == len(BOOK["assumption"])
    for row in ROWS.values():
        assert row["weight"] in WEIGHTS and row["text"].endswith((".", ")")) and row["code"], row["id"]
        assert kind(row) != "nothing" or row.get("open"), f"{row['id']}: say what isn't proven"


@pytest.mark.parametrize("place", sorted({place for row in ROWS.values() for place in row["code"]}))
def test_the_code_that_relies_on_an_assumption_is_there(place):
    path, _, symbol = place.partition("::")
    assert names(symbol, ROOT / path), place


def test_a_symbol_that_is_gone_is_missed():
    assert names("MAX_ENTRIES", ROOT / "stampede/stacks/sqs_limits.py")
    assert not names("MAX_ENTRY", ROOT / "loader/sqs/sending.py")
    assert not names("goneCode", ROOT / "functions/transfer/internal/worker/queue.go")


def test_every_proof_is_a_recorded_answer_or_a_page():
    for row in ROWS.values():
        assert set(row.get("recorded", ())) <= {*ANSWERS, *RESULTS}, row["id"]
        for url in (*row.get("documented", ()), *row.get("reported", ())):
            assert re.fullmatch(r"https://[\w.-]+/[^\s<>]+", url), row["id"]
        assert all("docs.aws.amazon.com" in url for url in row.get("documented", ())), row["id"]
    assert all((ROOT / "tests/data/aws_answers" / name).exists() for name in RESULTS)


def test_every_recorded_answer_is_a_proof_or_its_absence_is_explained():
    proofs = {name for row in ROWS.values() for name in row.get("recorded", ())}
    assert sorted(ANSWERS.keys() - proofs - set(UNUSED)) == []
    assert [name for name in UNUSED if name not in ANSWERS] == []


def test_every_recorded_answer_that_is_used_is_replayed_by_a_test_that_names_it():
    replayed = {name for listed in BOOK["replayed"].values() for name in listed}
    assert sorted(ANSWERS.keys() - set(UNUSED) - replayed) == []
    assert BOOK["replayed"].keys() == REPLAYS.keys()
    for group, files in REPLAYS.items():
        text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
        assert [name for name in BOOK["replayed"][group] if f'"{name}"' not in text] == [], group


def test_every_statement_that_only_aws_can_show_something_has_a_row():
    sentences = [sentence for row in (*BOOK["assumption"], *BOOK["other"]) for sentence in row.get("said", ())]
    unused = set(sentences)

    def has_a_row(file, line):
        covering = set()
        for sentence in sentences:
            path, _, words = sentence.partition(": ")
            if re.match(re.escape(path) + r"(/|$)", file) and words in line:
                covering.add(sentence)
        unused.difference_update(covering)
        return covering

    assert [f"{file}: {line.strip()}" for file, line in statements() if not has_a_row(file, line)] == []
    assert unused == set()


def test_every_source_that_cites_a_page_of_aws_is_named_by_a_row():
    named = {place.partition("::")[0] for row in ROWS.values() for place in row["code"]}
    files = {sentence.partition(": ")[0] for row in ROWS.values() for sentence in row.get("said", ())}
    assert sorted(set(citing()) - named - files) == []


def test_what_a_function_may_open_and_start_is_within_what_was_recorded():
    limits = ANSWERS["lam-71"]["answer"]["fields"]
    text = (ROOT / "functions/filesystem/copy_order.py").read_text()
    assert int(re.search(r"(?m)^MOST_THREADS = (\d+)", text)[1]) < limits["RLIMIT_NPROC"][0]
    text = (ROOT / "functions/transfer/internal/express/order.go").read_text()
    assert int(re.search(r"largestParallel\s*= (\d+)", text)[1]) < limits["RLIMIT_NOFILE"][0] == 1024


def test_the_page_is_current_and_leads_with_what_is_not_proven():
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), "docs/evidence.md: run `make evidence`"
    assert written.index("## Not proven yet") < written.index("## Proven")
    first = written.index("## Proven")
    assert all(row["text"] in written[:first] for row in ROWS.values() if is_open(row))


def test_no_account_and_no_machine_is_in_the_recorded_answers():
    for file in (ROOT / "tests/data/aws_answers").iterdir():
        text = file.read_text()
        assert set(re.findall(r"(?<![\d.])\d{12}\b", text)) <= {"111111111111"}, file
        assert not re.search(r"/(?:work|home|root|tmp)/", text), file
