"""The operation of the file system experiment: one timed copy to /tmp, verified and deleted."""

import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from common import s3_client
from common.deadline import DeadlineRunner
from common.listing import listed_objects
from common.outcome import Outcome
from common.s3_client import ATTEMPTS, RETRY_MODE, sdk_of
from common.start_barrier import wait_until
from common.work_folder import WorkFolder
from filesystem.copy_order import CopyOrder, parse_copy_order
from filesystem.reading import Reading
from filesystem.settings import COPY, DROP, Settings, read_settings

EXPERIMENT = "filesystem"
# The SDK's default. As published, this client is made before the first message.
_USUAL_CONNECTIONS = 10


class Copies:
    """The copies of one sandbox; an Operation of common/sandbox.py.

    A sandbox's first read of a data set comes from storage. Later reads of a mount come from the
    kernel's page cache unless CACHE is drop. So the reads of each data set are numbered, even
    failed ones, which may have read something.
    """

    time_key = "elapsed_seconds"

    def __init__(self) -> None:
        self.settings: Settings | None = None
        self._method: ModuleType | None = None
        self._clients: dict[int, Any] = {}
        self._reads: dict[str, int] = {}
        self._reading: Reading | None = None
        self._runner = DeadlineRunner("copy", "data set")

    def prepare(self, environ: Mapping[str, str]) -> None:
        """Read the settings and make the client. Raises SettingsError."""
        self.settings = read_settings(environ)
        # only the chosen method: importing boto3 costs a fifth of a CPU second
        name = "mounted" if self.settings.method == COPY else self.settings.method
        self._method = import_module(f"{EXPERIMENT}.{name}")
        self._client(_USUAL_CONNECTIONS)

    def parse(self, body: str) -> CopyOrder:
        """Parse the body of a message. Raises WorkOrderError."""
        self._reading = None
        return parse_copy_order(body)

    def run(self, order: CopyOrder, deadline_s: float) -> Outcome:
        """Copy the order's data set into a folder that is always removed.

        Raises PreviousDownloadRunning or DeadlineExceeded if it can't begin, and OSError without a
        folder. Later failures are in the outcome.
        """
        if order.proof:
            return self._list(order.dataset)
        client = self._client(order.connections)
        self._runner.make_way(deadline_s)
        folder = WorkFolder()
        try:
            reading = self._reading = self._new_reading(client, order, folder.path)

            def work() -> int:
                if reading.read == "dropped":
                    self._method.drop_cache(self.settings, order.dataset)
                wait_until(order.start_at_ms, deadline_s)
                self._method.fetch(reading)
                return reading.verify()

            outcome = self._runner.run(work, folder.empty, reading, deadline_s)
            if reading.started_at_ms is not None:
                self._reads[order.dataset] = reading.read_order
            return outcome
        finally:
            folder.close()

    def own_keys(self, order: CopyOrder | None, outcome: Outcome) -> dict[str, Any]:
        """Return the record's keys of copies."""
        settings, reading = self.settings, self._reading
        # only the kernel knows the requests to a mount
        is_requested = settings is not None and not settings.is_mounted
        return {
            "warm_up": order.warm_up if order else 0,
            "storage": settings.storage if settings else None,
            "dataset": order.dataset if order else None,
            "threads": order.threads if order else None,
            "connections": order.connections if order else None,
            "files": len(reading.sizes_bytes) if reading else 0,
            "listing_seconds": reading.listing_s if reading else None,
            "read": reading.read if reading else None,
            "read_order": reading.read_order if reading else None,
            "client_cpu_seconds": outcome.cpu_s,
            "retries": outcome.retries if is_requested else None,
            "requests": outcome.requests if is_requested else None,
            "retry_mode": RETRY_MODE if is_requested else None,
            "retry_attempts": ATTEMPTS if is_requested else None,
            "sdk": sdk_of() if is_requested else None,
            "experiment": EXPERIMENT,
        }

    def _list(self, dataset: str) -> Outcome:
        """List the first name of the data set with a separate client, which warms up nothing."""
        settings, began_ms = self.settings, time.time_ns() // 1_000_000
        if settings.is_mounted:
            next((Path(settings.mount_path) / dataset).iterdir(), None)
        else:
            client = s3_client.build_client(settings.region)
            next(listed_objects(client, settings.bucket, f"{dataset}/"), None)
        return Outcome(began_ms, 0.0, 0, None)

    def _new_reading(self, client: Any, order: CopyOrder, folder: Path) -> Reading:
        read_order = self._reads.get(order.dataset, 0) + 1
        read = "first" if read_order == 1 else "repeat"
        if read == "repeat" and self.settings.is_mounted and self.settings.cache == DROP:
            read = "dropped"
        return Reading(client, self.settings, order, folder, read, read_order)

    def _client(self, connections: int) -> Any:
        """Return the client with a pool of this size, made at first use outside the timed part."""
        if connections not in self._clients:
            self._clients[connections] = self._method.build_client(self.settings, connections)
        return self._clients[connections]
