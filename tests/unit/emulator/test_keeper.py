"""The embedded AWS as the keeper runs it loses no record, however busy the machine is."""

import asyncio
import queue
import threading

import pytest
from ministack.core import lambda_runtime
from ministack.core.lambda_runtime import Worker
from ministack.services import iam, s3, sqs

from emulator import keeper


@pytest.fixture
def worker(monkeypatch):
    """A function's process as MiniStack sees it, reduced to the queue that its log lines come in by."""
    monkeypatch.setattr(Worker, "_drain_stderr_bounded", Worker._drain_stderr_bounded)  # put back afterwards
    made = Worker.__new__(Worker)
    made._stderr_queue = queue.Queue()
    return made


def log_later(worker, line, seconds):
    timer = threading.Timer(seconds, worker._stderr_queue.put, [line])
    timer.start()
    return timer


def test_a_log_line_that_comes_late_is_still_one_of_its_invocation(worker):
    keeper.wait_for_log_lines()
    timer = log_later(worker, "the record", 0.6)
    assert worker._drain_stderr_bounded() == "the record"
    timer.join()


def test_ministack_by_itself_loses_it(worker):
    timer = log_later(worker, "the record", 30)
    assert worker._drain_stderr_bounded() == "", "MiniStack waits by itself now: the keeper needn't do it any more"
    timer.cancel()


def test_an_idle_function_waits_without_waking_the_emulator_and_gets_its_event_at_once(monkeypatch):
    monkeypatch.setattr(lambda_runtime, "queue", queue)  # put back afterwards
    keeper.wait_for_events()
    events = lambda_runtime.queue.Queue(maxsize=1)
    timer = threading.Timer(0.4, events.put, ["event"])
    timer.start()
    assert events.get(timeout=0.1) == "event", "it gave up after 0.1 s, as MiniStack does by itself"
    timer.join()
    with pytest.raises(lambda_runtime.queue.Empty):
        events.get_nowait()


def test_a_redrive_policy_may_name_a_queue_that_is_made_beside_it_and_nothing_else_that_is_wrong(monkeypatch):
    policy = '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:later", "maxReceiveCount": 5}'
    monkeypatch.setattr(sqs, "_validate_redrive_policy", sqs._validate_redrive_policy)  # put back afterwards
    with pytest.raises(sqs._Err):
        sqs._validate_redrive_policy(policy)
    keeper.take_queues_in_any_order()
    sqs._validate_redrive_policy(policy)
    with pytest.raises(sqs._Err):
        sqs._validate_redrive_policy("no policy")


def test_a_copy_that_must_not_replace_anything_is_refused_where_something_is(monkeypatch):
    monkeypatch.setattr(s3, "_copy_object", lambda bucket, key, headers: (200, {}, b"copied"))
    monkeypatch.setattr(s3, "_ensure_bucket", {"b": {"objects": {"there": {"etag": '"e"'}}}}.get)

    def answers():
        wanted = [("b", "there", {"if-none-match": "*"}), ("b", "new", {"if-none-match": "*"}), ("b", "there", {})]
        return [s3._copy_object(*one)[0] for one in [*wanted, ("gone", "there", {"if-none-match": "*"})]]

    assert answers() == [200, 200, 200, 200]
    keeper.copy_on_condition()
    assert answers() == [412, 200, 200, 200]


@pytest.mark.parametrize("host", ["", "http://000000000000.127.0.0.1:4566"])
def test_a_request_that_goes_through_it_as_a_proxy_is_served_by_its_path(host):
    served = []

    async def app(scope, receive, send):
        served.append((scope["type"], scope.get("path"), scope.get("raw_path")))

    path, raw = "/v20180820/tags/arn:aws:s3:::http://b", b"/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Ahttp%3A%2F%2Fb"
    request = {"type": "http", "path": host + path, "raw_path": host.encode() + raw}
    for scope in (request, {"type": "lifespan"}):
        asyncio.run(keeper.served_as_by_a_proxy(app)(scope, None, None))

    assert served == [("http", path, raw), ("lifespan", None, None)]


def test_a_profile_takes_the_role_that_it_has_again_and_no_other(monkeypatch):
    monkeypatch.setattr(iam, "_IAM_HANDLERS", dict(iam._IAM_HANDLERS))  # put back afterwards
    monkeypatch.setattr(iam, "_instance_profiles", {"hosts": {"Roles": []}})
    monkeypatch.setattr(iam, "_roles", {"host": {}, "other": {}})

    def statuses(*roles):
        add = iam._IAM_HANDLERS["AddRoleToInstanceProfile"]
        return [add({"InstanceProfileName": ["hosts"], "RoleName": [role]})[0] for role in roles]

    assert statuses("host", "host") == [200, 409], "MiniStack takes it by itself now: the keeper needn't do it any more"
    keeper.take_a_role_again()
    assert statuses("host", "other") == [200, 409]
    assert iam._instance_profiles["hosts"]["Roles"] == ["host"]
