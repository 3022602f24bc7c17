"""Which stack a sweep takes, what runs with it, and that it is destroyed, or what remains
is reported."""

import contextlib
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede.emulator import hosts, ministack, stack
from stampede.errors import RunError, UsageError
from stampede.stacks import stack_lock
from stampede.stacks.target import Target
from stampede.stacks.terraform import StateLockedError
from stampede.sweep import swept_stack
from stampede.sweep.swept_stack import SweptStack
from tests.fakes.own_sleep import replace_sleep

OUTPUTS = {"region": "us-east-1", "experiment": "download", "kept_bucket": "k", "no_bucket": None}
# The provider's words (internal/service/cloudformation/stack.go), except the reason, which hasn't
# been observed.
NOT_EXPORTED = RunError(
    "terraform destroy failed: waiting for CloudFormation Stack "
    "(arn:aws:cloudformation:us-east-1:1:stack/stampede-filesystem-s3files/0a1b) delete: stack "
    "status (DELETE_FAILED): pending export"
)
NOT_EMPTY = RunError("terraform destroy failed: BucketNotEmpty")


class QueueDoesNotExist(Exception):
    """As defined by botocore's client."""


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """The actions, in order, on the stack of an experiment that names two buckets, one of
    them missing."""
    done = []

    def delete_queue(QueueUrl):
        done.append("delete queue")
        raise QueueDoesNotExist

    sqs = SimpleNamespace(
        delete_queue=delete_queue, exceptions=SimpleNamespace(QueueDoesNotExist=QueueDoesNotExist)
    )
    emptied = EXPERIMENTS["download"].with_(emptied_before_destroy=("no_bucket", "kept_bucket"))
    monkeypatch.setitem(EXPERIMENTS, "download", emptied)
    monkeypatch.setattr(Target, "client", lambda self, service: sqs)
    monkeypatch.setattr(stack_lock.stack, "ROOT", tmp_path)
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
    monkeypatch.setattr(stack, "forget_state", lambda: None)
    queues = [{"id": "q", "region": "us-east-1"}]
    monkeypatch.setattr(stack, "applied_queues", lambda: queues)
    is_replaced = {"download": False, "copy": True}
    monkeypatch.setattr(stack, "replaced_queues", lambda name: queues * is_replaced[name])
    monkeypatch.setattr(
        hosts, "ensure", lambda *_, follow_parent: done.append(f"hosts, follow {follow_parent}")
    )
    for module, what in ((hosts, "hosts"), (ministack, "emulator")):
        monkeypatch.setattr(module, "stop", lambda _, what=what: done.append(f"stop {what}"))
    replace_sleep(monkeypatch, swept_stack, lambda seconds: done.append(f"wait {seconds} s"))
    return done


@pytest.fixture
def swept(calls, monkeypatch):
    """Makes a sweep's stack; `results` are the outcomes of its applies, destroys and emptied
    buckets, in turn."""

    def make(kind, *, keep=False, outputs=OUTPUTS, resources=(), **results):
        def doing(name, what, usual=None):
            to_come = iter(results.get(name, ()))

            def do(*arguments, **options):
                calls.append(what.format(*arguments))
                result = next(to_come, usual)
                if isinstance(result, BaseException):
                    raise result
                return result

            return do

        def read_outputs():
            if isinstance(outputs, RunError):
                raise outputs
            return outputs

        monkeypatch.setattr(swept_stack, "empty", doing("counts", "empty {1}", 0))
        made = SweptStack(kind, "r", keep=keep, take_over=False)
        made._access = ministack.Access("http://e", "key", "secret")
        made._terraform = SimpleNamespace(
            directory="infra",
            outputs=read_outputs,
            apply=doing("applies", "apply", ()),
            destroy=doing("destroys", "destroy"),
            destroy_command=lambda variables: "terraform destroy",
            resources=lambda: resources,
        )
        return made

    return make


EMPTY, GONE = "empty k", "couldn't be destroyed"


@pytest.mark.parametrize(
    ("experiment", "happening", "done", "words"),
    [
        ("download", {}, [EMPTY, "destroy"], ""),
        # Objects written after Ctrl-C are removed once the functions are gone; another reason why a
        # stack stays is reported.
        ("download", {"counts": (5, 2), "destroys": [NOT_EMPTY]}, [EMPTY, "destroy"] * 2, ""),
        (
            "download",
            {"counts": (5,), "destroys": [NOT_EMPTY]},
            [EMPTY, "destroy", EMPTY],
            f"{GONE}; remove it with",
        ),
        (
            "download",
            {"counts": [RunError("AccessDenied")]},
            [EMPTY, "destroy"],
            "AccessDenied; `stampede dataset",
        ),
        (
            "download",
            {"outputs": RunError("locked")},
            ["destroy"],
            "locked; so nothing was emptied",
        ),
        (
            "filesystem",
            {"destroys": [NOT_EXPORTED]},
            ["destroy", "wait 300 s", "destroy"],
            "S3 Files",
        ),
        (
            "filesystem",
            {"destroys": [NOT_EMPTY], "resources": ["queue.work"]},
            ["destroy"],
            f"{GONE}; ",
        ),
    ],
)
def test_buckets_that_terraform_cannot_empty_are_emptied_before_the_destroy(
    swept, calls, capsys, experiment, happening, done, words
):
    swept("aws", **happening).take_down({"experiment": experiment})
    said = " ".join(capsys.readouterr().err.split())
    assert (calls, words in said, GONE in said) == (done, True, GONE in words)
    assert ("queue.work" in said) == ("resources" in happening), "remaining resources are listed"


TAKEN_DOWN = ["stop hosts", "delete queue", "destroy"]


@pytest.mark.parametrize("keep", [True, False])
def test_hosts_run_with_the_stack_and_stop_before_their_queue_is_deleted(swept, calls, keep):
    made = swept("local", keep=keep, outputs=OUTPUTS | {"kept_bucket": None})
    made.apply({"experiment": "download"})
    made.take_down({})
    assert calls == ["apply", f"hosts, follow {not keep}", *([] if keep else TAKEN_DOWN)]


def test_queues_of_another_experiment_are_deleted_before_the_apply(swept, calls):
    """Terraform would wait two minutes for their deletion."""
    swept("local", keep=True).apply({"experiment": "copy"})
    assert calls[:2] == ["delete queue", "apply"]


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("again", [None, KeyboardInterrupt()])
@pytest.mark.parametrize("interrupted", [True, False])
def test_the_emulator_that_the_sweep_started_is_stopped_with_its_stack(
    swept, calls, capsys, started, again, interrupted
):
    made = swept("local", destroys=[again], outputs={})
    made._started_emulator, made.is_interrupted = started, interrupted
    at_once = started and interrupted
    with pytest.raises(KeyboardInterrupt) if again and not at_once else contextlib.nullcontext():
        made.take_down({"experiment": "download"})
    assert calls == (["stop hosts"] if at_once else TAKEN_DOWN) + ["stop emulator"] * started
    stays = "nothing stays" if started else "`stampede emulator stop`"
    assert (stays in capsys.readouterr().err) == (again is not None and not at_once)


@pytest.mark.parametrize("is_guest", [False, True])
def test_an_emulator_with_the_users_own_resources_is_not_stopped(calls, monkeypatch, is_guest):
    monkeypatch.setattr(swept_stack.ministack, "running", lambda state_dir: SimpleNamespace())
    monkeypatch.setattr(swept_stack.embedded, "start", lambda follow_parent: None)
    stack_lock.own("local", "earlier", started_emulator=True)
    made = SweptStack("local", "r", keep=False, take_over=True)
    made.is_guest = is_guest
    assert made._start_emulator() is not is_guest


@pytest.mark.parametrize("runs", [False, True])
def test_a_refused_sweep_stops_only_an_emulator_that_it_has_started(calls, monkeypatch, runs):
    """One that ran before may hold the stack of an earlier sweep, which kept it."""
    access = ministack.Access("http://e", "key", "secret")
    emulator, terraform = SimpleNamespace(access=access), SimpleNamespace(init=lambda: None)
    terraform.resources = lambda: ["of another"]
    answers = iter([emulator if runs else None, emulator])
    monkeypatch.setattr(swept_stack.ministack, "running", lambda state_dir: next(answers))
    monkeypatch.setattr(swept_stack.embedded, "start", lambda follow_parent: None)
    monkeypatch.setattr(swept_stack, "prepare", lambda: None)
    monkeypatch.setattr(swept_stack.stack, "lay_out", lambda: None)
    monkeypatch.setattr(swept_stack.targets, "local_terraform", lambda *_, **options: terraform)
    stack_lock.own("local", "earlier", started_emulator=True)
    with pytest.raises(UsageError, match="by run earlier"):
        SweptStack("local", "r", keep=False, take_over=False).open()
    assert calls == ([] if runs else ["stop emulator"])


@pytest.mark.parametrize("is_first", [True, False])
def test_a_stack_locked_by_another_terraform_is_left_alone(swept, calls, is_first):
    made = swept("aws", applies=[*([] if is_first else [()]), StateLockedError("locked")])
    if not is_first:
        made.apply({"experiment": "download"})
    with pytest.raises(StateLockedError):
        made.apply({"experiment": "download"})
    made.take_down({"experiment": "download"})
    assert calls[-1] == ("apply" if is_first else "destroy")


@pytest.mark.parametrize(
    ("applied", "owner", "options", "refusal"),
    [
        (2, None, {}, r"2 resources is already applied \(by hand\).*--take-over"),
        (1, None, {"keep": True}, "by hand"),
        (1, None, {"take_over": True}, ""),
        (1, "another", {}, "by run another"),
        (1, "r", {}, ""),
        (0, "another", {}, ""),
    ],
)
def test_another_runs_stack_is_refused_unless_taken_over(
    calls, monkeypatch, applied, owner, options, refusal
):
    terraform = SimpleNamespace(
        init=lambda: None, outputs=dict, resources=lambda: ["queue.work"] * applied
    )
    monkeypatch.setattr(swept_stack.targets, "aws_terraform", lambda: terraform)
    if owner:
        stack_lock.own("aws", owner, started_emulator=False)
    with pytest.raises(UsageError, match=refusal) if refusal else contextlib.nullcontext():
        SweptStack("aws", "r", **({"keep": False, "take_over": False} | options)).open()
    assert (stack_lock.owner("aws").get("run_id") == "r") == (not refusal)
