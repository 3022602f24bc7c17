"""AWS with manners, in this process: boto3's calls go straight to MiniStack's handlers, and the clock is the test's."""

import asyncio
import importlib
import io
import json
import zipfile
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from stampede.emulator.manners import MODULES, mannered
from stampede.emulator.manners.manner import Pace

CODE = io.BytesIO()
with zipfile.ZipFile(CODE, "w") as archive:
    archive.writestr("index.py", "def handler(event, context): pass")


class Raw(io.BytesIO):
    def stream(self, **_):
        yield self.getvalue()


class MannerlyAws:
    """MiniStack behind some manners, at AWS's own pace."""

    def __init__(self, *manners):
        self.now = 1000.0
        self.pace = Pace("seed", 1.0, lambda: self.now)
        self.manners = [manner(self.pace) for manner in manners]

    def client(self, service):
        """A boto3 client of it that tries once."""
        keys = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
        once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        client = boto3.client(service, endpoint_url="http://127.0.0.1", config=once, **keys)
        module = importlib.import_module(f"ministack.services.{MODULES[service]}")
        handle = mannered(service, module.handle_request, self.manners)

        def answer(request, **_):
            url, body = urlsplit(request.url), request.body or b""
            headers = {
                name.lower(): value.decode() if isinstance(value, bytes) else value
                for name, value in request.headers.items()
            }
            body = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else body.read()
            query = parse_qs(url.query, keep_blank_values=True)
            status, answered, content = asyncio.run(handle(request.method, url.path, headers, body, query))
            return AWSResponse(request.url, status, {k.lower(): v for k, v in answered.items()}, Raw(content))

        client.meta.events.register("before-send", answer)
        return client

    def network(self):
        """A network with a subnet and a security group: their ids."""
        ec2 = self.client("ec2")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20")["Subnet"]["SubnetId"]
        group = ec2.create_security_group(VpcId=vpc, GroupName="functions", Description="x")["GroupId"]
        return vpc, subnet, group

    def function(self, name, role="arn:aws:iam::000000000000:role/any", **more):
        """A function, which isn't called."""
        settings = {"Code": {"ZipFile": CODE.getvalue()}, "Runtime": "python3.12", "Handler": "index.handler"}
        return self.client("lambda").create_function(FunctionName=name, Role=role, **settings, **more)


@pytest.fixture
def aws():
    """Makes an AWS with the manners that are named, which forgets everything at the end."""
    yield MannerlyAws
    for name in MODULES.values():
        importlib.import_module(f"ministack.services.{name}").reset()


def code_of(call, **arguments):
    """Why a call was refused; "" where it was carried out."""
    try:
        call(**arguments)
    except Exception as error:
        return error.response["Error"]["Code"]
    return ""


def policy(action):
    """The text of a policy that allows one action."""
    return json.dumps({"Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]})
