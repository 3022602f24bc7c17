"""The `stampede` command line: one verb a module of this package; data on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from emulator.go_build import ProviderError
from emulator.ministack import EmulatorError
from experiments import EXPERIMENTS
from experiments.key_plan import KeyPlanError
from loader.errors import RunError, UsageError, one_line

# verb -> (module, what it does); the order is the order of work.
VERBS = {
    "emulator": ("loader.verbs.emulator", "start, stop or look at the embedded local AWS"),
    "dataset": ("loader.verbs.dataset", "put the objects that the functions read"),
    "flood": ("loader.verbs.flood", "send the messages that make N functions run at once"),
    "drain": ("loader.verbs.drain", "wait until every message is accounted for"),
    "query": ("loader.verbs.query", "run a saved Logs Insights query over a run"),
    "simulate": ("loader.verbs.simulate", "say what a sweep would find, before anything is spent"),
    "sweep": ("loader.verbs.sweep", "deploy, flood, wait and query for every cell of an experiment"),
    "doctor": ("loader.verbs.doctor", "check account, machine, plan and cost before anything is spent"),
    "report": ("loader.verbs.report", "rebuild a run's report from its stored records"),
    "prices": ("loader.verbs.prices", "print the prices that estimates rest on, or bring them up to date"),
}
EXIT_RUN, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """Errors as one line that names the option and the way out."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see `{self.prog} --help`\n")


class _Version(argparse.Action):
    """Prints the installed package's name and version; looked up only when asked for, unlike argparse's own action."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        try:
            print(f"stampede {importlib.metadata.version('stampede')}")
        except importlib.metadata.PackageNotFoundError:
            parser.exit(EXIT_RUN, "stampede: --version: the package isn't installed here; run `make setup`\n")
        parser.exit()


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status: 0 done, 1 failed run, 2 wrong input, 130 interrupted."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    try:
        return parsed.carry_out(parsed)
    except (UsageError, KeyPlanError) as error:
        return _complain(error, EXIT_USAGE)
    except (RunError, EmulatorError, ProviderError, ClientError, BotoCoreError) as error:
        return _complain(error, EXIT_RUN)
    except ResponseParserError:
        return _complain(RunError("what answers there isn't AWS, nor like it; look at AWS_ENDPOINT_URL"), EXIT_RUN)
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            return _interrupted(parsed.verb)
        # botocore's, for credentials from the environment that have expired meanwhile
        if "refreshed credentials are still expired" not in str(error):
            raise
        return _complain(RunError("the AWS credentials have expired; renew them, e.g. `aws sso login`"), EXIT_RUN)
    except KeyboardInterrupt:
        return _interrupted(parsed.verb)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_RUN


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; each verb's module declares its options in `add_arguments` and does its work in `run`."""
    parser = _Parser(
        prog="stampede",
        description="Experiments with N functions at once: "
        + "; ".join(f"{one.name}: {one.question}" for one in EXPERIMENTS.values()),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, (module_name, summary) in VERBS.items():
        module = importlib.import_module(module_name)
        sub = verbs.add_parser(verb, help=summary, description=module.__doc__.split("\n\n")[0])
        sub.add_argument(
            "--results-dir",
            metavar="DIR",
            type=Path,
            default=Path("results"),
            help="where runs are stored (default: %(default)s)",
        )
        module.add_arguments(sub)
        sub.set_defaults(carry_out=module.run)
    return parser


def _interrupted(verb: str) -> int:
    print(f"stampede {verb}: interrupted", file=sys.stderr)
    return EXIT_INTERRUPTED


def _complain(error: BaseException, status: int) -> int:
    print(f"stampede: {one_line(error)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
