"""Whether this shell's AWS configuration leads to AWS, or to an endpoint that isn't AWS:
LocalStack, say.

Asked of botocore, as its clients do: AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_<SERVICE>, `endpoint_url`
and `services` of the profile, and AWS_IGNORE_CONFIGURED_ENDPOINT_URLS. An address of AWS's own that
is given that way is AWS.
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

# All that the stacks consist of and the programs ask while they work.
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
    """What stands in AWS's place: the URL of each service that isn't asked of AWS, without user and
    password."""

    urls: Mapping[str, str]

    @property
    def url(self) -> str:
        """The URL of most of them."""
        return Counter(self.urls.values()).most_common(1)[0][0]

    @property
    def services(self) -> dict[str, str]:
        """The services with their URLs where not all are asked at the one URL; {} where they
        are."""
        is_all = len(self.urls) == len(SERVICES) and set(self.urls.values()) == {self.url}
        return {} if is_all else dict(self.urls)

    @property
    def words(self) -> str:
        """`an endpoint at ...`."""
        return endpoint_words(self.url, self.services)


def configured() -> Endpoint | None:
    """Where this shell's configuration sends the calls, None for AWS itself. Raises UsageError for
    what is no URL."""
    session = botocore.session.get_session()
    try:
        profile, stored = session.get_scoped_config(), session.full_config
        if session.get_config_variable("ignore_configured_endpoint_urls"):
            return None
    except ProfileNotFound:
        return None  # no client can be made then: told where credentials are looked for
    except ConfigParseError as error:
        raise damaged(error) from None
    try:
        # botocore's own, called private there: its public way is a client of each service, which
        # takes seconds.
        urls_by_name = {
            name: ConfiguredEndpointProvider(stored, profile, name).provide() for name in SERVICES
        }
    except InvalidConfigError as error:
        raise UsageError(f"~/.aws/config: {one_line(error)}") from None
    urls = {name: shown(url) for name, url in urls_by_name.items() if url and not is_aws(url)}
    return Endpoint(urls) if urls else None


def damaged(error: ConfigParseError) -> UsageError:
    """That a file of the AWS configuration can't be read."""
    return UsageError(one_line(error), "correct or move that file")


def is_aws(url: str) -> bool:
    """Whether `url` is at one of AWS's own hosts, of any partition, VPC endpoints and FIPS too.
    Raises UsageError for what is no URL."""
    host = (_parts(url).hostname or "").rstrip(".")
    return any(host == suffix or host.endswith(f".{suffix}") for suffix in _suffixes())


def shown(url: str) -> str:
    """`url` without user, password, query and a slash at its end. Raises UsageError for what is no
    URL."""
    parts = _parts(url)
    return urllib.parse.urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")
    )


def _parts(url: str) -> Any:
    try:
        parts = urllib.parse.urlsplit(url.strip())
        # `port` raises for what is none
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
    """The domains of AWS's partitions, as botocore knows them."""
    outputs = [partition["outputs"] for partition in Loader().load_data("partitions")["partitions"]]
    return frozenset(
        output[name] for output in outputs for name in ("dnsSuffix", "dualStackDnsSuffix")
    )


def endpoint_words(url: str, services: Mapping[str, str]) -> str:
    """`an endpoint at <url>`; `services`, {name: URL}, are empty where all services of AWS's are
    asked at that one URL, else those that are asked elsewhere than AWS."""
    elsewhere = {name: at for name, at in services.items() if at != url}
    if elsewhere:
        return (
            f"an endpoint at {url}, "
            f"{', '.join(f'{name} at {at}' for name, at in elsewhere.items())}"
        )
    return f"an endpoint at {url}" + (
        f" (for {', '.join(services)} only; everything else is AWS)" if services else ""
    )


def unknown_region(region: str) -> tuple[str, str] | None:
    """That AWS has no such region, by botocore's data alone, and what to do; None where Lambda is
    in it."""
    resolver = EndpointResolver(Loader().load_data("endpoints"))
    partitions = resolver.get_available_partitions()
    names = [
        name
        for partition in partitions
        for name in resolver.get_available_endpoints("lambda", partition)
    ]
    if region in names:
        return None
    near = difflib.get_close_matches(region, names, n=2)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "`aws account list-regions` lists yours"
    )
    return f"AWS Lambda has no region {region!r}", hint
