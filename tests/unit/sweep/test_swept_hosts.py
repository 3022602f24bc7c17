"""The hosts of a local stack run from its apply until it is taken down."""

import argparse
import contextlib
from types import SimpleNamespace

import pytest

from stampede.cli.verbs import emulator as verb
from stampede.emulator import hosts, ministack, stack
from stampede.stacks import embedded, stack_lock
from stampede.stacks.target import Target
from stampede.stacks.terraform import StateLockedError
from stampede.sweep.swept_stack import SweptStack


class QueueDoesNotExist(Exception):
    """As botocore's client has it."""


ACCESS = ministack.Access("http://e", "key", "secret")
OUTPUTS = {"host_environment": {"QUEUE_URL": "q"}, "concurrency_value": 2}


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What is done with hosts, queues and stack, in its order."""
    seen = []

    def ensure(_, outputs, access, *, follow_parent=False):
        seen.append(("hosts", outputs["concurrency_value"], access, follow_parent))
        return []

    monkeypatch.setattr(stack_lock.stack, "ROOT", tmp_path)
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
    monkeypatch.setattr(hosts, "ensure", ensure)
    monkeypatch.setattr(hosts, "stop", lambda _: seen.append("stop"))
    monkeypatch.setattr(ministack, "stop", lambda _: seen.append("emulator gone"))
    return seen


def swept(calls, monkeypatch, kind="local", **options):
    made = SweptStack(kind, "r", **({"keep": False, "take_over": False} | options))
    made._access = ACCESS
    made._terraform = SimpleNamespace(
        directory="infra",
        apply=lambda variables: calls.append("apply") or [],
        outputs=lambda: OUTPUTS,
        destroy=lambda variables, refresh: calls.append("destroy"),
        destroy_command=lambda variables: "terraform destroy",
    )
    monkeypatch.setattr(stack, "applied_queues", lambda half_made=False: [{"id": "q", "region": "us-east-1"}])
    sqs = SimpleNamespace(
        delete_queue=lambda QueueUrl: calls.append(f"delete {QueueUrl}"),
        exceptions=SimpleNamespace(QueueDoesNotExist=QueueDoesNotExist),
    )
    monkeypatch.setattr(Target, "client", lambda self, service: sqs)
    return made


def test_a_queue_that_an_interrupted_apply_has_deleted_is_no_error(calls, monkeypatch):
    swept(calls, monkeypatch)

    def delete_queue(QueueUrl):
        calls.append(f"delete {QueueUrl}")
        if QueueUrl == "gone":
            raise QueueDoesNotExist

    Target("local", {}, "").client("sqs").delete_queue = delete_queue
    embedded.delete_queues([{"id": queue, "region": "us-east-1"} for queue in ("gone", "q")], ACCESS)
    assert calls == ["delete gone", "delete q"]


def test_they_end_with_the_sweep_and_before_their_queue_goes(calls, monkeypatch):
    made = swept(calls, monkeypatch)
    made.apply({})
    made.take_down({})
    assert calls == ["apply", ("hosts", 2, ACCESS, True), "stop", "delete q", "destroy"]


def test_a_stack_that_is_kept_keeps_its_hosts(calls, monkeypatch):
    made = swept(calls, monkeypatch, keep=True)
    made.apply({})
    made.take_down({})
    assert calls == ["apply", ("hosts", 2, ACCESS, False)]


def test_emulator_stop_ends_the_hosts_while_there_is_a_queue_for_their_messages(calls, monkeypatch):
    monkeypatch.setattr(stack, "forget_state", lambda: None)
    assert verb.run(argparse.Namespace(action="stop", apply=False, set=[])) == 0
    assert calls == ["stop", "emulator gone"]


@pytest.mark.parametrize("again", [None, KeyboardInterrupt()])
def test_a_half_applied_stack_goes_with_the_emulator_that_the_sweep_started(calls, monkeypatch, capsys, again):
    def destroy(variables, refresh):
        calls.append("destroy")
        if again:
            raise again

    made = swept(calls, monkeypatch)
    monkeypatch.setattr(stack, "forget_state", lambda: None)
    made._terraform.destroy = destroy
    made._started_emulator = True
    with pytest.raises(KeyboardInterrupt) if again else contextlib.nullcontext():
        made.take_down({"experiment": "download"})
    assert calls == ["stop", "delete q", "destroy", "emulator gone"]
    said = capsys.readouterr().err
    assert ("nothing stays" in said, "emulator stop" in said) == (again is not None, False)


@pytest.mark.parametrize("started", [True, False])
def test_after_ctrl_c_nothing_is_destroyed_that_goes_with_the_emulator_of_the_sweep(calls, monkeypatch, started):
    made = swept(calls, monkeypatch)
    monkeypatch.setattr(stack, "forget_state", lambda: None)
    made._started_emulator, made.is_interrupted = started, True
    made.take_down({"experiment": "download"})
    assert calls == (["stop", "emulator gone"] if started else ["stop", "delete q", "destroy"])


def test_after_ctrl_c_during_the_destroy_what_stays_is_listed(calls, monkeypatch, capsys):
    def destroy(variables, refresh):
        raise KeyboardInterrupt

    made = swept(calls, monkeypatch, kind="aws")
    made._terraform.destroy, made._terraform.resources = destroy, lambda: ["queue.work", "bucket.data"]
    with pytest.raises(KeyboardInterrupt):
        made.take_down({"experiment": "download"})
    assert capsys.readouterr().err.splitlines()[1:] == [
        "the stack couldn't be destroyed; remove it with `terraform destroy`",
        "still there, according to Terraform's state: queue.work, bucket.data",
    ]


@pytest.mark.parametrize("first", [True, False])
def test_a_stack_that_another_terraform_is_changing_is_left_to_it(calls, monkeypatch, first):
    def refuse(variables):
        raise StateLockedError("another Terraform is using this state")

    made = swept(calls, monkeypatch, kind="aws")
    if not first:
        made.apply({"experiment": "download"})
    made._terraform.apply = refuse
    with pytest.raises(StateLockedError):
        made.apply({"experiment": "download"})
    made.take_down({"experiment": "download"})
    assert calls == ([] if first else ["apply", "destroy"])
