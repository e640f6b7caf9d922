"""The list of all pages that stands beside each page. It is made once: for each page only its links and marks change.

Sphinx and the theme would make it for every page, which took a third of the time of the book.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from sphinx.util.osutil import relative_uri

LEVEL = re.compile(r"<(/?)(?:ul|li)\b[^>]*>")
LINK = re.compile(r'(?<=href=")[^"#]+')
CHECKBOX = 'class="toctree-checkbox"'


def make_once(app: Any) -> None:
    """Every page gets the list as it is on the first page."""
    make = cache(app.builder._get_local_toctree)
    app.builder._get_local_toctree = lambda _page, **options: make("index", **options)


def adapt(app: Any, page: str, _template: str, context: dict[str, Any], _: object) -> None:
    uri = app.builder.get_target_uri(page)
    tree = mark_current(context["furo_navigation_tree"], f'"reference internal" href="{uri}"')
    context["furo_navigation_tree"] = LINK.sub(lambda link: relative_uri(uri, link[0]), tree)


def mark_current(tree: str, link: str) -> str:
    """The tree with this link as the current one, and with all lists unfolded that contain it."""
    above, is_there, below = tree.partition(link)
    way: list[re.Match[str]] = []  # from the outermost list to the item of the link
    for level in LEVEL.finditer(above):
        if level[1]:
            way.pop()
        else:
            way.append(level)
    if is_there:
        tree = f'{above}"current reference internal" href="#"{below}'
    for level in reversed(way):  # none without the link
        rest = tree[level.end() :]
        item = re.sub(r"(toctree-l\d)", r"\1 current", level[0].replace("<ul>", '<ul class="current">'))
        if level is way[-1]:
            item = item.replace('">', ' current-page">')
        if "has-children" in item:
            rest = rest.replace(CHECKBOX, f'checked="" {CHECKBOX}', 1)
        tree = tree[: level.start()] + item + rest
    return tree
