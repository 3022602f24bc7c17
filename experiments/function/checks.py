"""Checks of the user's package before anything is applied: what Lambda would refuse only when it is
deployed or run, and what the embedded AWS can't run.

Each check looks at the values of one cell.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from experiments import go_program
from experiments.function.work import FunctionValues
from experiments.go_program import of_this_machine
from experiments.package import DAMAGED, Package
from stampede import user_json
from stampede.checkout import INFRA
from stampede.experiment import look
from stampede.finding import OK, PROBLEM, WARNING, Finding, Wrong, worst
from stampede.phrases import counted
from stampede.variable_rules import RULES

# Lambda's quotas of a package: unpacked with its layers, and as a zip that is uploaded directly.
MOST_BYTES, MOST_ZIPPED_BYTES = 250 * 2**20, 50 * 2**20
# Approximately, for most standard queues; AWS raises it on request (SQS developer guide, "Standard
# queue quotas").
MOST_IN_FLIGHT = 120_000
PROVIDED = "provided.al2023"
AWS_ALONE = "use --target aws"
HANDLER, ARCHIVE = RULES["handler"].shared, RULES["package"].shared["archive_matches"]
# The registry, digest or tag in the name of a container image. AWS's base images have the code in
# /var/task.
IMAGE = r"\.dkr\.ecr\.|@sha256:|:[\w.-]+$"
NO_IMAGES = "a container image isn't measured as it is"
CODE_OF_IMAGE = (
    "take the code out by `docker cp $(docker create IMAGE):/var/task task`, and use --set "
    "package=task"
)
# The files that a handler may be in, by its stem: a library may bring it, a Python module may be
# compiled, and .NET compiled ahead of time is a bootstrap.
HANDLER_FILES = {
    "python": r"{}(/__init__\.py|\.pyc?|\..*\.?so)",
    "nodejs": r"{}(\.[mc]?js)?|node_modules/{}.*",
    "ruby": r"{}\.rb",
    "java": r"{}\.class|lib/.*",
    "dotnet": r"{}\.dll|bootstrap",
}
# What decides whether a package can be deployed and run.
OF_PACKAGE = ("package", "handler", "runtime", "architecture")


def checks(cells: Sequence[FunctionValues]) -> list[Finding]:
    """All checks of the variables of a plan's cells."""
    # Our Go program, the proxy, measures all of them.
    program = go_program.check({cell["architecture"] for cell in cells})
    batch = worst("batch", _in_flight, cells)
    policy = worst("policy", _policy, cells)
    return [worst("package", _package, _different(cells)), policy, program, batch]


def local_checks(cells: Sequence[FunctionValues]) -> list[Finding]:
    """What the embedded AWS can't run: it uses the Python and the processor of this machine."""
    findings = [
        *look({"package": _local_library, "runtime": _local_runtime}, _different(cells)),
        *look({"layers": _no_layers, "network": _no_subnets, "batch": _no_window}, cells),
    ]
    return [finding for finding in findings if finding.status != OK]


def _different(cells: Sequence[FunctionValues]) -> list[FunctionValues]:
    """A cell of each package, with its handler and runtime: reading packages takes time."""
    return list({tuple(str(cell[name]) for name in OF_PACKAGE): cell for cell in cells}.values())


def _in_flight(cell: FunctionValues) -> Wrong:
    """N functions with full batches hold no more messages than a queue can have in flight."""
    held = cell["concurrency_value"] * cell["batch_size"]
    if held <= MOST_IN_FLIGHT:
        return None
    found = (
        f"N full batches hold {held:,} messages, and a queue has about {MOST_IN_FLIGHT:,} in "
        "flight at most: N won't be reached"
    )
    return WARNING, found, "use a smaller N or batch_size, or ask AWS for more"


def _policy(cell: FunctionValues) -> Wrong:
    """As Terraform's rule in infra/variables_function.tf."""
    if cell["policy_file"] is None:
        return None
    path, rule = INFRA / cell["policy_file"], RULES["policy_file"]
    way_out = "correct --set policy_file"
    try:
        if path.exists() and not path.is_file():
            return PROBLEM, f"{path} isn't a file", way_out
        statements = user_json.value_of(path.read_text(encoding="utf-8"))["Statement"]
        for statement in statements if isinstance(statements, list) else [statements]:
            if statement["Effect"] == "Deny":
                continue
            actions = statement["Action"]
            actions = actions if isinstance(actions, list) else [actions]
            if not set(actions).isdisjoint(rule.shared["all_actions"]):
                return PROBLEM, f"{path.name} allows all actions", way_out
    except OSError as error:
        return PROBLEM, f"{path} can't be read ({error.strerror})", way_out
    except (ValueError, LookupError, TypeError):
        return PROBLEM, f"{path.name} {rule.rule}", way_out
    return None


def _no_layers(cell: FunctionValues) -> Wrong:
    found = "the embedded AWS has no layers of AWS accounts: they are left out"
    return (WARNING, found, "") if cell["layers"] else None


def _no_subnets(cell: FunctionValues) -> Wrong:
    found = "the embedded AWS has no subnets of yours"
    return (PROBLEM, found, AWS_ALONE) if cell["subnet_ids"] else None


def _no_window(cell: FunctionValues) -> Wrong:
    found = "the embedded AWS doesn't wait for a batch: it takes what the queue has, ten at most"
    way_out = f"leave batching_window_s out, or {AWS_ALONE}"
    return (PROBLEM, found, way_out) if cell["batching_window_s"] else None


def _local_library(cell: FunctionValues) -> Wrong:
    """A package's compiled parts are built for this machine and its Python."""
    package, runtime = Package.at(_path(cell)), cell["runtime"]
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    other_python = [
        name
        for name in package.compiled
        if runtime.startswith("python") and ".cpython-" in name and f".{tag}" not in name
    ]
    if found := _other_machine(package, runtime, of_this_machine()):
        return PROBLEM, found, "use a package for this machine, or --target aws"
    if other_python:
        found = f"{package.path.name}: {other_python[0]} isn't built for the Python here"
        return PROBLEM, found, f"use a package for {tag}, or --target aws"
    return None


def _local_runtime(cell: FunctionValues) -> Wrong:
    """This machine has the runtime, perhaps in another version."""
    runtime, python = cell["runtime"], f"python{sys.version_info.major}.{sys.version_info.minor}"
    if runtime in (PROVIDED, python):
        return None
    if not runtime.startswith(("python", "nodejs")):
        found = f"{runtime}: the embedded AWS runs Python, Node.js and {PROVIDED} alone"
        way_out = f"`stampede sweep function --set runtime={runtime} --target aws`"
        return PROBLEM, found, way_out
    is_python = runtime.startswith("python")
    if not is_python and shutil.which("node") is None:
        return PROBLEM, f"{runtime}: there is no `node` on the PATH", f"install it, or {AWS_ALONE}"
    here = python if is_python else "this machine's `node`"
    return WARNING, f"functions run on {here} here, and not on {runtime}", ""


def _other_machine(package: Package, runtime: str, processor: str) -> str:
    """What in a package isn't built for `processor`, in words; empty if everything is. Packages for
    Node.js, Java, Ruby and .NET may have libraries for several, and their runtime takes its own."""
    is_for_one = runtime.startswith(("python", "provided"))
    if not is_for_one or (other := package.other_machine(processor)) is None:
        return ""
    return f"{package.path.name}: {other[0]} is built for {other[1]}, and not for {processor}"


def _path(cell: FunctionValues) -> Path:
    return INFRA / str(cell["package"])


def _package(cell: FunctionValues) -> Wrong:
    """The package is there, and Lambda accepts it and can start it."""
    path = _path(cell)
    if not path.exists() and re.search(IMAGE, str(path)):
        return PROBLEM, f"{path.name}: {NO_IMAGES}", CODE_OF_IMAGE
    if not (path.is_file() if re.search(ARCHIVE, path.name) else path.is_dir()):
        found = f"{path} is neither a folder nor a file that ends in .zip or .jar"
        return PROBLEM, found, "correct --set package"
    try:
        package = Package.at(path)
        return (
            _contents(package, cell)
            or (None if cell["layers"] else _entry_point(package, cell))
            or _permissions(package)
        )
    except (OSError, *DAMAGED) as error:
        found = f"{path} can't be read ({getattr(error, 'strerror', None) or error})"
        return PROBLEM, found, "make it again, or correct --set package"


def _contents(package: Package, cell: FunctionValues) -> Wrong:
    """Lambda gets all files as they are, and accepts their size and processor."""
    name, unpacked, architecture = package.path.name, package.unpacked_bytes, cell["architecture"]
    if odd := package.odd:
        # Terraform's archive_file keeps links to files as links, which lead nowhere in Lambda.
        found = f"{name}: {ascii(odd[0])[1:-1]} is no plain file or folder ({len(odd):,} such)"
        return PROBLEM, found, "take it out, or give a zip by `zip -r`, which follows links"
    if clash := package.clash:
        return PROBLEM, f"{name}: {clash} lies inside of another file", "make the zip again"
    if unpacked > MOST_BYTES:
        found = f"{name} has {unpacked / 2**20:,.0f} MB unpacked, and Lambda takes 250"
        return PROBLEM, found, "leave out what the function doesn't need"
    if unpacked > MOST_ZIPPED_BYTES and (zipped := package.zipped_bytes()) > MOST_ZIPPED_BYTES:
        found = f"{name} has {zipped / 2**20:,.1f} MB as a zip, and an upload to Lambda takes 50"
        return PROBLEM, found, "leave out what isn't needed, or put it into layers (--set layers)"
    package.test()
    if found := _other_machine(package, cell["runtime"], architecture):
        return PROBLEM, found, f"build it for {architecture}, or correct --set architecture"
    return None


def _permissions(package: Package) -> Wrong:
    """Lambda's user may read every file."""
    if not (private := package.private):
        return None
    unread = counted(len(private), "file or folder", "files and folders")
    found = (
        f"{package.path.name}: not everybody can read {unread}, such as {private[0]}, and Lambda "
        "runs as another user"
    )
    return WARNING, found, "`chmod -R a+rX` the folder, before it is zipped"


def _entry_point(package: Package, cell: FunctionValues) -> Wrong:
    """The package has what Lambda starts."""
    handler, runtime = cell["handler"], cell["runtime"]
    if runtime.startswith("python") and not re.fullmatch(
        HANDLER["python_matches"], handler, re.ASCII
    ):
        return PROBLEM, f"{HANDLER['python_rule']}, got {handler}", "correct --set handler"
    if runtime != PROVIDED:
        missing = _missing_handler(package, handler, re.match("[a-z]+", runtime)[0])
    elif package.is_executable("bootstrap"):
        missing = ""
    else:
        missing = f"has no executable file bootstrap, which {PROVIDED} starts"
    if not missing:
        return None
    if "Dockerfile" in package.files:
        return (
            PROBLEM,
            f"{package.path.name} {missing}, and a Dockerfile: {NO_IMAGES}",
            CODE_OF_IMAGE,
        )
    return PROBLEM, f"{package.path.name} {missing}", "add it, or correct --set handler or runtime"


def _missing_handler(package: Package, handler: str, language: str) -> str:
    """What a package lacks of its handler, in words; empty if nothing. Only Python files are
    read."""
    if language in ("java", "dotnet"):  # Class::method
        stem = handler.partition("::")[0]
    elif language == "python":
        stem = handler.rpartition(".")[0]
    else:  # folder/module.function
        folder, _, name = handler.rpartition("/")
        stem = str(PurePosixPath(folder, name.partition(".")[0]))
    if language in ("java", "python"):
        stem = stem.replace(".", "/")
    pattern = HANDLER_FILES[language].replace("{}", re.escape(stem))
    files = [name for name in package.files if re.fullmatch(pattern, name)]
    if not files:
        return f"has no {stem}, the file of handler {handler}"
    function = handler.rpartition(".")[2]
    if language != "python" or not files[0].endswith(".py"):
        return ""
    definition = rf"(?<!\w){re.escape(function)}(?!\w)|import\s+\*"
    is_there = re.search(definition, package.read(files[0]).decode(errors="replace"))
    return "" if is_there else f"has no {function} in {files[0]}, the function of handler {handler}"
