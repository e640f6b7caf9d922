"""The passes on the screen: one scene at a time, the rest moved, and nothing moves for whoever wants no motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

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
    last = int(page.locator(".mg-controls input").get_attribute("max"))
    seen = []
    for _ in range(last + 1):
        seen.append(scenes(page))
        page.keyboard.press("ArrowRight")
    assert all(len(shown) == 1 for shown in seen)
    assert len({shown[0] for shown in seen}) > 2
    expect(page.locator('[data-id="code"]')).to_be_visible()
    assert "def program(" in page.locator('[data-id="code"]').text_content()
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
