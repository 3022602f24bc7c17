"""The same tests against each emulator: MiniStack in `make test`, all three in `make
test-localstack`."""

import pytest

from tests.localstack import starting


@pytest.fixture(scope="session", params=starting.NAMES)
def endpoint(request, tmp_path_factory):
    """A running emulator. Each starts once, and all its tests run in succession."""
    with starting.started(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running
