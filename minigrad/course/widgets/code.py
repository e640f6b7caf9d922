"""Python code in colours, as HTML for a panel and as a static picture."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape
from keyword import kwlist

from ...draw.charts import SIZE, picture
from .film import FIRST
from .widget import HERE

LOOKS = (HERE / "code.css").read_text("utf-8")
TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"""|(?P<string>(?<!\w)[rbf]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))"""
    rf"|\b(?P<keyword>{'|'.join(kwlist)})\b|\b(?P<figure>\d[\w.]*)",
    re.DOTALL,
)
REMOVED = "−"  # prefix of a line that a pass removed
LINE, LETTER = 18, 7.3  # height of a line and width of a letter, in pixels


def code(lines: Sequence[str], first: int, lit: Collection[str] = (), fused: Collection[str] = ()) -> str:
    """Lines of code as HTML; line n has the id "line n". `lit` are lines to highlight at every step."""
    coloured = TOKEN.sub(colour, escape("\n".join(lines), quote=False)).split("\n")
    marks = [" mg-fused" * (x in fused) + " mg-gone" * x.startswith(REMOVED) for x in lines]
    classes = ["mg-hot" * (line in lit) + mark for line, mark in zip(lines, marks)]
    looks = [f'class="{look}" style="--in: {len(x) - len(x.lstrip())}ch"' for x, look in zip(lines, classes)]
    pairs = enumerate(zip(coloured, looks), first)
    spans = [f'<span data-id="line {n}" {look}>{line or " "}</span>' for n, (line, look) in pairs]
    return f'<pre class="mg-code">{"".join(spans)}</pre>'


def colour(token: re.Match[str]) -> str:
    """A token as HTML, line by line."""
    return "\n".join(f'<i class="mg-{token.lastgroup}">{line}</i>' for line in token[0].split("\n"))


def drawing(html: str) -> str:
    """The pictures in a panel as one SVG, one below the other; without a picture, its lines of code or of text."""
    if found := FIRST.findall(html):
        sizes = [tuple(map(float, SIZE.findall(each)[:2])) for each in found]
        tops = [sum(height for _, height in sizes[:n]) for n in range(len(found))]
        placed = [each.replace("<svg ", f'<svg y="{top:g}" ', 1) for each, top in zip(found, tops)]
        return picture("", max(width for width, _ in sizes), tops[-1] + sizes[-1][1], placed, "")
    lines = re.findall(r"<span data[^>]*>(.*?)</span>|<p[^>]*>(.*?)</p>", html)
    numbered = (f'<i class="mg-dim">{n:2} </i> {line}' if line else words for n, (line, words) in enumerate(lines, 1))
    return draw_lines([*numbered])


def draw_lines(html: Sequence[str], width: float = 0) -> str:
    """Lines of code as a picture, of this width or of the width of the longest line."""
    lines = [re.sub(r"(</?)i\b", r"\1tspan", line) for line in html]
    start = '<text class="mg-line" xml:space="preserve" x="0" y="'
    drawn = [f'{start}{LINE * n}">{line}</text>' for n, line in enumerate(lines, 1)]
    width = width or LETTER * max((len(re.sub("<.*?>", "", line)) for line in lines), default=0)
    return picture("", width, LINE * (len(lines) + 0.5), drawn, "")
