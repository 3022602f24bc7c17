"""The methods of downloading, by the name that the record carries as `method`, and where each can
put the bytes."""

import importlib
from types import ModuleType

# What becomes of the bytes: thrown away, kept in memory, or written to a file in the temporary
# folder (/tmp on Lambda).
DISCARD, MEMORY, TMP = "discard", "memory", "tmp"

# Method -> the sinks that it can fill, its default first. The module of the same name offers
# `build_client(settings)`, called once per sandbox, and `fetch(transfer)`, called once per message:
# it puts `transfer.timed()` around exactly what it measures and returns the bytes received.
METHODS: dict[str, tuple[str, ...]] = {
    "download_file": (TMP,),
    "stream": (DISCARD, MEMORY, TMP),
    "ranges": (MEMORY, TMP, DISCARD),
    "crt": (TMP,),
}


def load(method: str) -> ModuleType:
    """Import the module of one method, and only it: importing boto3 costs a fifth of a CPU
    second."""
    return importlib.import_module(f"download.{method}")
