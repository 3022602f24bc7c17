"""What a place is called that is asked in AWS's stead, wherever a run at it is named."""

from __future__ import annotations

from collections.abc import Mapping


def endpoint_words(url: str, services: Mapping[str, str]) -> str:
    """`an endpoint at <url>`; `services`, {name: URL}, are empty where all services of AWS's are asked at that one URL,
    else those that are asked elsewhere than AWS."""
    elsewhere = {name: at for name, at in services.items() if at != url}
    if elsewhere:
        return f"an endpoint at {url}, {', '.join(f'{name} at {at}' for name, at in elsewhere.items())}"
    return f"an endpoint at {url}" + (f" (for {', '.join(services)} only; everything else is AWS)" if services else "")
