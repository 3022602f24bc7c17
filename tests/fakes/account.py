"""An account as the doctor queries it: identity, limits, functions, instances, and
available services."""

import json
import re

from tests.fakes.loopback import Loopback

WHO = "<Arn>arn:aws:iam::123456789012:user/x</Arn><UserId>U</UserId><Account>123456789012</Account>"
BUCKETS = "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>"
DIRECTORY_BUCKETS = "<ListAllMyDirectoryBucketsResult><Buckets/></ListAllMyDirectoryBucketsResult>"
BODIES = {
    "sts": f"<R><GetCallerIdentityResult>{WHO}</GetCallerIdentityResult></R>",
    "s3": BUCKETS,
    "s3express": BUCKETS,
    "iam": "<R><ListRolesResult><Roles/></ListRolesResult></R>",
}
# REST operations, by the ends of their paths.
PATHS = {
    "/account-settings": "GetAccountSettings",
    "/concurrency": "GetFunctionConcurrency",
    "/functions": "ListFunctions",
}


class FakeAccount(Loopback):
    """`refuse` (403) and `lacks` (501, as in LocalStack) name services or operations.

    `functions`: {name: reserved concurrency}; `bodies` replace the answers of services.
    """

    def __init__(
        self,
        *,
        limit=1000,
        unreserved=1000,
        functions=(),
        instances=(),
        refuse=(),
        lacks=(),
        bodies=(),
    ):
        super().__init__()
        self.limits = {"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": unreserved}
        self.functions, self.instances = dict(functions), instances
        self.refuse, self.lacks = set(refuse), set(lacks)
        self.bodies = BODIES | dict(bodies)

    def answer(self, request):
        service = re.search(r"/([a-z0-9-]+)/aws4_request", request.headers["Authorization"])[1]
        rest = (name for end, name in PATHS.items() if request.path.rstrip("/").endswith(end))
        operation = request.operation or next(rest, "")
        if {service, operation} & self.lacks:
            return _error(501, "InternalFailure")
        if {service, operation} & self.refuse:
            if service == "sts":
                return 403, {}, b"<R><Error><Code>InvalidClientTokenId</Code></Error></R>"
            return _error(403, "AccessDeniedException")
        if operation == "GetFunctionConcurrency":
            return self._reserved(request.path.split("/")[-2])
        usual = self.bodies.get(service, {"Functions": []})
        body = self._body(operation, request.body.decode()) or usual
        return 200, {}, (body if isinstance(body, str) else json.dumps(body)).encode()

    def _reserved(self, name):
        if name not in self.functions:
            return _error(404, "ResourceNotFoundException")
        return 200, {}, json.dumps({"ReservedConcurrentExecutions": self.functions[name]}).encode()

    def _body(self, operation, body):
        if operation == "GetAccountSettings":
            return {"AccountLimit": self.limits, "AccountUsage": {}}
        if operation == "ListFunctions":
            return {"Functions": [{"FunctionName": name} for name in self.functions]}
        if operation == "DescribeInstances":
            instances = "".join(
                f"<item><instanceId>{name}</instanceId><instanceType>m5a.8xlarge</instanceType>"
                "<instanceState><name>running</name></instanceState></item>"
                for name in (self.instances if "stampede-%2A" in body else [])
            )
            reservation = f"<item><instancesSet>{instances}</instancesSet></item>"
            return f"<R><reservationSet>{reservation}</reservationSet></R>"
        return None


def _error(status, code):
    """An error of a JSON service, as an operation or REST call returns it."""
    return status, {"x-amzn-ErrorType": code}, json.dumps({"__type": code}).encode()
