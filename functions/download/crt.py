"""The method `crt`: the S3 client of the AWS Common Runtime, in C, with its own threads and TLS.

boto3 can use it (`preferred_transfer_client="crt"`), but sets neither the target throughput nor an
endpoint without TLS. So this method calls it directly, with boto3's address and credentials. Its
retries can't be set from Python: six attempts a request, with growing random delays. It doesn't
report its requests, but asks for credentials to sign each attempt, and these calls are counted. The
time of the first byte can't be known.
"""

import os
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore import UNSIGNED

from common import s3_client
from common.environment import SettingsError
from common.failures import Failure, NoCredentials
from common.object_read import object_changed
from download.crt_failures import translate
from download.settings import Settings
from download.transfer import Transfer

# The client opens as many connections as this rate needs. AWS gives one function at most 3 Gbit/s
# (10,240 MB, quota "Network bandwidth per execution environment"). The client's default is 10, for
# a server.
TARGET_GBPS = 3.0


class CrtS3:
    """The runtime's client for one object."""

    def __init__(self, settings: Settings, awscrt: Any) -> None:
        """Raises SettingsError if region or AWS_ENDPOINT_URL is unusable."""
        self._awscrt = awscrt
        self._on_request: Callable[[], None] = lambda: None
        self._host, self._path, is_tls = _address(settings)
        payer = [(s3_client.PAYER_HEADER, s3_client.PAYER)] if settings.requester_pays else []
        # Without the length the client expects a request body.
        self._fields = [("host", self._host), ("content-length", "0"), *payer]
        self._credentials = botocore.session.get_session().get_credentials()
        event_loops = awscrt.io.EventLoopGroup()
        modes = awscrt.s3.S3RequestTlsMode
        self._client = awscrt.s3.S3Client(
            bootstrap=awscrt.io.ClientBootstrap(
                event_loops, awscrt.io.DefaultHostResolver(event_loops)
            ),
            region=settings.region,
            credential_provider=awscrt.auth.AwsCredentialsProvider.new_delegate(self._delegate),
            part_size=settings.range_part_mb * 2**20,
            tls_mode=modes.ENABLED if is_tls else modes.DISABLED,
            tls_connection_options=self._tls_options() if is_tls else None,
            throughput_target_gbps=TARGET_GBPS,
        )

    def request(self, path: str, on_request: Callable[[], None], **callbacks: Any) -> Any:
        """Begin to download the object into the file at `path`; returns the runtime's request.

        The runtime's threads call `on_request` before each attempt at an HTTP request.
        """
        self._on_request = on_request
        headers = self._awscrt.http.HttpHeaders(self._fields)
        return self._client.make_request(
            type=self._awscrt.s3.S3RequestType.GET_OBJECT,
            request=self._awscrt.http.HttpRequest("GET", self._path, headers),
            recv_filepath=path,
            **callbacks,
        )

    def check_credentials(self) -> None:
        """Raise NoCredentials if there are none: the runtime would hide that."""
        if self._credentials is None:
            raise NoCredentials("boto3 finds no credentials: give the function a role, or set them")

    def _delegate(self) -> Any:
        self._on_request()
        return self._awscrt.auth.AwsCredentials(*self._credentials.get_frozen_credentials())

    def _tls_options(self) -> Any:
        options = self._awscrt.io.TlsContextOptions()
        if bundle := os.environ.get("AWS_CA_BUNDLE"):
            options.override_default_trust_store_from_path(ca_filepath=bundle)
        return self._awscrt.io.ClientTlsContext(options).new_connection_options()


def _address(settings: Settings) -> tuple[str, str, bool]:
    """Return the object's host and path as boto3 builds them, and whether to use TLS."""
    client = s3_client.build_client(settings.region, signature_version=UNSIGNED)
    endpoint = urlsplit(client.meta.endpoint_url)
    # A presigned URL shows where the bucket is and how the key is encoded, but its host may be in
    # another region.
    place = {"Bucket": settings.bucket, "Key": settings.key}
    example = urlsplit(client.generate_presigned_url("get_object", Params=place))
    is_in_host = example.netloc.startswith(f"{settings.bucket}.")
    host = f"{settings.bucket}.{endpoint.netloc}" if is_in_host else endpoint.netloc
    return host, example.path, endpoint.scheme == "https"


def build_client(settings: Settings) -> CrtS3:
    """Return the client; raises SettingsError, also if awscrt is missing."""
    try:
        import awscrt.auth
        import awscrt.http
        import awscrt.io
        import awscrt.s3
    except ImportError as error:
        raise SettingsError(
            f"METHOD=crt needs the package awscrt, which can't be imported ({error}): install "
            "crt-requirements.txt into a layer of the function, or choose another method"
        ) from None
    return CrtS3(settings, awscrt)


def fetch(transfer: Transfer) -> int:
    """Download the object into the sink's file and return the size of the file on disk in bytes.

    Timed is everything from the request until the file is complete.
    """
    transfer.s3.check_credentials()
    with transfer.timed():
        _Download(transfer).run()
    return transfer.sink.path.stat().st_size


class _Download:
    """One running download. The runtime's thread calls back, where nothing may raise."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._error: Exception | None = None
        self._done = threading.Event()

    def run(self) -> None:
        transfer = self._transfer
        transfer.raise_if_stopped()
        transfer.retries = None  # not known yet
        request = transfer.s3.request(
            str(transfer.sink.path),
            on_request=self._before_request,
            on_headers=self._on_headers,
            on_progress=self._on_progress,
            on_done=self._on_done,
        )
        try:
            with transfer.interruptible(request.cancel):
                self._done.wait()
            transfer.raise_if_stopped()
            if self._error is not None:
                raise self._error
            transfer.retries = transfer.requests - _requests_without_retry(transfer)
        except BaseException:
            # Before the first answer with the size there is only one range to request. Later the
            # number of requested ranges is unknown.
            if transfer.announced_bytes is None:
                transfer.retries = max(0, transfer.requests - 1)
            raise

    def _before_request(self) -> None:
        self._keep(lambda: self._transfer.count_request(is_retry=False))

    def _on_headers(self, status_code: int, headers: list[tuple[str, str]], **_: Any) -> None:
        if status_code >= 300:
            return
        by_name = {name.lower(): value for name, value in headers}
        size = by_name.get("content-range", "").rpartition("/")[2]
        size = size or by_name.get("content-length", "")
        etag, note_answer = by_name.get("etag"), self._transfer.object.note_answer
        # is_body: the runtime reports an answer only with its whole range, not its first byte.
        self._keep(lambda: note_answer(etag, int(size), is_body=False))

    def _on_progress(self, progress: int, **_: Any) -> None:
        self._keep(lambda: self._transfer.count_bytes(progress))

    def _on_done(
        self, error: Exception | None = None, status_code: int | None = None, **details: Any
    ) -> None:
        if error is not None and self._error is None:
            self._error = object_changed() if status_code == 412 else translate(error, details)
        self._done.set()

    def _keep(self, observe: Callable[[], None]) -> None:
        try:
            observe()
        except (Failure, ValueError) as error:
            self._error = self._error or error


def _requests_without_retry(transfer: Transfer) -> int:
    """Return the requests for the object: one a range, and a second one for an empty object."""
    part_bytes = transfer.settings.range_part_mb * 2**20
    return max(1, -(-transfer.announced_bytes // part_bytes)) + (transfer.announced_bytes == 0)
