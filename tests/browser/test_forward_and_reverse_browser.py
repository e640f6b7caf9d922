"""Forward mode beside reverse mode on the screen: tables that fill up, counters that count, nothing that overflows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import minigrad as mg
from minigrad.draw.words import number
from minigrad.widgets import ForwardAndReverse

PROGRAM = """
import minigrad as mg

def f(a, b, c):
    s = a * b
    return s.tanh() + c, s * c
"""


def f(a, b, c):
    s = a * b
    return s.tanh() + c, s * c


def saved(folder: Path) -> Path:
    path = folder / "both.html"
    ForwardAndReverse(f, 2.0, 0.5, -1.0).save(path)
    return path


def cells(widget: Locator, side: str) -> list[str]:
    return widget.locator(f'td[data-id^="{side}J"]').all_text_contents()


def press(page: Page, key: str, times: int = 1) -> None:
    for _ in range(times):
        page.keyboard.press(key)


def test_the_tables_fill_up_pass_by_pass_with_the_engines_numbers(visit, tmp_path):
    page = visit(saved(tmp_path)).page
    widget = page.locator(".mg-widget")
    jacobian = np.array(mg.func.jacrev(lambda x: mg.stack(f(*x)))(mg.tensor([2.0, 0.5, -1.0])).numpy())
    wanted = [number(float(x)) for x in jacobian.ravel()]
    widget.focus()

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
    expect(widget.locator('[data-id="rcount"]')).to_have_text("passes: 2 of 2")
    press(page, "Home")
    assert cells(widget, "f") == cells(widget, "r") == ["·"] * 6


def test_a_learner_steps_both_modes_in_jupyterlab(lab):
    notebook = lab.open_cells(PROGRAM, "both = mg.widgets.ForwardAndReverse(f, 2.0, 0.5, -1.0)\nboth")
    notebook.run_all()
    widget = notebook.page.locator(".mg-widget")
    widget.focus()

    press(notebook.page, "ArrowRight", 2)

    expect(widget.locator(".mg-box.mg-hot .mg-grad")).to_have_text("0.5")
    expect(widget.locator(".mg-say")).to_have_text("The tangent of s = a × b is 0.5, for each 1 that a moves.")
    press(notebook.page, "End")
    told = notebook.kernel(
        "print(*(f'{g.item():.4g}' for g in mg.func.jacrev(f, (0, 1, 2))(*map(mg.tensor, (2.0, 0.5, -1.0)))[0]))"
    )
    assert cells(widget, "r")[:3] == told.replace("-", "−").split()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_and_the_page_fits_a_phone(visit, tmp_path, scheme):
    size = {"width": 420, "height": 900}
    opened = visit(saved(tmp_path), color_scheme=scheme, reduced_motion="reduce", viewport=size)
    opened.page.locator(".mg-widget").focus()
    for steps in (3, 20):
        press(opened.page, "ArrowRight", steps)
        assert opened.violations("html") == []
        assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
