"""A package or handler that Lambda or this machine can't run is refused before anything is applied."""

import os
import platform
import struct
import sys
import zipfile

import pytest

from experiments import EXPERIMENTS
from experiments.function.checks import MOST_BYTES, MOST_ZIPPED_BYTES, checks, local_checks
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning.plan import make_plan
from stampede.variable_rules import RULES

HERE, ELSEWHERE = ("arm64", "x86_64") if platform.machine() in ("arm64", "aarch64") else ("x86_64", "arm64")
CPYTHON = f"cpython-{sys.version_info.major}{sys.version_info.minor}"


def elf(architecture):
    return b"\x7fELF" + bytes(14) + struct.pack("<H", {"x86_64": 0x3E, "arm64": 0xB7}[architecture]) + bytes(40)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    (folder / "app.py").write_text("def handler(event, context): ...")
    return folder


def zipped(folder):
    path = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    return path


def cell(package, **changes):
    values = {"package": str(package), "handler": "app.handler", "architecture": HERE, "runtime": "python3.12"}
    of_queue = {"batch_size": 1, "batching_window_s": 0, "concurrency_value": 1}
    return values | of_queue | {"policy_file": None, "environment": {}, "layers": [], "subnet_ids": []} | changes


def problem(package, **changes):
    """What is wrong with the package, in a sentence; "" where nothing is."""
    findings = checks([cell(package, **changes)])
    return "; ".join(
        finding.sentence for finding in findings if finding.check != "program" and finding.status == PROBLEM
    )


def test_a_folder_and_its_zip_are_taken(package):
    (package / "tool.so").write_bytes(elf(HERE))
    for path in (package, zipped(package), EXPERIMENTS["function"].matrices["local"].fixed["package"]):
        assert problem(path) == ""
    assert not [finding for finding in local_checks([cell(package)]) if finding.status == PROBLEM]


@pytest.mark.parametrize("handler", ["app.main", "other.handler", "app.handler.main"])
def test_a_package_without_the_handler_is_refused(package, handler):
    assert "has no" in problem(package, handler=handler)
    assert problem(package, handler=handler, layers=["arn:aws:lambda:..."]) == "", "it may come from a layer"


@pytest.mark.parametrize("source", ["from other import *", "from other import handler", "handler = print"])
def test_a_handler_may_come_from_anywhere(package, source):
    (package / "app.py").write_text(source)
    (package / "fast").mkdir()
    (package / "fast" / f"deep.{CPYTHON}-x.so").write_bytes(elf(HERE))
    assert problem(package) == "" and problem(package, handler="fast/deep.handler") == ""


@pytest.mark.parametrize("handler", ["my-app.handler", "lib/1app.handler", "größe.handler"])
def test_a_module_may_have_any_name_that_python_imports(package, handler):
    file = package / f"{handler.partition('.')[0]}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text("handler = print")
    assert RULES["handler"].allows(handler) and problem(package, handler=handler) == ""


@pytest.mark.parametrize("handler", ["handler", ".handler", "/app.handler", "app.", "app.lib/handler"])
def test_a_python_handler_is_a_module_and_a_function(package, handler):
    assert "with a dot between them" in problem(package, handler=handler)


def test_what_is_no_package_is_refused(package, tmp_path):
    (tmp_path / "mine.zip").write_text("no zip")
    (tmp_path / "folder.zip").mkdir()
    for path in (tmp_path / "folder.zip", tmp_path / "nowhere", package / "app.py"):
        assert "is neither a folder nor a file that ends in .zip or .jar" in problem(path)
    assert "not a zip file" in problem(tmp_path / "mine.zip")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: (folder / "link").symlink_to("app.py"),
        lambda folder: (folder / "link").symlink_to("/"),
        lambda folder: os.mkfifo(folder / "pipe"),
        lambda folder: (folder / "bad\udcff").write_text(""),
    ],
    ids=["a link to a file", "a link to a folder", "a pipe", "not UTF-8"],
)
def test_what_terraform_would_not_zip_as_it_is_is_refused(package, make):
    make(package)
    assert "is no plain file or folder" in problem(package)


@pytest.mark.parametrize("is_zip", [False, True])
@pytest.mark.parametrize(("mode", "warns"), [(0o644, False), (0o600, True), (0o700, True), (0o755, False)])
def test_what_not_everybody_may_read_is_warned_about(package, mode, warns, is_zip):
    (package / "app.py").chmod(mode)
    path = zipped(package) if is_zip else package
    [finding, *_] = checks([cell(path)])
    assert finding.status == (WARNING if warns else OK)


def test_a_library_of_the_other_architecture_is_refused(package):
    (package / "tool.so.1").write_bytes(elf(ELSEWHERE))
    assert f"tool.so.1 is built for {ELSEWHERE}, and architecture is {HERE}" in problem(package)
    assert problem(package, architecture=ELSEWHERE) == ""
    [finding, *_] = local_checks([cell(package, architecture=ELSEWHERE)])
    assert finding.status == PROBLEM and "this machine is" in finding.found


def test_a_library_for_another_python_is_refused_on_this_machine_alone(package):
    (package / "fast.cpython-39-x86_64-linux-gnu.so").write_bytes(elf(HERE))
    assert problem(package) == ""
    assert "is built for cpython-39" in local_checks([cell(package)])[0].found


@pytest.mark.parametrize(
    ("changes", "has_node", "status", "words"),
    [
        ({"runtime": "nodejs22.x"}, True, WARNING, "this machine's `node`"),
        ({"runtime": "nodejs22.x"}, False, PROBLEM, "no `node`"),
        ({"runtime": "java21"}, True, PROBLEM, "--set runtime=java21 --target aws"),
        ({"runtime": "python3.9"}, True, WARNING, "and not on python3.9"),
        ({"subnet_ids": ["subnet-0123456789abcdef0"]}, True, PROBLEM, "--target aws"),
        ({"batch_size": 10, "batching_window_s": 1}, True, PROBLEM, "--set batching_window_s=1 --target aws`"),
        ({"layers": ["arn:aws:lambda:..."]}, True, WARNING, "left out"),
    ],
)
def test_what_this_machine_can_not_run_is_said_with_the_way_out(package, monkeypatch, changes, has_node, status, words):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/node" if has_node else None)
    here = {"runtime": f"python{sys.version_info.major}.{sys.version_info.minor}"}
    [finding] = local_checks([cell(package, **here | changes)])
    assert finding.status == status and words in finding.sentence


# The handler, and a package's files by which it is there.
OTHER_RUNTIMES = [
    ("nodejs22.x", "app.handler", ["app.mjs"]),
    ("nodejs22.x", "src/app.api.handler", ["src/app.js"]),
    ("nodejs24.x", "app.handler", ["node_modules/app/index.js"]),
    ("ruby3.4", "app.LambdaFunctions::Handler.process", ["app.rb"]),
    ("java21", "example.Handler::handleRequest", ["example/Handler.class"]),
    ("java17", "example.Handler", ["lib/example.jar"]),
    ("dotnet8", "Example::Example.Function::Handle", ["Example.dll"]),
    ("dotnet10", "Example", ["bootstrap"]),
]


@pytest.mark.parametrize(("runtime", "handler", "files"), OTHER_RUNTIMES)
def test_the_file_of_a_handler_is_looked_for_as_its_runtime_does(package, runtime, handler, files):
    assert f"the file of handler {handler}" in problem(package, runtime=runtime, handler=handler)
    for file in (*files, "runtimes/x/native/lib.so"):  # of several machines, of which the runtime takes its own
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_bytes(elf(ELSEWHERE))
    assert problem(package, runtime=runtime, handler=handler) == ""


def test_a_jar_is_a_package(package):
    (package / "Handler.class").write_text("")
    jar = zipped(package).rename(package.with_name("mine.jar"))
    assert problem(jar, runtime="java25", handler="Handler") == ""


@pytest.mark.parametrize(
    "image", ["123456789012.dkr.ecr.us-east-1.amazonaws.com/mine", "mine:latest", "mine@sha256:0a"]
)
def test_a_container_image_is_refused_with_how_to_measure_its_code(package, image):
    (package / "Dockerfile").write_text("FROM public.ecr.aws/lambda/nodejs:22")
    for path, runtime in ((image, "python3.12"), (package, "nodejs22.x"), (package, "provided.al2023")):
        assert "container image" in problem(path, runtime=runtime) and "docker cp" in problem(path, runtime=runtime)
    assert problem(package) == "", "it has its handler"


def test_what_n_functions_hold_beyond_the_queues_messages_in_flight_is_warned_about(package):
    cells = [cell(package, concurrency_value=n, batch_size=size) for n, size in ((1000, 10), (13, 10_000))]
    [*_, fits], [*_, more] = checks(cells[:1]), checks(cells)
    assert (fits.status, more.status) == (OK, WARNING)
    assert "13 functions with 10000 messages each hold 130,000, and a queue has about 120,000" in more.sentence


def test_a_package_that_is_too_large_is_refused(package):
    (package / "zeros").write_bytes(bytes(MOST_ZIPPED_BYTES))
    assert problem(package) == "", "it shrinks"
    assert "mine.zip has 50.0 MB as a zip, and an upload to Lambda takes 50" in problem(zipped(package))
    with (package / "large").open("wb") as file:
        file.truncate(MOST_BYTES)  # a sparse file; the others are beyond it
    assert "MB unpacked, and Lambda takes 250" in problem(package)


@pytest.mark.parametrize("is_zip", [False, True])
@pytest.mark.parametrize(
    ("name", "built_for", "mode", "words"),
    [
        ("bootstrap", HERE, 0o755, ""),
        ("main", HERE, 0o755, "has no executable file bootstrap"),
        ("bootstrap", HERE, 0o644, "has no executable file bootstrap"),
        ("bootstrap", ELSEWHERE, 0o755, f"bootstrap is built for {ELSEWHERE}"),
    ],
)
def test_a_program_that_lambda_could_not_start_is_refused(package, name, built_for, mode, words, is_zip):
    (package / name).write_bytes(elf(built_for))
    (package / name).chmod(mode)
    found = problem(zipped(package) if is_zip else package, runtime="provided.al2023")
    assert words in found and bool(found) is bool(words)


def test_a_plan_names_a_package_by_its_last_part_and_terraform_gets_its_path(package, monkeypatch):
    monkeypatch.chdir(package.parent)
    (package.parent / "other").mkdir()
    settings = ["package=mine,./other", "memory_size=512", "concurrency_value=1"]
    plan = make_plan(EXPERIMENTS["function"], "local", settings, messages_per_concurrency=1)
    assert sorted(cell["package"] for cell in plan.cells) == ["mine", "other"]
    assert {plan.variables(cell, {})["package"] for cell in plan.cells} == {str(package), str(package.parent / "other")}
    with pytest.raises(UsageError, match=r"two cells would be named .*package=mine"):
        make_plan(EXPERIMENTS["function"], "local", ["package=/a/mine,/b/mine"], messages_per_concurrency=1)
