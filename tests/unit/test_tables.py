"""Tables fit the terminal or say what they leave out, and are whole in a pipe."""

import csv
import io
import sys

import pytest

from stampede.tables import print_rows

ROWS = [
    {"name": "s3_get", "usd": 0.5, "count": 12_000, "source": "https://aws.amazon.com/s3/pricing/, GET and all other"},
    {"name": "a" * 30, "usd": None, "count": 1, "source": ""},
]


@pytest.fixture
def shown(monkeypatch, capsys):
    """A function that prints ROWS as a table on a terminal of so many columns (None: a pipe); gives the lines."""

    def show(columns, rows=ROWS):
        if columns:
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
            monkeypatch.setenv("COLUMNS", str(columns))
            monkeypatch.setenv("NO_COLOR", "1")
        print_rows(rows, "table")
        return capsys.readouterr().out.splitlines()

    return show


def test_in_a_pipe_no_text_is_cut_or_folded_and_no_line_ends_with_blanks(shown):
    lines = shown(None)
    assert len(lines) == 4
    assert lines[2].split("  ")[-1] == ROWS[0]["source"]
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_on_a_terminal_texts_are_folded_and_every_word_is_there(shown, columns):
    lines = shown(columns)
    assert max(map(len, lines)) <= columns
    letters = "".join("".join(lines).split())
    assert letters.count("a") >= 30 and "…" not in letters
    assert not lines[-1].startswith("not shown")


def test_columns_for_which_there_is_no_room_are_named_with_how_to_get_them(shown, capsys):
    lines = shown(40)
    assert lines[-1] == "not shown in 40 columns: source; --format csv has them"
    assert max(map(len, lines[:-1])) <= 40
    print_rows(ROWS, "csv")
    assert [row["source"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == [ROWS[0]["source"], ""]


def test_numbers_stand_on_the_right_and_texts_on_the_left(shown):
    assert shown(None, [{"n": 1, "word": "a"}, {"n": 1000, "word": "abc"}])[2:] == ["   1  a", "1000  abc"]


def test_what_looks_like_markup_of_the_terminal_is_printed_as_it_is(shown):
    message = "[error] no [/tmp/x] and no [red]"
    assert shown(None, [{"@message": message}])[2] == message
