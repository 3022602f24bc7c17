"""What the function experiment would deploy for provided.al2023, after infra/tests/function_program.tftest.hcl ran."""

import zipfile

from tests.terraform.deployed import deployed


def test_the_go_program_is_the_function_and_the_package_a_layer_that_it_runs(infra, mocking):
    runs = deployed(infra, mocking, "function_program")
    resources = runs["a_folder"]
    function = resources["module.worker[0].aws_lambda_function.worker"]
    layer = resources["module.worker[0].aws_lambda_layer_version.package[0]"]

    assert function["filename"].endswith("/.build/function-arm64.zip")
    with zipfile.ZipFile(infra / function["filename"]) as code, zipfile.ZipFile(infra / layer["filename"]) as package:
        assert code.read("bootstrap") == b"built for arm64"
        assert [entry.filename for entry in package.infolist()] == ["bootstrap"]
        assert package.getinfo("bootstrap").external_attr >> 16 & 0o111 == 0o111  # Lambda starts what is executable
    assert (function["runtime"], function["handler"], function["layers"]) == (
        "provided.al2023",
        "app.handler",
        [layer["arn"]],
    )
    assert (
        function["environment"][0]["variables"].items()
        >= {
            "EXPERIMENT": "function",
            "STAMPEDE_PACKAGE": "arm64",
            "STAMPEDE_RUNTIME": "provided.al2023",
            "STAMPEDE_ARCHITECTURE": "arm64",
        }.items()
    )
    assert not any("wrapper" in name for name in resources)
    zipped = runs["a_zip"]["module.worker[0].aws_lambda_layer_version.package[0]"]
    assert zipped["filename"] == "tests/program.zip"
