"""The AWS account behind a target, asked little and with little patience."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from stampede.errors import UsageError, one_line
from stampede.stacks.aws_errors import code_of
from stampede.stacks.target import Target

CONNECT_TIMEOUT_S, READ_TIMEOUT_S, ATTEMPTS = 3, 10, 2


# Of botocore's parsers, for an answer that isn't the service's: HTML, or a document of another kind.
NOT_THAT_SERVICE = (ResponseParserError, LookupError, ValueError, TypeError, AttributeError)
# What says that we may not ask, or not now, and nothing of what is there.
_NOT_TO_US = (
    "denied",
    "unauthorized",
    "forbidden",
    "token",
    "signature",
    "credential",
    "accesskey",
    "optin",
    "throttl",
    "toomanyrequests",
    "slowdown",
    "unavailable",
    "timeout",
)


class NotAnswered(Exception):
    """AWS didn't answer, or not to us; the message says why in a few words. `is_lacking` where it is the answer of a
    service that doesn't know what was asked, which only one in AWS's stead gives."""

    def __init__(self, reason: str, *, is_lacking: bool = False) -> None:
        super().__init__(reason)
        self.is_lacking = is_lacking


class Account:
    """The account behind the target's endpoints, asked with short timeouts. Settings are asked once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._settings: dict[str, int] | None = None
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """A client that gives up soon, made once; raises what `Target.client` raises."""
        if service not in self._clients:
            self._clients[service] = self.target.client(
                service,
                connect_timeout=CONNECT_TIMEOUT_S,
                read_timeout=READ_TIMEOUT_S,
                retries={"mode": "standard", "max_attempts": ATTEMPTS},
            )
        return self._clients[service]

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call; raises NotAnswered."""
        try:
            return getattr(self.client(service), operation)(**parameters)
        except (BotoCoreError, ClientError, UsageError) as error:
            raise NotAnswered(_why(error), is_lacking=_is_lacking(error)) from None
        except NOT_THAT_SERVICE:
            raise NotAnswered("the answer isn't from that service", is_lacking=True) from None

    def settings(self) -> dict[str, int]:
        """Lambda's limits of the account; raises NotAnswered."""
        if self._settings is None:
            self._settings = self.ask("lambda", "get_account_settings")["AccountLimit"]
        return self._settings

    def reserved(self, function_name: str) -> int | None:
        """What a function reserves, 0 for nothing, None where there is no such function. Raises NotAnswered."""
        try:
            answer = self.client("lambda").get_function_concurrency(FunctionName=function_name)
        except (BotoCoreError, ClientError, UsageError) as error:
            if code_of(error) == "ResourceNotFoundException":
                return None
            raise NotAnswered(_why(error)) from None
        except NOT_THAT_SERVICE:
            raise NotAnswered("the answer isn't from that service") from None
        return answer.get("ReservedConcurrentExecutions", 0)


def _why(error: Exception) -> str:
    if isinstance(error, ClientError):
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 501:
            return f"the endpoint doesn't implement {error.operation_name}"
        return f"{error.operation_name} answered {code_of(error) or 'an error'}"
    return one_line(error)


def _is_lacking(error: Exception) -> bool:
    return isinstance(error, ClientError) and not any(word in code_of(error).lower() for word in _NOT_TO_US)
