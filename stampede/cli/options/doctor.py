"""What `stampede doctor` takes."""

from __future__ import annotations

import argparse

from experiments import EXPERIMENTS
from stampede.cli.options.output import add_format_option, add_results_dir_option
from stampede.cli.options.plan import add_budget_option, add_experiment, add_plan_options, add_target_option

DESCRIPTION = """Check whether a sweep can run, and what it costs, before anything is created.

One line for each check, with the fix where something is wrong. Changes nothing.
The exit status is 1 if there is a problem."""
EXAMPLES = (
    ("stampede doctor download", "can this machine run the local matrix?"),
    ("stampede doctor download --target aws --set concurrency_value=1,2", "and this AWS account a smaller one?"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_results_dir_option(parser)
    add_experiment(parser, default=next(iter(EXPERIMENTS)))
    add_target_option(parser)
    add_budget_option(parser, answer="report a problem")
    add_plan_options(parser)
    add_format_option(parser)
