"""The command line: its help, and errors of one line with the fix."""

import argparse
import contextlib
import errno
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from common import work_order
from stampede.cli.arguments import cell
from stampede.cli.command_line import VERBS, build_parser
from stampede.emulator import stack
from stampede.emulator.go_build import ProviderError
from stampede.errors import RunError
from stampede.program import ROOT, as_typed
from stampede.progress import detail
from stampede.stacks.stack_lock import holding

# Slow imports, which only a running verb may need.
SLOW = (
    "aiohttp",
    "awscrt",
    "boto3",
    "botocore",
    "duckdb",
    "hcl2",
    "jinja2",
    "lark",
    "matplotlib",
    "numpy",
    "rich",
)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_two_valid_examples(verb, stampede):
    examples = re.findall(rf"(?m)^  stampede ({verb}\b.*)\n      \S", stampede(verb, "--help").out)
    assert len(examples) >= 2
    assert all(build_parser().parse_args(shlex.split(example)) for example in examples)


def test_help_and_a_wrong_option_need_no_slow_import():
    calls = [
        ["--help"],
        ["--version"],
        ["flod"],
        *([verb, "--help"] for verb in VERBS),
        ["sweep", "--no-such-option"],
    ]
    program = f"""
import contextlib, io, sys
from stampede.cli.command_line import main
for arguments in {calls!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(arguments)
print(sorted(set({SLOW!r}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"


OUTPUTS = {
    "region": "us-east-1",
    "experiment": "download",
    "bucket_name": "b",
    "object_key": "k",
    "function_name": "f",
}
OUTPUTS |= {"queue_url": "q", "memory_size": 1024, "concurrency_value": 1, "object_size_mb": 1}


@pytest.fixture
def run_r(tmp_path, monkeypatch):
    """Credentials, and the run `r` on AWS, which sent one message."""
    (tmp_path / "results" / "r").mkdir(parents=True)
    (tmp_path / "results" / "r" / "sent.jsonl").write_text(
        '{"cell": "a", "seq": 0, "sent_at_ms": 1}\n'
    )
    (tmp_path / "results" / "r" / "run.json").write_text(
        '{"target": "aws", "experiment": "download"}'
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


@pytest.mark.parametrize(
    ("missing", "command", "words"),
    [
        ("credentials", "sweep download --target aws", "no AWS credentials found"),
        ("profile", "flood", "profile (nosuch)"),
        ("stack", "dataset", "no applied stack found"),
        ("free stack", "sweep download --target aws", "is using the stack in infra/"),
    ],
)
def test_anything_missing_that_a_verb_needs_has_the_same_status(
    missing, command, words, stampede, apply, run_r, monkeypatch, tmp_path
):
    monkeypatch.setattr(stack, "ROOT", tmp_path)
    if missing != "stack":
        apply(OUTPUTS)
    if missing == "profile":
        monkeypatch.setenv("AWS_PROFILE", "nosuch")
    elif missing == "credentials":
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with holding("aws", "sweep") if missing == "free stack" else contextlib.nullcontext():
        done = stampede(*command.split())
    assert (done.status, done.out, words in done.err) == (2, "", True)


def test_credentials_that_expire_during_a_run_end_it_with_one_line(
    stampede, apply, run_r, monkeypatch
):
    apply(OUTPUTS)
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    done = stampede("drain", "--run", "r", "--deadline-s", "1")
    assert (done.status, "credentials have expired" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ProviderError("compiling failed"), 1),
        (RunError("not every message is accounted for"), 1),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "PutObject"), 1),
        (OSError(errno.ENOSPC, "No space left on device"), 1),
        (OSError(errno.EISDIR, "Is a directory", "results/r/run.json"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_the_status_is_2_for_a_refused_start_and_1_for_a_failure_and_a_bug_is_raised(
    error, status, stampede, monkeypatch
):
    errors = [ZeroDivisionError(), error]

    def run(arguments):
        raise errors.pop()

    monkeypatch.setattr("stampede.cli.verbs.prices.run", run)
    done = stampede("prices")
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1)
    with pytest.raises(ZeroDivisionError):
        stampede("prices")


OBJECT = "--set object=s3://my-own/k"
# A command, and words of the line that refuses it.
WRONG = {
    "flood --messages 0": "--messages",
    "sweep": "EXPERIMENT",
    "swep": "'sweep'",
    "sweep download --foo": "see `stampede sweep --help`",
    "sweep download --set memory_size=512 --set memory_size=1024": "more than once",
    "sweep download --set region=eu-central-9": "did you mean eu-",
    "sweep filesystem --set storage=ebs": "s3_in_vpc",
    "sweep download --dry-run --set timeout_s=3 --start-barrier-s 10": "time limit",
    "sweep download --set timeout_s=3 --start-barrier-s 10": "time limit",
    "sweep download --results-dir /proc/x": "results folder",
    "sweep copy --set from_manifest=true --messages-per-concurrency 3": "share one list",
    "query sumary --logs x": "did you mean summary?",
    "query 'fields @message' --logs x": ".cwli",
    "query summary --where tag": "KEY=VALUE",
    "emulator start --set a=1": "add --apply",
    "emulator start --apply --set experiment=uploads": "one of download",
    "emulator start --apply --set memory_size=128,256": "got 2",
    "simulate download --picture x.pdf": ".png",
    "simulate download --parameters no.json": "no.json",
    "simulate download --account-concurrency 500": "400",
    "simulate download --messages-per-concurrency 1000000000": "1,000,000",
    "simulate download --run r": "--run",
    "simulate function --messages-per-s nan": "got 'nan'",
    "sweep download --set object=my-own/k": "s3://BUCKET/KEY",
    "sweep download --set object=s3://my-own/k*": "s3_file_name",
    "sweep download --set object=s3://My/k": "s3_bucket_name",
    f"sweep download {OBJECT} --set object_size_mb=3": "more than once",
    f"sweep copy {OBJECT}": "copy",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_input_gives_one_line_that_names_it_and_status_2(command, stampede):
    done = stampede(*shlex.split(command))
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert WRONG[command] in done.err


@pytest.mark.parametrize("name", ["", "a b", "é", "x\ny", "\u200b", "\ud800", "a" * 256, "a" * 257])
def test_a_cell_may_have_the_names_that_functions_accept(name):
    def takes(checked, *arguments):
        try:
            return checked(*arguments) == name
        except (argparse.ArgumentTypeError, work_order.WorkOrderError):
            return False

    assert takes(cell, name) == takes(work_order.name, "cell", name)


@pytest.mark.parametrize("option", [[], ["-v"]])
def test_details_are_printed_only_with_verbose(option, stampede, monkeypatch):
    monkeypatch.setattr(
        "stampede.cli.verbs.prices.run", lambda arguments: detail("$ terraform apply") or 0
    )
    assert stampede("prices", *option).err == ("$ terraform apply\n" if option else "")


def test_hints_name_the_program_and_infra_so_that_they_can_be_typed(
    stampede, monkeypatch, tmp_path
):
    started = str(tmp_path / "bin" / "stampede")
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"`{started} flood`" in stampede("drain").err
    assert str(ROOT / "infra") in as_typed("`terraform -chdir=infra apply`")


@pytest.mark.parametrize(
    ("shell", "status"),
    [
        ('"$0" --version >&-', 0),
        ('"$0" emulator status', 1),
        ('"$0" prices | :; exit ${PIPESTATUS[0]}', 141),
    ],
)
def test_a_closed_stdout_or_a_reader_that_leaves_is_no_traceback(shell, status, tmp_path):
    environment = {**os.environ, "STAMPEDE_STATE_DIR": str(tmp_path)}
    program = Path(sys.executable).with_name("stampede")
    done = subprocess.run(
        ["bash", "-c", shell, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)
