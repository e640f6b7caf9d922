"""Forward mode beside reverse mode on the screen: tables that fill up, counters that count, nothing that overflows."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import minigrad as mg
from minigrad.course.widgets import ForwardAndReverse
from minigrad.draw.words import number
from tests.browser.conftest import press


def f(a, b, c):
    s = a * b
    return s.tanh() + c, s * c


def cells(widget: Locator, side: str) -> list[str]:
    return widget.locator(f'.mg-entry[data-id^="{side}J"]').all_text_contents()


@pytest.mark.daily
def test_the_tables_fill_up_pass_by_pass_with_the_engines_numbers(show):
    page = show(ForwardAndReverse(f, 2.0, 0.5, -1.0)).page
    widget = page.locator(".mg-widget")
    jacobian = np.array(mg.func.jacrev(lambda x: mg.stack(f(*x)))(mg.tensor([2.0, 0.5, -1.0])).numpy())
    wanted = [number(float(x)) for x in jacobian.ravel()]
    widget.focus()

    press(page, "ArrowRight", times=2)
    expect(widget.locator(".mg-box.mg-hot .mg-grad")).to_have_text("0.5")
    expect(widget.locator(".mg-say")).to_have_text(
        "The tangent of s = a × b is 0.5 × 1 + 2 × 0 = 0.5: how fast s changes as a changes."
    )
    press(page, "Home")
    assert cells(widget, "f") == cells(widget, "r") == ["·"] * 6
    columns = 0
    while widget.get_attribute("data-phase") != "reverse mode":
        expect(widget.locator('[data-id="fcount"]')).to_contain_text(f"of {3}")
        columns = max(columns, sum(cell != "·" for cell in cells(widget, "f")) // 2)
        press(page, "ArrowRight")
    assert columns == 3
    assert cells(widget, "f") == wanted
    assert cells(widget, "r") == ["·"] * 6
    press(page, "End")
    assert cells(widget, "r") == wanted
    expect(widget.locator('[data-id="rcount"]')).to_have_text("2 passes for 2 outputs")
    press(page, "Home")
    assert cells(widget, "f") == cells(widget, "r") == ["·"] * 6


PLACES = """(svg) => [...svg.querySelectorAll(".mg-box")].map((box) => {
  const { x, y, width, height } = box.getBBox(); return [x, y, width, height]; })"""


def loss(a, b, c, d, e, g):
    return (a * b + c * d + e * g) ** 2


@pytest.mark.parametrize(("f", "xs"), [(f, (2.0, 0.5, -1.0)), (loss, (1.0, 2.0, 3.0, -1.0, 2.0, 1.0))])
def test_both_halves_have_one_layout_and_the_widget_fits_a_screen(show, f, xs):
    page = show(ForwardAndReverse(f, *xs), viewport={"width": 1076, "height": 768}).page
    widget, halves = page.locator(".mg-widget"), page.locator(".mg-view svg")
    sizes = widget.locator(".mg-view text").evaluate_all(
        "texts => texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )

    assert halves.count() == 2
    assert halves.nth(0).evaluate(PLACES) == halves.nth(1).evaluate(PLACES)
    assert min(sizes) >= 12 - 0.01
    assert widget.bounding_box()["height"] <= 600


ENDS = """(threads) => threads.map((thread) => {
  const svg = thread.closest("svg"), path = thread.querySelector("path"), matrix = thread.getScreenCTM();
  const near = (part, point) => { const at = part.getBoundingClientRect(), { x, y } = point.matrixTransform(matrix);
    return at.left - 9 < x && x < at.right + 9 && at.top - 9 < y && y < at.bottom + 9; };
  const from = [...svg.querySelectorAll(".mg-box")].find((box) => near(box, path.getPointAtLength(0)));
  const strips = [...svg.querySelectorAll(".mg-strip rect")], tip = thread.querySelector("polygon").points[0];
  const name = from.querySelector(".mg-name").textContent.split(" ")[0];
  return [name, strips.findLast((strip) => near(strip, tip)).parentNode.dataset.id]; })"""


@pytest.mark.daily
@pytest.mark.parametrize("width", [1076, 420])
def test_threads_lead_from_the_outputs_to_a_column_and_from_the_inputs_to_a_row(show, width):
    page = show(ForwardAndReverse(f, 2.0, 0.5, -1.0), viewport={"width": width, "height": 900}).page
    widget, threads = page.locator(".mg-widget"), page.locator(".mg-thread.mg-fed")
    widget.focus()
    press(page, "ArrowRight")
    filling = widget.locator(".mg-filling")
    assert [widget.locator(f"[data-id=fpin{seed}]").is_visible() for seed in ("b1", "b2")] == [True, False]
    assert (filling.get_attribute("data-id"), threads.count()) == ("fS0", 0)
    while not threads.count():
        press(page, "ArrowRight")
    assert threads.evaluate_all(ENDS) == [["y1", "fS0"], ["y2", "fS0"]]
    while widget.get_attribute("data-phase") != "reverse mode":
        press(page, "ArrowRight")
    assert widget.locator(".mg-arrow.mg-pushed").count() == widget.locator(".mg-arrow.mg-turned").count() > 0
    assert widget.locator(".mg-arrow.mg-pulled").count() == 0
    press(page, "ArrowRight", times=2)
    turned = widget.locator(".mg-arrow.mg-turned .mg-tip").first
    assert turned.evaluate("tip => getComputedStyle(tip).fill") == "none"
    line = widget.locator(".mg-turned path").first.get_attribute("d")
    assert line.endswith(turned.get_attribute("points").split()[1])  # it begins at its box
    press(page, "End")
    ends = [["y1", "fS2"], ["y2", "fS2"], ["a", "rS1"], ["b", "rS1"], ["c", "rS1"]]
    assert threads.evaluate_all(ENDS) == ends
    assert widget.locator(".mg-filled.mg-strip").count() == 5
    counts = [widget.locator(f'[data-id="{side}count"]').text_content() for side in "fr"]
    assert counts == ["3 passes for 3 inputs", "2 passes for 2 outputs"]


CROSSED = """() => [...document.querySelectorAll(".mg-thread.mg-fed path")].flatMap((line) => {
  const along = [...Array(99).keys()].map((i) => line.getPointAtLength((line.getTotalLength() * (i + 1)) / 101));
  const points = along.map((point) => point.matrixTransform(line.getScreenCTM()));
  const hit = (box) => { const at = box.getBoundingClientRect();
    return points.some(({ x, y }) => at.left + 1 < x && x < at.right - 1 && at.top + 1 < y && y < at.bottom - 1); };
  return [...line.closest("svg").querySelectorAll(".mg-box .mg-frame")].filter(hit); }).length"""


@pytest.mark.parametrize("width", [1076, 420])
def test_no_thread_runs_behind_a_box_and_what_carries_zero_is_dotted(show, width):
    film, zeros = ForwardAndReverse(lambda r, angle: (r * angle.cos(), r * angle.sin()), 2.0, 0.5), {}
    page = show(film, viewport={"width": width, "height": 900}).page
    page.locator(".mg-widget").focus()
    for _ in film.steps[1:]:
        press(page, "ArrowRight")
        assert page.evaluate(CROSSED) == 0
        strip = page.locator(".mg-filling").last.get_attribute("data-id")
        zeros[strip] = page.locator(f'.mg-arrow.mg-zero:is(.mg-pushed, .mg-pulled)[data-id^="{strip[0]}a"]').count()
    assert zeros == {"fS0": 4, "fS1": 2, "rS0": 3, "rS1": 3}
