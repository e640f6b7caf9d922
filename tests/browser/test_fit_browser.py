"""Pictures open whole where text of nine pixels has room; where it has not, it is said how to see the rest."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

import minigrad as mg
from minigrad import nn
from minigrad.course import widgets
from tests.browser.conftest import press
from tests.browser.fitting import SCROLLED, cut, scrolled
from tests.examples.widgets import WIDGETS as OTHERS

SIDEWAYS = """() => [...document.querySelectorAll(".mg-view, .mg-code")]
  .map((view) => view.scrollWidth - view.clientWidth).filter((over) => over > 1)"""
WIDE = """() => [...document.querySelectorAll(".mg-widget *:not(svg *, .mg-say)")]
  .filter((part) => part.clientWidth > 1 && part.scrollWidth > part.clientWidth + 1)
  .map((part) => `${part.tagName} ${part.className}: ${part.scrollWidth} in ${part.clientWidth}`)"""
RUN_INTO = """() => [...document.querySelectorAll(".mg-box .mg-number")].flatMap((number) => {
  const { x, width } = number.getBBox(), word = number.previousElementSibling.getBBox();
  return width && x < word.x + word.width + 2 ? [`${number.textContent}: ${x - word.x - word.width}`] : [];
})"""
LAB = 1136  # a notebook's widget is 1110 pixels wide in a window of 1280; a saved page's, in a window of this


def f(x):
    y = x * 2
    if y > 0:
        y = y + 1
    for _ in range(2):
        y = y * y
    return y


def layer(x, w, b):
    return ((x @ w + b).tanh() * 1 + 0).sum()


def polar(r, angle):
    return r * angle.cos(), r * angle.sin()


def network():
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    return widgets.GraphView(model, mg.ones(4, 8))


def scalars():
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    return widgets.ChainRule((x * y + w).tanh() * x)


def matrices():
    a = mg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)
    b = mg.tensor(np.linspace(0, 1, 6).reshape(3, 2), requires_grad=True)
    return widgets.ChainRule(((a @ b).tanh()).sum())


def untrained():
    """Before the first step there is no loss, and no dot on its curve."""
    model = nn.Linear(2, 2)
    data = mg.ones(4, 2), np.array([0, 1, 0, 1])
    return widgets.TrainingView(model, mg.cross_entropy, data, mg.optim.SGD(model.parameters(), lr=0.1))


WIDGETS = {
    "GraphView": network, "ChainRule": scalars, "ChainRule of arrays": matrices,
    "ForwardAndReverse": lambda: widgets.ForwardAndReverse(polar, 2.0, 0.5),
    "StaticVsDynamic": lambda: widgets.StaticVsDynamic(f, mg.tensor(1.0)),
    "PassViewer": lambda: widgets.PassViewer(mg.function(layer), mg.ones(32, 64), mg.ones(64, 16), mg.ones(16)),
    "Pipeline": widgets.Pipeline, "AllReduce": widgets.AllReduce, "TrainingView": untrained,
    "GradientDescent": OTHERS["GradientDescent"], "TrainingView, trained": OTHERS["TrainingView"],
}  # fmt: skip
CHARTS = {"Pipeline", "TrainingView", "TrainingView, trained", "GradientDescent"}
GRAPHS = sorted(WIDGETS.keys() - CHARTS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, make in WIDGETS.items():
        make().save(folder / f"{name}.html")
    return folder


@pytest.mark.parametrize("name", sorted(WIDGETS.keys() - {"GraphView"}))
def test_nothing_is_cut_where_a_projector_enlarges_the_page(name, saved, visit):
    """Buttons ran into each other, columns of tables were cut, and a hint told to scroll for an empty margin."""
    page = visit(saved / f"{name}.html", viewport={"width": 1074, "height": 720}).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    for width in (740, 820, 844, 904, 985, 1074):
        page.set_viewport_size({"width": width, "height": 720})
        page.wait_for_timeout(60)  # resize observers
        assert page.evaluate(WIDE) == [], width


@pytest.mark.daily
@pytest.mark.parametrize("name", WIDGETS)
def test_a_graph_opens_whole_on_a_screen_and_goes_down_on_a_phone(name, saved, visit):
    """Four of the seven graphs scrolled sideways on a phone, by up to 568 pixels where there are 370."""
    page = visit(saved / f"{name}.html", viewport={"width": LAB, "height": 720}).page
    assert cut(page) == []
    assert scrolled(page) == []

    phone = visit(saved / f"{name}.html", viewport={"width": 420, "height": 720}).page
    assert cut(phone) == []
    if name in GRAPHS:
        phone.locator(".mg-widget").focus()
        phone.keyboard.press("End")
        assert phone.evaluate(SIDEWAYS) == []
    phone.set_viewport_size({"width": LAB, "height": 720})
    phone.wait_for_function(f"() => ({SCROLLED})().length === 0")


def test_a_picture_turns_when_its_place_changes_and_the_step_stays(saved, visit):
    page = visit(saved / "ChainRule.html", viewport={"width": LAB, "height": 720}).page
    widget, down = page.locator(".mg-widget"), page.locator("svg.mg-down")
    widget.focus()
    press(page, "End", "ArrowLeft")
    step, numbers = widget.get_attribute("data-step"), widget.locator(".mg-number").all_text_contents()
    assert down.count() == 0

    page.set_viewport_size({"width": 420, "height": 720})
    expect(down).to_have_count(1)
    assert widget.get_attribute("data-step") == step
    assert widget.locator(".mg-number").all_text_contents() == numbers

    page.set_viewport_size({"width": LAB, "height": 720})
    expect(down).to_have_count(0)
    assert widget.locator(".mg-number").all_text_contents() == numbers


@pytest.mark.parametrize("name", ["ChainRule", "ChainRule of arrays"])
def test_numbers_do_not_run_into_words(name, saved, visit):
    """In DejaVu Sans, which many a Linux has in place of Arial, and in bold type."""
    page = visit(saved / f"{name}.html", viewport={"width": LAB, "height": 720}).page
    page.add_style_tag(content='.mg-widget .mg-picture text { font-family: "DejaVu Sans" !important; }')
    assert page.evaluate("() => document.fonts.check('12px \"DejaVu Sans\"')")
    widget = page.locator(".mg-widget")
    widget.focus()
    for _ in range(widget.evaluate("widget => Number(widget.querySelector('input[type=range]').max)")):
        page.keyboard.press("ArrowRight")
        assert page.evaluate(RUN_INTO) == []


def test_the_code_that_a_compiler_made_is_not_cut(saved, visit):
    """Its comments stood 52 characters to the right, beyond the edge, also in the README's picture."""
    page = visit(saved / "PassViewer.html", viewport={"width": LAB, "height": 720}).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    code = page.locator("[data-scene]:not([hidden]) > .mg-code")
    assert code.evaluate("code => code.clientWidth > 0 && code.scrollWidth <= code.clientWidth")
