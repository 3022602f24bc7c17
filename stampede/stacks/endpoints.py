"""Whether this shell's AWS configuration leads to AWS, or to another endpoint such as LocalStack.

botocore resolves it, as for its clients: AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_<SERVICE>,
`endpoint_url` and `services` of the profile, and AWS_IGNORE_CONFIGURED_ENDPOINT_URLS. An endpoint
that is one of AWS's own addresses counts as AWS.
"""

from __future__ import annotations

import difflib
import functools
import urllib.parse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import botocore.session
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.exceptions import ConfigParseError, InvalidConfigError, ProfileNotFound
from botocore.loaders import Loader
from botocore.regions import EndpointResolver

from stampede.errors import UsageError, one_line

# All services that the stacks and the programs use.
SERVICES = (
    "s3",
    "s3control",
    "sqs",
    "lambda",
    "logs",
    "iam",
    "sts",
    "athena",
    "glue",
    "ec2",
    "efs",
    "kms",
    "cloudformation",
)


@dataclass(frozen=True)
class Endpoint:
    """What replaces AWS: the URL of each service that isn't AWS's, without user and password."""

    urls: Mapping[str, str]

    @property
    def url(self) -> str:
        """The URL of most of them."""
        return Counter(self.urls.values()).most_common(1)[0][0]

    @property
    def services(self) -> dict[str, str]:
        """The replaced services with their URLs; {} if all services have the same URL."""
        is_all = len(self.urls) == len(SERVICES) and set(self.urls.values()) == {self.url}
        return {} if is_all else dict(self.urls)

    @property
    def words(self) -> str:
        """`an endpoint at ...`."""
        return endpoint_words(self.url, self.services)


def configured() -> Endpoint | None:
    """The endpoint of this shell's configuration, None for AWS itself. Raises UsageError for an
    invalid URL."""
    session = botocore.session.get_session()
    try:
        profile, stored = session.get_scoped_config(), session.full_config
        if session.get_config_variable("ignore_configured_endpoint_urls"):
            return None
    except ProfileNotFound:
        return None  # making a client reports it
    except ConfigParseError as error:
        raise damaged(error) from None
    try:
        # Not a public API of botocore, which would need a client for each service, taking seconds.
        urls_by_name = {
            name: ConfiguredEndpointProvider(stored, profile, name).provide() for name in SERVICES
        }
    except InvalidConfigError as error:
        raise UsageError(f"~/.aws/config: {one_line(error)}") from None
    urls = {name: shown(url) for name, url in urls_by_name.items() if url and not is_aws(url)}
    return Endpoint(urls) if urls else None


def damaged(error: ConfigParseError) -> UsageError:
    """The error for an unreadable file of the AWS configuration."""
    return UsageError(one_line(error), "correct or move that file")


def is_aws(url: str) -> bool:
    """Whether `url` is at one of AWS's hosts, in any partition, including VPC and FIPS endpoints.
    Raises UsageError for an invalid URL."""
    host = (_parts(url).hostname or "").rstrip(".")
    return any(host == suffix or host.endswith(f".{suffix}") for suffix in _suffixes())


def shown(url: str) -> str:
    """`url` without user, password, query and trailing slash. Raises UsageError for an invalid
    URL."""
    parts = _parts(url)
    return urllib.parse.urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")
    )


def _parts(url: str) -> Any:
    try:
        parts = urllib.parse.urlsplit(url.strip())
        # `port` raises for an invalid one
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    without_user = url.rpartition("@")[2]
    raise UsageError(
        f"AWS_ENDPOINT_URL: {without_user!r} (from the environment, or the profile's endpoint_url) "
        "isn't a valid URL",
        "write it like http://127.0.0.1:4566",
    )


@functools.cache
def _suffixes() -> frozenset[str]:
    """The domains of AWS's partitions, from botocore's data."""
    outputs = [partition["outputs"] for partition in Loader().load_data("partitions")["partitions"]]
    return frozenset(
        output[name] for output in outputs for name in ("dnsSuffix", "dualStackDnsSuffix")
    )


def endpoint_words(url: str, services: Mapping[str, str]) -> str:
    """`an endpoint at <url>`, with `services`, {name: URL}, the services that aren't AWS's; empty
    if all of them are at `url`."""
    endpoint = f"an endpoint at {url}"
    elsewhere = [f"{name} at {at}" for name, at in services.items() if at != url]
    if elsewhere or not services:
        return ", ".join([endpoint, *elsewhere])
    return f"{endpoint} (for {', '.join(services)} only; everything else is AWS)"


def refuse_unknown_region(option: str, region: str) -> None:
    """Raise UsageError, which names `option`, for a region that Lambda doesn't have, according to
    botocore's data."""
    resolver = EndpointResolver(Loader().load_data("endpoints"))
    partitions = resolver.get_available_partitions()
    listed = (resolver.get_available_endpoints("lambda", partition) for partition in partitions)
    names = [name for names in listed for name in names]
    if region in names:
        return
    near = difflib.get_close_matches(region, names, n=2)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "`aws account list-regions` lists yours"
    )
    raise UsageError(f"{option}: AWS Lambda has no region {region!r}", hint)
