"""Floods of numbered messages into the faulty SQS."""

from botocore.credentials import Credentials

from loader.sqs.sending import Order, Outcome, send_to
from loader.sqs.signing import Endpoint

CREDENTIALS = Credentials("AKIDEXAMPLE", "secret", "session-token")


def endpoint(url, **settings):
    """The endpoint at `url` with credentials that carry a session token."""
    return Endpoint(url, "us-east-1", CREDENTIALS.get_frozen_credentials, **({"timeout_s": 30} | settings))


def flood(sqs, count=95, in_flight=4, **settings) -> tuple[Outcome, list]:
    """Send messages 0, 1, ... whose bodies are their numbers; returns the outcome and what was confirmed."""
    accepted = []
    orders = (Order(seq, str(seq)) for seq in range(count))
    outcome = send_to(endpoint(sqs.url, **settings), sqs.queue_url, orders, accepted.extend, in_flight=in_flight)
    return outcome, accepted
