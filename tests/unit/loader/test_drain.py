"""The drain waits for late messages and lines, stores each event once, and names the missing
ones. It ends early if only a redelivery could bring a record, and accounts for such messages
as unanswered."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

from loader.drain import drain
from stampede.errors import RunError
from tests.fakes.simulated_aws import EPOCH_MS, record

HIDDEN_S = 5400
LONG = {"timeout_s": 900, "visibility_timeout_s": HIDDEN_S}
LOST = (0, 5 * HIDDEN_S)
HOSTS = {"function_name": None}
# The function's timeout, plus the delays of counts and lines.
ENDS_S = 900 + 90 + 600
FOREVER = (0, 1e9)


@pytest.fixture
def wait(aws, folder):
    return partial(drain, aws, folder)


def send(folder, *seqs, cell="a", at_s=0):
    folder.append(
        "sent.jsonl",
        [{"cell": cell, "seq": seq, "sent_at_ms": EPOCH_MS + at_s * 1000} for seq in seqs],
    )


def seqs(folder, name="records.jsonl"):
    return [row["seq"] for row in folder.rows(name)]


def fates(drained):
    """The number of messages with each fate."""
    [account] = drained.accounts
    names = ("succeeded", "failed", "dead_lettered", "unanswered", "unaccounted")
    return Counter({name: getattr(account, name) for name in names})


@dataclass
class Case:
    """Two messages are sent at `sent_s`; message 0 leaves a record in the first second. `fates` are
    those of both; the drain ends within `ends_s`. `lines` are further records, as (seq, at_s[,
    seen_at_s]), `errors` records of failures; `hidden` and `visible` are the times of messages in
    these states, and `dead_s` when message 1 becomes a dead letter."""

    fates: str
    ends_s: tuple[float, float] = FOREVER
    lines: Sequence[tuple[float, ...]] = ()
    errors: Sequence[tuple[float, ...]] = ()
    hidden: Sequence[tuple[float, float]] = ()
    visible: Sequence[tuple[float, float]] = ()
    dead_s: float = 0
    sent_s: float = 0
    outputs: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    left: str = ""


BOTH = "succeeded succeeded"
NEWER = [(7 + number, at_s) for number, at_s in enumerate(range(5, 300, 20))]
BUSY = [(begin_s, begin_s + 400) for begin_s in range(0, 4000, 800)]
FLICKERING = [(begin_s, begin_s + 40) for begin_s in range(0, 4000, 80)]
CASES = {
    "records come later": Case(BOTH, (8, 20), lines=[(1, 5)], hidden=[(0, 8)]),
    "a host writes a line twice": Case(BOTH, lines=[(0, 1), (0, 1, 90), (1, 100)]),
    "SQS makes a dead letter": Case(
        "succeeded dead_lettered",
        (1830, 1860),
        errors=[(1, 2 + 360 * n) for n in range(5)],
        hidden=[(0, 1830)],
        dead_s=1830,
    ),
    "a line comes 9 minutes late, behind newer ones": Case(BOTH, lines=[(1, 2, 550), *NEWER]),
    "a line comes just before the end": Case(
        BOTH, (620, 640), lines=[(1, 2, 610), *NEWER], hidden=[(90, 107)]
    ),
    "a line never comes": Case("succeeded unaccounted", (600, 640)),
    "the deadline passes": Case(
        "succeeded failed",
        (60, 70),
        errors=[(1, 1)],
        hidden=[FOREVER],
        options={"deadline_s": 60},
        left="lasted 60 s",
    ),
    "no progress while SQS's counts flicker": Case(
        "succeeded unaccounted", (2760, 2800), visible=FLICKERING, left="2760 s"
    ),
    "hosts never come up": Case(
        "succeeded unaccounted", (1560, 1600), visible=[FOREVER], outputs=HOSTS, left="1560 s"
    ),
    "a host holds a message for hours": Case(
        BOTH, lines=[(1, 19_999)], hidden=[(0, 20_000)], outputs=HOSTS
    ),
    "a crash": Case("succeeded unanswered", (ENDS_S, ENDS_S + 30), hidden=[LOST], outputs=LONG),
    "waiting for the redelivery": Case(
        BOTH,
        lines=[(1, HIDDEN_S + 10)],
        hidden=[(0, HIDDEN_S + 20)],
        outputs=LONG,
        options={"waits_for_redelivery": True},
    ),
    "a redelivery that started unseen": Case(
        BOTH, lines=[(1, 1799)], hidden=[(0, 1800)], outputs=LONG, sent_s=1000 - HIDDEN_S
    ),
    "a late line before the end of a crash": Case(
        "succeeded failed",
        (ENDS_S, 2 * ENDS_S + 30),
        lines=[(9, 500)],
        errors=[(1, 5, 600)],
        hidden=[LOST],
        outputs=LONG,
    ),
    "a message waits for the only function": Case(
        BOTH, lines=[(1, 1699)], hidden=[(0, 1700), LOST], outputs=LONG | {"concurrency_value": 1}
    ),
    "one message waits and another is lost": Case(
        BOTH, lines=[(1, ENDS_S + 899)], hidden=[LOST], visible=[(0, ENDS_S + 900)], outputs=LONG
    ),
    "another run is active": Case(
        "succeeded unanswered", (3600 + ENDS_S, 1e9), hidden=[LOST, *BUSY], outputs=LONG
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_drain_ends_exactly_when_nothing_more_can_come(name, aws, folder, wait):
    case = CASES[name]
    aws.outputs.update(case.outputs)
    send(folder, 0, 1, at_s=case.sent_s)
    for seq, *times_s in [(0, 1), *case.lines]:
        aws.log(
            record(seq, run_id="r" if seq < 2 else "another"),
            at_s=times_s[0],
            seen_at_s=times_s[-1],
        )
    for seq, *times_s in case.errors:
        aws.log(record(seq, "error", at=times_s[0]), at_s=times_s[0], seen_at_s=times_s[-1])
    if case.dead_s:
        aws.bury(case.dead_s, run_id="r", cell="a", seq=1)
    vars(aws).update(hidden=case.hidden, visible=case.visible)
    drained = wait(**case.options)
    assert fates(drained) == Counter(case.fates.split())
    assert case.ends_s[0] <= aws.now_s <= case.ends_s[1]
    assert case.left in drained.left and bool(case.left) == bool(drained.left)
    assert bool(drained.ended_early) == (LOST in case.hidden)
    stored = case.fates.count("succeeded") + len(case.errors)
    assert len(seqs(folder)) == stored, "each is stored once"
    lines = [tuple(row.values()) for row in folder.rows("log_events.jsonl")]
    assert len(lines) == len(set(lines)), "what the saved queries count"


def test_the_drain_waits_only_for_the_given_cell_and_stores_its_lines_as_columns(aws, folder, wait):
    send(folder, 0, cell="b")
    send(folder, 0)
    aws.log(record(0), at_s=1)
    columns = folder.path / "log_events.parquet"
    for is_quiet in (True, False):  # as for a warm-up
        accounts = wait(cells=["a"], quiet=is_quiet).accounts
        assert columns.exists() != is_quiet
    assert [(row.cell, row.unaccounted) for row in accounts] == [("b", 1), ("a", 0)]
    assert aws.now_s < 10
    assert folder.read_json("accounting.json") == [account.as_dict() for account in accounts]


def test_lines_that_may_be_late_are_not_read_again_at_every_poll(aws, folder, wait):
    send(folder, 0, 1)
    for at_s in (1, 150):
        aws.log(record(0), at_s=at_s)
    rereadings, fetch = [], type(aws).filter_log_events

    def filter_log_events(startTime, **request):
        if aws.now_s > 200:  # an ordinary poll begins two minutes before the newest line
            rereadings.append(startTime < EPOCH_MS)
        return fetch(aws, startTime=startTime, **request)

    vars(aws)["filter_log_events"] = filter_log_events
    wait()
    assert 10 <= sum(rereadings) <= 16 < len(rereadings)


def test_a_second_drain_an_hour_later_finds_a_line_that_the_first_missed(aws, folder, wait):
    send(folder, 0, 1, 2)
    aws.log(record(0), at_s=1, seen_at_s=3000)
    aws.log(record(1), at_s=200)
    with pytest.raises(RunError, match=r"3 sent .* 2 UNACCOUNTED"):
        wait().check()
    aws.sleep(3600)
    began_s = aws.now_s
    assert wait().accounts[0].unaccounted == 1
    assert aws.now_s - began_s < 130, "no line is late any more"
    assert seqs(folder) == [1, 0], "each once"


@pytest.mark.parametrize(
    ("operation", "code", "pages"),
    [("GetQueueAttributes", "no answer", 0), ("FilterLogEvents", "ThrottlingException", 1)],
)
def test_a_failed_poll_is_repeated_and_loses_no_line(
    aws, folder, wait, capsys, operation, code, pages
):
    """It fails at its first or second page."""
    send(folder, *range(8))
    for seq in range(8):
        aws.log(record(seq), at_s=0)
    aws.fail(operation, code, between_s=(0, 1 if pages else 120), after=pages)
    wait().check()
    assert capsys.readouterr().err.count("trying again") == 1
    assert sorted(seqs(folder)) == [*range(8)]


@pytest.mark.parametrize(
    ("code", "ends_s"),
    [("ExpiredToken", 0), ("AWS.SimpleQueueService.NonExistentQueue", 0), ("no answer", 2760)],
)
def test_a_permanent_error_ends_the_drain(aws, folder, wait, code, ends_s):
    send(folder, 0)
    aws.fail("GetQueueAttributes", code, between_s=FOREVER)
    with pytest.raises(RunError):
        wait().check()
    assert ends_s <= aws.now_s <= ends_s + 10


def test_each_dead_letter_is_read_once_per_drain_and_made_visible_again(aws, folder, wait):
    send(folder, *range(40))
    for seq in range(40):
        aws.bury(20 * seq, run_id="r" if seq % 2 else "another", cell="a", seq=seq)
        if not seq % 2:
            aws.log(record(seq), at_s=seq)
    aws.hide(0, 810)
    for _ in range(2):
        wait().check()
        assert sorted(seqs(folder, "dead_letters.jsonl")) == [*range(1, 40, 2)]
        assert aws.count("ReceiveMessage") <= 60 and aws.received == {}


def test_no_more_messages_are_unanswered_than_are_in_flight_and_they_are_stored_once(
    aws, folder, wait
):
    aws.outputs.update(LONG)
    send(folder, 2, at_s=-500)  # its line was lost
    send(folder, 0, 1)
    aws.hide(*LOST)
    aws.log(record(0), at_s=1)
    killed = "RequestId: 276ff3b9-1609-4ee7-a288-db3752630761 Error: Runtime exited with error: "
    aws.log(f"{killed}signal: killed\n", at_s=3)
    drained = wait()
    assert "1 message is in flight, 2 of this run without a record" in drained.ended_early
    assert fates(drained) == fates(wait()) == Counter(["succeeded", "unanswered", "unaccounted"])
    assert seqs(folder, "unanswered.jsonl") == [1], "once, however often the run is drained"
    assert drained.accounts[0].without_record == {"killed, usually for memory": 1}


@pytest.mark.parametrize(
    ("concurrency", "failed", "times", "succeeded", "is_failing"),
    [
        (1, 5, 2, 0, True),
        (500, 30, 1, 0, True),
        (1, 4, 5, 0, False),
        (20, 19, 2, 0, False),
        (5, 10, 1, 1, False),
    ],
)
def test_only_a_cell_whose_first_messages_all_fail_ends_early(
    aws, folder, wait, concurrency, failed, times, succeeded, is_failing
):
    """Of 30 messages, the first `failed` fail `times` times each; the others haven't run yet."""
    aws.outputs["concurrency_value"] = concurrency
    send(folder, *range(30))
    for delivery in range(failed * times):
        aws.log(record(delivery % failed, "error", error_type="HandlerMissing"), at_s=delivery)
    for seq in range(20, 20 + succeeded):
        aws.log(record(seq), at_s=0)
    aws.show(*FOREVER)
    drained = wait(deadline_s=100)
    assert [drained.failing == "a", not drained.left] == [is_failing] * 2
    if is_failing:
        assert fates(drained) == Counter(failed=failed, unanswered=30 - failed)
        assert 60 <= aws.now_s < 70, "until then a permission may still spread"
        with pytest.raises(RunError, match=f"in 1 cell: a: {failed * times} of .*: HandlerMissing"):
            drained.check()
