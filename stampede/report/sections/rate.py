"""How the rate went over time: does a pace find S3's limit, and what does a fixed one run into?"""

from stampede.experiment.parameters import known_parameters
from stampede.phrases import NOTHING, percent
from stampede.report.figures.rate import Rate
from stampede.report.grid import Column, Entry, Grid, number
from stampede.report.sections.page import Block, Page
from stampede.report.trajectories import SETTLED_S, Trajectory, trajectories


def render(page: Page) -> Block | None:
    """Nothing where no record has a course of two moments or more."""
    found = trajectories(page.run)
    if not found:
        return None
    limit_per_s = known_parameters(page.experiment.name)["s3_put_per_s"] if page.run.target == "aws" else None
    picture = Rate(page.subject, found, limit_per_s)
    measured = sum(1 for cell in page.numbers["cells"] if cell["count"])
    return page.block(
        "rate",
        "Rate over time",
        [picture],
        grid=_grid(page, found),
        left_out=picture.left_out,
        too_short=measured - len(found),
        settled_s=SETTLED_S,
        limit=limit_per_s,
        several=any(one.key.n > 1 for one in found),
    )


def _grid(page: Page, found: list[Trajectory]) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    lines = []
    for one in found:
        most = one.in_flight.max()
        entries = [
            number(one.seq),
            number(float(one.at_s[-1]), f"{one.at_s[-1]:,.0f}"),
            *_rate(one, 0),
            *_rate(one, SETTLED_S),
            number(float(one.copied_per_s.max()), f"{one.copied_per_s.max():,.0f}"),
            number(float(most), f"{most:,.0f}"),
        ]
        lines.append((cells[one.key], entries))
    columns = [Column("message"), Column("length", "s"), Column("copied", "per s"), Column("SlowDown", "% of calls"),
               Column(f"after {SETTLED_S} s", "per s"), Column("SlowDown", "% of calls"), Column("peak", "per s"),
               Column("peak in flight")]  # fmt: skip
    return page.grid("rates", f"The median {page.experiment.operation[0]} of each cell", columns, lines)


def _rate(one: Trajectory, from_s: float) -> list[Entry]:
    found = one.rate_from(from_s)
    if found is None:
        return [Entry(NOTHING)] * 2
    per_s, slow = found
    return [number(per_s, f"{per_s:,.0f}"), number(slow, percent(slow), "bad" if slow > 0.02 and from_s else "")]
