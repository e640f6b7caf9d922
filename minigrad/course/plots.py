"""Plots that follow the theme of the page: dark ink on a light page, light ink on a dark page."""

from __future__ import annotations

from io import StringIO
from typing import Any

import matplotlib.pyplot as plt
from IPython.core.getipython import get_ipython
from matplotlib.figure import Figure

INK = "#1f2328"  # the colour of axes and text; what a plot draws in black stays black
THEME = f"""
:root {{ color-scheme: light dark; color: {INK}; }}
@media (prefers-color-scheme: dark) {{ :root {{ color: #e6edf3; }} }}"""
INKED = "text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"
CLEAR = "figure.facecolor", "axes.facecolor"


def follow_theme() -> None:
    """Make all later plots SVG images without a background, in the ink of the page."""
    plt.rcParams.update(dict.fromkeys(INKED, INK) | dict.fromkeys(CLEAR, "none"))
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "minigrad"})  # the same bytes each time
    shell: Any = get_ipython()
    if shell is not None:
        plt.switch_backend(plt.get_backend())  # now, because only the first switch sets IPython's formats
        formatters = shell.display_formatter.formatters
        formatters["image/png"].pop(Figure, None)
        formatters["image/svg+xml"].for_type(Figure, render_svg)


def render_svg(figure: Figure) -> str:
    """The plot as SVG, drawn in the page's text colour."""
    page = StringIO()
    figure.savefig(page, format="svg", bbox_inches="tight", metadata={"Date": None})
    return page.getvalue().replace(INK, "currentColor").replace("</style>", f"{THEME}</style>", 1)
