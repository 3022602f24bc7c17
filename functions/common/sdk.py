"""The SDK that makes a method's requests: how it retries depends on its version (`functions/agreed/retries.json`)."""

import sys

# The packages of the methods that use one; the others speak HTTP themselves.
_PACKAGES = {"download_file": "botocore", "crt": "awscrt"}
OWN_HTTP = "none"


def sdk_of(method: str) -> str | None:
    """Return name and version, such as `botocore 1.43.106`, or OWN_HTTP; None before a client has imported the SDK."""
    package = _PACKAGES.get(method)
    if package is None:
        return OWN_HTTP
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version}" if version else None
