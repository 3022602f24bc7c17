"""Now and then AWS answers a call with "Rate exceeded", or with an error of its own."""

import pytest

from stampede.emulator.manners.throttling import FAILED, THROTTLED, Throttling
from tests.unit.emulator.manners.conftest import code_of

CALLS = {
    "athena": "list_work_groups",
    "ec2": "describe_vpcs",
    "efs": "describe_file_systems",
    "iam": "list_roles",
    "lambda": "list_functions",
    "logs": "describe_log_groups",
    "s3": "list_buckets",
    "sqs": "list_queues",
}


@pytest.mark.parametrize("service", CALLS)
def test_some_calls_are_throttled_and_few_fail_each_in_its_services_words(aws, service):
    aws = aws(Throttling)
    [throttling] = aws.manners
    call = getattr(aws.client(service), CALLS[service])
    for throttled, failed, codes in ((1, 0, THROTTLED), (0, 1, FAILED)):
        throttling.THROTTLED_SHARE, throttling.FAILED_SHARE = throttled, failed
        assert code_of(call) == codes[service][1]
    throttling.FAILED_SHARE = 0
    assert code_of(call) == ""


def test_the_same_seed_refuses_the_same_calls_and_few_of_them(aws):
    def refused():
        call = aws(Throttling).client("sqs").list_queues
        return [number for number in range(200) if code_of(call)]

    assert refused() == refused()
    assert 3 <= len(refused()) <= 20


def test_what_carries_data_is_left_alone(aws):
    aws = aws(Throttling)
    sqs, s3 = aws.client("sqs"), aws.client("s3")
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    s3.create_bucket(Bucket="bucket")
    aws.manners[0].THROTTLED_SHARE = 1
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    s3.put_object(Bucket="bucket", Key="a/b", Body=b"x")
    assert code_of(s3.list_objects_v2, Bucket="bucket") == "SlowDown"
