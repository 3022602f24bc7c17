"""A package or handler that Lambda or this machine can't run is refused before an apply."""

import os
import struct
import sys
import zipfile

import pytest

from experiments.function.checks import MOST_BYTES, MOST_ZIPPED_BYTES, checks, local_checks
from experiments.go_program import of_this_machine
from stampede.finding import OK, PROBLEM, WARNING
from stampede.variable_rules import RULES
from tests.unit.plans import values

HERE = of_this_machine()
ELSEWHERE = {"x86_64": "arm64", "arm64": "x86_64"}[HERE]
PYTHON, CPYTHON = (form.format(*sys.version_info) for form in ("python{}.{}", "cpython-{}{}"))


def elf(architecture):
    return b"\x7fELF" + bytes(14) + struct.pack("<H", {"x86_64": 0x3E, "arm64": 0xB7}[architecture])


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    add(folder, "app.py", b"def handler(event, context): ...")
    return folder


def add(folder, name, content=b"", mode=0o755):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def zipped(folder, ending=".zip"):
    path = folder.with_suffix(ending)
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(folder))
    return path


def cell(package, **changes):
    usual = {"architecture": HERE, "runtime": "python3.12", "concurrency_value": 1}
    return values("function", package=str(package), **usual | changes)


def problem(package, **changes):
    """The package's problem as a sentence, or ""."""
    findings = [
        finding for finding in checks([cell(package, **changes)]) if finding.check != "program"
    ]
    return "; ".join(finding.sentence for finding in findings if finding.status == PROBLEM)


FOREIGN = {"tool.so.1": elf(ELSEWHERE)}
PROGRAM = {"runtime": "provided.al2023"}
A_LAYER = {"layers": ["arn:aws:lambda:..."]}
# The runtime, the handler, and a file by which it is there.
OTHERS = [
    ("nodejs22.x", "src/app.api.handler", "src/app.mjs"),
    ("nodejs24.x", "app.handler", "node_modules/app/index.js"),
    ("ruby3.4", "app.LambdaFunctions::Handler.process", "app.rb"),
    ("java21", "example.Handler::handleRequest", "example/Handler.class"),
    ("java17", "example.Handler", "lib/example.jar"),
    ("dotnet8", "Example::Example.Function::Handle", "Example.dll"),
]


@pytest.mark.parametrize("is_zip", [False, True])
@pytest.mark.parametrize(
    ("files", "changes", "words"),
    [
        (FOREIGN, {}, f"tool.so.1 is built for {ELSEWHERE}"),
        (FOREIGN, {"architecture": ELSEWHERE}, ""),
        ({"bootstrap": elf(HERE)}, PROGRAM, ""),
        ({"bootstrap": elf(ELSEWHERE)}, PROGRAM, f"built for {ELSEWHERE}"),
        ({"main": elf(HERE)}, PROGRAM, "executable file bootstrap"),
        # A handler in Python is a function of a module that is there, or may come from elsewhere.
        ({}, {"handler": "app.main"}, "has no main"),
        ({}, {"handler": "other.handler"}, "has no other,"),
        ({}, {"handler": "other.handler"} | A_LAYER, ""),
        ({"app.py": b"from other import *"}, {}, ""),
        ({f"fast/deep.{CPYTHON}-x.so": elf(HERE)}, {"handler": "fast/deep.handler"}, ""),
        ({"1größe.py": b"handler = 1"}, {"handler": "1größe.handler"}, ""),
        ({}, {"handler": "/app.handler"}, "with a dot"),
        *(
            ({}, {"runtime": runtime, "handler": handler}, handler)
            for runtime, handler, _ in OTHERS
        ),
        # Libraries of several machines, of which such a runtime takes its own.
        *(
            ({file: b""} | FOREIGN, {"runtime": runtime, "handler": handler}, "")
            for runtime, handler, file in OTHERS
        ),
        ({"Dockerfile": b""}, PROGRAM, "docker cp"),
        ({"Dockerfile": b""}, {}, ""),  # it has its handler
    ],
)
def test_a_package_must_hold_the_handler_that_its_runtime_starts(
    package, files, changes, words, is_zip
):
    for name, content in files.items():
        add(package, name, content)
    found = problem(zipped(package) if is_zip else package, **changes)
    assert words in found and bool(found) is bool(words)
    assert words == "with a dot" or RULES["handler"].allows(changes.get("handler"))


def test_a_file_that_is_no_package_is_refused_and_a_jar_is_accepted(package, tmp_path):
    add(tmp_path, "text.zip", b"no zip")
    for path, words in (
        (tmp_path / "nowhere", "neither a folder nor"),
        (package / "app.py", "neither a folder nor"),
        (tmp_path / "text.zip", "not a zip file"),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/mine", "docker cp"),
        ("mine:latest", "docker cp"),
    ):
        assert words in problem(path)
    add(package, "Handler.class")
    assert problem(zipped(package, ".jar"), runtime="java25", handler="Handler") == ""


def test_a_zip_that_cannot_be_unpacked_is_refused(package):
    path = zipped(package)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("app.py/inside", b"x")
    assert "inside of another file" in problem(path)
    path = zipped(package)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"def ", b"dfe ", 1))  # another than its checksum says
    assert "CRC" in problem(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: (folder / "link").symlink_to("app.py"),
        lambda folder: (folder / "link").symlink_to("/"),
        lambda folder: os.mkfifo(folder / "pipe"),
        lambda folder: add(folder, "bad\udcff"),
    ],
    ids=["a link to a file", "a link to a folder", "a pipe", "not UTF-8"],
)
def test_files_that_terraform_would_change_in_a_zip_are_refused(package, make):
    make(package)
    assert "no plain file" in problem(package)


@pytest.mark.parametrize("is_zip", [False, True])
@pytest.mark.parametrize(("mode", "status"), [(0o644, OK), (0o600, WARNING), (0o700, WARNING)])
def test_a_file_that_not_everybody_may_read_is_a_warning(package, mode, status, is_zip):
    (package / "app.py").chmod(mode)
    [finding, *_] = checks([cell(zipped(package) if is_zip else package)])
    assert finding.status == status


def test_more_messages_in_flight_than_a_queue_allows_are_a_warning(package):
    cells = [
        cell(package, concurrency_value=n, batch_size=size)
        for n, size in ((1000, 10), (13, 10_000))
    ]
    [*_, fits], [*_, more] = checks(cells[:1]), checks(cells)
    assert (fits.status, more.status) == (OK, WARNING) and "130,000" in more.sentence


def test_a_package_that_is_too_large_or_may_not_be_started_is_refused(package):
    add(package, "bootstrap", elf(HERE), mode=0o644)
    assert "executable" in problem(package, **PROGRAM)
    add(package, "zeros", bytes(MOST_ZIPPED_BYTES))
    assert problem(package) == "", "it can be compressed"
    assert "50.0 MB as a zip" in problem(zipped(package))
    with (package / "large").open("wb") as file:
        file.truncate(MOST_BYTES)  # a sparse file; the others are beyond it
    assert "MB unpacked" in problem(package)


# On this machine


@pytest.mark.parametrize(
    ("file", "changes", "status", "words"),
    [
        ("tool.so.1", {"architecture": ELSEWHERE}, PROBLEM, "this machine"),
        ("fast.cpython-39-x86_64-linux-gnu.so", {}, PROBLEM, "cpython-39"),
        ("", {"runtime": "nodejs22.x"}, PROBLEM, "no `node`"),
        ("", {"runtime": "java21"}, PROBLEM, "runtime=java21 --target aws"),
        ("", {"runtime": "python3.9"}, WARNING, "not on python3.9"),
        ("", {"subnet_ids": ["subnet-0123456789abcdef0"]}, PROBLEM, "--target aws"),
        ("", {"batch_size": 10, "batching_window_s": 1}, PROBLEM, "leave batching_window_s out"),
        ("", A_LAYER, WARNING, "left out"),
    ],
)
def test_a_package_that_this_machine_cannot_run_is_reported_with_the_way_out(
    package, monkeypatch, file, changes, status, words
):
    monkeypatch.setenv("PATH", "")
    changes = {"runtime": PYTHON} | changes
    if file:
        add(package, file, elf(changes.get("architecture", HERE)))
    [finding] = local_checks([cell(package, **changes)])
    assert finding.status == status and words in finding.sentence
