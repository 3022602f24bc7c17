"""The function experiment: the user's own Lambda function at several memory sizes and N."""

from experiments.function.checks import checks, local_checks
from experiments.function.work import EXAMPLE, FunctionValues, measured, work
from stampede.axes import Axis, concurrency_axis, memory_axis
from stampede.experiment import CPU_S, PEAK_MEMORY_MB, Compare, Experiment, Matrix, Metric, Usage
from stampede.variable_rules import DEFAULTS

# A function's process of the embedded AWS: the proxy and a handler without libraries (anonymous
# memory: 13 MiB).
PROCESS_MB = 24


class Function(Experiment):
    name = "function"
    question = "Which memory does my own function need, and does it hold at N?"
    operation = ("invocation", "invocations")
    axes = (
        memory_axis(),
        concurrency_axis(),
        Axis("package", kind=str),
        Axis("architecture", kind=str, default="x86_64"),
        Axis("batch_size", words="batches of {}", default=1),
        Axis("batching_window_s", label="window", words="gathered for {} s", unit="s", default=0),
        # Only in records: the number of the payload in its file, from 0.
        Axis("payload", variable="", words="payload {}", default=0),
        # Only in records: whether the invocation was the first of its sandbox.
        Axis("start", variable="", words="{} start", kind=str, default="cold", later="warm"),
    )
    metrics = (
        Metric(
            "seconds", "elapsed_seconds", "seconds for one invocation", "s", "spread", queried=True
        ),
        Metric(
            "per_s",
            "elapsed_seconds",
            "per function",
            "invocations/s",
            "per_second",
            "higher",
            digits=2,
        ),
        Metric(
            "init_s",
            "init_seconds",
            "init",
            "s",
            queried=True,
            digits=3,
            reading=(
                "“init” is the time from the runtime’s start to its first request, once in each "
                "sandbox; it isn’t part of the invocation."
            ),
        ),
        Metric(
            "message_s",
            "batch",
            "per message",
            "s",
            "seconds_per",
            digits=3,
            reading=(
                "Seconds are those of an invocation with its whole batch; “per message” is that "
                "time over its messages."
            ),
        ),
        CPU_S,
        PEAK_MEMORY_MB,
    )
    query = "invocations"
    matrices = {
        "aws": Matrix(
            swept={"memory_size": (512, 1024, 1769, 3008), "concurrency_value": (1, 10, 100)},
            fixed={"package": str(EXAMPLE)},
        ),
        # Memory changes nothing on one machine; the run shows the whole path.
        "local": Matrix(
            swept={"memory_size": (1024, 1769), "concurrency_value": (1, 5, 10)},
            fixed={"package": str(EXAMPLE)},
        ),
    }
    messages_per_concurrency = 11  # a cold start, and as many warm ones as a comparison needs
    defaults = DEFAULTS["function"]
    takes_payload = True
    compare = (
        Compare("between_packages", "choice", ("package",), base=(EXAMPLE.name,)),
        Compare("between_architectures", "choice", ("architecture",), base=("x86_64",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
        Compare("between_starts", "choice", ("start",), base=("cold",)),
    )
    headline_of = {"start": "warm"}
    checks = staticmethod(checks)
    local_checks = staticmethod(local_checks)
    work = staticmethod(work)
    measured = staticmethod(measured)

    def usage(self, values: FunctionValues) -> Usage:
        """A process; the handler's data isn't known before it has run."""
        tmp_mb = values["ephemeral_storage_mb"]
        return Usage(
            moved_mb=0, data_mb=0, process_mb=PROCESS_MB, tmp_mb=tmp_mb, sized_by="package", uses=()
        )


FUNCTION = Function()
