"""The answer in words: does throughput per function hold as N grows? Only as far as the intervals go."""

from collections.abc import Mapping, Sequence
from typing import Any

from report.phrases import listed
from report.run import Run
from report.statistics import rules
from report.statistics.comparisons import conclusion, took_words
from report.ways import key_of_figures, key_words, told_apart, way_words

Figures = Mapping[str, Any]
# What the largest and the smallest N that are compared have in common: memory in MB, method, sink, other settings.
Place = tuple[Any, ...]

# Below this share of the download time at full N, figures "at N" are mostly figures of less.
ENOUGH_AT_FULL = 0.5

_PLACE = ("memory_size_mb", "method", "sink", "settings")
_PER_MEMORY = (*_PLACE, "level", "words", "holds_up_to")


def verdict(run: Run, cells: Sequence[Figures], against_smallest: Sequence[Figures]) -> dict[str, Any]:
    """Level, headline, the same for each memory and way, whether N was reached, and what must be said with it.

    `cells` and `against_smallest` are those of statistics.json.
    """
    places = sorted({_place_of(cell) for cell in cells})
    named = {place: _place_words(place, told_apart(map(key_of_figures, cells))) for place in places}
    per_memory = [_one_memory(place, named[place], cells, against_smallest) for place in places]
    levels = {one["level"] for one in per_memory}
    level = levels.pop() if len(levels) == 1 else "mixed" if levels else "cant_tell"
    return {
        "level": level,
        "headline": _headline(run, cells, per_memory),
        "per_memory": [{name: one[name] for name in _PER_MEMORY if name in one} for one in per_memory],
        "reached": reached_words(cells),
        "caveats": _caveats(run, cells, against_smallest),
    }


def reached_words(cells: Sequence[Figures]) -> str:
    """Whether N really ran at once, cell by cell where it didn't."""
    timed = [cell for cell in cells if cell["parallelism"]]
    if not timed:
        return "Can’t tell how many ran at once: no record says when it ran."
    short = [cell for cell in timed if cell["parallelism"]["most_at_once"] < cell["concurrency"]]
    partly = [cell for cell in timed if 0 < cell["parallelism"]["reached_full"] < cell["parallelism"]["repeats"]]
    over = [cell for cell in timed if cell["parallelism"]["most_at_once"] > cell["concurrency"]]
    sentences = []
    if short:
        sentences.append(f"N was not reached everywhere: {listed([_only(cell) for cell in short])}.")
    if partly:
        each = [
            f"in {cell['parallelism']['reached_full']} of {cell['parallelism']['repeats']} repeats with {_named(cell)}"
            for cell in partly
        ]
        sentences.append(f"Not every repeat reached its N: {listed(each)}.")
    if over:
        each = [f"{cell['parallelism']['most_at_once']} at {_named(cell)}" for cell in over]
        sentences.append(f"More than N ran at once: {listed(each)}.")
    if not sentences:
        everywhere = "Every cell" if len(timed) == len(cells) else "Every cell with records"
        sentences.append(f"{everywhere} reached its N: that many did run at once.")
    return " ".join(sentences)


def _one_memory(place: Place, named: str, cells: Sequence[Figures], against: Sequence[Figures]) -> dict[str, Any]:
    """The largest N of one memory and way against its smallest; `named` is how sentences name them."""
    numbers = [cell["concurrency"] for cell in cells if _place_of(cell) == place]
    compared = [one for one in against if _place_of(one) == place]
    result = dict(zip(_PLACE, place, strict=False))
    result |= {"named": named, "comparison": None, "holds_up_to": None, "low": min(numbers)}
    if not compared:
        words = f"Can’t tell whether N matters with {named}: there is only N = {numbers[0]}."
        return result | {"level": "cant_tell", "words": words}
    last = compared[-1]
    for one in compared:
        if one["all"]["level"] != "holds":
            break
        result["holds_up_to"] = one["concurrency"]
    words = f"With {named}: {_lower(last['all']['words'])}"
    held = result["holds_up_to"]
    if held is not None and held != last["concurrency"]:
        words += f" Up to N = {held} it holds."
    return result | {"level": last["all"]["level"], "words": words, "comparison": last}


def _headline(run: Run, cells: Sequence[Figures], per_memory: Sequence[Figures]) -> str:
    if not any(cell["count"] for cell in cells):
        return "Can’t tell how downloads behave as N grows: this run has no download on record."
    told = [one for one in per_memory if one["level"] != "cant_tell"]
    if not told:
        return _untold(per_memory)
    sentences = [_claim(_place(run), group) for group in _alike(told)]
    sentences += [
        f"Can’t tell for {memories}: {why}."
        for why, memories in _reasons([one for one in per_memory if one["level"] == "cant_tell"]).items()
    ]
    ends = {key_of_figures(one["comparison"]) for one in told}
    short = [
        cell
        for cell in cells
        if key_of_figures(cell) in ends
        and cell["parallelism"]
        and cell["parallelism"]["most_at_once"] < cell["concurrency"]
    ]
    if short:
        sentences.append(f"But N was not reached: {listed([_only(cell) for cell in short])}.")
    return " ".join(sentences)


def _untold(per_memory: Sequence[Figures]) -> str:
    compared = [one for one in per_memory if one["comparison"]]
    numbers = {one["low"] for one in per_memory}
    if not compared and len(numbers) == 1:
        return f"Can’t tell whether N matters: every download of this run ran at N = {numbers.pop()}."
    if not compared:
        return "Can’t tell whether N matters: no memory size ran at more than one N."
    last = compared[0]["comparison"]
    whys = "; ".join(f"{why} ({memories})" for why, memories in _reasons(compared).items())
    base = last["base"]["concurrency"]
    return f"Can’t tell how downloads at N = {last['concurrency']} compare with N = {base}: {whys}."


def _reasons(untold: Sequence[Figures]) -> dict[str, str]:
    """Memory sizes in words, by the reason why nothing can be told of them."""
    memories: dict[str, list[str]] = {}
    for one in untold:
        last = one["comparison"]
        why = last["all"]["why"] if last else f"there is only N = {one['low']}"
        memories.setdefault(why, []).append(one["named"])
    return {why: listed(names) for why, names in memories.items()}


def _alike(told: Sequence[Figures]) -> list[list[Figures]]:
    """Memories of which the same can be said, together."""
    groups: dict[tuple[Any, ...], list[Figures]] = {}
    for one in told:
        last = one["comparison"]
        key = (last["concurrency"], last["base"]["concurrency"], conclusion(last["all"]))
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _claim(place: str, group: Sequence[Figures]) -> str:
    last = group[0]["comparison"]
    took = listed([f"{took_words(one['comparison']['all']['ratio_of_medians'])} ({one['named']})" for one in group])
    return (
        f"{place}, the median download at N = {last['concurrency']} took {took} as long as at "
        f"N = {last['base']['concurrency']}: {conclusion(last['all'])}."
    )


def _caveats(run: Run, cells: Sequence[Figures], against: Sequence[Figures]) -> list[str]:
    found = []
    if run.target == "local":
        found.append("These figures describe this machine and its emulator, not AWS; memory size changes nothing here.")
    elif run.target != "aws":
        found.append("Nothing on record says where this ran.")
    for cell in cells:
        found += _cell_caveats(cell)
    for one in against:
        inside, everything = one["inside_window"], one["all"]
        if inside["level"] not in ("cant_tell", everything["level"]):
            took = took_words(inside["ratio_of_medians"])
            found.append(
                f"{_named(one)}: counting only downloads inside the full-overlap window, the median took {took} as "
                f"long as at N = {one['base']['concurrency']}: {conclusion(inside)}."
            )
    if any(cell["count"] for cell in cells):
        found.append(rules.WORDS["independence"])
    return found


def _cell_caveats(cell: Figures) -> list[str]:
    found = []
    between, overlap = cell["between_repeats"], cell["parallelism"]
    if between and between["ratio"] and between["ratio"] > 1 + rules.HOLDS_WITHIN:
        found.append(
            f"{_named(cell)}: the means of the repeats lie {between['ratio']:.2f} × apart, which the intervals "
            "don’t show."
        )
    near = overlap and overlap["share_of_download_time_nearly_full"]
    if overlap and overlap["reached_full"] and near is not None and near < ENOUGH_AT_FULL:
        full = overlap["share_of_download_time_at_full"]
        found.append(
            f"{_named(cell)}: only {_percent(near)} of the download time was spent with at least "
            f"{_percent(rules.NEARLY_FULL)} of N running, {_percent(full)} with all {cell['concurrency']}."
        )
    ids = {one["cell"] for one in cell["repeats"] if one["repeat"] is None}
    if len(ids) > 1:
        found.append(
            f"{_named(cell)} pools cells that differ in more than memory, N, method and sink: {listed(sorted(ids))}."
        )
    return found


def _percent(share: float) -> str:
    return "less than 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def _named(cell: Figures) -> str:
    return key_words(key_of_figures(cell))


def _only(cell: Figures) -> str:
    most = cell["parallelism"]["most_at_once"]
    key = key_of_figures(cell)
    return f"at most {most} of {key.n} ran at once with {_place_words(_place_of(cell), not key.is_published_way)}"


def _place(run: Run) -> str:
    return {"local": "On this machine", "unknown": "On an unknown target"}.get(run.target, f"On {run.source}")


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _place_of(figures: Figures) -> Place:
    key = key_of_figures(figures)
    return key.memory_mb, *key.way


def _place_words(place: Place, with_way: bool) -> str:
    memory, *way = place
    return f"{memory} MB, {way_words(*way)}" if with_way else f"{memory} MB"
