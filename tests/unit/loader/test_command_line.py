"""The command line: every option explains itself; every error is one line with the way out."""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from loader.command_line import VERBS, build_parser, main


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
def test_help_prints_on_stdout_and_exits_zero(verb, stampede):
    done = stampede(verb, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: stampede " + verb)
    assert done.stderr == ""


def test_the_version_is_the_projects_own_on_one_line_of_stdout(stampede):
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    done = stampede("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"stampede {project['version']}\n", "")


def test_the_version_of_a_copy_that_is_not_installed_is_one_line_with_the_way_out(stampede, monkeypatch):
    def not_installed(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    done = stampede("--version")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "make setup" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flod"], "invalid choice: 'flod'"),
        (["flood", "--messages", "0"], "--messages: must be a whole number of 1 or more, got '0'"),
        (["drain", "--deadline-s", "soon"], "--deadline-s: must be a number of seconds above 0, got 'soon'"),
        (["query", "summary", "--where", "tag"], "--where: 'tag' is not KEY=VALUE"),
        (["query", "sumary"], "no query 'sumary'; saved ones: access_log/server_side, "),
        (["query", "summary", "--run", "../etc"], "--run: '../etc' is not a run id"),
        (["query", "summary"], "--run: no run in results yet"),
        (["flood", "--outputs", "nowhere.json"], "--outputs: can't read nowhere.json"),
        (["emulator", "start", "--set", "a=1"], "--set: goes with --apply"),
        (["drain", "--run", "never"], "--run: no run 'never'"),
    ],
)
def test_wrong_input_gives_one_line_that_names_it_and_status_2(arguments, words, tmp_path, stampede):
    done = stampede(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_outputs_file_that_is_something_else_is_refused(tmp_path, stampede):
    (tmp_path / "o.json").write_text('["not", "outputs"]')
    done = stampede("flood", "--outputs", "o.json", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "terraform output -json" in done.stderr


def test_the_status_of_no_emulator_is_1_and_says_how_to_start_one(tmp_path):
    """In a process of its own, since the state folder is read when it starts; so its ends are seen from outside."""
    done = subprocess.run(
        [sys.executable, "-m", "loader.command_line", "emulator", "status"],
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
        "stampede: --set memory_size: given 2 times; give all values at once: --set memory_size=V1,V2\n"
    )
