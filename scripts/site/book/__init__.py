"""The book: the lessons and related pages for any web server, made by Sphinx and MyST-NB.

First it assembles a folder of sources with the layout of the repository, so that links between files become links
between pages; conf.py configures Sphinx.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sphinx.cmd.build import build_main
from sphinx.errors import SphinxError

from book import engine, lessons, pages, reference

HERE = Path(__file__).resolve().parent
MENDED = {  # labels for screen readers that the theme lacks, and links in ready-made HTML
    r'role="heading"': r'role="heading" aria-level="2"',
    r'<aside class="sidebar-drawer"': r'<aside class="sidebar-drawer" aria-label="All pages"',
    r'<aside class="toc-drawer': r'<aside aria-label="On this page" class="toc-drawer',
    r'<th class="head[^"]*">(<p></p>)?</th>': r'<td class="head"></td>',
    r'<div id="search-results"': r'<h1>Search</h1>\n<div id="search-results"',
    r'href="\.\./lessons/(\w+)\.ipynb"': r'href="\1.html"',
    r'href="\.\./(exercises/\w+\.ipynb)"': rf'target="run" href="../{lessons.RUN}\1"',
}


def build(out: Path, site: lessons.Site, stepping: Callable[[str], bool] = lambda lesson: True) -> None:
    """Write the book into a new folder. Raises SphinxError for a broken link or any other warning.

    stepping    name of a lesson → whether to run it for live widgets; otherwise they are pictures
    """
    files = out / "_static" / "files"
    files.mkdir(parents=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source = Path(folder) / "source"
        made = lessons.pages(files, site, stepping) | pages.pages(lessons.first(files)) | reference.pages()
        for name, text in {**made, **engine.pages("".join(made.values()))}.items():
            path = source / (name if name.endswith(".ipynb") else f"{name}.md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        if build_main(["-W", "-jauto", f"-c{HERE}", f"-d{folder}/doctrees", str(source), str(out)]):
            raise SphinxError("the book has faulty pages: see the messages above")
    shutil.rmtree(out / "_sources", ignore_errors=True)
    for path in out.rglob("*.html"):
        text = path.read_text("utf-8")
        for what_is, what_should_be in MENDED.items():
            text = re.sub(what_is, what_should_be, text)
        path.write_text(text, "utf-8")
