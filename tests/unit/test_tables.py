"""Tables fit the terminal or say what they leave out, and are whole in a pipe."""

import csv
import io
import json
import sys

import pytest

from stampede.tables import Field, Table, print_rows

ROWS = [
    {
        "name": "[red]",
        "usd": 0.5,
        "count": 12_000,
        "source": "https://aws.amazon.com/s3/pricing/, GET and all other",
    },
    {"name": "a" * 30, "usd": None, "count": 1, "source": ""},
]


@pytest.fixture
def shown(monkeypatch, capsys):
    """A function that prints ROWS as a table on a terminal of so many columns (None: a pipe); gives
    the lines."""

    def show(columns):
        if columns:
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
            monkeypatch.setenv("COLUMNS", str(columns))
            monkeypatch.setenv("NO_COLOR", "1")
        print_rows(ROWS, "table")
        return capsys.readouterr().out.splitlines()

    return show


def test_in_a_pipe_no_text_is_cut_or_folded_and_no_line_ends_with_blanks(shown):
    lines = shown(None)
    assert len(lines) == 4
    assert lines[2].split("  ")[-1] == ROWS[0]["source"] and lines[2].startswith("[red] ")
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("columns", [60, 120])
def test_on_a_terminal_texts_are_folded_and_every_word_is_there(shown, columns):
    lines = shown(columns)
    assert max(map(len, lines)) <= columns
    letters = "".join("".join(lines).split())
    assert letters.count("a") >= 30 and "…" not in letters
    assert not lines[-1].startswith("not shown")


def test_columns_for_which_there_is_no_room_are_named_with_how_to_get_them(shown):
    lines = shown(40)
    assert " ".join(lines[-2:]) == "not shown in 40 columns: source; --format csv has them"
    assert max(map(len, lines)) <= 40


FIELDS = [
    Field("name", "name", is_text=True),
    Field("seconds", "median", "s", "{:.2f}".format, rank=2),
    Field("n", "n", rank=1),
    Field("exact", only="files"),
    Field("words", "words", only="reading", rank=3),
]
MEASURED = {"name": "=a|b", "seconds": 0.1 + 0.2, "n": 1000, "exact": 1e-7, "words": "wide " * 9}
TABLE = Table(
    "t", "title", FIELDS, [MEASURED, {"name": "c", "n": 2, "seconds": None}], ["A caption."]
)


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "-x", "\tx"])
def test_a_csv_for_people_has_no_formula(capsys, text):
    print_rows([{"package": text, "n": -1}], "csv")
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row == {"package": f"'{text}", "n": "-1"}


def test_files_of_a_table_have_every_digit():
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert list(rows[0].values()) == ["'=a|b", "0.30000000000000004", "1000", "0.0000001"]
    assert rows[1]["seconds"] == rows[1]["exact"] == ""
    assert json.loads(TABLE.json())[1] == {"name": "c", "seconds": None, "n": 2, "exact": None}


def test_a_table_for_reading_has_a_dash_for_nothing_and_its_caption():
    *rows, _, caption = TABLE.markdown().splitlines()
    assert rows[:2] == ["| name | median s | n | words |", "| --- | ---: | ---: | ---: |"]
    assert rows[2].startswith("| =a\\|b | 0.30 | 1000 | wide") and rows[3] == "| c | – | 2 | – |"
    assert caption == "A caption."


def test_a_narrow_terminal_keeps_what_ranks_first_and_names_the_rest(shown, capsys, monkeypatch):
    shown(24)
    TABLE.print("table")
    printed = " ".join(capsys.readouterr().out.split())
    assert "=a|b 0.30 1000 c – 2" in printed
    assert "not shown in 24 columns: words; --format csv" in printed


def test_two_columns_of_one_key_each_show_their_own_part_of_it(capsys):
    fields = [
        Field("cell", "storage", show=lambda cell: cell[0], is_text=True),
        Field("cell", "read", show=lambda cell: cell[1], is_text=True),
    ]
    Table("t", "title", fields, [{"cell": ("efs", "first")}]).print("table")
    assert "efs     first" in capsys.readouterr().out
