"""A file is replaced whole; what isn't a file is written to and stays what it is."""

import os
import threading

from stampede.runs import atomic


def test_a_pipe_gets_the_page_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    atomic.write_text(pipe, "the page")
    reader.join(timeout=10)
    assert read == ["the page"]
    assert pipe.is_fifo()


def test_a_link_leads_to_the_new_page(tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "latest.html"
    page.write_text("the old page")
    link.symlink_to(page)
    atomic.write_text(link, "the new page")
    assert page.read_text() == "the new page"
    assert link.is_symlink()
