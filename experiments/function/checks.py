"""Checks of the user's package, before anything is applied: what Lambda would refuse only when it
is deployed or run, and what a run on this machine can't do. What Terraform refuses in its plan (the
policy file) is left to it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from experiments import go_program
from experiments.function.work import FunctionValues
from experiments.go_program import of_this_machine
from experiments.package import DAMAGED, Package
from stampede.checkout import INFRA
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.variable_rules import RULES

# Of a package with its layers unpacked, and of one that is uploaded as a zip, and not taken from S3
# (Lambda quotas).
MOST_BYTES, MOST_ZIPPED_BYTES = 250 * 2**20, 50 * 2**20
# "For most standard queues" approximately, and AWS raises it on request (SQS developer guide,
# "Standard queue quotas").
MOST_IN_FLIGHT = 120_000
PROVIDED = "provided.al2023"
AWS_ALONE = "use --target aws"
HANDLER, ARCHIVE = RULES["handler"].shared, RULES["package"].shared["archive_matches"]
# How the name of a container image ends, or where its registry is; AWS's base images have the code
# in that folder.
IMAGE = r"\.dkr\.ecr\.|@sha256:|:[\w.-]+$"
NO_IMAGES = "a container image isn't measured as it is"
CODE_OF_IMAGE = (
    "take the code out by `docker cp $(docker create IMAGE):/var/task task`, and use --set "
    "package=task"
)
Cells = Sequence[FunctionValues]


def checks(cells: Cells) -> list[Finding]:
    """All of them, for the variables of a plan's cells."""
    names = ("package", "handler", "runtime", "architecture")  # what has to fit
    different = {tuple(str(cell[name]) for name in names): cell for cell in cells}
    found = dict.fromkeys(finding for cell in different.values() for finding in _package(cell))
    # Our Go program measures all of them.
    program = go_program.check({cell["architecture"] for cell in cells})
    return [*(found or [Finding("package", OK)]), program, _in_flight(cells)]


def local_checks(cells: Cells) -> list[Finding]:
    """What the embedded AWS can't run: it starts a package with the Python of this machine, on its
    processor."""
    findings = []
    for path, runtime in dict.fromkeys((_path(cell), str(cell["runtime"])) for cell in cells):
        findings += filter(None, (_local_library(path, runtime), _local_runtime(runtime)))
    if any(cell["layers"] for cell in cells):
        found = "the embedded AWS has no layers of AWS accounts: they are left out"
        findings.append(Finding("layers", WARNING, found))
    if any(cell["subnet_ids"] for cell in cells):
        found = "the embedded AWS has no subnets of yours"
        findings.append(Finding("network", PROBLEM, found, AWS_ALONE))
    if any(cell["batching_window_s"] for cell in cells):
        found = (
            "the embedded AWS doesn't wait for a batch: it takes what the queue has, ten at most"
        )
        way_out = f"leave batching_window_s out, or {AWS_ALONE}"
        findings.append(Finding("batch", PROBLEM, found, way_out))
    return list(dict.fromkeys(findings))


def _in_flight(cells: Cells) -> Finding:
    """N functions with a full batch each hold no more messages than a queue lets out."""
    held = max(cell["concurrency_value"] * cell["batch_size"] for cell in cells)
    if held <= MOST_IN_FLIGHT:
        return Finding("batch", OK)
    found = (
        f"N full batches hold {held:,} messages, and a queue has about {MOST_IN_FLIGHT:,} in "
        "flight at most: N won't be reached"
    )
    way_out = "use a smaller N or batch_size, or ask AWS for more"
    return Finding("batch", WARNING, found, way_out)


def _local_library(path: Path, runtime: str) -> Finding | None:
    """What in a package isn't built for this machine or its Python."""
    package, processor = Package.at(path), of_this_machine()
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    if _is_for_one_machine(runtime) and (other := package.other_machine(processor)):
        found, wanted = f"{other[0]} is built for {other[1]}, and this machine is {processor}", ""
    elif others := [
        name
        for name in package.compiled
        if runtime.startswith("python") and ".cpython-" in name and f".{tag}" not in name
    ]:
        found, wanted = f"{others[0]} isn't built for the Python here", f"for {tag}, "
    else:
        return None
    way_out = f"use a package {wanted or 'for this machine, '}or --target aws"
    return Finding("package", PROBLEM, f"{package.path.name}: {found}", way_out)


def _local_runtime(runtime: str) -> Finding | None:
    """What a runtime is on this machine."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if runtime in (PROVIDED, python):
        return None
    if not runtime.startswith(("python", "nodejs")):
        found = f"{runtime}: the embedded AWS runs Python, Node.js and {PROVIDED} alone"
        way_out = f"`stampede sweep function --set runtime={runtime} --target aws`"
        return Finding("runtime", PROBLEM, found, way_out)
    is_python = runtime.startswith("python")
    if not is_python and shutil.which("node") is None:
        found = f"{runtime}: there is no `node` on the PATH"
        return Finding("runtime", PROBLEM, found, f"install it, or {AWS_ALONE}")
    here = python if is_python else "this machine's `node`"
    return Finding("runtime", WARNING, f"functions run on {here} here, and not on {runtime}")


def _is_for_one_machine(runtime: str) -> bool:
    """Whether a package has libraries of one architecture alone: those for Node.js, Java, Ruby and
    .NET may bring several, of which their runtime takes its own."""
    return runtime.startswith(("python", "provided"))


def _path(cell: FunctionValues) -> Path:
    return INFRA / str(cell["package"])


def _package(cell: FunctionValues) -> Iterator[Finding]:
    """What is wrong with a package."""
    path = _path(cell)
    if not path.exists() and re.search(IMAGE, str(path)):
        yield _refused(f"{path.name}: {NO_IMAGES}", CODE_OF_IMAGE)
        return
    if not (path.is_file() if re.search(ARCHIVE, path.name) else path.is_dir()):
        found = f"{path} is neither a folder nor a file that ends in .zip or .jar"
        yield _refused(found, "correct --set package")
        return
    try:
        package = Package.at(path)
        yield from _contents(package, cell["architecture"], cell["runtime"])
        if not cell["layers"]:
            yield from _entry_point(package, cell)
    except (OSError, *DAMAGED) as error:
        found = f"{path} can't be read ({getattr(error, 'strerror', None) or error})"
        yield _refused(found, "make it again, or correct --set package")


def _refused(found: str, way_out: str, check: str = "package") -> Finding:
    return Finding(check, PROBLEM, found, way_out)


def _contents(package: Package, architecture: str, runtime: str) -> Iterator[Finding]:
    """What of its files Lambda wouldn't get, take or run."""
    name, unpacked = package.path.name, package.unpacked_bytes
    if odd := package.odd:
        # Terraform's archive_file keeps links to files as links, which lead nowhere in Lambda.
        found = f"{name}: {ascii(odd[0])[1:-1]} is no plain file or folder ({len(odd):,} such)"
        yield _refused(found, "take it out, or give a zip by `zip -r`, which follows links")
        return
    if private := package.private:
        found = (
            f"{name}: {len(private):,} files and folders aren't readable by everybody, such as "
            f"{private[0]}, and Lambda runs as another user"
        )
        yield Finding("package", WARNING, found, "`chmod -R a+rX` the folder, before it is zipped")
    if unpacked > MOST_BYTES:
        found = (
            f"{name} has {unpacked / 2**20:,.0f} MB unpacked, and Lambda takes "
            f"{MOST_BYTES // 2**20}"
        )
        yield _refused(found, "leave out what the function doesn't need")
    elif unpacked > MOST_ZIPPED_BYTES and (zipped := package.zipped_bytes()) > MOST_ZIPPED_BYTES:
        found = f"{name} has {zipped / 2**20:,.1f} MB as a zip, and an upload to Lambda takes 50"
        yield _refused(found, "leave out what isn't needed, or put it into layers (--set layers)")
    if _is_for_one_machine(runtime) and (other := package.other_machine(architecture)):
        found = f"{name}: {other[0]} is built for {other[1]}, and architecture is {architecture}"
        yield _refused(found, f"use --set architecture={other[1]}, or build it for {architecture}")


def _entry_point(package: Package, cell: FunctionValues) -> Iterator[Finding]:
    """Whether it has what Lambda starts."""
    name, handler, runtime = package.path.name, cell["handler"], cell["runtime"]
    check, way_out = "handler", "correct --set handler"
    if runtime == PROVIDED:
        check, way_out = "package", "add it, or correct --set runtime"
        is_there = package.is_executable("bootstrap")
        missing = "" if is_there else f"has no executable file bootstrap, which {PROVIDED} starts"
    elif not runtime.startswith("python"):
        missing = _missing_file(package, handler, runtime)
    elif re.fullmatch(HANDLER["python_matches"], handler, re.ASCII):
        missing = _missing_handler(package, handler)
    else:
        yield _refused(f"{HANDLER['python_rule']}, got {handler}", way_out, check)
        return
    if missing and "Dockerfile" in package.files:
        yield _refused(f"{name} {missing}, and a Dockerfile: {NO_IMAGES}", CODE_OF_IMAGE)
    elif missing:
        yield _refused(f"{name} {missing}", way_out, check)


def _missing_file(package: Package, handler: str, runtime: str) -> str:
    """The file of a handler of Node.js, Java, Ruby or .NET that a package lacks, in words; empty
    where it is there, or may come from a library. What is in the file only its runtime knows."""
    type_name = handler.partition("::")[0]
    folder, _, name = handler.rpartition("/")
    module = str(PurePosixPath(folder, name.partition(".")[0]))
    files, libraries = {
        "java": ([f"{type_name.replace('.', '/')}.class"], ("lib/",)),
        # compiled ahead of time it is the latter
        "dotnet": ([f"{type_name}.dll", "bootstrap"], ()),
        "ruby": ([f"{module}.rb"], ()),
        "nodejs": (
            [f"{module}{ending}" for ending in (".js", ".mjs", ".cjs", "")],
            (f"node_modules/{module}",),
        ),
    }[re.match("[a-z]+", runtime)[0]]
    if any(file in files or file.startswith(libraries) for file in package.files):
        return ""
    return f"has no {files[0]}, the file of handler {handler}"


def _missing_handler(package: Package, handler: str) -> str:
    """What a package lacks of its handler, in words; empty where it is there."""
    module, _, function = handler.rpartition(".")
    stem = module.replace(".", "/")
    files = [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in package.files]
    if not files:
        # A module may be compiled too, to bytecode or to a library.
        compiled = any(
            re.fullmatch(rf"{re.escape(stem)}(\.pyc|\..*\.?so)", name) for name in package.files
        )
        return "" if compiled else f"has no {stem}.py, the module of handler {handler}"
    pattern = rf"(?<!\w){re.escape(function)}(?!\w)|import\s+\*"
    named = re.search(pattern, package.read(files[0]).decode(errors="replace"))
    return "" if named else f"has no {function} in {files[0]}, the function of handler {handler}"
