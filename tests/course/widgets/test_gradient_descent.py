"""GradientDescent's steps are the optimiser's, its surface is the function, and its end is said in words."""

import json
import re

import numpy as np
import pytest
from traitlets import TraitError

import minigrad as mg
from minigrad.course.widgets import GradientDescent
from minigrad.draw.charts import LEFT, RIGHT, Axis
from tests.support.saved_page import page_state


def bowl(w):
    return (w - 3) ** 2


def valley(x, y):
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2


@pytest.mark.parametrize("f", [bowl, valley])
@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_its_steps_are_those_of_the_optimiser(f, momentum):
    n = f.__code__.co_argcount
    xs = [mg.tensor(-1.0, requires_grad=True) for _ in range(n)]
    optimizer, expected = mg.optim.SGD(xs, lr=0.01, momentum=momentum), []
    for _ in range(21):
        loss = f(*xs)
        optimizer.zero_grad()
        loss.backward()
        expected.append([*[x.item() for x in xs], *[x.grad.item() for x in xs], loss.item()])
        optimizer.step()

    widget = GradientDescent(f, start=-1.0, rate=0.01, momentum=momentum, longest=20)

    assert np.allclose([[*p["at"], *p["slopes"], p["value"]] for p in widget.steps], expected, rtol=1e-12)


def test_what_it_depends_on_can_be_set_and_the_words_follow():
    widget = GradientDescent(bowl, longest=20)
    widget.index = 20
    assert widget.text.splitlines()[-1] == "After step 20: w = 2.965; bowl 0.001196."
    widget.rate = 1.0
    assert [step["at"][0] for step in widget.steps] == [0.0, 6.0] * 10 + [0.0]
    assert "Step 1: w = 6; slope 6, bowl 9. It moves by −rate × slope: −1 × 6 = −6." in widget.text
    widget.rate, widget.momentum = 0.1, 0.5
    assert "It moves by" not in widget.text.splitlines()[-2]  # the last step: it ends there
    assert "It moves by 0.5 × last move − 0.1 × slope = 0.78." in widget.text.splitlines()[1]
    widget.rate, widget.momentum, widget.start = 0.5, 0.0, [1.0]
    assert repr(widget) == "GradientDescent(20 steps; w = 3)"
    with pytest.raises(TraitError, match="momentum"):
        widget.momentum = 1.0


@pytest.mark.parametrize(("f", "start", "rate", "words"), [
    (bowl, 0.0, 1.1, r"It runs away: step 18 ends more than ten picture widths away\. Take a smaller learning rate\."),
    (lambda x: (x**2).exp(), 3.0, 1.0, r"It runs away: step 0 ends"),
    (lambda x: x.log(), 1.0, 0.9, r"It stops: after step \d+, value .* is not finite\."),
])  # fmt: skip
def test_an_end_before_the_last_step_is_a_sentence_and_no_number(f, start, rate, words):
    widget = GradientDescent(f, start, rate, low=-2.0, high=6.0)

    assert re.match(words, widget.text.splitlines()[-1])
    assert not re.search("nan|inf", widget.text + widget.svg)
    json.loads(page_state(widget.page()), parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    (dots,) = re.findall(r'mg-trail-dot" d="(.+?)"', widget.svg)
    assert all(LEFT <= float(x) <= RIGHT for x in re.findall(r"M(.+?),", dots))  # the picture is wide enough


def test_a_start_without_a_number_is_refused():
    with pytest.raises(ValueError, match=r"value or its slope is not finite at x = −1: start somewhere else"):
        GradientDescent(lambda x: x.log(), start=-1.0)
    with pytest.raises(ValueError, match="of one or two numbers; three has 3"):
        GradientDescent(three)
    with pytest.raises(ValueError, match=r"low must be less than high; got \(−1, 2\) and \(4, 2\)"):
        GradientDescent(valley, low=(-1, 2), high=(4, 2))


def three(x, y, z):
    return x * y * z


def test_where_a_browser_cannot_follow_python_makes_the_steps():
    data = mg.tensor([1.0, 2.0, 3.0])
    widget = GradientDescent(lambda w: ((w - data) ** 2).mean(), rate=0.5)
    assert widget.program == {}
    assert [step["at"][0] for step in widget.steps[:3]] == [0.0, 2.0, 2.0]


def test_a_path_is_shown_as_it_is_and_has_the_functions_values():
    path = [(0.0, 0.0), (1.0, 0.5), (1.0, 1.0)]
    widget = GradientDescent(valley, path=path)
    assert [tuple(step["at"]) for step in widget.steps] == path
    assert [step["value"] for step in widget.steps] == [valley(*map(mg.tensor, at)).item() for at in path]
    assert widget.program == {}
    assert widget.text.splitlines()[1] == " 1  Point 1: (x, y) = (1, 0.5); valley 1.25."


def test_the_layers_are_where_the_function_is_high():
    """A layer of x² + y² is all outside a circle, whose radius follows from the share of the square within it."""
    widget = GradientDescent(lambda x, y: x**2 + y**2, start=1.0)
    (xlow, xhigh, left, right), (ylow, yhigh, bottom, top) = widget.axes
    layers = re.findall(r'class="mg-level"[^>]* d="([^"]+)"', widget.picture)
    assert len(layers) == 9
    _, hole = layers[2][1:-1].split("zM")
    at = np.array([[float(x) for x in point.split()] for point in hole.split("L")])
    x = xlow + (at[:, 0] - left) / (right - left) * (xhigh - xlow)
    y = ylow + (at[:, 1] - bottom) / (top - bottom) * (yhigh - ylow)
    assert np.allclose(np.hypot(x, y), np.sqrt(0.09 * 8 * 8 / np.pi), rtol=0.03)


def test_a_bent_valley_is_one_hollow():
    """On a coarse grid its second layer had a sliver of its own, which looked like another hollow."""
    layers = re.findall(r'class="mg-level"[^>]* d="(.+?)"', GradientDescent(valley, low=(-2, -1), high=(2, 3)).picture)
    assert [layer.count("M") for layer in layers[:2]] == [2, 2]  # the edge of the picture, and the hollow


def test_the_minimum_is_marked_where_it_is_in_the_picture():
    def mark(widget):
        found = re.search(r'data-at="[^"]+,[^"]+" transform="translate\((.+?) (.+?)\)', widget.svg)
        return found and (float(found[1]), float(found[2]))

    widget = GradientDescent(valley, low=(-2, -1), high=(2, 3))
    x, y = (Axis(*axis, "") for axis in widget.axes)
    assert mark(widget) == pytest.approx((x.at(1), y.at(1)), abs=0.5)
    assert all(f">{words}<" in widget.svg for words in ("bluer is higher", "start", "lowest"))
    assert mark(GradientDescent(bowl)) == pytest.approx((374.4, 230), abs=1)  # above the axis, for the arrow
    assert mark(GradientDescent(lambda w: w + 0, low=-1, high=1)) is None
