"""What every manner is made of: the call that it sees, what it answers instead, and how long things take."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ministack.core.responses import error_response_json, error_response_xml, json_response
from ministack.services import sqs

# Status, headers and body, as MiniStack's services answer.
Answer = tuple[int, dict[str, str], bytes]

EC2_ERROR = "<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error></Errors></Response>"
IAM_NAMESPACE = "https://iam.amazonaws.com/doc/2010-05-08/"


@dataclass(frozen=True)
class Call:
    """One call: its service and operation by botocore's names, and what it was given.

    `given` has the members of a JSON body and the labels of a path, or the fields of a form by their wire names.
    """

    service: str
    operation: str
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Like `ec2.DeleteSubnet`."""
        return f"{self.service}.{self.operation}"

    def refused(self, status: int, code: str, message: str) -> Answer:
        """An error in the shape of the service's protocol."""
        if self.service == "ec2":
            return status, {"Content-Type": "text/xml"}, EC2_ERROR.format(code, message).encode()
        if self.service == "iam":
            return error_response_xml(code, message, status, IAM_NAMESPACE)
        if self.service == "s3":
            body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
            return status, {"Content-Type": "application/xml"}, body.encode()
        if self.service == "sqs":
            return sqs._json_err_resp(code, message, status)
        # efs and athena write the message's name with a capital, the others without.
        return error_response_json(code, message, status, {"Message": message, "ErrorCode": code})

    def answered(self, answer: Mapping[str, Any], status: int = 200) -> Answer:
        """A success of a service that speaks JSON."""
        return json_response(dict(answer), status)


class Pace:
    """How long things take and what happens by chance: AWS's seconds times `scale`, the same for the same `seed`.

    Each draw is named by what it is for, so it doesn't depend on the order in which others are made.
    """

    def __init__(self, seed: str, scale: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seed, self._scale, self.now = seed, scale, clock

    def chance(self, *what: object) -> float:
        """Evenly in [0, 1)."""
        digest = hashlib.blake2b(repr((self._seed, *what)).encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2**64

    def seconds(self, least_s: float, most_s: float, *what: object) -> float:
        """Evenly between two times of AWS's, in seconds of this emulator."""
        return self._scale * (least_s + (most_s - least_s) * self.chance(*what))


class Manner:
    """One habit of AWS's, for the calls named in `calls`, such as `ec2.DeleteSubnet`."""

    calls: frozenset[str] = frozenset()

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    def begin(self) -> None:
        """Change in MiniStack itself what no call shows; once, before the first call."""

    def heeds(self, call: Call) -> bool:
        """Whether it has anything to do with the call."""
        return call.name in self.calls

    def before(self, call: Call) -> Answer | None:
        """An answer in the place of the embedded AWS's, or None to have the call carried out."""

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a call that succeeded, changed or as it is; empty where the service speaks XML."""
        return answer
