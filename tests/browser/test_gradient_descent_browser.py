"""Gradient descent in a browser: the steps are Python's, whatever is dragged, in a page without a kernel."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest
from playwright.sync_api import expect

from minigrad.course.widgets import GradientDescent
from minigrad.draw.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from minigrad.draw.words import number


def bowl(w):
    return (w - 3) ** 2


FUNCTIONS = {
    "a power and a wave": lambda w: w.sin() + 0.1 * w**2 - (w / 3).cos(),
    "bends": lambda w: w.relu() + 0.3 * (-w).relu() + w.abs() + w.maximum(0.1 * w) + (0.5 * w).exp(),
    "squashed": lambda w: w.sigmoid() * w.tanh() + w.softplus() + (w**2 + 1).log() - (w**2 + 1).sqrt(),
    "of two": lambda x, y: (x - 1) ** 2 + x * y + (y**2 + 1) / (x**2 + 2),
}
ROWS = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"


def listed(widget):
    """What the table of the widget says: steps with the same numbers share a row."""
    words = (
        [*map(number, [*step["at"], *step["slopes"] * (len(step["at"]) < 2), step["value"]])] for step in widget.steps
    )
    groups = [(xs, [n for n, _ in group]) for xs, group in groupby(enumerate(words), key=itemgetter(1))]
    return [[str(ns[0]) + f"–{ns[-1]}" * (len(ns) > 1), *xs] for xs, ns in groups]


@pytest.mark.daily
@pytest.mark.parametrize("rate", [0.1, 0.0001234])
def test_the_words_of_a_step_do_not_cover_the_name_of_the_axis(rate, show):
    widget = GradientDescent(lambda w: w**2 * 1.2345, start=3.3333, rate=rate)
    page = show(widget).page
    words = page.locator("g[data-step] text").bounding_box()
    name = page.locator(".mg-field svg text", has_text=re.compile("^w$")).bounding_box()
    assert words["x"] + words["width"] <= name["x"]
    assert words["x"] >= page.locator(".mg-field svg").first.bounding_box()["x"]


@pytest.mark.daily
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_dragged_gives_the_steps_that_python_makes(name, show):
    page = show(GradientDescent(FUNCTIONS[name])).page
    axes = ("x", "y") if name == "of two" else ("w",)
    start = [1.25, -0.5][: len(axes)]
    wanted = {"learning rate": 0.23, "momentum": 0.4, **{f"start {axis}": to for axis, to in zip(axes, start)}}
    for slider, to in wanted.items():
        page.get_by_role("slider", name=slider).fill(str(to))

    python = GradientDescent(FUNCTIONS[name], start, rate=0.23, momentum=0.4)
    assert page.locator(".mg-steps tbody tr").evaluate_all(ROWS) == listed(python)
    expect(page.locator(".mg-outcome")).to_have_text(python.text.splitlines()[-1])
    assert page.locator(".mg-drags output").all_text_contents() == ["0.23", "0.4", *map(number, start)]


@pytest.mark.daily
def test_keys_begin_elsewhere_and_a_ball_that_runs_away_is_a_sentence(show):
    small = {"viewport": {"width": 420, "height": 900}, "color_scheme": "dark", "reduced_motion": "reduce"}
    visited = show(GradientDescent(bowl, rate=0.2), **small)
    page, outcome = visited.page, visited.page.locator(".mg-outcome")
    page.get_by_role("slider", name="start w").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mg-say")).to_have_text(
        "Step 0: w = 0.05; slope −5.9, bowl 8.703. It moves by −rate × slope: −0.2 × −5.9 = 1.18."
    )
    page.get_by_role("slider", name="learning rate").focus()
    page.keyboard.press("End")
    expect(outcome).to_contain_text("It runs away: step 2 ends more than ten picture widths away.")
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    expect(page.locator(".mg-say")).to_contain_text("Step 2: w = ")
    assert "NaN" not in page.locator(".mg-widget").inner_html()
    field, ball = (page.locator(each).bounding_box() for each in (".mg-field", ".mg-ball"))
    assert field["x"] < ball["x"] < ball["x"] + ball["width"] < field["x"] + field["width"]
    assert visited.violations("html") == []


@pytest.mark.daily
def test_a_press_on_the_picture_begins_there(show):
    page = show(GradientDescent(FUNCTIONS["of two"]), viewport={"width": 1074, "height": 768}).page
    hint = page.get_by_text("click to start elsewhere")
    expect(hint).to_be_visible()
    assert page.locator(".mg-widget").bounding_box()["height"] <= 520
    page.mouse.move(*place(page, 0.25, 0.25))
    page.mouse.down()
    expect(page.locator(".mg-say")).to_contain_text("Step 0: (x, y) = (−2, 2);")
    expect(hint).to_be_hidden()
    page.mouse.move(*place(page, 0.75, 0.5), steps=3)
    page.mouse.up()
    page.mouse.move(*place(page, 0.1, 0.1))
    expect(page.locator(".mg-say")).to_contain_text("Step 0: (x, y) = (2, 0);")


def place(page, across, down):
    """A point of the field between the axes, on the page."""
    box = page.locator(".mg-field > svg").bounding_box()
    x, y = LEFT + across * (RIGHT - LEFT), TOP + down * (BOTTOM - TOP)
    return box["x"] + x / WIDTH * box["width"], box["y"] + y / HEIGHT * box["height"]


TICKS = """svg => [...svg.querySelectorAll("[data-ticks] .mg-sign")].map(
  (tick) => [Number(tick.textContent.replace("−", "-")), Number(tick.getAttribute("x"))])"""


def test_the_axes_grow_with_a_ball_that_runs_away_and_its_step_is_an_arrow(show):
    widget = GradientDescent(bowl, rate=1.19, low=-1, high=7)
    page = show(widget, reduced_motion="reduce").page
    for step in widget.steps[:-1]:
        scale, zero = np.polyfit(*zip(*page.locator(".mg-field > svg").evaluate(TICKS)), 1)
        ball = page.locator(".mg-ball").evaluate("ball => new DOMMatrix(ball.style.transform).e")
        arrow = page.locator(".mg-step").evaluate("({ transform: { baseVal: [, turn] } }) => turn.angle")
        assert LEFT <= ball <= RIGHT
        assert ball == pytest.approx(zero + scale * step["at"][0], abs=0.1)
        assert arrow == (0 if step["move"][0] > 0 else 180)
        page.locator(".mg-widget").press("ArrowRight")


def test_a_path_has_nothing_to_drag(show):
    page = show(GradientDescent(FUNCTIONS["of two"], path=[(0, 0), (1, 1), (2, 1)])).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    expect(page.locator(".mg-say")).to_contain_text("Point 2: (x, y) = (2, 1);")
    expect(page.get_by_role("slider")).to_have_count(1)  # of the steps
    assert page.locator(".mg-steps tbody tr").count() == 3


def test_steps_that_look_the_same_share_a_row_and_the_row_of_the_step_is_in_view(show):
    page = show(GradientDescent(bowl, rate=0.4, longest=60), viewport={"width": 420, "height": 800}).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    last, box = page.locator(".mg-steps tr[aria-current]"), page.locator(".mg-steps")

    assert last.locator("td").first.text_content().endswith("–60")
    assert box.bounding_box()["y"] <= last.bounding_box()["y"] < box.bounding_box()["y"] + box.bounding_box()["height"]
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


ARROWS = """paths => paths.map((path) => {
  const length = Number(path.firstChild.getAttribute("d").slice(5));
  const angle = path.transform.baseVal[1].angle * Math.PI / 180;
  return [length * Math.cos(angle), length * Math.sin(angle)];
})"""


def test_the_heights_of_the_steps_begin_at_0(show):
    """The least height floated above the foot of the small curve, whatever it was."""
    widget = GradientDescent(lambda x, y: x * x + y * y + 1, start=(2, 1))
    heights = np.array([step["value"] for step in widget.steps])
    path = show(widget).page.locator(".mg-below").get_attribute("d")
    found = [*map(float, re.findall(r"L[\d.]+,([\d.]+)", path))]
    assert found == pytest.approx((112 - 88 * heights / heights.max()).tolist())
    assert ">0</text>" in widget.svg.split("</svg>")[-3]  # as on the axis of the static picture


def test_the_push_and_the_gradient_are_arrows_that_add_up_to_the_step(show):
    widget = GradientDescent(FUNCTIONS["of two"], start=(-2, 1), momentum=0.8)
    page = show(widget, viewport={"width": 1074, "height": 768}, reduced_motion="reduce").page
    page.add_style_tag(content=".mg-widget .mg-table { font-size: 19px }")
    for _ in range(6):
        page.locator(".mg-widget").press("ArrowRight")
    push, back, step = page.locator("circle ~ .mg-step[transform]").evaluate_all(ARROWS)[:3]
    assert np.add(push, back) == pytest.approx(step, abs=0.01)
    assert max(map(abs, [*push, *back, *step])) > 40  # enlarged
    expect(page.locator(".mg-lens")).to_have_text("→ the step, enlarged→ −0.1 × gradient⇢ 0.8 × last move")
    assert page.locator(".mg-closer .mg-trail").evaluate("line => line.points.length") == 7

    head, *rows = [each.bounding_box() for each in page.locator(".mg-steps tr").all()]
    foot = head["y"] + head["height"]
    assert min(abs(row["y"] - foot) for row in rows) < 1, "half a row is below the head"
    page.locator(".mg-widget").press("End")
    expect(page.locator(".mg-lens")).to_be_empty()  # its circle was empty
