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
    return widget.locator(f'td[data-id^="{side}J"]').all_text_contents()


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
        "The tangent of s = a × b is 0.5 × 1 + 2 × 0 = 0.5, for each 1 that a moves."
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
    expect(widget.locator('[data-id="rcount"]')).to_have_text("2 reverse passes")
    press(page, "Home")
    assert cells(widget, "f") == cells(widget, "r") == ["·"] * 6


PLACES = """(svg) => [...svg.querySelectorAll(".mg-box")].map((box) => {
  const { x, y, width, height } = box.getBBox(); return [x, y, width, height]; })"""


def test_both_halves_have_one_layout_and_the_widget_fits_a_screen(show):
    page = show(ForwardAndReverse(f, 2.0, 0.5, -1.0), viewport={"width": 1076, "height": 768}).page
    widget, halves = page.locator(".mg-widget"), page.locator(".mg-view svg")
    sizes = widget.locator(".mg-view text").evaluate_all(
        "texts => texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )

    assert halves.count() == 2
    assert halves.nth(0).evaluate(PLACES) == halves.nth(1).evaluate(PLACES)
    assert min(sizes) >= 12 - 0.01
    assert widget.bounding_box()["height"] <= 600
    for svg, table in zip(halves.all(), page.locator(".mg-tally").all()):
        assert svg.bounding_box()["x"] + svg.bounding_box()["width"] <= table.bounding_box()["x"]


@pytest.mark.daily
def test_a_still_shows_which_way_a_pass_went_and_which_line_it_fills(show):
    page = show(ForwardAndReverse(f, 2.0, 0.5, -1.0)).page
    widget = page.locator(".mg-widget")
    widget.focus()
    press(page, "ArrowRight")
    assert widget.locator("td.mg-filling").evaluate_all("cells => cells.map((cell) => cell.dataset.id)") == [
        "fJ0,0",
        "fJ1,0",
    ]
    tip, cell = page.locator(".mg-ties polygon"), widget.locator("td.mg-filling").last.bounding_box()
    assert widget.locator(".mg-seed:has(.mg-pin) .mg-name").text_content() == "a = 2"
    assert tip.bounding_box()["y"] == pytest.approx(cell["y"] + cell["height"], abs=2)  # a line leads to the column
    while widget.get_attribute("data-phase") != "reverse mode":
        press(page, "ArrowRight")
    assert widget.locator(".mg-arrow.mg-pushed").count() == widget.locator(".mg-arrow.mg-turned").count() > 0
    assert widget.locator(".mg-arrow.mg-pulled").count() == 0
    end, row = tip.bounding_box(), widget.locator("tr:has(td.mg-filling)").last.bounding_box()
    assert end["x"] + end["width"] == pytest.approx(row["x"], abs=2)
    press(page, "ArrowRight", times=2)
    turned = widget.locator(".mg-arrow.mg-turned .mg-tip").first
    assert turned.evaluate("tip => getComputedStyle(tip).fill") == "none"
    line = widget.locator(".mg-turned path").first.get_attribute("d")
    assert line.endswith(turned.get_attribute("points").split()[1])  # it begins at its box
    assert 0 < widget.locator(".mg-arrow.mg-pulled").count() < widget.locator(".mg-arrow.mg-turned").count()
    press(page, "End")
    filling = widget.locator("td.mg-filling").evaluate_all("cells => cells.map((cell) => cell.dataset.id)")
    assert filling == ["fJ0,2", "fJ1,2", "rJ1,0", "rJ1,1", "rJ1,2"]
    counts = [widget.locator(f'[data-id="{side}count"]').text_content() for side in "fr"]
    assert counts == ["3 forward passes", "2 reverse passes"]


CROSSED = """() => {
  const line = document.querySelector(".mg-ties path"), hit = (box) => [...Array(200).keys()].some((i) => {
    const { x, y } = line.getPointAtLength((line.getTotalLength() * i) / 200), at = box.getBoundingClientRect();
    return at.left < x && x < at.right && at.top < y && y < at.bottom; });
  return [...document.querySelectorAll(".mg-view .mg-box:not(.mg-seed) .mg-frame")].filter(hit).length; }"""


@pytest.mark.parametrize("width", [1076, 420])
def test_no_line_to_a_table_runs_behind_a_box_and_what_carries_zero_is_dotted(show, width):
    film, zeros = ForwardAndReverse(lambda r, angle: (r * angle.cos(), r * angle.sin()), 2.0, 0.5), {}
    page = show(film, viewport={"width": width, "height": 900}).page
    page.locator(".mg-widget").focus()
    for _ in film.steps[1:]:
        press(page, "ArrowRight")
        assert page.evaluate(CROSSED) == 0
        seed, dotted = page.locator(".mg-seed .mg-name:visible"), page.locator(".mg-arrow.mg-zero:visible path")
        zeros[seed.text_content()] = dotted.evaluate_all("all => all.filter((x) => x.matches('[class*=pu] *')).length")
    assert zeros == {"r = 2": 4, "angle = 0.5": 2, "y1 = 1.755": 5, "y2 = 0.9589": 5}
