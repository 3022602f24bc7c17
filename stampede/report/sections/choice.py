"""Which is the fastest? Every variant against one of them."""

from collections.abc import Sequence

from stampede.experiment.declaration import Compare, Metric
from stampede.report.figures.choices import Choices
from stampede.report.grid import Column, Entry, Grid, as_fast, level, number, ratio, words
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.comparisons import took_words
from stampede.report.statistics.headline import answerable
from stampede.runs.cell_key import Key


def render(page: Page) -> Block | None:
    """Nothing where nothing was chosen."""
    compares = [one for one in answerable(page.experiment)
                if one.section == "choice" == one.kind and page.numbers["comparisons"].get(one.name)]  # fmt: skip
    if not compares:
        return None
    pictures = [
        Choices(page.subject, compare, ending="" if at == 0 else f"-{compare.name}")
        for at, compare in enumerate(compares)
    ]
    rows = [(compare, one) for compare in compares for one in page.numbers["comparisons"][compare.name]]
    most = max(page.key(one).n for _, one in rows)
    first = [(compare, one) for compare, one in rows if page.key(one).n == most]
    others = [row for row in rows if row not in first]
    return page.block(
        "choice",
        "Ranking",
        pictures,
        grid=_grid(page, "choice-most", first),
        others=_grid(page, "choice-others", others) if others else None,
        together=rows[0][1]["together"],
        spent=[metric.label for metric in _spent(page)],
        drift=page.drift([one for _, one in rows]),
    )


def _spent(page: Page) -> list[Metric]:
    return [metric for metric in page.experiment.metrics if metric.how == "per_gib"]


def _grid(page: Page, name: str, rows: Sequence[tuple[Compare, Figures]]) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    bases = {page.key(one["base"]).words_of(compare.axes) for compare, one in rows}
    lines = []
    for compare, one in rows:
        key, base = page.key(one), page.key(one["base"])
        found = one["all"]
        lines.append(
            (
                one,
                [
                    *([words(base.words_of(compare.axes))] if len(bases) > 1 else []),
                    *as_fast(found["ratio_of_medians"]),
                    *ratio(found["cliffs_delta"], "{:+.2f}"),
                    *(_taken(cells, metric, key, base) for metric in _spent(page)),
                    level(found["level"]),
                    _fastest(one),
                ],
            )
        )
    against = [Column("baseline", words=True)] if len(bases) > 1 else []
    columns = [*against, Column("speedup", "×"), Column("95 %"), Column("Cliff’s delta"), Column("95 %"),
               *(Column(f"{metric.label} per GiB", "×") for metric in _spent(page)), Column("result", words=True),
               Column("against the fastest", words=True)]  # fmt: skip
    which = "its baseline" if len(bases) > 1 else bases.pop()
    return page.grid(name, f"Each against {which}, everything else being equal", columns, lines)


def _taken(cells: dict[Key, Figures], metric: Metric, key: Key, base: Key) -> Entry:
    ours, theirs = (cells[one]["client"][metric.name] for one in (key, base))
    value = ours / theirs if ours and theirs else None
    return number(value, None if value is None else f"{value:.2f}")


def _fastest(one: Figures) -> Entry:
    found = one["against_fastest"]
    if found is None:
        return words("smallest median") if one["all"]["level"] != "cant_tell" else words("")
    took = found["ratio_of_medians"]
    return words("not comparable" if took is None else f"{took_words(took)} as long")
