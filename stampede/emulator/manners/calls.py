"""Which operation a request asks for: by the header of a JSON protocol, the Action of a form, or botocore's paths."""

from __future__ import annotations

import functools
import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote

import botocore.session

from stampede.emulator.manners.manner import Call

FORMS, PATHS = ("ec2", "iam"), ("lambda", "efs")


def call_of(service: str, method: str, path: str, headers: dict, body: bytes, query: dict) -> Call | None:
    """The call that a request is; None where it is none that a manner could heed."""
    if service in FORMS:
        form = dict(parse_qsl(body.decode(errors="replace"))) | {name: values[0] for name, values in query.items()}
        return Call(service, form.get("Action", ""), form)
    if service in PATHS:
        return _by_path(service, method, unquote(path), body, query)
    if service == "s3":  # what is done to a bucket as a whole; its objects are what experiments measure
        return Call(service, f"{method} bucket", {}) if path.strip("/").count("/") == 0 else None
    operation = headers.get("x-amz-target", "").rpartition(".")[2]
    return Call(service, operation, _json(body)) if operation else None


def _by_path(service: str, method: str, path: str, body: bytes, query: dict) -> Call | None:
    for operation, verb, pattern in _routes(service):
        if verb == method and (found := pattern.fullmatch(path.rstrip("/"))):
            in_query = {name: values[0] for name, values in query.items()}
            return Call(
                service, operation, (_json(body) if operation != "Invoke" else {}) | in_query | found.groupdict()
            )
    return None


@functools.cache
def _routes(service: str) -> list[tuple[str, str, re.Pattern]]:
    """Operation, method and path of each, those with the fewest labels first."""
    model = botocore.session.get_session().get_service_model(service)
    routes = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        path = http["requestUri"].partition("?")[0].rstrip("/")
        routes.append((name, http["method"], re.compile(re.sub(r"\{(\w+)\+?\}", r"(?P<\1>[^/]+)", path))))
    return sorted(routes, key=lambda route: route[2].groups)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
