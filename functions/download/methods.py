"""The methods of downloading, as in a record's `method`, and the sinks that each can fill."""

import importlib
from types import ModuleType

# Sinks: the bytes are discarded, kept in memory, or written to a temporary file (/tmp on Lambda).
DISCARD, MEMORY, TMP = "discard", "memory", "tmp"

# Method -> its sinks, the default first. The module of the same name has `build_client(settings)`,
# called once per sandbox, and `fetch(transfer)`, called once per message, which puts
# `transfer.timed()` around exactly what it measures and returns the bytes received.
METHODS: dict[str, tuple[str, ...]] = {
    "download_file": (TMP,),
    "stream": (DISCARD, MEMORY, TMP),
    "ranges": (MEMORY, TMP, DISCARD),
    "crt": (TMP,),
}


def load(method: str) -> ModuleType:
    """Import the module of one method only: importing boto3 costs a fifth of a CPU second."""
    return importlib.import_module(f"download.{method}")
