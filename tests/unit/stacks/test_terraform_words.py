"""The variables passed to Terraform; its outputs as a dict and its errors as one line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stampede.errors import RunError
from stampede.stacks import terraform
from stampede.stacks.terraform import StateLockedError, Terraform, first_error
from stampede.sweep.swept_stack import WORKERS_POLICY


@pytest.fixture
def tofu(tmp_path, monkeypatch):
    """Replaces Terraform by a shell script; returns a Terraform that runs it in its own folder."""

    def write(text, **options):
        program = tmp_path / "tofu"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("STAMPEDE_TERRAFORM", str(program))
        return Terraform(tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path / "log", **options)

    return write


def test_a_command_to_copy_names_the_program_and_its_configuration(tofu, tmp_path):
    tofu("")
    environment = {"TF_CLI_CONFIG_FILE": "/a b/overrides.rc"}  # overrides the registry
    own = Terraform(tmp_path, environment, tmp_path / "log", {"aws": "6.1"})
    command = (
        f"env 'TF_CLI_CONFIG_FILE=/a b/overrides.rc' {tmp_path}/tofu -chdir={tmp_path} destroy"
    )
    assert own.destroy_command({}) == command


def test_an_apply_passes_objects_as_flags_and_nulls_in_a_file_and_names_its_changes(tofu, tmp_path):
    """As a flag, null would become text."""
    variables = {
        "provisioned_pollers": {"minimum": 2, "maximum": 50},
        "experiment_tag": "a, b",
        "sink": None,
    }
    written = tofu(
        'printf "%s\\n" "$@" > "$(dirname "$0")/arguments"\ncat <<END\n'
        "module.worker[0].aws_lambda_function.worker: Refreshing state... [id=f]\n"
        "module.worker[0].aws_iam_role_policy.worker: "
        "Modifications complete after 0s [id=r:worker]\n"
        "aws_sqs_queue.work: Creation complete after 25s [id=q]\nEND"
    ).apply(variables)
    assert written == ["module.worker[0].aws_iam_role_policy.worker", "aws_sqs_queue.work"]
    assert written[0].startswith(WORKERS_POLICY)
    *_, pollers, tag, nulls = (tmp_path / "arguments").read_text().splitlines()
    assert pollers == "-var=provisioned_pollers={minimum=2,maximum=50}"
    assert tag == "-var=experiment_tag=a, b"
    assert json.loads(Path(nulls.removeprefix("-var-file=")).read_text()) == {"sink": None}


NO_REGISTRY = "Could not retrieve the list of available versions for provider hashicorp/aws: 503"
LOCKED = "Error: Error acquiring the state lock\n\nLock Info:\n  Who:       me@laptop\n"


def test_an_initialised_folder_needs_no_registry(tofu, tmp_path):
    own = tofu(
        f"echo $2 >> {tmp_path}/done\n[ $2 = get ] || {{ echo 'Error: {NO_REGISTRY}' >&2; exit 1; "
        f"}}"
    )
    with pytest.raises(RunError, match="Could not re"):
        own.init()
    (tmp_path / ".terraform.lock.hcl").write_text("")
    own.init()
    assert (tmp_path / "done").read_text().split() == ["init", "init", "get"]


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        ("kill -KILL $$", RunError, r"^terraform apply was ended by signal 9 \(Killed\)"),
        (
            f"echo '{LOCKED}' >&2; exit 1",
            StateLockedError,
            "Error acquiring the state lock: .*me@laptop",
        ),
        (
            "echo creating; exec sleep 60",
            RunError,
            "^terraform apply was stopped after .* is still there and billed",
        ),
    ],
)
def test_a_terraform_failure_is_one_line(tofu, monkeypatch, script, kind, words):
    monkeypatch.setattr(terraform, "COMMAND_TIMEOUT_S", 0.5)
    own = tofu(script)
    with pytest.raises(RunError, match=words) as raised:
        own.apply({})
    assert type(raised.value) is kind
    assert ("creating" in own.log_file.read_text()) == ("creating" in script)


def test_invalid_outputs_are_reported_in_one_line(tofu):
    with pytest.raises(RunError, match="set STAMPEDE_TERRAFORM"):
        tofu("echo '[1]'").outputs()


REFUSED = """
│ Error: Invalid value for variable
│
│   on variables.tf line 30:
│   30: variable "memory_size" {
│     ├────────────────
│     │ var.memory_size is 64
│
│ memory_size = 64: too small.
│
│ This was checked by the validation rule at variables.tf:34,3-13.
╵
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (REFUSED, "Invalid value for variable: memory_size = 64: too small."),
        ("Error: no such bucket:\n\nError: no such queue\n\n  it is gone\n", "no such bucket"),
        ("signal: killed", "signal: killed"),
        ("", "no message"),
    ],
)
def test_an_error_is_one_line_with_its_explanation(text, line):
    assert first_error(text) == line


class InterruptedAtOnce(subprocess.Popen):
    """A process interrupted by Ctrl-C as it starts, before its caller has it, and again when asked
    to end."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        started.append(self)
        self.stdout.readline()
        signal.raise_signal(signal.SIGINT)

    def send_signal(self, number):
        super().send_signal(number)
        signal.raise_signal(signal.SIGINT)


started: list[subprocess.Popen] = []


@pytest.mark.parametrize(
    ("on_ctrl_c", "patience_s", "ends_with"), [("sleep 1; exit 3", 20, 3), ("", 0.5, -9)]
)
def test_a_second_ctrl_c_leaves_no_terraform_running(monkeypatch, on_ctrl_c, patience_s, ends_with):
    """It is waited for, and killed if it doesn't end."""
    monkeypatch.setattr(terraform, "INTERRUPT_PATIENCE_S", patience_s)
    script = f"trap '{on_ctrl_c}' INT; echo ready; while :; do sleep 0.1; done"
    options = {"stdout": subprocess.PIPE, "start_new_session": True}
    with pytest.raises(KeyboardInterrupt):
        terraform._status_of(
            lambda: InterruptedAtOnce(["/bin/sh", "-c", script], **options), quiet=False
        )
    process = started.pop()
    process.stdout.close()
    assert process.returncode == ends_with


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends it")
def test_terraform_ends_cleanly_when_its_sweep_is_killed(tofu, tmp_path):
    own = tofu(
        f"trap 'echo > {tmp_path}/recorded; exit' TERM; echo > {tmp_path}/ready; while :; do sleep "
        "0.1; done"
    )
    script = (
        "import sys; from pathlib import Path; from stampede.stacks.terraform import Terraform\n"
        "Terraform(Path('.'), {'PATH': '/usr/bin:/bin'}, Path(sys.argv[1]), "
        "follow_parent=True).apply({})"
    )
    with subprocess.Popen([sys.executable, "-c", script, own.log_file]) as sweep:
        wait_for(tmp_path / "ready")
        sweep.kill()
    wait_for(tmp_path / "recorded")


def wait_for(file):
    while not file.exists():  # bounded by pytest's timeout
        time.sleep(0.05)
