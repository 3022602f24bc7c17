"""What `stampede sweep` takes."""

from __future__ import annotations

import argparse

from stampede.cli.options.drain import add_deadline_option
from stampede.cli.options.message import add_payload_option
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.plan import add_budget_option, add_experiment, add_plan_options, add_target_option

DESCRIPTION = """Measure the matrix of an experiment and print the table.

For each cell: terraform apply, warm-up, flood, drain. Cells that share a stack
run interleaved, in rounds. Every finished cell is stored at once, and --resume
continues after an interruption. The stack is destroyed at the end, unless you
pass --keep."""
EXAMPLES = (
    ("stampede sweep download --set concurrency_value=1,2,4,8 --repeats 3", "another matrix, three times"),
    ("stampede sweep copy --target aws --dry-run", "plan, duration and cost on AWS; changes nothing"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    add_experiment(parser, otherwise="with --resume, the run's")
    add_target_option(parser)
    add_plan_options(parser)
    add_payload_option(parser)
    parser.add_argument(
        "--resume",
        metavar="RUN_ID",
        help="resume this run with its stored plan; not together with the options of the plan (default: a new run)",
    )
    add_budget_option(parser)
    add_deadline_option(parser)
    parser.add_argument("--keep", action="store_true", help="don't destroy the stack at the end (default: destroy it)")
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="use, and destroy at the end, a stack that was applied by hand or by another run (default: refuse)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print plan, duration and cost, and change nothing (default: run it)"
    )
    add_format_option(parser)
