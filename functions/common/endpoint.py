"""Where an object of S3 is: the address to connect to, and host and path of its URL, as boto3 forms them."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from common.environment import SettingsError

# What a host name of AWS ends with, by the beginning of the region: every partition of botocore/data/partitions.json
# whose dnsSuffix isn't that of the first one.
_DNS_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}


@dataclass(frozen=True)
class ObjectAddress:
    """One object's URL, taken apart: `host_header` as it is signed, `path` percent-encoded."""

    is_tls: bool
    host: str
    port: int
    host_header: str
    path: str


def locate(bucket: str, key: str, region: str, environ: Mapping[str, str]) -> ObjectAddress:
    """Return the address of s3://bucket/key; raises SettingsError when AWS_ENDPOINT_URL isn't a usable URL.

    On AWS the bucket is in the host name, except for one with a dot, which no certificate covers; in us-east-1 too the
    host is the region's, where boto3 still uses the old name of the same endpoint. Any other endpoint
    (AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL) gets the bucket in the path.
    """
    encoded_key = encoded(key)
    custom = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    if custom:
        is_tls, host, port, host_header, base = take_apart(custom)
        return ObjectAddress(is_tls, host, port, host_header, f"{base}/{bucket}/{encoded_key}")
    domain = f"s3.{region}.{dns_suffix(region)}"
    if "." in bucket:
        return ObjectAddress(True, domain, 443, domain, f"/{bucket}/{encoded_key}")
    host = f"{bucket}.{domain}"
    return ObjectAddress(True, host, 443, host, f"/{encoded_key}")


def encoded(key: str) -> str:
    """Return a key as it stands in a path."""
    return quote(key, safe="/-_.~")


def dns_suffix(region: str) -> str:
    """Return what the host names of AWS's services end with in this region, without a dot in front."""
    found = (suffix for beginning, suffix in _DNS_SUFFIXES.items() if region.startswith(beginning))
    return next(found, "amazonaws.com")


def take_apart(url: str) -> tuple[bool, str, int, str, str]:
    """Whether an endpoint is TLS, its host and port, both as the header has them, and its path; raises SettingsError
    for what isn't a usable URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = None, None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
        raise SettingsError(
            f"the environment variable AWS_ENDPOINT_URL must be a URL like http://127.0.0.1:4566, not {url[:60]!a}"
        )
    is_tls, host = parts.scheme == "https", parts.hostname
    usual_port = 443 if is_tls else 80
    shown = f"[{host}]" if ":" in host else host
    host_header = shown if port in (None, usual_port) else f"{shown}:{port}"
    return is_tls, host, port or usual_port, host_header, parts.path.rstrip("/")
