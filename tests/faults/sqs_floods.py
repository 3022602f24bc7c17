"""Floods of numbered messages to the faulty SQS."""

from botocore.credentials import Credentials

from loader.sqs.message import Order, Outcome
from loader.sqs.sending import send_to
from loader.sqs.service import Endpoint

CREDENTIALS = Credentials("AKIDEXAMPLE", "secret", "session-token")


def endpoint(url, **settings):
    """The endpoint at `url` with credentials that carry a session token."""
    return Endpoint(
        url, "us-east-1", **({"credentials": CREDENTIALS.get_frozen_credentials} | settings)
    )


def flood(
    sqs, count=95, in_flight=4, on_accepted=lambda batch: None, **settings
) -> tuple[Outcome, list]:
    """Sends messages 0, 1, ... with their numbers as bodies; returns the outcome and the
    confirmed messages."""
    accepted = []

    def note(batch):
        accepted.extend(batch)
        on_accepted(batch)

    orders = (Order(seq, str(seq)) for seq in range(count))
    return send_to(
        endpoint(sqs.url, **settings), sqs.queue_url, orders, note, in_flight=in_flight
    ), accepted
