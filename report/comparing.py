"""The table in the published shape: each measured cell, and under it the published row, each marked as whose it is."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from report import cells, published
from report.measured import clients, mean_bytes, rate, spreads
from report.run import Run
from report.ways import METHOD, SINK, Key, key_of_figures


@dataclass(frozen=True)
class Row:
    """One line of the table. Seconds are None for a planned cell without downloads; the published count is
    unknown.

    `mbit_per_s` is the size of the object over the mean time, 1 Mbit being 1,000,000 bits. `most_at_once` and
    `share_at_full_n` (0 to 1) are the achieved overlap, `cpu_s_per_gib` and `retries` what the client took; these are
    known for measured rows only.
    """

    memory_size_mb: int
    concurrency: int
    source: str
    measured: bool
    count: int | None = None
    min_s: float | None = None
    p25_s: float | None = None
    avg_s: float | None = None
    p75_s: float | None = None
    max_s: float | None = None
    mbit_per_s: float | None = None
    most_at_once: int | None = None
    share_at_full_n: float | None = None
    method: str = METHOD
    sink: str = SINK
    cpu_s_per_gib: float | None = None
    retries: int | None = None
    settings: str = ""

    @property
    def key(self) -> Key:
        """The cell that the line is of."""
        return Key(self.memory_size_mb, self.concurrency, self.method, self.sink, self.settings)


@dataclass(frozen=True)
class Comparison:
    """The rows in order, and the sentences without which they would mislead."""

    rows: list[Row]
    caption: list[str]


def comparison(
    run: Run, rows: Iterable[Mapping[str, Any]] | None = None, numbers: Mapping[str, Any] | None = None
) -> Comparison:
    """Set the cells of `run` beside the published ones.

    `rows` are those of the saved query `methods`; without them, the cells.csv of the run, and without that the figures
    counted from its records. `numbers` are its statistics, for the overlap that was reached; without them they are
    counted. A planned cell without downloads keeps its line. Raises cells.CellsError.
    """
    if numbers is None:
        from report import statistics  # NumPy takes a moment to import

        numbers = statistics.statistics(run)
    if rows is None:
        rows = cells.from_spreads(spreads(run), clients(run)) if run.stored_rows is None else run.stored_rows
    found = {key_of_figures(row): row for row in map(cells.checked, rows)}
    reached = {key_of_figures(cell): cell["parallelism"] for cell in numbers["cells"]}
    sizes = mean_bytes(run)
    lines: list[Row] = []
    for key in sorted(found.keys() | set(run.cell_keys())):
        names = ("count", *cells.SECONDS, "cpu_s_per_gib", "retries")
        figures = {name: found[key][name] for name in names} if key in found else {"count": 0}
        overlap = reached.get(key)
        lines.append(
            Row(
                key.memory_mb,
                key.n,
                method=key.method,
                sink=key.sink,
                settings=key.settings,
                source=run.source,
                measured=True,
                **figures,
                mbit_per_s=rate(sizes.get(key), figures.get("avg_s")),
                most_at_once=overlap and overlap["most_at_once"],
                share_at_full_n=overlap and overlap["share_of_span_at_full"],
            )
        )
        lines += published_row(key)
    return Comparison(lines, caption(run))


def published_row(key: Key) -> list[Row]:
    """The published row of a cell, or none."""
    known = published.download().get((key.memory_mb, key.n))
    if known is None or not key.is_published_way:
        return []
    speed = rate(published.DOWNLOAD_OBJECT_BYTES, known.avg_s)
    return [Row(source=published.DOWNLOAD_LABEL, measured=False, mbit_per_s=speed, **asdict(known))]


def size_words(size_bytes: int | None) -> str:
    """A size for reading, in binary units: `64 MiB`, `1 GiB`."""
    if size_bytes is None:
        return "an object of unknown or mixed size"
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} bytes"


def caption(run: Run) -> list[str]:
    """What must be said with the table: whose figures, which object, what can't be compared."""
    here = size_words(run.object_bytes)
    sentences = []
    if run.target == "local":
        sentences.append(
            "Rows marked “this machine” were measured on this machine with the local emulator: they describe "
            "this machine, not AWS, and memory size changes nothing here."
        )
    if run.object_bytes == published.DOWNLOAD_OBJECT_BYTES:
        sentences.append(f"One object of {here} here, as published ({published.DOWNLOAD_SETTING}).")
    else:
        sentences.append(
            f"The object here is {here}, the published one 1 GiB ({published.DOWNLOAD_SETTING}): don’t compare "
            "their seconds. Mbit/s can be compared, with care: a short download spends a larger share of its "
            "time on connecting."
        )
    return [*sentences, "The published table gives no counts and no overlap."]
