"""Reads a report page the way the tests need it: structure, references, ids, text."""

import re
from functools import cached_property
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link", "source", "wbr", "col"}
REFERENCES = {"src", "href", "xlink:href", "srcset", "action", "formaction", "data", "poster", "background", "cite"}


class Page(HTMLParser):
    """Collects what a page holds; `faults` names tags that don't nest."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.labelled_by: list[str] = []
        self.faults: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.tables: list[list[list[str]]] = []
        self._open: list[str] = []
        self._cell: list[str] | None = None
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self._open]

    @cached_property
    def text(self) -> str:
        """The visible text with single ordinary spaces."""
        return " ".join(" ".join(self.texts).replace("\u00a0", " ").split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        for name, value in attrs:
            if name in REFERENCES:
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value)
            if name == "aria-labelledby":
                self.labelled_by += value.split()
            self.references += re.findall(r"url\(([^)]*)\)", value or "")
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.rows.append([])
            self.tables[-1].append(self.rows[-1])
        if tag in ("td", "th"):
            self._cell = []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> closes nothing; open: {self._open[-3:]}")
            return
        self._open.pop()
        if tag in ("td", "th"):
            self.rows[-1].append(" ".join("".join(self._cell or []).replace("\u00a0", " ").split()))
            self._cell = None

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            self.styles.append(data)
        elif self._open and self._open[-1] == "script":
            self.scripts.append(data)
        else:
            self.texts.append(data)
            if self._cell is not None:
                self._cell.append(data)
