"""Pictures open whole where text of nine pixels has room; where it has not, it is said how to see the rest."""

from __future__ import annotations

import numpy as np
import pytest
from browser.fitting import SCROLLED, cut, scrolled

import minigrad as mg
from minigrad import nn
from minigrad.widgets import AllReduce, ChainRule, ForwardAndReverse, GraphView, PassViewer, Pipeline, StaticVsDynamic

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
    return GraphView(model, mg.ones(4, 8))


def scalars():
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    return ChainRule((x * y + w).tanh() * x)


def matrices():
    a = mg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)
    b = mg.tensor(np.linspace(0, 1, 6).reshape(3, 2), requires_grad=True)
    return ChainRule(((a @ b).tanh()).sum())


WIDGETS = {
    "GraphView": network,
    "ChainRule": scalars,
    "ChainRule of arrays": matrices,
    "ForwardAndReverse": lambda: ForwardAndReverse(polar, 2.0, 0.5),
    "StaticVsDynamic": lambda: StaticVsDynamic(f, mg.tensor(1.0)),
    "PassViewer": lambda: PassViewer(mg.function(layer), mg.ones(32, 64), mg.ones(64, 16), mg.ones(16)),
    "Pipeline": Pipeline,
    "AllReduce": AllReduce,
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, make in WIDGETS.items():
        make().save(folder / f"{name}.html")
    return folder


@pytest.mark.parametrize("name", WIDGETS)
def test_a_graph_opens_whole_on_a_screen_and_says_on_a_phone_that_it_goes_on(name, pages, visit):
    page = visit(pages / f"{name}.html", viewport={"width": LAB, "height": 720}).page
    assert cut(page) == []
    assert scrolled(page) == []

    phone = visit(pages / f"{name}.html", viewport={"width": 420, "height": 720}).page
    assert cut(phone) == []
    phone.set_viewport_size({"width": LAB, "height": 720})
    phone.wait_for_function(f"() => ({SCROLLED})().length === 0")


def test_the_code_that_a_compiler_made_is_not_cut(pages, visit):
    """Its comments stood 52 characters to the right, beyond the edge, also in the README's picture."""
    page = visit(pages / "PassViewer.html", viewport={"width": LAB, "height": 720}).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    assert page.locator(".mg-code").evaluate("code => code.clientWidth > 0 && code.scrollWidth <= code.clientWidth")
