"""The method `crt`: the AWS Common Runtime's S3 client, a C program with its own threads, ranges,
retries and TLS.

boto3 can use it (`preferred_transfer_client="crt"`), but sets neither the target throughput nor an
endpoint without TLS; so it is asked for here by itself, with the address and the credentials that
boto3 has. Its retries can't be chosen from Python: six tries a request, with growing random delays.
It doesn't tell how many requests it made, but it asks for credentials to sign each of them, tries
included, and that is counted. When the first byte came can't be known.
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

# The client opens as many connections as this rate needs. 3 Gbit/s is the most that AWS gives to
# one function (of 10,240 MB, with the quota "Network bandwidth per execution environment"); the
# client's own guess is 10, for a server.
TARGET_GBPS = 3.0


class CrtS3:
    """The runtime's client, and the one request that it is used for."""

    def __init__(self, settings: Settings, awscrt: Any) -> None:
        """Raises SettingsError when region or AWS_ENDPOINT_URL can't be used."""
        self._awscrt = awscrt
        self._on_request: Callable[[], None] = lambda: None
        self._host, self._path, is_tls = _address(settings)
        payer = [(s3_client.PAYER_HEADER, s3_client.PAYER)] if settings.requester_pays else []
        # Without the length the client takes the request for one with a body.
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

        `on_request` is called before each HTTP request and each try of one, from the runtime's
        threads.
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
        """Raise NoCredentials where there are none: the runtime would hide it."""
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
    """Return the object's host and path as boto3 asks for them, and whether the host speaks TLS."""
    client = s3_client.build_client(settings.region, signature_version=UNSIGNED)
    endpoint = urlsplit(client.meta.endpoint_url)
    # A presigned URL tells how the bucket is named and the key is encoded, but its host may be
    # another region's.
    place = {"Bucket": settings.bucket, "Key": settings.key}
    example = urlsplit(client.generate_presigned_url("get_object", Params=place))
    is_in_host = example.netloc.startswith(f"{settings.bucket}.")
    host = f"{settings.bucket}.{endpoint.netloc}" if is_in_host else endpoint.netloc
    return host, example.path, endpoint.scheme == "https"


def build_client(settings: Settings) -> CrtS3:
    """Return the client; raises SettingsError, also when awscrt isn't there."""
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

    Timed are the request and all that the runtime does for it, until the file is complete.
    """
    transfer.s3.check_credentials()
    with transfer.timed():
        _Download(transfer).run()
    return transfer.sink.path.stat().st_size


class _Download:
    """One request under way. The runtime calls back from a thread of its own, where nothing may
    raise."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._error: Exception | None = None
        self._done = threading.Event()

    def run(self) -> None:
        transfer = self._transfer
        transfer.raise_if_stopped()
        transfer.retries = None  # until it is known
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
            # Until the first answer tells the size there is one range to ask for; after it, nobody
            # knows how many were.
            if transfer.announced_bytes is None:
                transfer.retries = max(0, transfer.requests - 1)
            raise

    def _before_request(self) -> None:
        self._keep(lambda: self._transfer.count_request(is_retry=False))

    def _on_headers(self, status_code: int, headers: list[tuple[str, str]], **_: Any) -> None:
        if status_code >= 300:
            return
        by_name = {name.lower(): value for name, value in headers}
        size = by_name.get("content-range", "").rpartition("/")[2] or by_name.get(
            "content-length", ""
        )
        # The runtime tells of an answer only once the whole range is there, so when its first byte
        # came is unknown.
        self._keep(
            lambda: self._transfer.object.note_answer(by_name.get("etag"), int(size), is_body=False)
        )

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
    """Return how many requests the object takes: one a range, and for an empty one a second without
    a range."""
    part_bytes = transfer.settings.range_part_mb * 2**20
    return max(1, -(-transfer.announced_bytes // part_bytes)) + (transfer.announced_bytes == 0)
