"""The list of all pages, which stands beside each page. Sphinx and the theme would make it for every page, a third of
the time of the book: here they make it once, for the first page, and for each page the links and marks are adapted.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any

from sphinx.util.osutil import relative_uri

LEVEL = re.compile(r"<(/?)(?:ul|li)\b[^>]*>")
LINK = re.compile(r'(?<=href=")[^"#]+')
CHECKBOX = 'class="toctree-checkbox"'


def setup(app: Any) -> None:
    app.connect("html-page-context", share, priority=400)  # before the theme's handler, which is at 500
    app.connect("html-page-context", adapt, priority=600)


def share(app: Any, _page: str, _template: str, context: dict[str, Any], _: object) -> None:
    context["toctree"] = partial(tree_of_first_page, app.builder)


@cache
def tree_of_first_page(builder: Any, **options: Any) -> str:
    return builder._get_local_toctree("index", **options)


def adapt(app: Any, page: str, _template: str, context: dict[str, Any], _: object) -> None:
    uri, tree = app.builder.get_target_uri(page), context["furo_navigation_tree"]
    tree = mark_current(tree, f'"reference internal" href="{uri}"')
    context["furo_navigation_tree"] = LINK.sub(lambda link: relative_uri(uri, link[0]), tree)


def mark_current(tree: str, link: str) -> str:
    """The tree with this link as the current one, and with all lists unfolded that contain it."""
    above, found, below = tree.partition(link)
    if not found:
        return tree
    way: list[re.Match[str]] = []  # from the outermost list to the item of the link
    for level in LEVEL.finditer(above):
        if level[1]:
            way.pop()
        else:
            way.append(level)
    tree = f'{above}"current reference internal" href="#"{below}'
    for level in reversed(way):
        item, rest = level[0].replace("<ul>", '<ul class="current">'), tree[level.end() :]
        item = re.sub(r"(toctree-l\d)", r"\1 current", item)
        if level is way[-1]:
            item = item.replace('">', ' current-page">')
        if "has-children" in item:
            rest = rest.replace(CHECKBOX, f'checked="" {CHECKBOX}', 1)
        tree = tree[: level.start()] + item + rest
    return tree
