"""Every text that a report can show, from runs with SYNTHETIC figures: `make check` compares them with
sentences.txt.

`make sentences` writes that file anew. Texts that differ in numbers or names alone stand there once.
"""

import ast
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.text import Text

from experiments import EXPERIMENTS
from stampede import report
from stampede.checkout import ROOT
from stampede.planning.demand import Demand
from stampede.report.figures import drawing
from tests.contract import synthetic
from tests.unit.report.page_parser import VOID

FILE = Path(__file__).with_name("sentences.txt")
# What is read as one text.
BLOCKS = {"h1", "h2", "h3", "p", "li", "a", "dt", "dd", "caption", "th", "td", "figcaption", "summary", "title"}
BLOCKS |= {"desc", "text", "label", "small", "option", "button", "nav"}
NAMES = {value for one in EXPERIMENTS.values() for axis in one.axes if axis.kind is str for value in axis.allowed}
NAMES |= {word for one in EXPERIMENTS.values() for word in (*one.operation, *one.worker)}
NAMES |= {"s3", "efs", "s3files", "large", "small", "first", "repeat", "stream", "download_file"}
SIZES = ["object_bytes=10000,100000000", "parallel_limit=1"]
LIMITS = ["parallel_limit=1,100"]
FEWER = {"express": SIZES, "copy": LIMITS, "download": ["concurrency_value=1,3"]}
STORED, LONGEST = "statistics.json", 200
ON_AWS = {"target": "aws", "account": {"region": "us-east-1"}}
ENDPOINT = {"target": "endpoint", "endpoint_url": "http://127.0.0.1:4566"}


# The runs.


def runs(folder: Path) -> Iterator[Path]:
    """The pages of runs that differ in all that decides what a report says."""
    for number, (name, settings, options) in enumerate(_runs()):
        change = options.pop("change", None)
        path = synthetic.write(folder / f"run-{number}", EXPERIMENTS[name], settings, **options)
        if change:
            change(path)
        yield report.build(path)
    for number, (one, *others) in enumerate(([0, 1], [0, 2, 0], [0, 12], [3, 4], [5, 6], [7, 8], [9, 10, 11])):
        named = [folder / f"run-{at}" for at in (one, *others)]
        if len(set(named)) == len(named):
            yield report.compare(named, folder / f"compared-{number}.html")


def _runs() -> Iterator[tuple[str, Sequence[str], dict[str, Any]]]:
    of_n = ["memory_size=1024", "concurrency_value=1,4"]
    # Compared with each other.
    yield "download", of_n, {"takes": lambda one: 1.0}
    yield "download", of_n, {"takes": lambda one: 1.5 if one.concurrency > 1 else 1.2}
    yield "download", of_n, {"takes": lambda one: 1.0, **ON_AWS}
    yield "download", of_n, {"takes": lambda one: 0.8 - one.concurrency / 50}
    yield "download", ["memory_size=1024", "concurrency_value=1,6"], {"takes": lambda one: one.concurrency / 5}
    yield "copy", LIMITS, {}
    yield "copy", LIMITS, {"takes": lambda one: 2.0, "per_n": 5}
    yield "express", SIZES, {"takes": _crossing, "predicted": 4}
    yield "express", SIZES, {"takes": _crossing, **ON_AWS}
    yield "filesystem", [], {"predicted": 2}
    yield "filesystem", [], {"takes": lambda one: 1.05, **ENDPOINT}
    yield "filesystem", ["memory_size=512,1024"], {}
    # Each experiment: all, one cell, the last cell missing.
    for name in EXPERIMENTS:
        yield name, FEWER.get(name, []), {"predicted": 3, "unmeasured": 1}
        yield name, synthetic.first(EXPERIMENTS[name]), {}
    yield "download", synthetic.first(EXPERIMENTS["download"]), {"takes": lambda one: 1.0, "per_n": 2, **ON_AWS}
    yield "download", ["memory_size=512,1024,2048", "concurrency_value=1,2"], {"takes": _mixed, "repeats": 2}
    yield "download", ["memory_size=1024,2048", "concurrency_value=2"], {"takes": lambda one: 1.0}
    yield "download", of_n, {"takes": lambda one: one.concurrency**0.05, "per_n": 10}
    yield "download", ["method=download_file,stream,ranges", *of_n], {"predicted": 9}
    yield (
        "download",
        ["method=stream,download_file,ranges", *of_n[:1], "concurrency_value=2"],
        {"takes": _stream_is_best},
    )
    yield "download", ["method=download_file,stream", *of_n[:1], "concurrency_value=2"], {"takes": lambda one: 1.0}
    yield (
        "download",
        ["method=download_file,stream", "memory_size=1024,2048", "concurrency_value=2"],
        {"takes": _depends},
    )
    yield "download", ["method=download_file,stream", *of_n[:1], "concurrency_value=1"], {"per_n": 3}
    yield (
        "download",
        ["memory_size=1024", "concurrency_value=1,2,12"],
        {"takes": lambda one: 2 if one.concurrency > 2 else 1},
    )
    yield "filesystem", ["dataset=small"], {"per_n": 24, "change": lambda folder: _later(folder, "first", "repeat")}
    yield "download", of_n, {"change": _no_figures}
    yield "download", of_n, {"change": _damaged, "predicted": 3}
    yield "download", of_n, {"change": _without("run.json")}
    yield (
        "download",
        of_n,
        {"change": _without("log_events.jsonl", "accounting.json", "sent.jsonl"), "target": "unknown"},
    )
    yield "download", of_n, {"change": _messy, **ON_AWS}
    yield (
        "download",
        ["memory_size=1024", "concurrency_value=1,3,10"],
        {"change": _never_together, "predicted": 3, **ON_AWS},
    )
    yield "copy", ["concurrency_value=1,4", "parallel_limit=1,10"], {**ON_AWS}
    yield "copy", ["pace=fixed,adaptive", *LIMITS], {"takes": lambda one: 1 / one.values["parallel_limit"]}
    yield "copy", LIMITS, {"takes": lambda one: 1.0, "per_n": 2, "change": _objects_missing}
    yield "copy", ["parallel_limit=1,10,50"], {"takes": lambda one: 40 / min(10, one.values["parallel_limit"])}
    yield "copy_host", ["parallel_limit=10,50"], {"takes": lambda one: 4.0}
    yield "express", SIZES, {"takes": lambda one: 1 + (one.values["storage_class"] == "express")}
    yield "express", SIZES, {"takes": lambda one: 1.0, "change": _evidence, **ENDPOINT}
    yield (
        "express",
        ["object_bytes=10000,100000"],
        {"takes": lambda one: 2 - (one.values["storage_class"] == "express"), **ON_AWS},
    )
    yield "express", ["object_bytes=10000"], {"takes": _crossing, "per_n": 4, "change": _no_prices}
    yield "express", [*SIZES, "storage_class=standard"], {}
    yield "filesystem", ["storage=s3,s3files", "dataset=small"], {}
    yield "filesystem", ["storage=s3,s3_in_vpc,efs", "dataset=small", "concurrency_value=1,3"], {**ON_AWS}
    yield "filesystem", ["storage=s3,efs"], {"takes": _efs_reads_small_files_faster, **ON_AWS}
    sizes = "memory_size=512,1024,1769,3008"
    yield "function", [sizes, "concurrency_value=1,10"], {"takes": _level_from_1769, "change": _killed, **ON_AWS}
    yield (
        "function",
        ["memory_size=512,1024", "concurrency_value=1"],
        {"takes": lambda one: 512 / one.memory_mb, **ON_AWS},
    )
    yield "function", ["memory_size=512,1024", "concurrency_value=1"], {"per_n": 4, "change": _no_prices, **ON_AWS}
    yield "function", ["memory_size=512,1024"], {"change": _without("log_events.jsonl"), **ENDPOINT}
    starts = {"per_n": 24, "change": lambda folder: _later(folder, "cold", "warm")}
    yield "function", ["memory_size=1024", "concurrency_value=2"], starts


def _crossing(one: Demand) -> float:
    size, is_quick = one.values["object_bytes"], one.values["storage_class"] == "express"
    return (0.3 + 2e-8 * size) if is_quick else (1 + 1e-8 * size)


def _mixed(one: Demand) -> float:
    slower = 1.0 + one.memory_mb / 1024 * (one.concurrency > 1) * (one.memory_mb > 512)
    return slower * (1.3 if one.name.endswith("repeat=2") else 1)


def _stream_is_best(one: Demand) -> float:
    return {"stream": 0.5, "ranges": 0.51}.get(str(one.values["method"]), 1.0)


def _depends(one: Demand) -> float:
    return 1.0 + ((one.values["method"] == "stream") == (one.memory_mb == 1024))


def _efs_reads_small_files_faster(one: Demand) -> float:
    return 1.0 + ((one.values["storage"] == "efs") != (one.values["dataset"] == "small"))


def _level_from_1769(one: Demand) -> float:
    return {512: 2.0, 1024: 1.0, 1769: 0.5}.get(one.memory_mb, 0.45)


def _killed(folder: Path) -> None:
    """A message of each cell with one memory size left no record, and half of the REPORT lines are missing."""
    _rows(folder, "records", lambda row: not (row["memory_size"] == 512 and row["seq"] == 5))
    sent = [json.loads(line) for line in (folder / "sent.jsonl").read_text().splitlines()]
    unanswered = [row for row in sent if "memory_size=512" in row["cell"] and row["seq"] == 5]
    (folder / "unanswered.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unanswered))
    ids = tuple(row["message_id"] for row in unanswered)
    for text in ("Memory Size: 1024", *(f'"message_id": "{message}"' for message in ids)):
        _rows(folder, "log_events", lambda row, text=text: text not in row["message"])
    accounts = json.loads((folder / "accounting.json").read_text())
    for row in accounts:
        if "memory_size=512" in row["cell"]:
            row |= {"succeeded": row["succeeded"] - 1, "unanswered": 1}
    (folder / "accounting.json").write_text(json.dumps(accounts))
    line = "RequestId: 276ff3b9-1609-4ee7-a288-db3752630761 Error: Runtime exited with error: signal: killed\n"
    with (folder / "log_events.jsonl").open("a") as events:
        events.write(json.dumps({"timestamp": synthetic.STARTED_MS, "message": line, "logStream": "s"}) + "\n")


def _rows(folder: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    kept = [row for row in rows if change(row) is not False]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))


def _changed(folder: Path, **told: Any) -> None:
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(manifest | told))


def _without(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names] and None


def _no_figures(folder: Path) -> None:
    for name in ("records", "log_events", "sent"):
        (folder / f"{name}.jsonl").write_text("")
    _changed(folder, cost=None)


def _no_prices(folder: Path) -> None:
    _changed(folder, cost={"items": [], "total_usd": 1.0})


def _damaged(folder: Path) -> None:
    """Lines that can't be read, records of other settings and of other sizes, and a prediction in pieces."""
    (folder / "cells.csv").write_text("nothing\n")
    with (folder / "records.jsonl").open("a") as file:
        file.write('{"cell": 1}\n{"half\n')
    with (folder / "log_events.jsonl").open("a") as file:
        file.write('{"half\n')
    _rows_of = iter(range(10**6))
    _rows_from(
        folder, lambda row: row.update(memory_size=4096) if next(_rows_of) % 40 == 7 else row.update(bytes=row["seq"])
    )
    manifest = json.loads((folder / "run.json").read_text())
    first, *_ = manifest["prediction"]["cells"]
    manifest["prediction"]["cells"][first] = {"avg_s": "soon"}
    manifest["prediction"] |= {"parameters": [{"name": 5}], "place": "aws", "seed": None}
    manifest["cost"] |= {"region": "eu-west-1", "items": [{"what": "pollers", "usd": None}]}
    (folder / "run.json").write_text(json.dumps(manifest))


def _later(folder: Path, first: str, later: str) -> None:
    """Of the messages from 12 on, and of message 2, records say the later kind of operation."""
    for name in ("records", "log_events"):
        text = (folder / f"{name}.jsonl").read_text().splitlines()
        changed = [
            re.sub(rf'{first}(?=\\?")', later, line) if re.search(r"seq\W+(1[2-9]|2)\b", line) else line
            for line in text
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(changed) + "\n")


def _rows_from(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    lines = (folder / "records.jsonl").read_text().splitlines()
    read = [json.loads(line) if line.endswith("}") and "run_id" in line else None for line in lines]
    for row in filter(None, read):
        change(row)
    texts = [line if row is None else json.dumps(row) for line, row in zip(lines, read, strict=True)]
    (folder / "records.jsonl").write_text("\n".join(texts) + "\n")


def _messy(folder: Path) -> None:
    """Duplicates, failures for good, dead letters, warm-ups, lost messages, what S3 saw, and a longer ramp."""

    def change(row: dict[str, Any]) -> Any:
        if row["seq"] == 3:
            row |= {"status": "error", "error_type": "ClientError", "error_message": "503"}
        row["warm_up"] = int(row["seq"] == 5)
        return row["seq"] != 4

    _rows(folder, "records", change)
    lines = (folder / "records.jsonl").read_text().splitlines()
    again = json.loads(lines[-1]) | {"attempt": 9, "request_id": "again"}
    (folder / "records.jsonl").write_text("\n".join([*lines, json.dumps(again)]) + "\n")
    dead = {"cell": again["cell"], "seq": 3, "body": "{}"}
    (folder / "dead_letters.jsonl").write_text(json.dumps(dead) + "\n")
    (folder / "unanswered.jsonl").write_text(json.dumps(dead | {"seq": 4}) + "\n")
    accounts = json.loads((folder / "accounting.json").read_text())
    accounts[-1]["unanswered"] = 1
    (folder / "accounting.json").write_text(json.dumps(accounts))
    asked = {
        "requests": 30,
        "request_ids": 20,
        "first_request": "2026-11-22T10:00:00Z",
        "last_request": "2026-11-22T10:00:09Z",
    }
    rows = [{"request": "REST.GET.OBJECT", "role": "theirs", "status": 200, **asked}]
    told = {"asked_at": "2026-11-22T12:00:00+00:00", "role": "ours", "rows": rows}
    (folder / "server_side.json").write_text(json.dumps(told))
    _evidence(folder)


def _evidence(folder: Path) -> None:
    """Assumptions about AWS that held, and some that didn't."""
    counts = {"clocks": (1, 0), "logs-late": (0, 1), "codes": (9, 2)}
    checks = [{"id": name, "held": held, "contradicted": wrong} for name, (held, wrong) in counts.items()]
    checks[1]["values"] = {"latest_s": 700.5}
    target = json.loads((folder / "run.json").read_text())["target"]
    (folder / "evidence.json").write_text(json.dumps({"target": target, "checks": checks}))


def _never_together(folder: Path) -> None:
    """One after the other, in more than one cell, and those of one N with gaps."""
    at: dict[str, int] = {}

    def change(row: dict[str, Any]) -> None:
        start = at.get(row["cell"], synthetic.STARTED_MS)
        at[row["cell"]] = start + 1000 + 500 * (row["seq"] % 3)
        together = row["concurrency_limit"] == 3 and row["seq"] < 3
        row |= {"started_at_ms": synthetic.STARTED_MS if together else start, "finished_at_ms": at[row["cell"]] - 1}
        if row["seq"] == 0 and row["concurrency_limit"] == 1:
            row |= {"finished_at_ms": start + 60_000}

    _rows(folder, "records", change)


def _objects_missing(folder: Path) -> None:
    (folder / "failed_objects.jsonl").write_text("{half\n")

    def change(row: dict[str, Any]) -> Any:
        row["planned"] = row.get("planned", 0) + (row["seq"] == 1)
        return row["seq"] != 0

    _rows(folder, "records", change)


# What they show.


def texts_of(figure: Figure) -> str:
    """A picture as nothing but its texts: of its axes, legends and titles, without the numbers at the ticks."""
    found = [one.get_text() for part in _parts(figure) for one in part.findobj(Text, include_self=True)]
    texts = "".join(f"<text>{escape(text)}</text>" for text in found if re.search(r"[a-z]{2}", text))
    return f'<svg width="1pt" height="1pt">{texts}</svg>'


def _parts(figure: Figure) -> Iterator[Artist]:
    yield from (*figure.legends, *figure.texts, *filter(None, (figure._supxlabel, figure._supylabel)))
    for axes in figure.axes:
        yield from (*axes.texts, axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label)


class Texts(HTMLParser):
    """The texts of a page, each with the place where it stands."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._open: list[tuple[str, Mapping[str, str | None], list[str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        tag, attributes, parts = self._open.pop()
        text = " ".join("".join(parts).replace("\u00a0", " ").split())
        is_inside_text = any(outer in BLOCKS for outer, *_ in self._open) and tag in ("a", "small", "b", "code")
        if tag not in BLOCKS or is_inside_text:
            if self._open and tag not in ("style", "script"):
                self._open[-1][2].append("".join(parts))
            return
        is_figure = tag == "td" and not re.search(
            "words|holds|slower|faster|unclear|cant", attributes.get("class") or ""
        )
        if not is_figure and not (tag == "th" and attributes.get("scope") == "row"):
            self.found.append((f"{self._place()} · {tag}", text))

    def _place(self) -> str:
        named = [attributes.get("aria-labelledby") for tag, attributes, _ in self._open if tag == "section"]
        named += ["figure" for tag, *_ in self._open if tag == "figure"]
        return " · ".join(filter(None, named)) or next(
            (tag for tag, *_ in self._open if tag in ("header", "nav")), "page"
        )

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1][2].append(data)


def _stored(value: Any) -> Iterator[tuple[str, str]]:
    """The sentences of statistics.json."""
    parts = (
        value.items() if isinstance(value, dict) else [("", one) for one in value] if isinstance(value, list) else ()
    )
    for name, part in parts:
        if isinstance(part, str) and name in ("words", "why", "short", "rule"):
            yield f"{STORED} · {name}", part
        yield from _stored(part)


def _in_code() -> Iterator[str]:
    """What else the code of the report can say, as it stands there."""
    for path in sorted(path for folder in ("report", "runs") for path in (ROOT / "stampede" / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        parts = {id(part) for node in whole for part in ast.walk(node) if part is not node}
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in parts:
                texts = []
                for part in node.values:
                    texts.append(part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}")
                yield "".join(texts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (parts | docs):
                yield node.value


def _is_in(text: str, shown: str) -> bool:
    """Whether all parts of a text between its figures were shown; what has no three words is no sentence."""
    said = [part.strip() for part in re.split(r"\{[^{}]*\}", text)]
    is_said = len(re.findall(r"\b[a-z]{2,}\b", " ".join(said))) > 2 and not re.search(r"[\\<]|upper center|-src", text)
    return not is_said or all(part in shown for part in said)


def _masked(text: str) -> str:
    text = re.sub(r"run-\d+|\d[\d.,]*", "#", text)
    return re.sub(rf"\b({'|'.join(sorted(NAMES, key=len, reverse=True))})\b", "*", text)


def every_text() -> str:
    """The content of sentences.txt."""
    found: dict[str, dict[str, str]] = {}

    def add(place: str, text: str) -> None:
        if place.endswith("desc"):  # lists every figure
            text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        if re.search(r"[A-Za-z]{2}", text):
            mask = _masked(text).partition("#")[0] if place.endswith("desc") else _masked(text)
            found.setdefault(re.sub("against-[A-Z]", "against", place), {}).setdefault(mask, text)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "svg", texts_of)
        patch.setattr(drawing, "png", lambda figure: b"")
        for path in runs(Path(folder)):
            for place, text in Texts(path.read_text()).found:
                add(place, text.replace(folder, "…"))
            if path.name == "report.html":
                for place, text in _stored(json.loads((path.parent / "statistics.json").read_text())):
                    add(place, text)
    page = "\n".join(mask for place, texts in found.items() if not place.startswith(STORED) for mask in texts)
    for place, texts in found.items():
        if place.startswith(STORED):
            found[place] = {mask: text for mask, text in texts.items() if mask not in page}
    shown = "\n".join(text for texts in found.values() for text in texts.values())
    found["not shown by these runs"] = {text: text for text in _in_code() if not _is_in(text, shown)}
    parts = ["\n".join([f"## {place}", *texts.values(), ""]) for place, texts in found.items() if texts]
    return "\n".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        FILE.write_text(every_text())
    elif every_text() != FILE.read_text():
        sys.exit(f"{FILE.name}: a text of the report has changed; run `make sentences`, and read what differs")
