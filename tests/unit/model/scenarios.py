"""Cells for the model, whose operations take a known time."""

from stampede.model import parameters as known
from stampede.model.parameters import Parameters
from stampede.model.prediction import Scenario
from stampede.model.work import Step, Work

AWS = Parameters(known.read(known.AWS))
# Ten seconds of requests to S3, one after the other.
WAITING = Step("waiting", requests=100, request_s=0.1, rate="s3_get")


def a_cell(step=None, *, each=10, concurrency=50, **changes):
    """A cell of functions that take ten seconds, or as long as `step`; `each` messages per N."""
    work = Work([step or Step("working", fixed_s=10.0)], **changes.pop("of_work", {}))
    values = {
        "messages": each * concurrency,
        "memory_mb": 2048,
        "timeout_s": 60.0,
        "visibility_timeout_s": 360.0,
    }
    if changes.get("trigger", "standard") == "standard":
        values["maximum_concurrency"] = max(2, concurrency)
    return Scenario(lambda _: work, concurrency=concurrency, **values | changes)


def polled(least, most=None):
    """The variables of a cell with provisioned pollers."""
    return {"trigger": "provisioned", "pollers": (least, most or least)}
