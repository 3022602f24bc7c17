"""Terraform's outputs and errors, as one dict and one line."""

from loader.terraform import first_error, plain_outputs

REFUSED = """
╷
│ Error: Invalid value for variable
│
│   on variables.tf line 30:
│   30: variable "memory_size" {
│     ├────────────────
│     │ var.memory_size is 64
│
│ memory_size = 64: must be a whole number of MB from 128 to 10240.
╵
"""


def test_outputs_lose_their_wrapping():
    assert plain_outputs('{"a": {"value": 1, "type": "number", "sensitive": false}}') == {"a": 1}


def test_an_error_is_one_line_with_its_explanation():
    text = first_error(REFUSED)
    assert "\n" not in text
    assert text.startswith("Invalid value for variable")
    assert "memory_size = 64: must be a whole number of MB from 128 to 10240." in text


def test_output_without_an_error_line_still_says_something():
    assert first_error("") == "no message"
    assert first_error("signal: killed") == "signal: killed"
