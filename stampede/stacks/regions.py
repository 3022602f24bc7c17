"""The regions that AWS has, as botocore's data lists them: nothing of this shell's AWS configuration is read."""

from __future__ import annotations

import difflib

from botocore.loaders import create_loader
from botocore.regions import EndpointResolver


def unknown(region: str) -> tuple[str, str] | None:
    """That there is no such region, and what to do, as a name that is like it; None where Lambda is in it."""
    resolver = EndpointResolver(create_loader().load_data("endpoints"))
    partitions = resolver.get_available_partitions()
    known = [name for partition in partitions for name in resolver.get_available_endpoints("lambda", partition)]
    if region in known:
        return None
    near = difflib.get_close_matches(region, known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "`aws account list-regions` lists yours"
    return f"AWS Lambda has no region {region!r}", hint
