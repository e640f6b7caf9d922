"""Python code in colours, as HTML for a panel; and panels side by side as one static picture."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape
from keyword import kwlist

from ...draw.svg import BOLD, text, text_width
from .film import STYLES
from .widget import HERE

LOOKS = (HERE / "code.css").read_text("utf-8")
TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"""|(?P<string>(?<!\w)[rbf]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))"""
    rf"|\b(?P<keyword>{'|'.join(kwlist)})\b|\b(?P<figure>\d[\w.]*)",
    re.DOTALL,
)
LINE, LETTER = 18, 7.3  # height of a line and width of a letter, in pixels
HEAD, BETWEEN = 28, 28  # height of a title, and width between panels


def code(lines: Sequence[str], first: int, lit: Collection[str] = ()) -> str:
    """Lines of code as HTML; line n has the id "line n". `lit` are lines to highlight at every step."""
    coloured = TOKEN.sub(colour, escape("\n".join(lines), quote=False)).split("\n")
    classes = ["mg-hot" * (line in lit) + " mg-fused" * line.endswith(", fused") for line in lines]
    looks = [f' class="{each.strip()}"' if each else "" for each in classes]
    pairs = enumerate(zip(coloured, looks), first)
    spans = [f'<span data-id="line {n}"{look}>{line or " "}</span>' for n, (line, look) in pairs]
    return f'<pre class="mg-code">{"".join(spans)}</pre>'


def colour(token: re.Match[str]) -> str:
    """A token as HTML, line by line."""
    return "\n".join(f'<i class="mg-{token.lastgroup}">{line}</i>' for line in token[0].split("\n"))


def side_by_side(looks: str, *rows: Sequence[tuple[str, str]]) -> str:
    """Rows of panels, each a title and HTML, as one SVG."""
    shown, wide, y = list[str](), 0.0, 0.0
    for panels in rows:
        x, top = 0.0, y + HEAD * any(title for title, _ in panels)
        for title, html in panels:
            drawn, width, height = drawing(html)
            shown += [text("mg-name", x, top - 12, title), f'<g transform="translate({x:g} {top:g})">{drawn}</g>']
            x, y = x + max(width, BOLD * text_width(title, 13)) + BETWEEN, max(y, top + height)
        wide = max(wide, x - BETWEEN)
    size = f'width="{wide:g}" height="{y:g}" viewBox="0 0 {wide:g} {y:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture" role="img" {size}><style>{looks}</style>'
    return f"{head}{''.join(shown)}</svg>"


def drawing(html: str) -> tuple[str, float, float]:
    """The picture in a panel, or its lines of code or of text as SVG; and its width and height."""
    if picture := re.search(r"<svg.*?</svg>", html, re.DOTALL):
        drawn = STYLES.sub("", picture[0].replace('class="mg-picture', 'class="', 1))
        width, height = re.findall(r'(?:width|height)="([\d.]+)"', drawn)[:2]
        return drawn, float(width), float(height)
    found = re.findall(r"<span[^>]*>(.*?)</span>|<p[^>]*>(.*?)</p>", html)
    numbered = (f'<i class="mg-dim">{n:2} </i> {line}' if line else words for n, (line, words) in enumerate(found, 1))
    lines = [re.sub(r"(</?)i\b", r"\1tspan", line) for line in numbered]
    start = '<text class="mg-line" xml:space="preserve" x="0" y="'
    drawn = "".join(f'{start}{LINE * n}">{line}</text>' for n, line in enumerate(lines, 1))
    width = LETTER * max((len(re.sub("<.*?>", "", line)) for line in lines), default=0)
    return drawn, width, LINE * (len(lines) + 0.5)
