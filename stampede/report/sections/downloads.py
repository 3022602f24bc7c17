"""What can be downloaded from the page: files inside it as data addresses, large ones as links to files beside it."""

import base64
import gzip
import os
from dataclasses import dataclass
from pathlib import Path

from stampede.report import statistics, table
from stampede.report.sections.page import Block, Page
from stampede.runs import stored_json

# Larger records stay beside the page: it has to open on a phone.
LARGEST_EMBEDDED_BYTES = 5_000_000


@dataclass(frozen=True)
class Download:
    """One link: its words, the name the file gets, its address. `plain` is the name once a script has unpacked it."""

    label: str
    file_name: str
    address: str
    note: str = ""
    plain: str = ""


def downloads(page: Page) -> Block:
    """The tables, the statistics and the records."""
    run, beside = page.run, page.beside
    texts = (
        ("table.csv", table.to_csv(beside), "text/csv"),
        ("table.md", table.to_markdown(beside), "text/markdown"),
        ("table.json", table.to_json(beside), "application/json"),
        ("statistics.json", statistics.to_text(dict(page.numbers)), "application/json"),
    )
    files = [embedded(label, f"{run.run_id}.{label}", text, kind) for label, text, kind in texts]
    if raw := records(run.directory, run.run_id):
        files.append(raw)
    return page.block("downloads", "Download the data", files=files)


def embedded(label: str, file_name: str, text: str, kind: str) -> Download:
    """A file inside the page; `kind` is its media type."""
    return Download(label, file_name, f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}")


def records(folder: Path, run_id: str) -> Download | None:
    """The raw records: inside the page, compressed, while they are small; else the file beside it. None without them.

    A script unpacks them on the way; without one, the compressed file is what arrives.
    """
    path = folder / "records.jsonl"
    try:
        with stored_json.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(LARGEST_EMBEDDED_BYTES + 1)
    except (OSError, stored_json.NotAFile):
        return None
    if size > LARGEST_EMBEDDED_BYTES:
        note = f"{size / 1e6:,.1f} MB, a file in the same folder"
        return Download("records.jsonl", f"{run_id}.records.jsonl", "records.jsonl", note)
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    name = f"{run_id}.records.jsonl"
    return Download("records.jsonl", f"{name}.gz", f"data:application/gzip;base64,{packed}", "compressed", name)
