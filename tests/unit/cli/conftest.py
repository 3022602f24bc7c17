"""Commands in this process, and the stack that they find."""

from types import SimpleNamespace

import pytest

from stampede.cli.command_line import main
from tests.fakes import applied


@pytest.fixture
def stampede(capsys, monkeypatch, tmp_path):
    """A function that runs a command in an empty folder and returns status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            status = main(list(arguments))
        except SystemExit as ended:  # argparse
            status = ended.code
        printed = capsys.readouterr()
        return SimpleNamespace(status=status, out=printed.out, err=printed.err)

    return run


@pytest.fixture
def apply(monkeypatch, tmp_path):
    """A function that applies a stack with these outputs in infra/."""
    return lambda outputs: applied.apply(monkeypatch, tmp_path, outputs)
