"""Types of values, each of which refuses with the value and the rule, and the options that several verbs have, with
what they mean. Imports nothing that takes long.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from loader.payloads import Payloads
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.plan import Plan, make_plan, rest, with_rounds
from stampede.planning.settings import refuse_twice, setting_values, split_setting
from stampede.runs.folder import RESULTS_DIR, RunFolder
from stampede.stacks.infra_variables import infra_defaults

if TYPE_CHECKING:
    from stampede.stacks.target import Target

LONGEST_CELL_CHARACTERS = 256
FORMATS = ("table", "csv", "json")
TARGETS = ("local", "aws")


def number(kind: type[int | float], rule: str, allowed: Callable[[float], bool]) -> Callable[[str], Any]:
    """The type of a number of this kind that is `allowed`; `rule` says which are."""

    def checked(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not allowed(value):  # NaN never is
            raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")
        return value

    return checked


whole_number = number(int, "a whole number of 0 or more", lambda value: value >= 0)
positive_int = number(int, "a whole number of 1 or more", lambda value: value >= 1)
seconds = number(float, "a number of seconds above 0", lambda value: 0 < value < math.inf)
dollars = number(float, "an amount of US dollars of 0 or more", lambda value: 0 <= value < math.inf)
# Beyond 50 hardly any message would ever be done.
crash_percent = number(float, "a percentage of 0 to 50", lambda value: 0 <= value <= 50)


def path(text: str) -> Path:
    """The type of a path; that of an empty text, such as an unset variable, would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def cell(text: str) -> str:
    """The type of a cell's name: what functions take for one (`functions/common/work_order.py`), but for blanks alone,
    which nobody could see in a table."""
    if not (text.isprintable() and text.strip() and len(text) <= LONGEST_CELL_CHARACTERS):
        rule = f"must be text of 1 to {LONGEST_CELL_CHARACTERS} printable characters, not all of them blanks"
        raise argparse.ArgumentTypeError(f"{rule}, got {text!r}")
    return text


def writable_file(*endings: str) -> Callable[[str], Path]:
    """The type of a file to write, with one of these endings, in a folder that exists."""

    def checked(text: str) -> Path:
        file = Path(text)
        if file.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"must be a file that ends in {' or '.join(endings)}, got {text!r}")
        if file.is_dir() or not file.parent.is_dir():
            raise argparse.ArgumentTypeError(f"must be a file in a folder that exists, got {text!r}")
        return file

    return checked


def _target(text: str) -> str:
    """--target as it is given, which argparse checks itself, or the default, which it doesn't."""
    if text == os.environ.get("STAMPEDE_TARGET") and text not in TARGETS:
        raise argparse.ArgumentTypeError(f"STAMPEDE_TARGET must be local or aws, got {text!r}")
    return text


# What argparse is told of each option that several verbs have.
SHARED: dict[str, dict[str, Any]] = {
    "--format": {"choices": FORMATS, "default": "table", "help": "output format on stdout (default: %(default)s)"},
    "--results-dir": {
        "metavar": "DIR",
        "type": path,
        "default": RESULTS_DIR,
        "help": "where runs are stored (default: %(default)s)",
    },
    "--run": {"metavar": "RUN", "help": "a run, by its id or its folder (default: the newest in --results-dir)"},
    "--order": {
        "metavar": "KEY=VALUE",
        "action": "append",
        "default": [],
        "help": "set a key of the message that the experiment leaves open; may be repeated "
        "(default: the first value of the experiment's matrix)",
    },
    "--payload": {
        "metavar": "FILE",
        "type": path,
        "help": "JSON file that is the body of every message, for an experiment with a function of your own; or a list "
        'of objects with "payload" and "weight", of which each message gets one (default: {})',
    },
    "--deadline-s": {
        "metavar": "SECONDS",
        "type": seconds,
        "help": "stop waiting this long after the start, and report what is stuck (default: when nothing has changed "
        "for max_receive_count + 1 visibility timeouts and 10 minutes)",
    },
    "--budget-usd": {
        "metavar": "USD",
        "type": dollars,
        "help": "the most that it may cost, by the estimate (default: no limit)",
    },
}
# Those of a plan. Without a value each is None, as --resume refuses each that was given.
PLAN: dict[str, dict[str, Any]] = {
    "--set": {
        "metavar": "VARIABLE=V1[,V2...]",
        "action": "append",
        "default": [],
        "help": "set a Terraform variable or a key of the message; several values are swept; may be repeated "
        "(default: the experiment's matrix)",
    },
    "--messages-per-concurrency": {
        "metavar": "N",
        "type": positive_int,
        "help": "messages per unit of concurrency, or per slice of a set of objects (default: the experiment's number)",
    },
    "--warm-up-per-concurrency": {
        "metavar": "N",
        "type": whole_number,
        "help": "messages per unit of concurrency that are sent first and left out of all figures (default: 0)",
    },
    "--repeats": {"metavar": "N", "type": positive_int, "help": "run every cell N times (default: 1)"},
    "--rounds": {
        "metavar": "N",
        "type": positive_int,
        "help": "interleave the cells that share a stack: each sends its messages in N parts, none smaller than its "
        "concurrency; 1 runs one cell after the other (default: a round for each message at concurrency 1, else 5)",
    },
    "--seed": {
        "metavar": "N",
        "type": whole_number,
        "help": "seed of the order in which cells run, and of the model's random numbers (default: 1)",
    },
    "--start-barrier-s": {
        "metavar": "SECONDS",
        "type": seconds,
        "help": "start all operations at once, this long after the flood (default: start without waiting)",
    },
}


def add(parser: Any, *names: str) -> None:
    """Declare options of SHARED."""
    for name in names:
        parser.add_argument(name, **SHARED[name])


def add_stack(parser: argparse.ArgumentParser) -> None:
    """Declare the --target of a verb that works on an applied stack."""
    parser.add_argument(
        "--target",
        type=_target,
        choices=TARGETS,
        default=os.environ.get("STAMPEDE_TARGET") or None,
        help="local is the embedded AWS; aws is the account of this shell's AWS configuration, or the endpoint that "
        "AWS_ENDPOINT_URL names (default: $STAMPEDE_TARGET, else the only stack that is applied)",
    )


def add_plan(parser: argparse.ArgumentParser, without: str | None = None, target: str = "local") -> None:
    """Declare EXPERIMENT, which may be left out where `without` says what that means, --target and the options of a
    plan, all of which `plan_of` reads."""
    parser.add_argument(
        "experiment",
        nargs="?" if without else None,
        choices=EXPERIMENTS,
        default=without if without in EXPERIMENTS else None,
        metavar="EXPERIMENT",
        help=", ".join(EXPERIMENTS) + (f" (default: {without})" if without else ""),
    )
    parser.add_argument(
        "--target",
        choices=TARGETS,
        default=target,
        help="aws is the endpoint that AWS_ENDPOINT_URL names, where it is set (default: %(default)s)",
    )
    group = parser.add_argument_group("plan")
    for name, settings in PLAN.items():
        group.add_argument(name, **settings)


def plan_options(arguments: argparse.Namespace) -> list[str]:
    """The options of a plan that were given, as they are written."""
    return [name for name in PLAN if getattr(arguments, name[2:].replace("-", "_")) not in (None, [])]


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options describe. Raises UsageError."""
    from stampede.stacks import endpoints

    experiment = EXPERIMENTS[arguments.experiment]
    refuse_twice("--set", arguments.set, "give all its values at once, separated by commas")
    plan = make_plan(
        experiment,
        arguments.target,
        arguments.set,
        infra_defaults(os.environ),
        messages_per_concurrency=arguments.messages_per_concurrency or experiment.messages_per_concurrency,
        warm_up_per_concurrency=arguments.warm_up_per_concurrency or 0,
        repeats=arguments.repeats or 1,
        seed=1 if arguments.seed is None else arguments.seed,
        start_barrier_s=arguments.start_barrier_s,
    )
    for cell in plan.cells:
        # An estimate would give another region's prices for one that AWS doesn't have.
        if unknown := endpoints.unknown_region(str(cell.values["region"])):
            raise UsageError(f"region: {unknown[0]}", unknown[1])
        count = experiment.messages(cell.values) if experiment.shared_list is not None else None
        if count is not None and arguments.messages_per_concurrency is not None:
            raise UsageError(
                f"--messages-per-concurrency: {cell.name} takes {counted(count, 'message')}, which share one list of "
                "keys; leave it out, and use --repeats for more runs"
            )
    return with_rounds(plan, arguments.rounds)


def order_of(target: Target, settings: Sequence[str]) -> dict[str, Any]:
    """The open keys of the messages that are sent by hand: as --order has them, else the first of the experiment's
    matrix. Raises UsageError."""
    experiment = target.experiment
    matrix, axes = experiment.matrices[target.option], experiment.order_axes
    first = {**{name: values[0] for name, values in matrix.swept.items()}, **matrix.fixed}
    chosen = {name: first[name] for name in axes if name in first}
    refuse_twice("--order", settings, "a flood has one value")
    for text in settings:
        name, listed = split_setting("--order", text, axes, f"the messages of {experiment.name} have no key")
        values = setting_values("--order", name, listed, axes[name])
        if len(values) != 1:
            raise UsageError(f"--order {name}: a flood has one value, got {listed!r}; start a flood for each value")
        chosen[name] = values[0]
    applied = {name: value for name, value in target.outputs.items() if name not in axes}
    others = rest(experiment, target.option, {**applied, **chosen})
    return chosen | {name: value for name, value in others.items() if name in axes}


def payloads_of(experiment: Experiment, file: Path | None) -> Payloads | None:
    """The payloads of --payload; None without one. Raises UsageError."""
    if file is None:
        return None
    if not experiment.takes_payload:
        raise UsageError(f"--payload: {experiment.name} makes its messages itself; leave it out")
    return Payloads.of_file(file)


def find_run(results_dir: Path, run: str | None, option: str = "--run") -> RunFolder:
    """The run that is named by its id or by the path of its folder; without a name the newest one that sent messages.
    Raises UsageError, which names `option`, where there is none."""
    folder = Path(run or "")
    is_id = len(folder.parts) == 1 and (results_dir / folder).is_dir()
    if run and not is_id and folder.is_dir():
        return RunFolder(folder if folder.name else folder.resolve())
    return RunFolder.find(results_dir, run, option)
