"""The types of option values, and the options that several verbs share.

A type refuses a value by naming it and the rule. This module imports nothing slow.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from loader.payloads import DEFAULT, Payloads
from stampede.cell import Cell
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.plan import Plan, complete, make_plan, with_derived, with_rounds
from stampede.planning.settings import read_single
from stampede.runs.folder import RESULTS_DIR, RunFolder
from stampede.stacks.infra_variables import infra_defaults

if TYPE_CHECKING:
    from stampede.stacks.target import Target

LONGEST_CELL_CHARACTERS = 256
FORMATS = ("table", "csv", "json")
TARGETS = ("local", "aws")


def checked(
    kind: Callable[[str], Any], rule: str, allowed: Callable[[Any], bool]
) -> Callable[[str], Any]:
    """An argparse type for a value of this kind that is `allowed`; `rule` states the condition."""

    def value_of(text: str) -> Any:
        try:
            value = kind(text)
            if allowed(value):  # NaN never is
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")

    return value_of


whole_number = checked(int, "a whole number of 0 or more", lambda value: value >= 0)
positive_int = checked(int, "a whole number of 1 or more", lambda value: value >= 1)
seconds = checked(float, "a number of seconds above 0", lambda value: 0 < value < math.inf)
dollars = checked(
    float, "an amount of US dollars of 0 or more", lambda value: 0 <= value < math.inf
)
# Above 50 % hardly any message would ever succeed.
crash_percent = checked(float, "a percentage of 0 to 50", lambda value: 0 <= value <= 50)
condition = checked(lambda text: text.partition("=")[::2], "KEY=VALUE", all)
# Functions accept these names (`functions/common/work_order.py`), and blank ones too, which would
# be invisible in a table.
cell = checked(
    str,
    f"text of 1 to {LONGEST_CELL_CHARACTERS} printable characters, not all of them blanks",
    lambda text: text.isprintable() and text.strip() and len(text) <= LONGEST_CELL_CHARACTERS,
)
# argparse checks no default against `choices`, so STAMPEDE_TARGET needs a type.
_target = checked(str, "local or aws (or unset STAMPEDE_TARGET)", TARGETS.__contains__)
# An empty text, such as an unset variable, would be the current folder.
path = checked(lambda text: text and Path(text), "a path", bool)


def writable_file(*endings: str) -> Callable[[str], Path]:
    """An argparse type for an output file with one of these endings, in an existing folder."""
    return checked(
        Path,
        f"a file that ends in {' or '.join(endings)}, in a folder that exists",
        lambda file: file.suffix.lower() in endings and file.parent.is_dir() and not file.is_dir(),
    )


def _option(
    help: str, metavar: str | None = None, kind: Callable[[str], Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {"help": help, "metavar": metavar, "type": kind, **more}


# The keywords of `add_argument` for the options that several verbs share.
SHARED: dict[str, dict[str, Any]] = {
    "--format": _option(
        "output format on stdout (default: %(default)s)", choices=FORMATS, default="table"
    ),
    "--results-dir": _option(
        "where runs are stored (default: %(default)s)", "DIR", path, default=RESULTS_DIR
    ),
    "--run": _option("a run's id or folder (default: the newest in --results-dir)", "RUN"),
    "--order": _option(
        "set a key of the message; may be repeated (default: the matrix's first value)",
        "KEY=VALUE",
        action="append",
        default=[],
    ),
    "--payload": _option(
        "JSON file with the message body for your own function, or with a list of objects with "
        "payload and weight to draw from",
        "FILE",
        path,
    ),
    "--deadline-s": _option(
        "give up after this time (default: after max_receive_count + 1 visibility timeouts and 10 "
        "minutes without progress)",
        "SECONDS",
        seconds,
    ),
    "--budget-usd": _option("refuse a higher estimate", "USD", dollars),
}
# The options of a plan. Their default is None, because --resume refuses all that are given.
PLAN: dict[str, dict[str, Any]] = {
    "--set": _option(
        "set or sweep a Terraform variable or a key of the message; may be repeated (default: the "
        "matrix)",
        "VARIABLE=V1[,V2...]",
        action="append",
    ),
    "--messages-per-concurrency": _option(
        "messages, or full batches, per function or slice of objects (default: the experiment's)",
        "N",
        positive_int,
    ),
    "--warm-up-per-concurrency": _option(
        "messages per function that are sent first and not counted", "N", whole_number
    ),
    "--repeats": _option("run every cell N times", "N", positive_int),
    "--rounds": _option(
        "interleave the cells that share a stack, each in N parts (default: a round per message "
        "at concurrency 1, else 5)",
        "N",
        positive_int,
    ),
    "--seed": _option("seed of the order of cells and of the model", "N", whole_number),
    "--start-barrier-s": _option(
        "start all operations at once, this long after the flood",
        "SECONDS",
        seconds,
    ),
}


def add(parser: Any, *names: str, **changes: Any) -> None:
    """Declare options of SHARED; `changes` replaces keywords of `add_argument`."""
    for name in names:
        parser.add_argument(name, **{**SHARED[name], **changes})


def add_own(parser: Any, name: str, *settings: Any, **more: Any) -> None:
    """Declare an option that one verb has: its help, metavar, type, and further keywords."""
    parser.add_argument(name, **_option(*settings, **more))


def add_flag(parser: Any, name: str, help: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(name, action="store_true", help=help)


def add_stack(parser: argparse.ArgumentParser) -> None:
    """Declare the --target of a verb that works on an applied stack."""
    add_own(
        parser,
        "--target",
        "the embedded AWS, or the account or AWS_ENDPOINT_URL of this shell (default: "
        "$STAMPEDE_TARGET, else the only applied stack)",
        "|".join(TARGETS),
        _target,
        default=os.environ.get("STAMPEDE_TARGET") or None,
    )


def add_plan(
    parser: argparse.ArgumentParser, without: str | None = None, targets: Sequence[str] = TARGETS
) -> None:
    """Declare what `plan_of` reads: EXPERIMENT, --target (one of `targets`), and the options of a
    plan. `without` says what a missing EXPERIMENT means; if empty, it is required."""
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
        choices=targets,
        default=targets[0],
        help="with AWS_ENDPOINT_URL, aws is that endpoint (default: %(default)s)",
    )
    group = parser.add_argument_group("plan")
    for name, settings in PLAN.items():
        group.add_argument(name, **settings)


def plan_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The plan options that were given, by their names in `arguments`."""
    names = [option[2:].replace("-", "_") for option in PLAN]
    return {name: value for name in names if (value := vars(arguments)[name]) is not None}


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options describe. Raises UsageError."""
    from stampede.stacks import endpoints, own_object

    experiment, options = EXPERIMENTS[arguments.experiment], plan_options(arguments)
    settings, rounds = options.pop("set", []), options.pop("rounds", None)
    make = partial(
        make_plan,
        experiment,
        arguments.target,
        defaults=infra_defaults(os.environ),
        **{"messages_per_concurrency": experiment.messages_per_concurrency, **options},
    )
    plan = make(_without_urls(experiment, settings))
    for cell in plan.cells:
        # For a region that AWS doesn't have, an estimate would use another region's prices.
        endpoints.refuse_unknown_region("region", str(cell.values["region"]))
        is_shared = experiment.shared_list and experiment.messages(cell.values) is not None
        if is_shared and "messages_per_concurrency" in options:
            raise UsageError(
                f"--messages-per-concurrency: {cell.name} takes "
                f"{counted(cell.messages, 'message')}, which share one list of keys",
                "leave it out, and use --repeats for more runs",
            )
    if own_objects(settings):  # with the object's size in S3 instead of the matrix's
        held = own_object.of_plan(arguments.target, experiment.name, plan.cells)
        plan = make(_without_urls(experiment, settings, held.size_mb))
    return with_rounds(plan, rounds)


def own_objects(settings: Sequence[str]) -> list[str]:
    """Those of the `settings` that name an object of the user's own: object=URL."""
    return [text for text in settings if text.startswith("object=")]


def _without_urls(
    experiment: Experiment, settings: Sequence[str], size_mb: int | None = None
) -> list[str]:
    """The settings with those for which object=URL stands, an object of `size_mb` MiB. Raises
    UsageError."""
    urls, own = own_objects(settings), experiment.own_object
    whole = [text for text in settings if text not in urls]
    for text in urls:
        if own is None:
            raise UsageError(
                f"--set object: {experiment.name} takes no object of yours", "leave it out"
            )
        meant = {**own.settings(text.partition("=")[2]), own.size: size_mb}
        whole += [f"{name}={json.dumps(value)}" for name, value in meant.items()]
    return whole


def order_of(target: Target, settings: Sequence[str]) -> dict[str, Any]:
    """The open keys of messages that are sent by hand, as set by --order, else the first values of
    the experiment's matrix. Raises UsageError."""
    experiment = target.experiment
    matrix, keys = experiment.matrices[target.option], experiment.order_axes
    first = {name: values[0] for name, values in matrix.swept.items()} | dict(matrix.fixed)
    usual = {name: first[name] for name in keys if name in first}
    values = {name: value for name, value in target.outputs.items() if name not in keys}
    values |= usual | read_single("--order", settings, experiment)
    whole = complete(experiment, with_derived(experiment, target.option, values))
    return {name: whole[name] for name in keys}


def payloads_of(
    experiment: Experiment, file: Path | None, cells: Iterable[Cell]
) -> Payloads | None:
    """The payloads of --payload, or None. Raises UsageError, also where a cell's batch of them is
    too large for an event."""
    if file is not None and not experiment.takes_payload:
        raise UsageError(f"--payload: {experiment.name} makes its messages itself; leave it out")
    payloads = None if file is None else Payloads.of_file(file)
    (payloads or Payloads.of_text(DEFAULT)).refuse_batches(max(cell.batch_size for cell in cells))
    return payloads


def find_run(results_dir: Path, run: str | None, option: str = "--run") -> RunFolder:
    """The run with this id or folder, by default the newest that sent messages. Raises UsageError,
    which names `option`, where there is none."""
    folder = Path(run or "")
    is_id = len(folder.parts) == 1 and (results_dir / folder).is_dir()
    if run and not is_id and folder.is_dir():
        return RunFolder(folder if folder.name else folder.resolve())
    return RunFolder.find(results_dir, run, option)
