"""One host's share of the copies in the words of the model, by our Go program and by the published
programs, which used a process for each parallel call."""

from __future__ import annotations

import re
from dataclasses import replace

from experiments.copy.key_plan import HostValues
from experiments.copy.work import OURS, call_spread, connections, copies, rate
from stampede.model.parameters import Parameters
from stampede.model.request_rate import KMS_CALLS_PER_COPY
from stampede.model.work import Step, Work

BOTO3, AWS_CLI = "boto3", "aws_cli"


def work(values: HostValues, parameters: Parameters) -> Work:
    """A host's share of all slices, by our Go program."""
    objects = values["object_count"] / max(1, values["concurrency_value"])
    copying = replace(
        copies(values, parameters, objects, call_cpu_s=parameters[f"{OURS}_call_cpu_s"]),
        rate=_rate(values, parameters),
    )
    return Work(
        [connections(copying.at_once, parameters[f"{OURS}_connection_cpu_s"]), copying],
        network="host",
        spread=call_spread(values, parameters),
        calls_per_s_cap=values["calls_per_s"],
        attempts=values["retry_attempts"],
    )


def published(values: HostValues, parameters: Parameters, program: str = BOTO3) -> Work:
    """One published run on one host: `parallel_limit` processes of boto3, or a process of the AWS
    CLI for each object.

    A process waits for a processor and for S3, so a call takes both times. No more processes have a
    call under way than S3 takes; the others pause before the next attempt.
    """
    processors, cpu_s = vcpus(values["instance_type"]), parameters[f"{program}_call_cpu_s"]
    copying = copies(values, parameters, values["object_count"], call_cpu_s=cpu_s)
    one_s = copying.request_s + cpu_s
    at_once = min(copying.at_once, parameters["s3_put_per_s"] * one_s)
    copying = replace(copying, request_s=one_s, at_once=at_once, threads=processors)
    started = 0 if program == AWS_CLI else values["parallel_limit"]
    starting = Step(
        "starting processes", cpu_s=started * parameters["boto3_process_cpu_s"], threads=processors
    )
    return Work([starting, copying], network="host", spread=parameters["copy_spread"])


def vcpus(instance_type: str) -> int:
    """The vCPUs of an instance type, by its size: four at xlarge and so many times four beyond, two
    below (Amazon EC2 instance types, most families)."""
    times = re.search(r"\.(\d*)xlarge$", instance_type)
    return 4 * int(times[1] or 1) if times else 2


def _rate(values: HostValues, parameters: Parameters) -> str:
    """The rate limit that applies to a copy: without bucket keys that of KMS, if it is lower than
    that of S3."""
    if (
        not values["bucket_key"]
        and parameters["kms_per_s"] / KMS_CALLS_PER_COPY < parameters["s3_put_per_s"]
    ):
        return "kms_copy"
    return rate(values)
