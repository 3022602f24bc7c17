"""What all tests share: a state folder of their own, and no way to a real AWS account."""

import functools
import gc
import os
import signal
import tempfile

import botocore.session
import hypothesis
from xdist.scheduler import LoadFileScheduling

# Before anything of the project is imported: the emulator of the tests is never the user's own.
STATE = tempfile.TemporaryDirectory(prefix="stampede-tests-")  # goes with the process
os.environ["STAMPEDE_STATE_DIR"] = STATE.name
for name in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
    del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull

# What is imported and collected stays to the end; see pytest_collection_finish.
gc.disable()

# A third of the processor time of Terraform and its provider goes into garbage that would be gone
# in seconds anyway.
os.environ.setdefault("GOGC", "400")

# What the tests build in Go is compiled once: other flags would compile the AWS SDK again, a minute
# of a processor.
os.environ |= {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}

# A shell that starts the tests in the background may have them ignore Ctrl-C, `nohup` a closed
# terminal, and every process that they start with them; the tests of interruptions need both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Most of what a client costs is reading its service's model from JSON, for every session again. The
# sessions of the tests share one reader, as the clients of one session do.
botocore.session.create_loader = functools.cache(botocore.session.create_loader)

# `make test` runs the same examples everywhere and every time; chance has its own place, `make
# fuzz`. What goes by the clock in Hypothesis is off, for a busy machine may miss any time; pytest's
# timeout ends what hangs.
UNTIMED = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
    "database": None,
}
hypothesis.settings.register_profile("stampede", max_examples=15, derandomize=True, **UNTIMED)
hypothesis.settings.register_profile("fuzz", max_examples=200, print_blob=True, **UNTIMED)
hypothesis.settings.load_profile("stampede")


# What takes long to put up is put up once: the files that name one of these are run by one worker,
# as if they were one.
PUT_UP_ONCE = ("tests.terraform.deployed", "local_stack")


class FilesTogether(LoadFileScheduling):
    """Hands out whole files, and together those that share what is put up."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.scope_of = functools.cache(lambda file: _scope(config.rootpath / file, file))

    def _split_scope(self, nodeid):
        return self.scope_of(super()._split_scope(nodeid))


def _scope(path, file):
    text = path.read_text()
    return next((name for name in PUT_UP_ONCE if name in text), file)


def pytest_collection_finish():
    """What was imported and collected stays to the end: the collector needn't look through all of
    it again and again, which took a fifth of the processor time of the tests of reports and
    simulations."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure():
    """Else what DuckDB keeps isn't taken down with the interpreter, and it says so."""
    gc.unfreeze()


def pytest_xdist_make_scheduler(config, log):
    return FilesTogether(config, log)
