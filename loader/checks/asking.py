"""The AWS account behind a target, asked little and with little patience."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from loader.errors import RunError, UsageError, one_line
from loader.target import Target

CONNECT_TIMEOUT_S, READ_TIMEOUT_S, ATTEMPTS = 3, 10, 2


class NotTold(Exception):
    """AWS didn't answer, or not to us; the message says why in a few words."""


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
        """One call; raises NotTold."""
        try:
            return getattr(self.client(service), operation)(**parameters)
        except (BotoCoreError, ClientError, RunError, UsageError) as error:
            raise NotTold(_why(error)) from None

    def settings(self) -> dict[str, int]:
        """Lambda's limits of the account; raises NotTold."""
        if self._settings is None:
            self._settings = self.ask("lambda", "get_account_settings")["AccountLimit"]
        return self._settings

    def reserved(self, function_name: str) -> int | None:
        """What a function reserves, 0 for nothing, None where there is no such function. Raises NotTold."""
        try:
            answer = self.client("lambda").get_function_concurrency(FunctionName=function_name)
        except (BotoCoreError, ClientError, RunError, UsageError) as error:
            if _code(error) == "ResourceNotFoundException":
                return None
            raise NotTold(_why(error)) from None
        return answer.get("ReservedConcurrentExecutions", 0)


def _why(error: Exception) -> str:
    if isinstance(error, ClientError):
        return f"{error.operation_name} answered {_code(error) or 'an error'}"
    return one_line(error)


def _code(error: Exception) -> str:
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
