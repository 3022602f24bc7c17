"""What holds for the page of every report, whatever ran and wherever."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from stampede.phrases import size_words
from stampede.report.analysis import Analysis, analyse
from stampede.report.answer import successes_words
from stampede.report.pictures import first
from stampede.report.results import comparisons, results
from stampede.report.run import load

ONLY_WHERE_SOMETHING_FAILED = {"failures", "accounts", "objects"}
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"


def page_of(folder: Path, name: str = "report.html") -> Element:
    """The page, parsed; parsing fails unless it is well-formed."""
    html = (folder / name).read_text().replace("<!doctype html>", "")
    html = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return ElementTree.fromstring(re.sub(r"<meta ([^>]*)>", r"<meta \1/>", html))


def text_of(element: Element) -> str:
    """The element's text with single ordinary spaces."""
    return " ".join(" ".join(element.itertext()).replace("\u00a0", " ").split())


def opened(element: Element) -> Iterator[Element]:
    """The element and its descendants, except folded ones."""
    yield element
    for child in element:
        if child.tag != "details":
            yield from opened(child)


def names_of(elements: Iterable[Element], tag: str, affix: str) -> set[str]:
    """The ids of the elements with a tag, without `affix`."""
    return {
        element.get("id").replace(affix, "")
        for element in elements
        if element.tag == tag and element.get("id")
    }


def check(folder: Path) -> None:
    """The page answers on one screen, and agrees with the files next to it."""
    page, statistics = page_of(folder), json.loads((folder / "statistics.json").read_text())
    body, headline = page.find("body"), text_of(page.find(".//h1"))
    shown = list(opened(body))
    assert len(headline) <= 200 and len(re.findall(r"[.!?](?= |$)", headline)) <= 2, headline
    assert unseen(analyse(load(folder)), headline) == set(), headline
    assert headline.startswith("Local test, not AWS") == (statistics["target"] == "local")
    assert words_in(body) <= 450
    assert names_of(shown, "caption", "-caption") - ONLY_WHERE_SOMETHING_FAILED <= {
        "results",
        "comparisons",
    }
    for table in (element for element in shown if element.tag == "table"):
        assert len(table.findall("thead/tr/th")) <= 11 and len(table.findall("tbody/tr")) <= 40
    caveats = page.findall(".//section[@aria-labelledby='caveats']//li")
    assert [text_of(caveat) for caveat in caveats] == statistics["caveats"] and len(caveats) <= 5
    ids = Counter(element.get("id") for element in page.iter() if element.get("id"))
    assert max(ids.values()) == 1
    for elements, ending in ((page.iter(), ".svg"), (shown, ".png")):
        files = {path.stem for path in (folder / "figures").glob(f"*{ending}")}
        assert files == names_of(elements, "figure", "figure-")
    assert "bill" not in ids or statistics["target"] == "aws"


def words_in(element: Element) -> int:
    """The number of words outside of tables, pictures and folded parts."""
    if element.tag in ("table", "details") or element.tag.endswith("svg"):
        return len((element.tail or "").split())
    texts = f"{element.text or ''} {element.tail or ''}"
    return len(texts.split()) + sum(map(words_in, element))


def unseen(analysis: Analysis, headline: str) -> set[str]:
    """The numbers in a headline that neither tables nor chart show."""
    tables = [results(analysis), comparisons(analysis.findings, analysis.experiment)]
    texts = [table.markdown() for table in tables if table] + [successes_words(analysis)]
    texts += [chart.words for chart in [first(analysis)] if chart]
    sizes = (figures.size_bytes for figures in analysis.cells.values())
    texts += [size_words(size) for size in sizes if size]
    texts += [f"{row.lost:,} {row.counts['sent'] or 0:,}" for row in analysis.cells.values()]
    shares = [100 * end for row in analysis.findings for end in row.ratio or () if end]
    texts += [f"{whole:.0f}" for share in shares for whole in (share, share // 1, share // 1 + 1)]
    numbers = re.findall(
        NUMBER, re.sub(r"\d+ (series|cells)|\d of \d+ cases|95 % CI|gain\D*10 %", "", headline)
    )
    return set(numbers) - set(re.findall(NUMBER, " ".join(texts)))
