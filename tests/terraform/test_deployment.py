"""The resources of every run of infra/tests, with their policies, are as recorded in
tests/data/infra.

A record has a line for each resource with its set values: the whole first run, then the differences
of the others.
"""

import hashlib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from stampede.emulator import providers
from tests.terraform.deployed import deployed, summary

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/data/infra"
# By the name of a file in infra/tests: the folders of its saved queries.
QUERIES = {
    "download": ("common", "download"),
    "copy": ("common", "copy"),
    "copy_host": ("common", "copy", "copy_host"),
    "express": ("common", "express"),
    "filesystem": ("common", "filesystem"),
    "function": ("common", "function"),
}
WORKER = "module.worker[0].aws_lambda_function.worker"
each_file = pytest.mark.parametrize("name", QUERIES)


def _lines(recorded) -> str:
    """A record as JSON with a line for each resource."""
    runs = (
        f"{json.dumps(run)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(resources[key], sort_keys=True)}"
            for key in sorted(resources)
        )
        + "\n}"
        for run, resources in recorded.items()
    )
    return "{\n" + ",\n".join(runs) + "\n}\n"


@each_file
def test_resources_are_as_recorded(infra, mocking, name):
    """After an intended change, the file in the message is the new record; read it first."""
    if "tofu" in Path(providers.terraform_binary()).name:
        pytest.skip("OpenTofu makes up one id for all resources")
    put_up = ROOT / ".stampede" / "put_up" / f"{name}.json"
    put_up.parent.mkdir(parents=True, exist_ok=True)
    put_up.write_text(_lines(summary(infra, mocking, name)))
    recorded = (RECORDED / put_up.name).read_text().splitlines()
    assert put_up.read_text().splitlines() == recorded, f"cp {put_up} {RECORDED}"


@each_file
def test_every_query_is_saved_with_its_text(infra, mocking, name):
    folders = [infra.parent / "queries" / folder for folder in QUERIES[name]]
    files = [path for folder in folders for path in folder.glob("*.cwli")]
    for resources in deployed(infra, mocking, name).values():
        saved = {
            values["name"].rpartition("/")[2]: values["query_string"]
            for address, values in resources.items()
            if address.startswith("aws_cloudwatch_query_definition.saved")
        }
        assert saved == {path.stem: path.read_text() for path in files}


def _content(archive: Path) -> dict[str, tuple[bytes, bool]]:
    """The files of a zip, and whether each can be executed."""
    with zipfile.ZipFile(archive) as opened:
        return {
            entry.filename: (opened.read(entry), entry.external_attr >> 16 & 0o111 == 0o111)
            for entry in opened.infolist()
        }


def test_the_zip_holds_the_python_files_of_both_packages_and_nothing_else(infra, mocking):
    deployed(infra, mocking, "download")
    functions = infra.parent / "functions"
    paths = [path for name in ("common", "download") for path in (functions / name).glob("*.py")]
    files = {name: text for name, (text, _) in _content(infra / ".build/download.zip").items()}
    assert files == {str(path.relative_to(functions)): path.read_bytes() for path in paths}
    assert {"common/__init__.py", "common/record.py", "download/handler.py"} <= files.keys()


def test_the_program_is_the_one_built_for_the_functions_processor(infra, mocking):
    deployed(infra, mocking, "download")
    for architecture in ("x86_64", "arm64"):
        built = {"bootstrap": (f"built for {architecture}".encode(), True)}
        assert _content(infra / f".build/transfer-{architecture}.zip") == built


def test_a_users_package_is_the_function_with_the_proxy_as_its_layer_or_the_layer_itself(
    infra, mocking
):
    layer = "module.worker[0].aws_lambda_layer_version.beside_package[0]"
    runs = deployed(infra, mocking, "function")
    managed, program = runs["defaults"], runs["a_program_in_a_folder"]
    assert _content(infra / managed[WORKER]["filename"]).keys() == {"app.py", "payload.json"}
    proxy = {"bootstrap": (b"built for arm64", True)}
    for resource in (WORKER, layer):
        assert _content(infra / program[resource]["filename"]) == proxy
    assert _content(infra / managed[layer]["filename"]).keys() == proxy.keys()


def test_a_host_runs_this_program(infra, mocking):
    resources = deployed(infra, mocking, "copy_host")["defaults"]
    [host] = [address for address in resources if ".aws_instance." in address]
    script = resources[host]["user_data"]
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    program = infra.parent / "functions/transfer/build/x86_64/bootstrap"
    assert hashlib.sha256(program.read_bytes()).hexdigest() in script, "a new program is a new host"


COPIES = "stampede-copy-copies-123456789012-us-east-1"
NO_OFFERS = """  override_data {
    target = data.aws_ec2_instance_type_offerings.of_hosts
    values = { locations = [] }
  }
"""


@pytest.mark.parametrize(
    ("name", "variables", "overrides", "message"),
    [
        (
            "copy",
            f's3_bucket_name = "{COPIES}"',
            "",
            f's3_bucket_name = "{COPIES}": must not be the bucket that is copied to',
        ),
        (
            "copy_host",
            "concurrency_value = 1",
            NO_OFFERS,
            'instance_type = "m5a.8xlarge": must be one that us-east-1 has',
        ),
        ("filesystem", "subnet_count = 4", "", "subnet_count = 4: must be at most 3"),
    ],
)
def test_values_that_only_a_plan_can_judge_are_refused_in_one_line(
    planned_wrong, name, variables, overrides, message
):
    [detail] = planned_wrong(name, variables, overrides)
    assert detail.startswith(message) and "\n" not in detail
