"""Plots that follow the theme: what is dark on a light page is light on a dark one."""

from __future__ import annotations

from io import StringIO
from typing import Any

import matplotlib.pyplot as plt
from IPython.core.getipython import get_ipython
from matplotlib.figure import Figure

INK = "#1f2328"  # of axes and words; a plot that asks for black has black
THEME = f"""
:root {{ color-scheme: light dark; color: {INK}; }}
@media (prefers-color-scheme: dark) {{ :root {{ color: #e6edf3; }} }}"""
INKED = "text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"
CLEAR = "figure.facecolor", "axes.facecolor"


def follow_theme() -> None:
    """From here on plots have no background, and the notebook keeps them as SVG."""
    plt.rcParams.update(dict.fromkeys(INKED, INK) | dict.fromkeys(CLEAR, "none"))
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "minigrad"})  # the same bytes each time
    shell: Any = get_ipython()
    if shell is not None:
        plt.switch_backend(plt.get_backend())  # which sets formats of its own, once
        formatters = shell.display_formatter.formatters
        formatters["image/png"].pop(Figure, None)
        formatters["image/svg+xml"].for_type(Figure, drawn)


def drawn(figure: Figure) -> str:
    """The plot as SVG, with the page's own ink."""
    page = StringIO()
    figure.savefig(page, format="svg", bbox_inches="tight", metadata={"Date": None})
    return page.getvalue().replace(INK, "currentColor").replace("</style>", f"{THEME}</style>", 1)
