"""The list of all pages in the sidebar. It is made once: for each page only its links and marks change.

Sphinx and the theme would make it for every page, which took a third of the book's build time.
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
    """Give every page the first page's list, adapted."""
    make = cache(app.builder._get_local_toctree)
    app.builder._get_local_toctree = lambda _page, **options: make("index", **options)


def adapt(app: Any, page: str, _template: str, context: dict[str, Any], _: object) -> None:
    uri = app.builder.get_target_uri(page)
    tree = mark_current(context["furo_navigation_tree"], f'"reference internal" href="{uri}"')
    context["furo_navigation_tree"] = LINK.sub(lambda link: relative_uri(uri, link[0]), tree)


def mark_current(tree: str, link: str) -> str:
    """The tree with this link as the current one, and all lists that contain it unfolded."""
    above, is_there, below = tree.partition(link)
    way: list[re.Match[str]] = []  # the lists that contain the link, outermost first
    for level in LEVEL.finditer(above):
        if level[1]:
            way.pop()
        else:
            way.append(level)
    if is_there:
        tree = f'{above}"current reference internal" href="#"{below}'
    for level in reversed(way):  # empty if there is no link
        rest = tree[level.end() :]
        item = re.sub(r"(toctree-l\d)", r"\1 current", level[0].replace("<ul>", '<ul class="current">'))
        if level is way[-1]:
            item = item.replace('">', ' current-page">')
        if "has-children" in item:
            rest = rest.replace(CHECKBOX, f'checked="" {CHECKBOX}', 1)
        tree = tree[: level.start()] + item + rest
    return tree
