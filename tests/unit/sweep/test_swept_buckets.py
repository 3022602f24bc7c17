"""What Terraform can't empty is emptied before the destroy, which is tried whatever comes of that."""

from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede.errors import RunError
from stampede.stacks import stack_lock
from stampede.sweep import swept_stack
from stampede.sweep.swept_stack import SweptStack
from tests.fakes.own_sleep import replace_sleep

OUTPUTS = {"region": "us-east-1", "experiment": "download", "kept_bucket": "k", "no_bucket": None}


@pytest.fixture
def taken_down(monkeypatch, tmp_path):
    """Takes a stack down whose experiment names two buckets, one of which isn't there; what was done, in its order."""
    monkeypatch.setattr(stack_lock.stack, "ROOT", tmp_path)
    emptied = EXPERIMENTS["download"].with_(emptied_before_destroy=("no_bucket", "kept_bucket"))
    monkeypatch.setitem(EXPERIMENTS, "download", emptied)

    done = []
    replace_sleep(monkeypatch, swept_stack, lambda seconds: done.append(f"wait {seconds} s"))

    def run(outputs=OUTPUTS, error=None, counts=(0,), refused=0, refusal="BucketNotEmpty", experiment="download"):
        counts, refusals = iter(counts), iter(range(refused))

        def empty(target, bucket):
            done.append(f"empty {bucket} in {target.region}")
            if error:
                raise error
            return next(counts, 0)

        def terraform_outputs():
            if isinstance(outputs, Exception):
                raise outputs
            return outputs

        def destroy(variables, refresh):
            done.append("destroy")
            if next(refusals, None) is not None:
                raise RunError(refusal)

        monkeypatch.setattr(swept_stack, "empty", empty)
        made = SweptStack("aws", "r", keep=False, take_over=False)
        made._terraform = SimpleNamespace(
            directory="infra",
            environment={},
            outputs=terraform_outputs,
            destroy=destroy,
            resources=list,
            destroy_command=lambda variables: "terraform destroy",
        )
        made.take_down({"experiment": experiment})
        return done

    return run


def test_the_buckets_that_an_experiment_names_are_emptied_before_the_destroy(taken_down):
    assert taken_down() == ["empty k in us-east-1", "destroy"]


def test_what_functions_write_after_ctrl_c_is_deleted_once_they_are_gone(taken_down, capsys):
    assert taken_down(counts=(5, 2), refused=1) == ["empty k in us-east-1", "destroy"] * 2
    assert "couldn't be destroyed" not in capsys.readouterr().err


def test_a_stack_that_stays_for_another_reason_is_said_with_what_removes_it(taken_down, capsys):
    assert taken_down(counts=(5,), refused=1) == ["empty k in us-east-1", "destroy", "empty k in us-east-1"]
    output = " ".join(capsys.readouterr().err.split())
    assert (
        "the stack couldn't be destroyed; remove it with `stampede dataset --remove`, then `terraform destroy`"
        in output
    )


def test_a_bucket_that_can_t_be_emptied_is_said_and_the_rest_is_destroyed_all_the_same(taken_down, capsys):
    assert taken_down(error=RunError("s3://k: AccessDenied")) == ["empty k in us-east-1", "destroy"]
    assert "s3://k: AccessDenied; `stampede dataset --remove` empties it" in " ".join(capsys.readouterr().err.split())


# The provider's words (internal/service/cloudformation/stack.go), but for the reason, which nobody has seen.
NOT_EXPORTED = (
    "terraform destroy failed: waiting for CloudFormation Stack (arn:aws:cloudformation:us-east-1:1:stack/"
    "stampede-filesystem-s3files/0a1b) delete: stack status (DELETE_FAILED): pending export"
)


def test_a_file_system_whose_changes_arent_exported_yet_is_destroyed_again_after_some_minutes(taken_down, capsys):
    done = taken_down(experiment="filesystem", refused=1, refusal=NOT_EXPORTED)
    assert done == ["destroy", "wait 300 s", "destroy"]
    output = " ".join(capsys.readouterr().err.split())
    assert "S3 Files deletes a file system only once its changes are exported to the bucket: destroying again" in output
    assert "couldn't be destroyed" not in output


@pytest.mark.parametrize(
    ("experiment", "refusal"), [("download", NOT_EXPORTED), ("filesystem", "terraform destroy failed: AccessDenied")]
)
def test_another_refusal_is_no_reason_to_wait(taken_down, experiment, refusal):
    assert "wait 300 s" not in taken_down(experiment=experiment, refused=1, refusal=refusal)


def test_outputs_that_can_t_be_read_are_said_and_the_stack_is_destroyed_all_the_same(taken_down, capsys):
    assert taken_down(outputs=RunError("terraform output: state is locked")) == ["destroy"]
    assert "state is locked; so nothing was emptied" in " ".join(capsys.readouterr().err.split())
