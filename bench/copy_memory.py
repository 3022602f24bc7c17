"""`python -m bench.copy_memory [OBJECTS...]`: peak memory of `transfer copy` for 10 thousand to 10 million objects.

10 million copies take about half an hour on two cores, and the store of keys about 2 GiB. `make bench` stops at a
million.
"""

from __future__ import annotations

import sys

from bench import copies, machine
from bench.__main__ import guarded
from stampede.phrases import significant
from stampede.tables import print_rows

COUNTS = (10_000, 1_000_000, 10_000_000)


def main() -> int:
    """Measure and print the table; returns the exit status."""
    counts = [int(text) for text in sys.argv[1:]] or COUNTS

    def measure() -> None:
        rows = []
        for count in counts:
            figures = copies.peak(count)
            rows.append({"objects": f"{count:,}"} | {name: significant(value) for name, value in figures.items()})
        print_rows(rows, "table")
        print(f"machine: {machine.describe()}")

    return guarded(measure)


if __name__ == "__main__":
    sys.exit(main())
