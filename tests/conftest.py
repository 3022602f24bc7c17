"""For all tests: their own state folder, and no access to a real AWS account."""

import functools
import gc
import os
import signal
import tempfile

import botocore.session
import hypothesis
from xdist.scheduler import LoadFileScheduling

# Set before any import of the project: tests never use the user's own emulator.
STATE = tempfile.TemporaryDirectory(prefix="stampede-tests-")  # goes with the process
os.environ["STAMPEDE_STATE_DIR"] = STATE.name
for name in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
    del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull

# Imported and collected objects stay until the end; see pytest_collection_finish.
gc.disable()

# Terraform and its provider live for seconds, and spend a third of them on garbage collection.
os.environ.setdefault("GOGC", "400")

# The same flags for all Go builds of the tests: others would compile the AWS SDK again, a minute of
# CPU time.
os.environ |= {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}

# Tests of interruptions and their processes need both signals, but a shell that runs tests in the
# background may ignore Ctrl-C, and `nohup` a closed terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Each boto3 session reads the services' models from JSON again, the main cost of a client. The
# tests' sessions share one loader.
botocore.session.create_loader = functools.cache(botocore.session.create_loader)

# `make test` always runs the same examples; `make fuzz` draws others. Hypothesis has no deadlines,
# which a busy machine might miss; pytest's timeout ends tests that hang.
UNTIMED = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
    "database": None,
}
hypothesis.settings.register_profile("stampede", max_examples=15, derandomize=True, **UNTIMED)
hypothesis.settings.register_profile("fuzz", max_examples=200, print_blob=True, **UNTIMED)
hypothesis.settings.load_profile("stampede")


# Slow fixtures are set up once: a single worker runs all files that use one of these.
PUT_UP_ONCE = ("tests.terraform.deployed", "local_stack")


class FilesTogether(LoadFileScheduling):
    """Schedules whole files, and files with a common slow fixture together."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.scope_of = functools.cache(lambda file: _scope(config.rootpath / file, file))

    def _split_scope(self, nodeid):
        return self.scope_of(super()._split_scope(nodeid))


def _scope(path, file):
    text = path.read_text()
    return next((name for name in PUT_UP_ONCE if name in text), file)


def pytest_collection_finish():
    """Exclude imported and collected objects from garbage collection, which took a fifth of the CPU
    time of tests of reports and simulations."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure():
    """Let go of DuckDB's objects before the interpreter ends, or it prints an error."""
    gc.unfreeze()


def pytest_xdist_make_scheduler(config, log):
    return FilesTogether(config, log)
