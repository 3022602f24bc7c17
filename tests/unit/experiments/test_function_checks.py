"""A package, handler or policy that Lambda or this machine can't run is refused before anything is applied."""

import json
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
    folder.mkdir()
    (folder / "app.py").write_text("def handler(event, context): ...")
    return folder


def cell(package, **changes):
    values = {"package": str(package), "handler": "app.handler", "architecture": HERE, "runtime": "python3.12"}
    return values | {"policy_file": None, "environment": {}, "layers": []} | changes


def problem(package, **changes):
    """The sentence of the only problem; "" where there is none."""
    findings = checks([cell(package, **changes)])
    of_package = [
        finding for finding in findings if finding.check != "program"
    ]  # whether ours is built isn't the package's
    problems = [finding.sentence for finding in of_package if finding.status == PROBLEM]
    return problems[0] if len(problems) == 1 else problems or ""


def test_a_folder_and_its_zip_are_taken(package, tmp_path):
    (package / "tool.so").write_bytes(elf(HERE))
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for file in package.iterdir():
            archive.write(file, file.name)
    for path in (package, tmp_path / "mine.zip"):
        assert problem(path) == ""
        assert not [finding for finding in local_checks([cell(path)]) if finding.status == PROBLEM]


@pytest.mark.parametrize("handler", ["app.main", "other.handler", "app.handler.main"])
def test_a_package_without_the_handler_is_refused(package, handler):
    assert "has no" in problem(package, handler=handler)


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


def test_a_handler_may_come_from_a_layer(package):
    assert problem(package, handler="datadog_lambda.handler.handler", layers=["arn:aws:lambda:..."]) == ""


def test_what_is_no_package_is_refused(package, tmp_path):
    (tmp_path / "mine.zip").write_text("no zip")
    (tmp_path / "folder.zip").mkdir()
    for path in (tmp_path / "folder.zip", tmp_path / "nowhere"):
        assert "is neither a folder nor a zip file" in problem(path)
    assert "not a zip file" in problem(tmp_path / "mine.zip")
    assert f"use its folder: --set package={package}" in problem(package / "app.py")
    zipfile.ZipFile(tmp_path / "mine.jar", "w").close()
    assert "a name that ends in .zip" in problem(tmp_path / "mine.jar")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("link", lambda path: path.symlink_to("app.py")),
        ("link", lambda path: path.symlink_to("nowhere")),
        ("link", lambda path: path.symlink_to("link")),
        ("link", lambda path: path.symlink_to("/")),
        ("pipe", os.mkfifo),
        ("bad\udcff", lambda path: path.write_text("")),
    ],
    ids=["to a file", "to nothing", "to itself", "to a folder outside", "a pipe", "not UTF-8"],
)
def test_what_terraform_would_not_zip_as_it_is_is_refused_by_its_name(package, name, make):
    make(package / name)
    assert f"mine: {name[:3]}" in problem(package) and "zip -r" in problem(package)


def entry(name="app.py", mode=0o100644, **changes):
    """What a Unix program writes into a zip."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    for attribute, value in changes.items():
        setattr(info, attribute, value)
    return info


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (entry("../other.py"), "../other.py leads out of"),
        (entry("/other.py"), "/other.py leads out of"),
        (entry("./app.py"), "app.py is in it twice"),
        (entry("link", 0o120777), "link is a symbolic link"),
        (entry("odd", compress_type=zipfile.ZIP_BZIP2), "odd isn't compressed with deflate"),
    ],
)
def test_what_lambda_would_not_unzip_as_it_is_is_refused_by_its_name(tmp_path, extra, words):
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr(entry(), "def handler(event, context): ...")
        archive.writestr(extra, "")
    assert words in problem(tmp_path / "mine.zip")


def test_an_encrypted_zip_is_refused(tmp_path):
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry(), "")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag of the central directory
    path.write_bytes(content)
    assert "app.py is encrypted" in problem(path)


@pytest.mark.parametrize(
    ("mode", "warns"), [(0o644, False), (0o600, True), (0o640, True), (0, True), (0o700, True), (0o755, False)]
)
def test_what_not_everybody_may_read_is_warned_about_in_a_folder_and_in_a_zip(package, tmp_path, mode, warns):
    (package / "app.py").chmod(mode)
    (package / "lib").mkdir(mode=0o700 if warns else 0o755)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr(entry(mode=mode), "def handler(event, context): ...")
    for path in (package, tmp_path / "mine.zip"):
        findings = [finding for finding in checks([cell(path)]) if finding.check != "program"]
        assert [finding.status for finding in findings] == [WARNING if warns else OK]
        count = "2 of 2" if path == package else "1 of 1"
        assert not warns or all(words in findings[0].sentence for words in (count, "app.py", "chmod -R a+rX"))


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


def test_a_package_of_more_than_250_mb_unpacked_is_refused(package):
    with (package / "large").open("wb") as file:
        file.truncate(MOST_BYTES)  # a sparse file; app.py is beyond it
    assert "has 250 MB unpacked, and Lambda takes 250" in problem(package)


def test_a_package_of_more_than_50_mb_as_a_zip_is_refused_and_a_folder_that_shrinks_below_it_is_not(package, tmp_path):
    (package / "zeros").write_bytes(bytes(MOST_ZIPPED_BYTES))
    assert problem(package) == ""
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for file in package.iterdir():
            archive.write(file, file.name)
    assert "mine.zip has 50.0 MB as a zip, and an upload to Lambda takes 50; leave" in problem(tmp_path / "mine.zip")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "can't be read as JSON"),
        ("[]", "isn't a policy document"),
        ("[" * 100_000, "nested too deeply"),
        ({"Statement": []}, "isn't a policy document"),
        ({"Statement": "Allow"}, "isn't a policy document"),
        ({"Statement": [{"Effect": "Allow", "Action": "s3:GetObject"}]}, "each statement needs Effect"),
        ({"Statement": {"Effect": "Allow", "Action": ["s3:Get*", "*"], "Resource": "*"}}, "allows every action"),
        ({"Statement": {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}}, "each statement needs"),
        ({"Statement": {"Effect": "Maybe", "Action": "s3:GetObject", "Resource": "*"}}, "Effect (Allow or Deny)"),
        ({"Statement": {"Effect": "Allow", "Action": "GetObject", "Resource": "*"}}, "Action (service:action)"),
    ],
)
def test_what_is_no_policy_or_allows_everything_is_refused(package, tmp_path, document, words):
    (tmp_path / "policy.json").write_text(document if isinstance(document, str) else json.dumps(document))
    assert words in problem(package, policy_file=str(tmp_path / "policy.json"))


def test_a_policy_and_an_environment_that_lambda_takes_are_taken(package, tmp_path):
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/*"}
    (tmp_path / "policy.json").write_text(json.dumps({"Statement": statement}))
    assert problem(package, policy_file=str(tmp_path / "policy.json"), environment={"GREETING": "hello"}) == ""


@pytest.mark.parametrize(
    ("setting", "refused"),
    [
        ('environment={GREETING="hello", STAMPEDE_HANDLER="secret"}', "'STAMPEDE_HANDLER'"),
        ('environment={AWS_REGION="secret"}', "'AWS_REGION'"),
        ('environment={_LIVES="secret"}', "'_LIVES'"),
        ("environment=5", "5"),
        ('layers=["arn:aws:lambda:us-east-1:123456789012:layer:numpy:3", "numpy"]', "'numpy'"),
        ("layers=arn:aws:lambda:x:123456789012:layer:numpy:3", "'arn:aws:lambda:x:123456789012:layer:numpy:3'"),
    ],
)
def test_an_environment_variable_or_layer_that_lambda_would_not_take_is_refused(setting, refused):
    with pytest.raises(UsageError) as refusal:
        make_plan(EXPERIMENTS["function"], "local", [setting], messages_per_concurrency=1)
    name = setting.partition("=")[0]
    assert str(refusal.value) == f"--set {name}: {RULES[name].rule}, got {refused}"


def test_a_plan_names_a_package_by_its_last_part_and_terraform_gets_its_path_from_the_current_folder(
    package, monkeypatch
):
    monkeypatch.chdir(package.parent)
    (package.parent / "other").mkdir()
    function = EXPERIMENTS["function"]
    settings = ["package=mine,./other", "memory_size=512", "concurrency_value=1"]
    plan = make_plan(function, "local", settings, messages_per_concurrency=1)
    assert sorted(cell["package"] for cell in plan.cells) == ["mine", "other"]
    assert {plan.variables(cell, {})["package"] for cell in plan.cells} == {str(package), str(package.parent / "other")}
    assert all(str(package.parent) not in cell.name for cell in plan.cells)
    with pytest.raises(UsageError, match="two of /a/mine, /b/mine have the same name"):
        make_plan(function, "local", ["package=/a/mine,/b/mine"], messages_per_concurrency=1)


def test_the_default_plan_has_no_problem():
    findings = checks([cell(EXPERIMENTS["function"].matrices["local"].fixed["package"])])
    assert [finding.status for finding in findings if finding.check == "package"] == [OK]
