"""The `stampede` command line. Each module of `stampede.cli.verbs` is a verb; data goes to stdout,
progress to stderr.

`--help` and wrong options are answered at once: a verb imports what is slow only when it runs.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.metadata
import inspect
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from experiments import EXPERIMENTS
from stampede.cli.arguments import add_flag
from stampede.errors import FixableError, one_line
from stampede.full_disk import FULL, is_full, way_out
from stampede.interruption import signals
from stampede.program import as_typed
from stampede.progress import show_details
from stampede.standard_streams import STDOUT, plain

VERBS = (
    "doctor",
    "simulate",
    "sweep",
    "dataset",
    "flood",
    "drain",
    "query",
    "report",
    "evidence",
    "prices",
    "emulator",
)
EXIT_RUN, EXIT_USAGE = 1, 2
# The reader of stdout has left. SIGPIPE ends other programs, such as grep, with this status; the
# signal itself would end a sweep before its stack is destroyed.
EXIT_PIPE = 128 + signal.SIGPIPE
# Errors of a path that can't be used.
_WRONG_PATH = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG)


class _Parser(argparse.ArgumentParser):
    """Keeps the line breaks of help texts. An error is one line that names the command for help."""

    def __init__(self, **settings: object) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def parse_known_args(self, *given: Any) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown arguments in the verb's parser, whose help lists the options."""
        parsed, unknown = super().parse_known_args(*given)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, as_typed(f"{self.prog}: {message}; see `{self.prog} --help`\n"))


def main(arguments: list[str] | None = None) -> int:
    """Run one verb. Returns the exit status: 0 done, 1 failed, 2 could not start, 128 plus the
    number of the signal that interrupted it (130: Ctrl-C), 141 where the reader of stdout left."""
    try:
        try:
            return _run(build_parser().parse_args(arguments))
        finally:
            # Also after --help: the interpreter's own flush at exit would print an error.
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        if error.filename != STDOUT:
            raise
        print(
            f"stampede: can't write to {STDOUT} ({error.strerror}); free or change that disk",
            file=sys.stderr,
        )
        return EXIT_RUN


def build_parser() -> argparse.ArgumentParser:
    """Measure the S3 throughput of N concurrent Lambda functions: deploy an
    experiment, flood its queue, and account for every message.

    examples:
      stampede sweep download
          deploy, measure and report on this machine; no AWS account
      stampede sweep download --target aws --dry-run
          what the same would take and cost on AWS
      stampede sweep --help
          the options of a verb
    """
    experiments = (
        f"  {experiment.name:<12}{experiment.question}" for experiment in EXPERIMENTS.values()
    )
    epilog = "\n".join(["experiments:", *experiments])
    parser = _Parser(
        prog="stampede",
        usage="stampede VERB [OPTIONS]",
        description=inspect.getdoc(build_parser),
        epilog=epilog,
    )
    add_flag(parser, "--version", "show the version and exit")
    parser.set_defaults(print_help=parser.print_help)
    verbs = parser.add_subparsers(prog="stampede", title="verbs", dest="verb", metavar="VERB")
    for verb in VERBS:
        module = importlib.import_module(f"stampede.cli.verbs.{verb}")
        summary = module.__doc__.partition(".\n")[0]
        own = verbs.add_parser(
            verb, help=f"{summary[0].lower()}{summary[1:]}", description=module.__doc__
        )
        module.add_arguments(own)
        own.add_argument(
            "-v",
            "--verbose",
            action="store_true",
            help="print details such as Terraform's commands",
        )
    return parser


def _run(parsed: argparse.Namespace) -> int:
    if parsed.version:
        print(f"stampede {importlib.metadata.version('stampede')}")
        return 0
    if parsed.verb is None:
        parsed.print_help(sys.stderr)
        return EXIT_USAGE
    show_details(parsed.verbose)
    # Silences two lines about a temporary folder, which it uses where HOME can't be written.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        return importlib.import_module(f"stampede.cli.verbs.{parsed.verb}").run(parsed)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        text, status = _explained(error, parsed)
        line = "; ".join([f"stampede{text}", *getattr(error, "__notes__", ())])
        print(plain(as_typed(line)), file=sys.stderr)
        return status


def _explained(error: BaseException, parsed: argparse.Namespace) -> tuple[str, int]:
    """The message that follows the program's name, and the exit status. Raises `error` again if it
    is a bug of Stampede's."""
    # Slow to import, and already imported where botocore raised the error.
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    text = one_line(error)
    if isinstance(error, KeyboardInterrupt) or text == "Query interrupted":  # DuckDB's words
        return f" {parsed.verb}: {signals.words}", signals.exit_status
    if isinstance(error, FixableError):
        return f": {text}", error.exit_status
    if isinstance(error, ResponseParserError):
        text = "the answer isn't from AWS or a compatible service; check AWS_ENDPOINT_URL"
        return f": {text}", EXIT_RUN
    if "refreshed credentials are still expired" in text:  # botocore's words, in a RuntimeError
        return ": the AWS credentials have expired; renew them, e.g. `aws sso login`", EXIT_RUN
    if isinstance(error, ClientError | BotoCoreError):
        return f": {text}", EXIT_RUN
    if isinstance(error, OSError) and (where := _place(error, vars(parsed).get("results_dir"))):
        why = error.strerror or text
        if error.errno in _WRONG_PATH:
            return f": can't use {where} ({why}); move it, or use another path", EXIT_USAGE
        return f": can't write to {where} ({why}); {way_out(error)}", EXIT_RUN
    raise error


def _place(error: OSError, results_dir: Path | None) -> str:
    """The file or folder of an error: the one that it names, else the folders that are or may be
    full; empty where there is none."""
    from stampede.emulator.stack import STATE_DIR

    folders = [folder for folder in (results_dir, STATE_DIR) if folder]
    full = [folder for folder in folders if is_full(folder)]
    if not full and error.errno in FULL:
        full = folders
    where = str(error.filename2 or error.filename or " or ".join(map(str, full)))
    return f"{where} (STAMPEDE_STATE_DIR)" if str(STATE_DIR) in where else where


if __name__ == "__main__":
    sys.exit(main())
