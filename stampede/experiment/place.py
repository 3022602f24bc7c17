"""What a place is called that is asked in AWS's stead, wherever a run at it is named; what the embedded AWS ignores."""

from __future__ import annotations

from collections.abc import Mapping

# Terraform variables that the embedded AWS accepts and ignores, in words: cells that differ in nothing else ran alike.
IGNORED_LOCALLY = {
    "memory_size": "memory",
    "architecture": "architecture",
    "region": "region",
    "provisioned_pollers": "provisioned pollers",
    "instance_type": "instance type",
    "key_order": "key order",
    "bucket_key": "the bucket key",
    "placement": "placement",
    "zone_id": "the zone",
    "subnet_count": "the number of subnets",
    "throughput_mode": "throughput mode",
    "direct_s3_read": "direct reads from S3",
}


def endpoint_words(url: str, services: Mapping[str, str]) -> str:
    """`an endpoint at <url>`; `services`, {name: URL}, are empty where all services of AWS's are asked at that one URL,
    else those that are asked elsewhere than AWS."""
    others = {name: at for name, at in services.items() if at != url}
    if others:
        return f"an endpoint at {url}, {', '.join(f'{name} at {at}' for name, at in others.items())}"
    return f"an endpoint at {url}" + (f" (for {', '.join(services)} only; everything else is AWS)" if services else "")
