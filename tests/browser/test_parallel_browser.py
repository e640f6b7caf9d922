"""AllReduce and Pipeline on the screen: messages that travel, and a bubble that is counted."""

import numpy as np
import pytest

from minigrad.course.widgets import AllReduce, Pipeline
from minigrad.course.widgets.all_reduce import HUES
from tests.browser.conftest import press

NOTEBOOK, PHONE = {"width": 1074, "height": 768}, {"width": 420, "height": 800}
SHOWN = """parts => parts.filter((part) => {
  const { display, visibility } = getComputedStyle(part);
  return display !== "none" && visibility === "visible";
}).map((part) => part.dataset.id)"""
MOVED = """async (token) => {
  const places = [];
  for (let i = 0; i < 8; i++) {
    await new Promise(requestAnimationFrame);
    places.push(token.getBoundingClientRect().x);
  }
  return new Set(places).size;
}"""
CUT = """text => {
  const { right } = text.getBoundingClientRect();
  return text.textContent && right > document.querySelector("svg").getBoundingClientRect().right;
}"""
STYLES = "(parts) => parts.map((part) => [getComputedStyle(part).transform, getComputedStyle(part).fill])"
CHILD_RECTANGLES = "boxes => boxes.map((box) => [...box.children].map((part) => part.getBoundingClientRect()))"
LEVELS = "parts => parts.map(part => part.getBoundingClientRect().height)"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_messages_travel_and_chunks_fill_with_what_they_carry(show, motion):
    widget = AllReduce()
    page = show(widget, viewport=NOTEBOOK, reduced_motion=motion).page
    page.locator(".mg-widget").focus()
    glasses = page.locator("[data-id=w0c2] > path + path").last  # in the table
    (before,) = page.locator("[data-id=w0c2] > path + path").last.evaluate_all(LEVELS)
    page.keyboard.press("ArrowRight")

    token = page.locator("[data-id=r1] .mg-token").first
    assert (token.evaluate(MOVED) > 1) == (motion == "no-preference")
    assert page.locator(".mg-round").evaluate_all(SHOWN) == ["r1"]
    told = ["3000 + 3 → 3003", "4 + 40 → 44", "10 + 100 → 110", "200 + 2000 → 2200"]
    assert page.locator("[data-id=r1] text + text").all_text_contents() == told
    arrows = page.locator("[data-id=r1] > g")
    assert [f'color="{arrow.get_attribute("color")}"' for arrow in arrows.all()] == [HUES[c] for c in (2, 3, 0, 1)]
    sends = page.locator("[data-id=r1] .mg-sends")
    assert sends.evaluate_all(STYLES) == [["none", "none"]] * 4  # three were flattened, as the gauges of chunks are
    assert page.locator(".mg-round ~ .mg-worker").count() == 4  # drawn later, so they cover the ends of the arrows
    page.wait_for_function(
        "([glass, high]) => glass.getBoundingClientRect().height > 1.9 * high", arg=[glasses.element_handle(), before]
    )
    assert page.locator("[data-id=total]").text_content() == "32 of 192 bytes sent"
    assert page.locator(".mg-sent").evaluate_all(SHOWN) == ["s1"] * 4
    assert page.locator(".mg-widget").bounding_box()["height"] <= 560
    page.keyboard.press("End")
    assert page.locator(".mg-round").evaluate_all(SHOWN) == []  # nothing is sent any more


@pytest.mark.parametrize("length", [65, 500_000])
def test_no_text_of_a_still_is_cut(length, visit, tmp_path):
    still = tmp_path / "still.html"
    still.write_text(AllReduce(np.ones((4, length))).svg, encoding="utf-8")
    texts = visit(still, viewport=NOTEBOOK).page.locator("text")

    assert [text.text_content() for text in texts.all() if text.evaluate(CUT)] == []


def test_the_bubble_is_hatched_and_counted_and_can_be_read_on_a_phone(show):
    """Two schedules on one axis. A phone showed 6 of 33 units of time, and scrolled to the others and to the legend."""
    page = show(Pipeline(), viewport=PHONE, reduced_motion="reduce").page
    page.locator(".mg-widget").focus()
    counts = page.locator('[data-id^="all"]')
    assert page.locator(".mg-outlined").count() == 128  # the plan
    assert page.locator("svg.mg-names").bounding_box()["x"] < 30  # the hint to scroll was a column before it
    boxes = page.locator(".mg-fits .mg-box:has(text)").evaluate_all(CHILD_RECTANGLES)
    view = page.locator(".mg-view").first.bounding_box()
    assert (len(boxes), view["x"] + view["width"] <= PHONE["width"]) == (128, True)
    for bar, label in boxes:
        assert bar["left"] - 1 < label["left"] < label["right"] < bar["right"] + 1 < view["x"] + view["width"] + 2
    cover, first = page.locator(".mg-cover.mg-now"), page.locator(".mg-idle").first
    assert cover.bounding_box()["x"] <= first.bounding_box()["x"]  # it hides the bubble
    press(page, "ArrowRight", times=4)
    assert cover.get_attribute("data-id") == "t3"
    assert counts.all_text_contents() == ["4.55 %"] * 2  # 1 + 2 + 3 of 4 × 33
    so_far = page.locator('[data-id^="so"]')
    assert so_far.all_text_contents() == [" so far"] * 2  # not the share of the whole run
    keeps = page.locator(".mg-keeps").all_text_contents()
    assert keeps == [f"keeps ≤ {n}" for n in (8, 8, 8, 8, 4, 3, 2, 1)]
    page.keyboard.press("End")
    stage = page.locator(".mg-names text", has_text="stage 3").first
    assert abs(stage.bounding_box()["y"] - page.locator("[data-id=f3-0-0a]").bounding_box()["y"]) < 12
    assert cover.count() == 0
    assert counts.all_text_contents() + so_far.all_text_contents() == ["27.3 %"] * 2 + [""] * 2
    assert page.locator(".mg-big:not([data-id])").all_text_contents() == ["≤ 8", "≤ 4"]
    assert page.locator("[data-scrolls]").count() == 0
    page.set_viewport_size(NOTEBOOK)
    assert page.locator(".mg-widget").bounding_box()["height"] <= 580
    scales = page.locator("svg.mg-pipe").evaluate_all("all => all.map(s => s.clientWidth / s.viewBox.baseVal.width)")
    assert scales == pytest.approx([1, 1, 1], abs=0.01)
    assert page.locator(".mg-sizes").text_content() == "p = 4 stages, m = 8 micro-batches"
