"""The Go program, built once, as a Lambda sandbox beside the Python one; both against the S3 of `tests/faults`."""

from tests.unit.functions.transfer.transfer_program import go_sandbox, transfer_program

__all__ = ["go_sandbox", "transfer_program"]
