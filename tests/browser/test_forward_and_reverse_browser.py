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
    expect(widget.locator(".mg-say")).to_have_text("The tangent of s = a × b is 0.5, for each 1 that a moves.")
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
    expect(widget.locator('[data-id="rcount"]')).to_have_text("against 2 reverse passes")
    press(page, "Home")
    assert cells(widget, "f") == cells(widget, "r") == ["·"] * 6
