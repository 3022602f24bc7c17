"""Each emulator answers as AWS does, except where it is written down that it doesn't."""

import pytest

from tests.localstack import logs_answers, s3_answers, sqs_answers
from tests.localstack.asking import Question

MODULES = (s3_answers, sqs_answers, logs_answers)
QUESTIONS = [value for module in MODULES for value in vars(module).values() if isinstance(value, Question)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_an_emulator_answers_like_aws_or_as_is_known_of_it(endpoint, question):
    assert question.ask(endpoint) == question.unlike.get(endpoint.name, question.aws)
