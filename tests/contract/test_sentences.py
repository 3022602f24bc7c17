"""Every text that users read of a report, in one file to be read: a change of wording is seen as one."""

from tests.contract import sentences


def test_every_text_of_a_report_stands_in_the_list():
    assert sentences.every_text() == sentences.FILE.read_text(), "read what has changed, then: make sentences"
