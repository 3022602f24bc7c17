"""The `stampede` command line: one verb a module of `stampede.cli.verbs`; data on stdout, progress on stderr.

`--help` and wrong options are answered at once: what does a verb's work is imported when it runs.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import importlib.metadata
import inspect
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from experiments import EXPERIMENTS
from stampede.full_disk import is_full, way_out
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
# Nobody reads stdout any more: the status of a program that SIGPIPE ends, such as grep, which shells know. The signal
# itself would end a sweep before its stack is taken down.
EXIT_PIPE = 128 + signal.SIGPIPE
# A disk that takes nothing more, or not from us: nothing of this program can be wrong there.
_NOT_A_FOLDER = (errno.ENOTDIR, errno.EEXIST)
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, *_NOT_A_FOLDER)
# What Python says where the disks of all of them are full.
_NO_TEMPORARY_FOLDER = "No usable temporary directory"


class _Parser(argparse.ArgumentParser):
    """Texts as they are written; errors as one line that names the option and the fix."""

    def __init__(self, **settings: object) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        self._seen: set[str] = set()

    def _get_values(self, action: argparse.Action, texts: list[str]) -> Any:
        """What was typed for an option, or argument. An option with one value is refused the second time: both may be
        meant, and argparse would take the last."""
        if action.option_strings and isinstance(action, argparse._StoreAction):
            if action.dest in self._seen:
                raise argparse.ArgumentError(action, "given more than once; give it once")
            self._seen.add(action.dest)
        return super()._get_values(action, texts)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        near = difflib.get_close_matches(str(value), [str(choice) for choice in action.choices or ()], n=1)
        if action.dest == "verb" and value in EXPERIMENTS:
            near = [f"sweep {value}"]
        if near and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (did you mean {near[0]}?)")
        super()._check_value(action, value)

    def parse_known_args(self, *given: Any) -> tuple[argparse.Namespace, list[str]]:
        """What nothing takes is refused by the parser of its verb, whose help lists the options that there are."""
        self._seen.clear()
        parsed, unknown = super().parse_known_args(*given)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, n=1, cutoff=0.75)
            hint = f" (did you mean {near[0]}?)" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, as_typed(f"{self.prog}: {message}; see `{self.prog} --help`\n"))


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status: 0 done, 1 it failed, 2 it could not start, 128 and the number of the
    signal that interrupted it (130: Ctrl-C), 141 where the reader of stdout has left."""
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()  # after --help too; the interpreter's own flush at exit would print an error
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        if error.filename != STDOUT:
            raise
        print(f"stampede: can't write to {STDOUT} ({error.strerror}); free or change that disk", file=sys.stderr)
        return EXIT_RUN


def _run(arguments: list[str]) -> int:
    if not arguments:
        build_parser().print_help(sys.stderr)
        return EXIT_USAGE
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if parsed.version:
        return _print_version()
    if parsed.verb is None:  # argparse itself would ask for it before it refuses a mistyped option
        parser.error("the argument VERB is missing")
    show_details(parsed.verbose)
    # Where HOME can't be written it uses a temporary folder by itself, and would print two lines about that.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        return importlib.import_module(f"stampede.cli.verbs.{parsed.verb}").run(parsed)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        text, status = _explained(error, parsed)
        what_stays = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        print(plain(as_typed(f"stampede{text}{what_stays}")), file=sys.stderr)
        return status


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
    experiments = (f"  {experiment.name:<12}{experiment.question}" for experiment in EXPERIMENTS.values())
    epilog = "\n".join(["experiments:", *experiments])
    parser = _Parser(
        prog="stampede", usage="stampede VERB [OPTIONS]", description=inspect.getdoc(build_parser), epilog=epilog
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    verbs = parser.add_subparsers(prog="stampede", title="verbs", dest="verb", metavar="VERB", parser_class=_Parser)
    for verb in VERBS:
        module = importlib.import_module(f"stampede.cli.verbs.{verb}")
        summary = module.__doc__.partition(".\n")[0]
        own = verbs.add_parser(verb, help=f"{summary[0].lower()}{summary[1:]}", description=module.__doc__)
        module.add_arguments(own)
        details = "print details too, such as Terraform's commands (default: only what happens to each cell)"
        own.add_argument("-v", "--verbose", action="store_true", help=details)
    return parser


def _print_version() -> int:
    try:
        print(f"stampede {importlib.metadata.version('stampede')}")
    except importlib.metadata.PackageNotFoundError:
        print("stampede: --version: the package isn't installed; run `make setup`", file=sys.stderr)
        return EXIT_USAGE
    return 0


def _explained(error: BaseException, parsed: argparse.Namespace) -> tuple[str, int]:
    """What ended a verb, as the rest of one line after the program's name, and the exit status. Raises `error` where it
    is a fault of ours."""
    # Imported only now: botocore takes a tenth of a second, and is there already where it raised the error.
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    from stampede.emulator.go_build import NotReadyError, ProviderError
    from stampede.emulator.ministack import EmulatorError
    from stampede.errors import RunError, UsageError, one_line

    text = one_line(error)
    # The RuntimeError is what DuckDB makes of Ctrl-C.
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, RuntimeError) and text == "Query interrupted"):
        return f" {parsed.verb}: {signals.words}", signals.exit_status
    if isinstance(error, UsageError | NotReadyError):
        return f": {text}", EXIT_USAGE
    if isinstance(error, ResponseParserError):
        return ": the answer isn't from AWS or a compatible service; check AWS_ENDPOINT_URL", EXIT_RUN
    # botocore's, for credentials from the environment that have expired since the start
    if isinstance(error, RuntimeError) and "refreshed credentials are still expired" in text:
        return ": the AWS credentials have expired; renew them, e.g. `aws sso login`", EXIT_RUN
    if isinstance(error, RunError | EmulatorError | ProviderError | ClientError | BotoCoreError):
        return f": {text}", EXIT_RUN
    if isinstance(error, OSError) and (explained := _of_files(error, vars(parsed).get("results_dir"))):
        return explained
    raise error


def _of_files(error: OSError, results_dir: Path | None) -> tuple[str, int] | None:
    """What of files or a disk ended a verb, and the exit status; None where it is something else."""
    from stampede.emulator.stack import STATE_DIR

    if isinstance(error, IsADirectoryError):
        return f": {error.filename} is a folder where a file is needed; move it, or use another one", EXIT_USAGE
    if error.errno == errno.ENAMETOOLONG:
        return f": {error.filename} has a name that is too long; use a shorter one", EXIT_USAGE
    if isinstance(error, shutil.Error):  # of copytree, which lists every file
        why = os.strerror(errno.ENOSPC) if is_full(STATE_DIR) else "some files of infra/ couldn't be copied"
        return f": can't write to {STATE_DIR} ({why}); free or change that disk (STAMPEDE_STATE_DIR)", EXIT_RUN
    cannot_be_made = error.errno == errno.ENOENT and _is_of(STATE_DIR, str(error.filename))
    if error.errno not in _DISK_ERRORS and _NO_TEMPORARY_FOLDER not in str(error) and not cannot_be_made:
        return None
    folders = [folder for folder in (results_dir, STATE_DIR) if folder]
    folders = [folder for folder in folders if is_full(folder)] or folders
    where = str(error.filename or " or ".join(map(str, folders)))
    variable = " (STAMPEDE_STATE_DIR)" if _is_of(STATE_DIR, where) else ""
    is_file = error.errno in _NOT_A_FOLDER
    fix, status = ("use a folder, not a file", EXIT_USAGE) if is_file else (way_out(error), EXIT_RUN)
    return f": can't write to {where} ({error.strerror}); {fix}{variable}", status


def _is_of(state_dir: Path, where: str) -> bool:
    """Whether another STAMPEDE_STATE_DIR would change `where` something can't be written: below it, or above, where it
    can't be made. The lock of infra/ has one place, whatever the variable says."""
    return (Path(where).is_relative_to(state_dir) or state_dir.is_relative_to(where)) and Path(where).name != "aws.lock"


if __name__ == "__main__":
    sys.exit(main())
