"""Types of values, each of which refuses with the value and the rule, and the options that several
verbs have, with what they mean. Imports nothing that takes long.
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
from stampede.planning.plan import Plan, make_plan, rest, with_rounds
from stampede.planning.settings import refuse_twice, setting_values, split_setting
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
    """The type of a value of this kind that is `allowed`; `rule` says which are."""

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
# Beyond 50 hardly any message would ever be done.
crash_percent = checked(float, "a percentage of 0 to 50", lambda value: 0 <= value <= 50)
condition = checked(lambda text: text.partition("=")[::2], "KEY=VALUE", all)
# What functions take for a cell's name (`functions/common/work_order.py`), but for blanks alone,
# which nobody could see in a table.
cell = checked(
    str,
    f"text of 1 to {LONGEST_CELL_CHARACTERS} printable characters, not all of them blanks",
    lambda text: text.isprintable() and text.strip() and len(text) <= LONGEST_CELL_CHARACTERS,
)
# Of the environment too, which argparse itself doesn't compare with choices.
_target = checked(str, "local or aws (or unset STAMPEDE_TARGET)", TARGETS.__contains__)


def path(text: str) -> Path:
    """The type of a path; that of an empty text, such as an unset variable, would be the current
    folder."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def writable_file(*endings: str) -> Callable[[str], Path]:
    """The type of a file to write, with one of these endings, in a folder that exists."""
    return checked(
        Path,
        f"a file that ends in {' or '.join(endings)}, in a folder that exists",
        lambda file: file.suffix.lower() in endings and file.parent.is_dir() and not file.is_dir(),
    )


def _option(
    help: str, metavar: str | None = None, kind: Callable[[str], Any] | None = None, **more: Any
) -> dict:
    return {"help": help, "metavar": metavar, "type": kind, **more}


# What argparse is told of each option that several verbs have.
SHARED: dict[str, dict[str, Any]] = {
    "--format": _option(
        "output format on stdout (default: %(default)s)", choices=FORMATS, default="table"
    ),
    "--results-dir": _option(
        "where runs are stored (default: %(default)s)", "DIR", path, default=RESULTS_DIR
    ),
    "--run": _option(
        "a run, by its id or its folder (default: the newest in --results-dir)", "RUN"
    ),
    "--order": _option(
        "set a key of the message; may be repeated (default: the first of the matrix)",
        "KEY=VALUE",
        action="append",
        default=[],
    ),
    "--payload": _option(
        "JSON file with the body of every message of your own function, or a list of objects with "
        "payload and weight to draw from (default: {})",
        "FILE",
        path,
    ),
    "--deadline-s": _option(
        "report what is stuck after this time (default: after max_receive_count + 1 visibility "
        "timeouts and 10 minutes without a change)",
        "SECONDS",
        seconds,
    ),
    "--budget-usd": _option(
        "the most that the estimate may be (default: no limit)", "USD", dollars
    ),
}
# Those of a plan. Without a value each is None, as --resume refuses each that was given.
PLAN: dict[str, dict[str, Any]] = {
    "--set": _option(
        "set or sweep a Terraform variable or a key of the message; may be repeated (default: the "
        "matrix)",
        "VARIABLE=V1[,V2...]",
        action="append",
    ),
    "--messages-per-concurrency": _option(
        "messages, or full batches, for each of N, or for each slice of objects (default: the "
        "experiment's number)",
        "N",
        positive_int,
    ),
    "--warm-up-per-concurrency": _option(
        "messages for each of N that are sent first and not counted (default: 0)",
        "N",
        whole_number,
    ),
    "--repeats": _option("run every cell N times (default: 1)", "N", positive_int),
    "--rounds": _option(
        "interleave the cells that share a stack, each in N parts (default: a round for each "
        "message at concurrency 1, else 5)",
        "N",
        positive_int,
    ),
    "--seed": _option(
        "seed of the order of cells and of the model (default: 1)",
        "N",
        whole_number,
    ),
    "--start-barrier-s": _option(
        "start all operations at once, this long after the flood (default: no barrier)",
        "SECONDS",
        seconds,
    ),
}


def add(parser: Any, *names: str, **changes: Any) -> None:
    """Declare options of SHARED, with `changes` in what argparse is told."""
    for name in names:
        parser.add_argument(name, **{**SHARED[name], **changes})


def add_stack(parser: argparse.ArgumentParser) -> None:
    """Declare the --target of a verb that works on an applied stack."""
    stacks = (
        "the embedded AWS, or the account or AWS_ENDPOINT_URL of this shell (default: "
        "$STAMPEDE_TARGET, else the only stack that is applied)"
    )
    default = os.environ.get("STAMPEDE_TARGET") or None
    parser.add_argument(
        "--target", metavar="|".join(TARGETS), type=_target, default=default, help=stacks
    )


def add_plan(
    parser: argparse.ArgumentParser, without: str | None = None, targets: Sequence[str] = TARGETS
) -> None:
    """Declare EXPERIMENT, which may be left out where `without` says what that means, --target, one
    of `targets`, and the options of a plan, all of which `plan_of` reads."""
    parser.add_argument(
        "experiment",
        nargs="?" if without else None,
        choices=EXPERIMENTS,
        default=without if without in EXPERIMENTS else None,
        metavar="EXPERIMENT",
        help=", ".join(EXPERIMENTS) + (f" (default: {without})" if without else ""),
    )
    place = (
        "aws is the endpoint that AWS_ENDPOINT_URL names, where it is set (default: %(default)s)"
    )
    parser.add_argument("--target", choices=targets, default=targets[0], help=place)
    group = parser.add_argument_group("plan")
    for name, settings in PLAN.items():
        group.add_argument(name, **settings)


def plan_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a plan that were given, by their names in `arguments`."""
    values = {
        name: vars(arguments)[name] for name in (option[2:].replace("-", "_") for option in PLAN)
    }
    return {name: value for name, value in values.items() if value is not None}


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options describe. Raises UsageError."""
    from stampede.stacks import endpoints, own_object

    experiment, options = EXPERIMENTS[arguments.experiment], plan_options(arguments)
    settings, rounds = options.pop("set", []), options.pop("rounds", None)
    refuse_twice("--set", settings, "give all its values at once, separated by commas")
    per_n = {"messages_per_concurrency": experiment.messages_per_concurrency}
    defaults, url = infra_defaults(os.environ), own_object_url(settings)
    make = partial(
        make_plan, experiment, arguments.target, defaults=defaults, **{**per_n, **options}
    )
    if url is not None:
        settings = _with_own_object(experiment, settings, url)
    plan = make(settings)
    for cell in plan.cells:
        # An estimate would give another region's prices for one that AWS doesn't have.
        if unknown := endpoints.unknown_region(str(cell.values["region"])):
            raise UsageError(f"region: {unknown[0]}", unknown[1])
    if url is not None:  # with the size that S3 says, in place of the matrix's
        held = own_object.of_plan(arguments.target, experiment.name, plan.cells)
        plan = make([*settings, f"{experiment.own_object.size}={held.size_mb}"])
    for cell in plan.cells:
        count = experiment.messages(cell.values) if experiment.shared_list is not None else None
        if count is not None and "messages_per_concurrency" in options:
            takes = f"{cell.name} takes {counted(count, 'message')}, which share one list of keys"
            raise UsageError(
                f"--messages-per-concurrency: {takes}",
                "leave it out, and use --repeats for more runs",
            )
    return with_rounds(plan, rounds)


def own_object_url(settings: Sequence[str] | None) -> str | None:
    """What --set object=URL names, None without it."""
    return next(
        (text.partition("=")[2] for text in settings or () if text.partition("=")[0] == "object"),
        None,
    )


def _with_own_object(experiment: Experiment, settings: Sequence[str], url: str) -> list[str]:
    """The settings with those for which --set object=URL stands in its place. Raises UsageError."""
    own = experiment.own_object
    if own is None:
        raise UsageError(
            f"--set object: {experiment.name} takes no object of yours", "leave it out"
        )
    meant = own.settings(url)
    others = [text for text in settings if text.partition("=")[0] != "object"]
    for name in (text.partition("=")[0] for text in others):
        if name in (*meant, own.size):
            raise UsageError(
                f"--set {name}: --set object={url} says it already", "leave one of them out"
            )
    return [*others, *(f"{name}={json.dumps(value)}" for name, value in meant.items())]


def order_of(target: Target, settings: Sequence[str]) -> dict[str, Any]:
    """The open keys of the messages that are sent by hand: as --order has them, else the first of
    the experiment's matrix. Raises UsageError."""
    experiment = target.experiment
    matrix, axes = experiment.matrices[target.option], experiment.order_axes
    usual = {**{name: values[0] for name, values in matrix.swept.items()}, **matrix.fixed}
    chosen = {name: value for name, value in usual.items() if name in axes}
    refuse_twice("--order", settings, "a flood has one value")
    for text in settings:
        name, listed = split_setting(
            "--order", text, axes, f"the messages of {experiment.name} have no key"
        )
        choices = setting_values("--order", name, listed, axes[name])
        if len(choices) != 1:
            raise UsageError(
                f"--order {name}: a flood has one value, got {listed!r}; start a flood for each "
                "value"
            )
        [chosen[name]] = choices
    applied = {name: value for name, value in target.outputs.items() if name not in axes}
    others = rest(experiment, target.option, {**applied, **chosen})
    return {name: value for name, value in {**chosen, **others}.items() if name in axes}


def payloads_of(
    experiment: Experiment, file: Path | None, cells: Iterable[Cell]
) -> Payloads | None:
    """The payloads of --payload, of which each cell's batches must be events; None without one.
    Raises UsageError."""
    if file is not None and not experiment.takes_payload:
        raise UsageError(f"--payload: {experiment.name} makes its messages itself; leave it out")
    payloads = None if file is None else Payloads.of_file(file)
    (payloads or Payloads.of_text(DEFAULT)).refuse_batches(max(cell.batch_size for cell in cells))
    return payloads


def find_run(results_dir: Path, run: str | None, option: str = "--run") -> RunFolder:
    """The run that is named by its id or by the path of its folder; without a name the newest one
    that sent messages. Raises UsageError, which names `option`, where there is none."""
    folder = Path(run or "")
    is_id = len(folder.parts) == 1 and (results_dir / folder).is_dir()
    if run and not is_id and folder.is_dir():
        return RunFolder(folder if folder.name else folder.resolve())
    return RunFolder.find(results_dir, run, option)
