"""The same tests against every emulator there is: MiniStack in `make test`, all three in `make
test-localstack`."""

import pytest

from tests.localstack import starting


@pytest.fixture(scope="session", params=starting.NAMES)
def endpoint(request, tmp_path_factory):
    """A running emulator; each is put up once, and all tests that ask for it come one after the
    other."""
    with starting.started(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running
