"""Plots in lessons: no page of their own, ink that follows the theme, the same bytes each time."""

import re

import matplotlib.pyplot as plt
import pytest
from IPython.core.interactiveshell import InteractiveShell

from minigrad.course.plots import INK, follow_theme, render_svg


@pytest.fixture(autouse=True)
def themed():
    with plt.rc_context():
        follow_theme()
        yield
    plt.close("all")


def plot():
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.plot([1, 2, 3], [1, 4, 9], color="#0072B2", label="squares")
    ax.text(1, 5, "black", color="black")
    ax.set(xlabel="x", title="Squares")
    ax.legend()
    return figure


def test_a_plot_has_no_background_and_the_ink_of_the_page():
    """In the dark theme every plot was a white page."""
    svg = render_svg(plot())

    assert "#ffffff" not in svg
    assert INK not in svg.replace(f"color: {INK}", "")
    assert svg.count("fill: currentColor") > 5  # words
    assert svg.count("stroke: currentColor") > 5  # axes and ticks
    assert "stroke: #0072b2" in svg
    assert re.search(r"<text style=\"(?!fill)[^>]*>black<", svg.replace("fill: #000000; ", ""))


def test_the_same_plot_is_the_same_svg():
    assert render_svg(plot()) == render_svg(plot())


def test_a_notebook_keeps_the_svg_and_no_png():
    shell = InteractiveShell.instance()
    try:
        follow_theme()
        data, _ = shell.display_formatter.format(plot())
    finally:
        InteractiveShell.clear_instance()

    assert set(data) == {"image/svg+xml", "text/plain"}
    assert "currentColor" in data["image/svg+xml"]
