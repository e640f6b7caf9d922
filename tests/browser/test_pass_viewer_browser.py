"""The passes on the screen: one scene at a time, the rest moved, and nothing moves for whoever wants no motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

import minigrad as mg
from minigrad.course.widgets import PassViewer


def viewer() -> PassViewer:
    f = mg.function(lambda x, w: ((x @ w).tanh() * 2 + 1).sum() * 1)
    return PassViewer(f, mg.ones(4, 3), mg.ones(3, 2))


def scenes(page: Page) -> list[str]:
    return page.locator("[data-scene]:not([hidden])").evaluate_all("parts => parts.map(part => part.dataset.scene)")


@pytest.mark.daily
def test_one_scene_is_shown_at_a_time_forwards_and_backwards(show):
    page = show(viewer()).page
    widget = page.locator(".mg-widget")
    widget.focus()
    heights = set()
    last = int(page.locator(".mg-controls input").get_attribute("max"))
    seen = []
    for _ in range(last + 1):
        seen.append(scenes(page))
        heights.add(round(widget.bounding_box()["height"]))
        page.keyboard.press("ArrowRight")
    assert all(len(shown) == 3 and len({*shown}) == 1 for shown in seen)  # before, after, and the code
    assert len({shown[0] for shown in seen}) > 2
    assert len(heights) == 1, "the code came at the end, and the widget grew by 220 pixels"
    assert "def program(" in page.locator("[data-scene]:not([hidden]) > .mg-code").text_content()
    for shown in reversed(seen):
        assert scenes(page) == shown
        page.keyboard.press("ArrowLeft")


@pytest.mark.daily
def test_boxes_move_to_their_new_places_unless_no_motion_is_wanted(show):
    moving = "() => document.getAnimations().filter((a) => a.effect.target.dataset.key).length"
    for wish, moves in (("no-preference", True), ("reduce", False)):
        page = show(viewer(), reduced_motion=wish).page
        page.locator(".mg-widget").focus()
        first = scenes(page)
        while scenes(page) == first:
            page.keyboard.press("ArrowRight")
        assert (page.evaluate(moving) > 0) == moves


@pytest.mark.daily
def test_before_after_and_the_code_stand_side_by_side_and_are_seen_at_once(show):
    """The widget was 761 and 894 pixels high: a JupyterLab of 1366 x 768 shows 600."""
    f = mg.function(lambda x, W, b: ((y := ((x @ W + b) / 4).T.T).tanh() * 1 + y.tanh() * (mg.constant(6.0) / 3)).sum())
    wide = PassViewer(f, mg.ones(32, 64), mg.ones(64, 16), mg.ones(16))  # its third column was cut by 7 pixels
    page = show(wide, viewport={"width": 1074, "height": 768}).page
    assert page.locator("[data-scrolls]").count() == 0
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    left, right, code = (panel.bounding_box() for panel in page.locator(".mg-panel").all())
    assert left["y"] == right["y"] == code["y"]
    assert left["x"] < right["x"] < code["x"]
    assert page.locator(".mg-widget").bounding_box()["height"] <= 600
    shown = page.locator("[data-scene]:not([hidden])")
    assert shown.nth(0).locator(".mg-removed .mg-strike").count() > 0
    assert shown.nth(0).locator(".mg-removed .mg-strike").first.is_visible()
    assert shown.nth(1).locator(".mg-added").count() > 0
    assert [title.split(":")[0] for title in shown.locator(".mg-title").all_text_contents()] == [
        "As written", "After all passes", "The code"
    ]  # fmt: skip
