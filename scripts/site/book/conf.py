"""Sphinx's configuration: its parts, the look of the pages, and three extensions.

Formulas become MathML, which browsers draw by themselves; words of the glossary are explained where they first occur;
and links may point to repository files that are no pages.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache

from docutils.nodes import SkipNode, math_block, reference
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.highlighting import PygmentsBridge
from sphinx.search.en import SearchEnglish

from book import glossary, navigation
from book.pages import ROOT

project = html_title = html_short_title = "minigrad"
extensions = ["myst_nb"]
suppress_warnings = ["config.cache"]
html_theme = "furo"
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_css_files = ["book.css"]
html_js_files = [("model.js", {"defer": "defer"}), ("book.js", {"defer": "defer"})]
html_show_sourcelink = html_copy_source = html_show_copyright = html_show_sphinx = False
html_use_index = html_domain_indices = False
toc_object_entries_show_parents = "hide"
html_permalinks_icon = "#"
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show, nb_code_prompt_hide = "Show the output", "Hide the output"  # only outputs are hidden
nb_render_markdown_format = "myst"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"
SIGNS = str.maketrans({"×": r"\times ", "·": r"\cdot ", "−": "-", "≤": r"\leq ", "±": r"\pm ", "≈": r"\approx "})
LINKS = ("color-brand-primary", "color-brand-content", "color-link")
html_theme_options = {
    "light_css_variables": dict.fromkeys(LINKS, "#00629b"),
    "dark_css_variables": dict.fromkeys(LINKS, "#6cb8ee"),
    "navigation_with_keys": False,  # arrows step widgets
}


PygmentsBridge.get_formatter = cache(PygmentsBridge.get_formatter)  # otherwise each block gets a style sheet
SearchEnglish.stem = cache(SearchEnglish.stem)


def setup(app):
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("builder-inited", navigation.make_once)
    app.connect("html-page-context", navigation.adapt, priority=600)  # the theme's handler has 500
    app.connect("doctree-read", link)
    app.connect("doctree-resolved", glossary.explain)


def formula(writer, node):
    block = isinstance(node, math_block)
    html = tex2mathml(node.astext().translate(SIGNS), as_block=block)
    writer.body.append(f'<div class="math">{html}</div>' if block else html)
    raise SkipNode


def link(_, page):
    """Resolve links to anchors in JupyterLab's spelling, and links to files that are no pages, such as exercises."""
    for one in list(page.findall(pending_xref)):
        if one["refdomain"] == "py":  # a type in a signature, with an ambiguous name
            one.replace_self(one.children)
            continue
        if one.get("reftargetid"):
            one["reftargetid"] = re.sub(r"[^\w-]", "", one["reftargetid"].lower())
        file = posixpath.normpath(posixpath.join(posixpath.dirname(one["refdoc"]), one["reftarget"]))
        if one["refdomain"] is None and (ROOT / file).exists():
            is_exercise = file.startswith("exercises/")
            one.replace_self(
                [reference("", "", *one.children, refuri=one["reftarget"])] if is_exercise else one.children
            )
