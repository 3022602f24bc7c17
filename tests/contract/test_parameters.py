"""The model's parameters agree across all files."""

import json
from collections import Counter

from stampede.checkout import ROOT
from stampede.model.parameters import AWS, read

FILES = [AWS, *(ROOT / "experiments").glob("*/parameters.json")]


def test_a_row_is_a_line_of_its_own_and_a_name_stands_once_in_a_file_and_has_one_unit():
    units = {}
    for path in FILES:
        rows = read(path)
        lines = [
            json.loads(line.strip(" ,"))["name"] for line in path.read_text().splitlines()[1:-1]
        ]
        assert Counter(lines) == Counter({row.name for row in rows})
        for row in rows:
            assert units.setdefault(row.name, row.unit) == row.unit, (path.name, row.name)
