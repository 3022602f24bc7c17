"""What Terraform would really put up for every run of infra/tests: as recorded in tests/data/infra,
policies and all.

The record has what is set, a line a resource; the first run's whole, then what is different in the
others.
"""

import hashlib
import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from stampede.emulator import providers
from tests.terraform.deployed import deployed, first_run_anew, summary

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
    """A record as JSON in which every resource is a line."""
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
def test_what_is_put_up_is_as_recorded(infra, mocking, name, tmp_path):
    """Where a difference is meant, the file that the message names is the new record: read what has
    changed first."""
    if "tofu" in Path(providers.terraform_binary()).name:
        pytest.skip("OpenTofu makes up one id for all resources")
    put_up = tmp_path / f"{name}.json"
    put_up.write_text(_lines(summary(infra, mocking, name)))
    recorded = (RECORDED / put_up.name).read_text().splitlines()
    assert put_up.read_text().splitlines() == recorded, f"put up: {put_up}"


@each_file
def test_every_role_has_one_policy_every_message_its_time_and_every_query_its_text(
    infra, mocking, name
):
    files = [
        path
        for folder in QUERIES[name]
        for path in (infra.parent / "queries" / folder).glob("*.cwli")
    ]
    for resources in deployed(infra, mocking, name).values():
        kinds = [re.search(r"aws_iam_role(?:_policy)?(?=\.)", address) for address in resources]
        roles = [kind[0] for kind in kinds if kind]
        assert roles.count("aws_iam_role") == roles.count("aws_iam_role_policy") > 0
        assert not [address for address in resources if "policy_attachment" in address]
        hidden_s = resources["module.queue.aws_sqs_queue.work"]["visibility_timeout_seconds"]
        assert hidden_s >= 6 * resources.get(WORKER, {"timeout": 0})["timeout"]
        saved = {
            values["name"].rpartition("/")[2]: values["query_string"]
            for address, values in resources.items()
            if address.startswith("aws_cloudwatch_query_definition.saved")
        }
        assert saved == {path.stem: path.read_text() for path in files}


def test_the_network_of_express_stays_whatever_the_placement_is(infra, mocking):
    """Terraform destroys a network before it updates the function that leaves it, and EC2 doesn't
    let go of it then."""
    outside, inside = deployed(infra, mocking, "express").values()
    network = {
        name: values["id"]
        for name, values in outside.items()
        if name.startswith("module.zone_network[0].aws_")
    }
    assert len(network) > 10
    assert {name: inside[name]["id"] for name in network} == network


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


def test_a_users_package_is_the_function_beside_the_proxy_or_the_layer_of_it(infra, mocking):
    layer = "module.worker[0].aws_lambda_layer_version.beside_package[0]"
    runs = deployed(infra, mocking, "function")
    managed, program = runs["defaults"], runs["a_program_in_a_folder"]
    assert _content(infra / managed[WORKER]["filename"]).keys() == {"app.py", "payload.json"}
    proxy = {"bootstrap": (b"built for arm64", True)}
    assert (
        _content(infra / program[WORKER]["filename"])
        == _content(infra / program[layer]["filename"])
        == proxy
    )
    assert _content(infra / managed[layer]["filename"]).keys() == proxy.keys()


def test_a_host_runs_this_program_and_is_another_one_with_another_program(infra, mocking):
    def script(resources) -> str:
        [host] = [values for address, values in resources.items() if ".aws_instance." in address]
        return host["user_data"]

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    before = script(deployed(infra, mocking, "copy_host")["defaults"])
    done = subprocess.run(["bash", "-n"], input=before, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    program = infra.parent / "functions/transfer/build/x86_64/bootstrap"
    kept = program.read_text()
    program.write_text("another build")
    try:
        after = script(first_run_anew(infra, mocking, "copy_host"))
    finally:
        program.write_text(kept)
    assert before.replace(digest(kept), digest("another build")) == after != before


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
        (
            "filesystem",
            "subnet_count = 4",
            "",
            "subnet_count = 4: must be at most 3",
        ),
    ],
)
def test_what_only_a_plan_can_know_is_refused_in_one_line(
    planned_wrong, name, variables, overrides, message
):
    [detail] = planned_wrong(name, variables, overrides)
    assert detail.startswith(message) and "\n" not in detail


def test_the_infrastructure_knows_nothing_of_emulators():
    files = [path for path in (ROOT / "infra").rglob("*.tf") if ".terraform" not in path.parts]
    assert len(files) > 10

    for path in files:
        code = re.sub(r"(?m)#.*$", "", path.read_text())
        assert not re.search(
            r"localhost|127\.0\.0\.1|ministack|localstack|\bendpoint(s|_url)?\s*[={]|emulator",
            code,
            re.IGNORECASE,
        ), path
