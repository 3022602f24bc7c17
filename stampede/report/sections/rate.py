"""How the rate went over time: does a pace find S3's limit, and what does a fixed one run into?"""

from experiments.parameters import known_parameters
from stampede.phrases import NOTHING, percent
from stampede.report.figures.rate import Rate
from stampede.report.grid import Column, Entry, Grid, number
from stampede.report.sections.page import Block, Page
from stampede.report.trajectories import SETTLED_S, Trajectory, trajectories


def rate(page: Page) -> Block | None:
    """None where no record has a time series of two moments or more."""
    shown = trajectories(page.run)
    if not shown:
        return None
    limit_per_s = known_parameters(page.experiment.name)["s3_put_per_s"] if page.run.target == "aws" else None
    picture = Rate(page.subject, shown, limit_per_s)
    measured = sum(1 for cell in page.numbers["cells"] if cell["count"])
    return page.block(
        "rate",
        "Rate over time",
        [picture],
        grid=_grid(page, shown),
        left_out=picture.left_out,
        too_short=measured - len(shown),
        settled_s=SETTLED_S,
        limit=limit_per_s,
        several=any(trajectory.key.n > 1 for trajectory in shown),
    )


def _grid(page: Page, shown: list[Trajectory]) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    lines = []
    for trajectory in shown:
        length_s, in_flight = trajectory.at_s[-1], trajectory.in_flight.max()
        peak_per_s = trajectory.copied_per_s.max()
        entries = [
            number(trajectory.seq),
            number(float(length_s), f"{length_s:,.0f}"),
            *_rate(trajectory, 0),
            *_rate(trajectory, SETTLED_S),
            number(float(peak_per_s), f"{peak_per_s:,.0f}"),
            number(float(in_flight), f"{in_flight:,.0f}"),
        ]
        lines.append((cells[trajectory.key], entries))
    columns = [
        Column("message"),
        Column("length", "s"),
        Column("copied", "per s"),
        Column("SlowDown", "% of calls"),
        Column(f"after {SETTLED_S} s", "per s"),
        Column("SlowDown", "% of calls"),
        Column("most", "per s"),
        Column("most in flight"),
    ]
    return page.grid("rates", f"The median {page.experiment.operation[0]} of each cell", columns, lines)


def _rate(trajectory: Trajectory, from_s: float) -> list[Entry]:
    rate = trajectory.rate_from(from_s)
    if rate is None:
        return [Entry(NOTHING)] * 2
    per_s, slow = rate
    return [number(per_s, f"{per_s:,.0f}"), number(slow, percent(slow), "bad" if slow > 0.02 and from_s else "")]
