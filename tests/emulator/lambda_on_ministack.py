"""Functions made by hand on an embedded AWS: its clients, an object to move, a role that may do just that, and zips."""

import io
import json
import platform
import random
import zipfile
from pathlib import Path

import boto3
from botocore.config import Config

from tests.unit.functions.lambda_sandbox import ENVIRONMENT

FUNCTIONS = Path(__file__).parents[2] / "functions"
# Three ranges of 16 MiB, the last one short.
BODY = random.Random(2).randbytes(34 * 2**20)
ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
VARIABLES = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("AWS_")}


def client(service, access):
    retries = Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=40)
    where = {"endpoint_url": access.endpoint_url, "region_name": "us-east-1"}
    return boto3.Session().client(service, **where, **access.key, config=retries)


def make_role(iam, name, service="lambda", *statements):
    """Create a role that the service may take, with the right to get the object and these statements; its ARN."""
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    getting = allow("s3:GetObject", f"arn:aws:s3:::{ENVIRONMENT['BUCKET_NAME']}/*")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(trust))
    iam.put_role_policy(RoleName=name, PolicyName="worker", PolicyDocument=document(getting, *statements))
    return role["Role"]["Arn"]


def document(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def allow(action, resource):
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def zipped(*files):
    """The zip of these files and the names that they have in it, packed loosely."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, name in files:
            archive.write(file, name)
    return made.getvalue()


def python_function():
    """What Terraform makes of the download: the package of what is common, and its own."""
    files = [path for folder in ("common", "download") for path in sorted((FUNCTIONS / folder).glob("*.py"))]
    code = zipped(*((path, str(path.relative_to(FUNCTIONS))) for path in files))
    return {"Runtime": "python3.12", "Handler": "download.handler.handler", "Code": {"ZipFile": code}}


def go_function(program):
    code = {"ZipFile": zipped((program, "bootstrap"))}
    return {"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": [ARCHITECTURE], "Code": code}
