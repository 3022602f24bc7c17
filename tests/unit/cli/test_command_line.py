"""The command line: every option explains itself; every error is one line with the fix."""

import argparse
import contextlib
import errno
import importlib
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from common import work_order
from experiments import EXPERIMENTS
from experiments.copy.key_plan import KeyPlanError
from stampede.cli.arguments import cell
from stampede.cli.command_line import EXAMPLES, VERBS, build_parser, main
from stampede.cli.verbs import doctor
from stampede.cli.verbs.plan_options import plan_of
from stampede.cli.verbs.query import QUERIES
from stampede.emulator import stack
from stampede.emulator.go_build import NotReadyError, ProviderError
from stampede.emulator.ministack import EmulatorError
from stampede.errors import RunError, UsageError
from stampede.finding import PROBLEM
from stampede.planning import rules as plan_checks
from stampede.program import ROOT, as_typed
from stampede.stacks.stack_lock import holding
from tests.commands import without_links

# What takes long to import: only a verb at work may need it.
SLOW = ("aiohttp", "awscrt", "boto3", "botocore", "duckdb", "hcl2", "jinja2", "lark", "matplotlib", "numpy", "rich")
EXAMPLES_OF_ALL = [command for command, _ in EXAMPLES] + [
    command for verb in VERBS for command, _ in importlib.import_module(f"stampede.cli.options.{verb}").EXAMPLES
]


@pytest.fixture
def stampede(capsys, monkeypatch):
    """A function that runs the command line in this process; gives its returncode, stdout and stderr."""

    def run(*arguments, cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        try:
            status = main(list(arguments))
        except SystemExit as left:
            status = left.code
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=printed.out, stderr=printed.err)

    return run


def verb_parsers():
    [verbs] = [action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return verbs.choices


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_help_with_its_default_and_a_metavar_where_it_takes_a_value(verb):
    for action in verb_parsers()[verb]._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        assert action.help, action.dest
        if action.option_strings:
            assert "default" in action.help, action.option_strings
        if action.nargs != 0:
            assert action.metavar or action.choices, action.dest


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_fits_80_columns_and_ends_with_two_examples_of_it(verb, stampede, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = stampede(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: stampede " + verb)
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert len(re.findall(rf"(?m)^  stampede {verb}\b.*\n      \S", done.stdout.partition("\nexamples:\n")[2])) >= 2


def test_the_help_lists_experiments_with_their_questions_and_verbs_a_line_each(stampede, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    printed = stampede("--help").stdout
    for name, text in [
        *VERBS.items(),
        *((experiment.name, experiment.question) for experiment in EXPERIMENTS.values()),
    ]:
        assert re.search(rf"(?m)^  {name} +{re.escape(text)}$", printed), name
    places = [printed.index(f"{title}:\n") for title in ("experiments", "verbs", "options", "examples")]
    assert places == sorted(places)


@pytest.mark.parametrize("command", EXAMPLES_OF_ALL)
def test_every_example_of_the_help_is_a_command_that_there_is(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stampede, *arguments = shlex.split(command)
    assert stampede == "stampede"
    parsed = build_parser().parse_args(arguments)
    if parsed.verb == "query":
        assert list(QUERIES.glob(f"*/{parsed.query}.cwli"))
    if parsed.verb in ("sweep", "doctor", "simulate") and not getattr(parsed, "resume", None):
        plan = plan_of(parsed)
        findings = plan_checks.check(list(doctor.estimate(plan).cells), EXPERIMENTS[plan.experiment], plan.target)
        assert [
            finding.sentence for finding in findings if finding.status == PROBLEM and finding.check != "program"
        ] == []


def test_help_version_and_a_wrong_option_import_nothing_that_takes_long():
    calls = [["--help"], ["--version"], ["flod"], *([verb, "--help"] for verb in VERBS), ["sweep", "--no-such-option"]]
    program = f"""
import contextlib, io, sys
from stampede.cli.command_line import main
for arguments in {calls!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(arguments)
    print(arguments, sorted(set({SLOW!r}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [f"{arguments} []" for arguments in calls]


def test_readme_says_of_each_verb_what_the_help_says():
    readme = (Path(__file__).resolve().parents[3] / "README.md").read_text()
    for verb, text in VERBS.items():
        [row] = re.findall(rf"(?m)^\| `{verb}` \| (.+) \|$", readme)
        assert without_links(row).replace("`", "").startswith(text)


def test_the_version_is_the_projects_own_on_one_line_of_stdout(stampede):
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    done = stampede("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"stampede {project['version']}\n", "")


def test_the_version_of_a_copy_that_is_not_installed_is_one_line_with_the_fix(stampede, monkeypatch):
    def not_installed(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    done = stampede("--version")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "make setup" in done.stderr


@pytest.fixture
def nothing_there(tmp_path, monkeypatch):
    """A checkout and a state folder with nothing in them, the run `r`, which sent a message, and o.json, outputs."""
    monkeypatch.setattr(stack, "ROOT", tmp_path)
    monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
    outputs = {
        "region": "us-east-1",
        "experiment": "download",
        "bucket_name": "b",
        "object_key": "k",
        "function_name": "f",
        "log_group_name": "g",
        "queue_url": "q",
        "dead_letter_queue_url": "d",
        "memory_size": 1024,
        "concurrency_value": 1,
        "object_size_mb": 1,
        "experiment_tag": "e",
        "method": "stream",
        "sink": "discard",
    }
    (tmp_path / "o.json").write_text(json.dumps({name: {"value": value} for name, value in outputs.items()}))
    (tmp_path / "results" / "r").mkdir(parents=True)
    (tmp_path / "results" / "r" / "sent.jsonl").write_text('{"cell": "a", "seq": 0, "sent_at_ms": 1}\n')
    (tmp_path / "results" / "r" / "run.json").write_text('{"target": "aws", "experiment": "download"}')
    monkeypatch.chdir(tmp_path)


BY_HAND = ("--target", "aws", "--outputs", "o.json")
# Each verb, with something missing that it needs.
NEEDING = {
    "credentials": [
        ("sweep", "download", "--target", "aws"),
        ("prices", "--update"),
        ("flood", *BY_HAND),
        ("dataset", *BY_HAND),
        ("drain", *BY_HAND, "--run", "r"),
        ("query", "summary", *BY_HAND, "--run", "r"),
    ],
    "profile": [("sweep", "download", "--target", "aws"), ("prices", "--update"), ("flood", *BY_HAND)],
    "stack": [("flood",), ("dataset",), ("drain", "--run", "r")],
    "object": [("flood", *BY_HAND)],
    "free stack": [("sweep", "download", "--target", "aws"), ("flood", *BY_HAND), ("drain", *BY_HAND, "--run", "r")],
}


@pytest.mark.parametrize(
    ("missing", "arguments"), [(missing, command) for missing, commands in NEEDING.items() for command in commands]
)
def test_whatever_is_missing_that_a_verb_needs_has_one_status(missing, arguments, stampede, nothing_there, monkeypatch):
    if missing == "profile":
        monkeypatch.setenv("AWS_PROFILE", "nosuch")
    elif missing != "credentials":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    stored = None if missing == "object" else {"ContentLength": 5}
    monkeypatch.setattr("loader.dataset.head", lambda *_: stored)
    words = {
        "credentials": "no AWS credentials found",
        "profile": "no profile 'nosuch'",
        "object": "no object s3://b/k",
        "stack": "no applied stack found",
        "free stack": "is using the stack in infra/",
    }[missing]
    with holding("aws", "sweep") if missing == "free stack" else contextlib.nullcontext():
        done = stampede(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("the input is wrong"), 2),
        (KeyPlanError("the plan doesn't fit"), 2),
        (NotReadyError("there is no Terraform"), 2),
        (ProviderError("compiling failed"), 1),
        (EmulatorError("it exited immediately"), 1),
        (RunError("not every message is accounted for"), 1),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "PutObject"), 1),
        (OSError(errno.ENOSPC, "No space left on device"), 1),
        (OSError(errno.EISDIR, "Is a directory", "results/r/run.json"), 2),
        (OSError(errno.ENAMETOOLONG, "File name too long", "results/x/run.json"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_what_could_not_start_is_2_and_what_failed_is_1(error, status, stampede, monkeypatch):
    def run(arguments):
        raise error

    monkeypatch.setattr("stampede.cli.verbs.prices.run", run)
    assert stampede("prices").returncode == status


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flood", "--messages", "0"], "--messages: must be a whole number of 1 or more, got '0'"),
        (["sweep", "download", "--repeats", "2", "--repeats", "3"], "argument --repeats: given more than once; give"),
        (["flood", "--cell", "  "], "printable characters, not all of them blanks, got '  '"),
        (["flood", "--cell", "x\ny"], r"printable characters, not all of them blanks, got 'x\ny'"),
        (["drain", "--results-dir", ""], "--results-dir: must be a path, got ''"),
        (["drain", "--deadline-s", "soon"], "--deadline-s: must be a number of seconds above 0, got 'soon'"),
        (["query", "summary", "--where", "tag"], "--where: 'tag' is not KEY=VALUE"),
        (["swep"], "stampede: argument VERB: invalid choice: 'swep' (did you mean sweep?); see `stampede --help`"),
        (["sweep", "download", "--foo"], "stampede sweep: unrecognized arguments: --foo; see `stampede sweep --help`"),
        (["--foo", "sweep", "download"], "stampede: unrecognized arguments: --foo; see `stampede --help`"),
        (["--verison"], "stampede: unrecognized arguments: --verison (did you mean --version?); see"),
        (["--"], "stampede: unrecognized arguments: --; see"),
        (["sweep", "downlod"], "argument EXPERIMENT: invalid choice: 'downlod' (did you mean download?); see"),
        (["sweep"], "EXPERIMENT: none given; choose download, filesystem, copy"),
        (["sweep", "--resume", "nope"], "--resume: there is no run 'nope' in results"),
        (
            ["sweep", "filesystem", "--set", "storage=ebs", "--dry-run"],
            "--set storage: must be one of: s3, s3_in_vpc, efs, s3files, got 'ebs'",
        ),
        (
            ["sweep", "download", "--set", "region=eu-central-9", "--dry-run"],
            "no region 'eu-central-9'; did you mean eu-",
        ),
        (
            ["simulate", "copy", "--set", "region=us-east-1,us-est-1"],
            "AWS Lambda has no region 'us-est-1'; did you mean",
        ),
        (["query", "sumary"], "there is no query 'sumary'; did you mean summary?"),
        (
            ["query", "copy/summary"],
            "there is no query 'copy/summary'; saved queries: copy/copies, copy/failed",
        ),
        (["download"], "stampede: argument VERB: invalid choice: 'download' (did you mean sweep download?); see"),
        (["sweep", "download", "--dry-rn"], "unrecognized arguments: --dry-rn (did you mean --dry-run?); see"),
        (["emulator", "status", "--apply"], "stampede: --apply: only works with start"),
        (["query", "fields @message"], "'fields @message' isn't the name of a query; put a query of your own into a "),
        (["query", "xyz"], "there is no query 'xyz'; saved queries: access_log/server_side, "),
        (["query", "summary", "--run", "../etc"], "--run: '../etc' isn't a valid run id"),
        (
            ["query", "summary"],
            "results isn't a folder; go to where you swept, or give --results-dir; or start a run with",
        ),
        (["flood", "--outputs", "nowhere.json"], "--outputs: can't read nowhere.json"),
        (["emulator", "start", "--set", "a=1"], "--set: only works with start --apply; add --apply"),
        (["emulator", "stop", "--set", "a=1"], "--set: only works with start --apply; leave it out"),
        (["drain", "--run", "never"], "--run: there is no run 'never'"),
    ],
)
def test_wrong_input_gives_one_line_that_names_it_and_status_2(arguments, words, tmp_path, stampede):
    done = stampede(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["", "a", "a b", "é", "x\ny", "\x7f", "\u200b", "\ud800", "a" * 256, "a" * 257])
def test_a_cell_may_have_the_names_that_functions_take(name):
    def takes(checked, *arguments):
        try:
            return checked(*arguments) == name
        except (argparse.ArgumentTypeError, work_order.WorkOrderError):
            return False

    assert takes(cell, name) == takes(work_order.name, "cell", name)


def test_a_target_that_there_is_not_is_refused_where_a_variable_names_it_too(monkeypatch, capsys):
    monkeypatch.setenv("STAMPEDE_TARGET", "lokal")
    with pytest.raises(SystemExit, match="2"):
        build_parser().parse_args(["flood"])
    assert "STAMPEDE_TARGET must be local or aws, got 'lokal'" in capsys.readouterr().err
    assert build_parser().parse_args(["flood", "--target", "aws"]).target == "aws"


def test_an_outputs_file_that_is_something_else_is_refused(tmp_path, stampede):
    (tmp_path / "o.json").write_text('["not", "outputs"]')
    done = stampede("flood", "--outputs", "o.json", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "terraform output -json" in done.stderr


def test_the_status_of_no_emulator_is_1_and_says_how_to_start_one(tmp_path):
    """In a process of its own, since the state folder is read when it starts; so its ends are seen from outside."""
    done = subprocess.run(
        [sys.executable, "-m", "stampede.cli.command_line", "emulator", "status"],
        env=os.environ | {"STAMPEDE_STATE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "stampede emulator start" in done.stderr


def test_the_dry_run_of_a_sweep_lists_the_published_matrix_and_touches_nothing(tmp_path, stampede):
    done = stampede("sweep", "download", "--target", "aws", "--dry-run", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0
    cells = {row["cell"]: row["messages"] for row in json.loads(done.stdout)}
    assert len(cells) == 12
    assert cells["memory_size=2048,concurrency_value=500"] == 5000
    assert "USD" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_credentials_that_expire_in_mid_run_end_it_with_one_line(tmp_path, stampede, monkeypatch):
    outputs = {"region": "us-east-1", "function_name": "f", "log_group_name": "g", "queue_url": "q"}
    outputs |= {"dead_letter_queue_url": "d"}
    (tmp_path / "o.json").write_text(json.dumps({name: {"value": value} for name, value in outputs.items()}))
    (tmp_path / "results" / "r").mkdir(parents=True)
    (tmp_path / "results" / "r" / "sent.jsonl").write_text('{"cell": "a", "seq": 0, "sent_at_ms": 1}\n')
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    done = stampede("drain", "--outputs", "o.json", "--target", "aws", "--run", "r", "--deadline-s", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "credentials have expired" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_variable_that_is_set_twice_is_refused_and_not_overruled_in_silence(stampede):
    done = stampede("sweep", "download", "--set", "memory_size=1024", "--set", "memory_size=2048", "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "stampede: --set memory_size: given more than once; give all its values at once, separated by commas\n"
    )


def test_without_a_verb_the_help_is_printed_and_it_is_wrong_input(stampede):
    done = stampede()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == stampede("--help").stdout


def test_hints_name_the_program_as_it_was_started_where_it_is_not_on_the_path(stampede, monkeypatch, tmp_path):
    started = str(tmp_path / "bin" / "stampede")
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setenv("PATH", str(tmp_path))
    hint = stampede("drain", cwd=tmp_path).stderr
    assert f"start a run with `{started} flood` or `{started} sweep`" in hint
    assert stampede("sweep", "--foo").stderr.endswith(f"see `{started} sweep --help`\n")
    (tmp_path / "stampede").touch(mode=0o755)
    assert "start a run with `stampede flood`" in stampede("drain", cwd=tmp_path).stderr
    (tmp_path / "stampede").unlink()
    monkeypatch.setattr(sys, "argv", ["/my clone/bin/stampede"])
    assert "start a run with `'/my clone/bin/stampede' flood`" in stampede("drain", cwd=tmp_path).stderr


def test_hints_find_infra_from_another_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert as_typed("`terraform -chdir=infra apply`") == f"`terraform -chdir={shlex.quote(str(ROOT / 'infra'))} apply`"
    monkeypatch.chdir(ROOT)
    assert as_typed("`terraform -chdir=infra apply`") == "`terraform -chdir=infra apply`"


def test_a_closed_stdout_is_no_traceback():
    program = Path(sys.executable).with_name("stampede")
    done = subprocess.run(["sh", "-c", '"$0" --version >&-', program], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_only_verbs_that_read_or_write_runs_take_a_results_dir():
    taking = {verb for verb, parser in verb_parsers().items() if "--results-dir" in parser._option_string_actions}
    assert taking == {"doctor", "sweep", "simulate", "flood", "drain", "query", "report", "evidence"}


@pytest.mark.parametrize("streams", [("stdout",), ("stdout", "stderr")])
def test_a_reader_that_leaves_ends_it_without_a_word_and_as_sigpipe_would(streams, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "stampede.cli.command_line", "prices"]
    if "stderr" in streams:
        command[3:] = ["emulator", "status"]  # reports on stderr
    pipes = dict.fromkeys(streams, writer)
    environment = {**os.environ, "STAMPEDE_STATE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, **{"stderr": subprocess.PIPE} | pipes, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr or b"") == (141, b"")
