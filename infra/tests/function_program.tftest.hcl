# The function experiment with somebody's program for provided.al2023. What the layer and the function are is checked by
# tests/terraform/test_function.py, which runs this and reads the applied values. The folder is one that holds a bootstrap.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  experiment   = "function"
  runtime      = "provided.al2023"
  package      = "../functions/transfer/build/arm64"
  architecture = "arm64"
}

run "a_folder" {
  assert {
    condition     = output.architecture == "arm64" && output.runtime == "provided.al2023"
    error_message = "the program's processor and runtime"
  }
}

run "a_zip" {
  variables {
    package = "tests/program.zip"
  }

  assert {
    condition     = output.package == "program.zip"
    error_message = "the program's name"
  }
}
