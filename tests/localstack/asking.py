"""A question to an emulator of AWS, what AWS answers to it and by whose word, and which emulator answers otherwise.

An answer is a value to compare; of a call that is refused it is the error's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from tests.localstack.starting import Endpoint

DONE = "done"
S3_API, SQS_API, LOGS_API = "Amazon S3 API Reference", "Amazon SQS API Reference", "CloudWatch Logs API Reference"


@dataclass(frozen=True)
class Question:
    """What is asked, what AWS answers by which page of its documentation, and what those answer who don't."""

    name: str
    ask: Callable[[Endpoint], Any]
    aws: Any
    source: str
    unlike: Mapping[str, Any]


def question(aws: Any, source: str, **unlike: Any) -> Callable[[Callable[[Endpoint], Any]], Question]:
    """Make a function that asks an endpoint a Question of its name; `unlike` are other answers, by emulator."""
    return lambda ask: Question(ask.__name__.replace("_", " "), ask, aws, source, unlike)


def outcome(call: Callable[..., Any], **arguments: Any) -> str:
    """DONE, or the code of the error."""
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return DONE
