"""What `stampede query` takes."""

from __future__ import annotations

import argparse

from stampede.cli.arguments import path, writable_file
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.stack import add_stack_options

DESCRIPTION = """Run a CloudWatch Logs Insights query over the log lines of a run.

For a run on AWS, CloudWatch evaluates it as long as it has the lines. Once the
stack is destroyed, and for every other run, the lines stored with the run are
evaluated on this machine. A query of queries/access_log reads S3's own access
logs of the run's time, and its rows are stored with the run."""
EXAMPLES = (
    ("stampede query errors --run RUN_ID", "a saved query over a stored run"),
    ("stampede query summary --where cold_start=1 --format csv", "over cold starts only, as CSV"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    add_stack_options(parser)
    parser.add_argument(
        "query",
        metavar="NAME|FILE",
        help="a saved query (NAME of the run's experiment, or EXPERIMENT/NAME), or a .cwli file",
    )
    lines = parser.add_mutually_exclusive_group()
    lines.add_argument("--run", metavar="RUN_ID", help="the run to query (default: the newest in --results-dir)")
    parser.add_argument(
        "--where",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=_condition,
        help="keep only lines whose field has this value; may be repeated (default: all lines)",
    )
    lines.add_argument(
        "--logs",
        metavar="FILE",
        action="append",
        type=path,
        help='query exported lines {"timestamp", "message", "logStream"?} in a .jsonl, .jsonl.gz or .parquet file, '
        "without AWS; may be repeated (default: the lines of --run)",
    )
    parser.add_argument(
        "--export",
        metavar="FILE.parquet",
        type=writable_file(".parquet"),
        help="also write the lines as Parquet, which later queries read many times faster (default: no export)",
    )
    add_format_option(parser)


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
