"""What holds for every widget: what it says without a screen, what its page needs, and what it does with bad input."""

import json
import re
from xml.etree import ElementTree

import pytest

from minigrad import widgets
from minigrad.course.widgets.form import Form
from tests.examples.widgets import WIDGETS
from tests.support.saved_page import page_state

# Bytes: of all others 22,000. GraphView lays out graphs, so that groups open without a kernel; ChainRule and
# GradientDescent run them; MemoryTimeline looks up the bytes of consumers; TrainingView trains and draws a network.
JAVASCRIPT = {
    "GraphView": 52_900, "ChainRule": 32_500, "GradientDescent": 24_500, "MemoryTimeline": 28_000,
    "TrainingView": 39_500, "StaticVsDynamic": 23_500,
}  # fmt: skip

SHORTER = {"Roofline", "TrainingView", "Guess", "Predict", "Quiz"}  # do not print all that they say


@pytest.fixture(params=WIDGETS)
def widget(request):
    return WIDGETS[request.param]()


def test_every_widget_has_an_example_here():
    assert sorted(WIDGETS) == sorted(dir(widgets))


def test_its_name_in_a_notebook_is_the_same_in_every_run(widget):
    name = type(widget).__name__
    assert re.fullmatch(rf"{name}\(.+\)", repr(widget), re.DOTALL)
    assert repr(WIDGETS[name]()) == repr(widget)
    assert not re.search(r"0x[0-9a-f]{6}| at 0x|\d (ms|µs)\b", repr(widget))


def test_what_a_notebook_keeps_of_it_is_the_same_in_every_run(widget):
    again = WIDGETS[type(widget).__name__]()
    assert again.fallback == widget.fallback
    assert getattr(again, "pictures", None) == getattr(widget, "pictures", None)


def test_where_there_are_no_widgets_there_is_a_picture_and_the_text(widget):
    bundle, _ = widget._repr_mimebundle_()
    assert len(widget.text.splitlines()) > 1
    assert len(bundle["text/plain"].splitlines()) > 1
    if isinstance(widget, Form):
        assert widget.text.splitlines()[0] in bundle["text/html"]
    else:
        ElementTree.fromstring(bundle["image/svg+xml"])  # a browser shows no part of an image that is not XML
        assert len(re.findall(r"<(path|rect|line|circle|polygon|text)\b", bundle["image/svg+xml"])) > 3
        assert not re.search(r"""(href|src)=["']?http|<script""", bundle["image/svg+xml"])
        assert bundle["image/svg+xml"] == widget.svg
        assert widget.svg.startswith("<svg")
        assert "<style>" in widget.svg
    if type(widget).__name__ not in SHORTER:
        assert bundle["text/plain"] == f"{widget!r}\n{widget.text}"
        assert all(step["say"] in widget.text for step in getattr(widget, "steps", []))


def test_its_page_needs_nothing_from_elsewhere(widget):
    page = widget.page()
    fetches = r"""(?:src|href)=["']?\w|@import|url\((?!#)|\bfetch\(|XMLHttpRequest|WebSocket|import\("""
    assert not re.search(fetches, page)
    assert "eval(" not in page
    assert set(json.loads(page_state(page))) == set(widget.shown)
    assert len(page.encode()) < 130_000


def test_its_javascript_is_small_enough_to_be_read(widget):
    assert len(str(widget._esm).encode()) < JAVASCRIPT.get(type(widget).__name__, 22_000)


def test_its_page_is_written_only_where_a_page_belongs(widget, tmp_path):
    with pytest.raises(ValueError, match=r"\.(txt|html)"):
        widget.save(tmp_path / "page.txt")
    assert not list(tmp_path.iterdir())
    widget.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == widget.page()


def test_it_refuses_a_step_that_it_does_not_have(widget):
    if not hasattr(widget, "index"):
        pytest.skip("nothing is stepped")
    before = widget.index
    for bad in (-1, len(widget.steps)):
        with pytest.raises(ValueError, match=f"a step from 0 to {len(widget.steps) - 1}; got {bad}"):
            widget.index = bad
    assert widget.index == before
    widget.index = len(widget.steps) - 1
