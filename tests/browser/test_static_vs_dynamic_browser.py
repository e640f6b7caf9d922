"""An eager run beside a static graph, on the screen: stepped, chosen, pressed; the screen says what the engine did."""

from __future__ import annotations

from inspect import getsource

import pytest
from playwright.sync_api import Locator, expect

import minigrad as mg
from minigrad.course.widgets import StaticVsDynamic
from tests.browser.conftest import press

WIDGET = "film = mg.widgets.StaticVsDynamic(f, cases=[(mg.tensor(1.0),), (mg.tensor(2.0),)])\nfilm"


def f(x):
    print("called")
    y = x * 2
    if y > 3:
        z = y + 1
    else:
        z = y.exp() * x
    return z * z


PROGRAM = f"import minigrad as mg\n\n{getsource(f)}"


def values(film: Locator, side: str) -> list[str]:
    """The values that can be seen on a side."""
    boxes = film.locator(f'[data-id^="{side}b"]:not(.mg-hidden)').all()
    return [box.locator(".mg-value").text_content() for box in boxes]


def test_a_learner_steps_a_function_both_ways_in_jupyterlab(lab):
    notebook = lab.open_cells(PROGRAM, WIDGET, "film")
    notebook.run_all()
    page = notebook.page
    film, second_view = page.locator(".mg-widget").nth(0), page.locator(".mg-widget").nth(1)
    film.focus()

    assert values(film, "l") == ["1"]
    assert values(film, "r") == ["?"]
    press(page, "ArrowRight", times=2)
    expect(film.locator(".mg-say")).to_contain_text("Run eagerly, this line computes 2; traced, it adds 1 box.")
    expect(film.locator('[data-id="left says"]')).to_have_text("called\n")
    expect(film.locator(".mg-code .mg-hot")).to_have_text("●    y = x * 2")
    assert values(film, "l") == ["1", "2"]
    assert values(film, "r") == ["?", "?"]
    expect(film.locator('[data-id="right says"]')).to_have_text("while tracing: called\n")
    assert film.locator(".mg-hot.mg-box").count() == 2  # the line's box in both graphs

    press(page, "End")
    expect(film).to_have_attribute("data-phase", "the graph runs")
    told = notebook.kernel("print(f'{f(mg.tensor(1.0)).item():.4g}')").splitlines()[-1]
    assert values(film, "l")[-1] == values(film, "r")[-1] == told
    press(page, "ArrowLeft", times=2)
    assert values(film, "r")[-1] == "?"

    # The other input: the same graph, and on the left another one. The other view and the kernel follow.
    film.get_by_label("input").select_option("2")
    expect(second_view.get_by_label("input")).to_have_value("1")
    assert notebook.told("print(film.choice)", "[1]")
    film.focus()
    press(page, "End")
    assert values(film, "l")[-1] == values(film, "r")[-1] == "25"

    # A line and its boxes light up together, by mouse and by key.
    film.locator('.mg-code [role="button"]', has_text="y = x * 2").click()
    assert film.locator("g.mg-linked").count() == 2
    page.keyboard.press("Enter")
    assert film.locator(".mg-linked").count() == 0
    film.locator('.mg-code [role="button"]', has_text="return z * z").click()
    line, *boxes = film.locator(".mg-code .mg-linked, .mg-linked .mg-frame").evaluate_all(
        "all => all.map(getComputedStyle).map(({ outlineColor: line, stroke }) => (stroke === 'none' ? line : stroke))"
    )
    assert sorted(boxes) == [line, line]  # results have a black border, which hid it
    assert page.evaluate("() => [...document.querySelectorAll('.mg-widget [id]')].length") == 0


def halving(x):
    y = x
    while y.item() > 1:
        y = y / 2 if y.item() % 2 == 0 else 3 * y + 1
    return y


TEXTS = """() => [...document.querySelectorAll("svg.mg-picture text")]
  .filter((text) => text.textContent && text.checkVisibility({ visibilityProperty: true }))
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""


@pytest.mark.daily
@pytest.mark.parametrize(("function", "x"), [(f, 1.0), (halving, 3.0)])
def test_the_code_stands_between_both_graphs_and_all_is_seen_at_once(show, function, x):
    """It was up to 695 pixels high, of which a JupyterLab of 1366 x 768 shows 600, in text of 9.2 pixels."""
    widget = StaticVsDynamic(function, mg.tensor(x))
    page = show(widget, viewport={"width": 1090, "height": 768}).page
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    code, eager, static = (panel.bounding_box() for panel in page.locator(".mg-panel").all())
    assert eager["y"] == code["y"] == static["y"]
    assert eager["x"] < code["x"] < static["x"]
    assert page.locator(".mg-widget").bounding_box()["height"] <= 600
    assert min(page.evaluate(TEXTS)) >= 12

    page.set_viewport_size({"width": 420, "height": 800})
    code, eager, static = (panel.bounding_box() for panel in page.locator(".mg-panel").all())
    assert code["y"] < eager["y"] < static["y"]
    assert not any("the left" in step["say"] or "the right" in step["say"] for step in widget.steps)


TOUCHES = """() => [...document.querySelectorAll(".mg-ties polygon")].map((tip) => {
  const { left, right, top } = tip.getBoundingClientRect(), boxes = [...document.querySelectorAll(".mg-hot .mg-frame")];
  return boxes.map((box) => box.getBoundingClientRect()).some((box) => top > box.top && top < box.bottom &&
    Math.min(Math.abs(left - box.right), Math.abs(right - box.left)) < 2); }).join()"""


@pytest.mark.daily
def test_a_line_leads_from_the_code_that_runs_to_its_boxes_and_tracing_stops_at_a_sign(show):
    for function, touches in ((halving, "true"), (f, "true,true")):
        page = show(StaticVsDynamic(function, mg.tensor(3.0)), viewport={"width": 1090, "height": 768}).page
        page.locator(".mg-widget").focus()
        if function is halving:  # the sign is no slab of colour before the line that stops
            assert page.locator("[data-id=rstop] .mg-frame").evaluate("x => getComputedStyle(x).fill") == "none"
        press(page, "ArrowRight", times=2)
        assert page.evaluate(TOUCHES) == touches
        assert page.locator(".mg-stopped, .mg-hot[data-id=rstop]").count() == 2 * (function is halving)
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function(f"() => ({TOUCHES})() === 'true,true'")


def turns(x):
    for _ in range(2):
        x = x * x
    return x


def test_each_line_leads_to_both_sides_and_what_python_runs_is_counted(show):
    """Lines that make no op led nowhere, and a pressed line had no line to its boxes."""
    page = show(StaticVsDynamic(turns, mg.tensor(3.0)), viewport={"width": 1090, "height": 768}).page
    page.locator(".mg-widget").focus()
    ties, counts = page.locator(".mg-ties"), page.locator(".mg-code .mg-ran")
    press(page, "ArrowRight")
    assert ties.locator("text").all_text_contents() == ["no op", "no op"]
    press(page, "ArrowRight", times=5)  # return: to the results that are there
    assert ties.locator("path.mg-near").count() == 2
    assert counts.all_text_contents() == ["", "", "●●●", "", "●●", "", "●", ""]
    press(page, "End")
    assert counts.all_text_contents() == ["", "", "●●●", "0", "●●", "0", "●", "0"]
    page.locator('.mg-code [role="button"]').first.click()
    assert ties.locator("polygon.mg-held").count() == page.locator(".mg-linked.mg-op").count() == 4
    page.keyboard.press("Enter")
    assert ties.locator("polygon").count() == 0


def wide(x):
    mg.exp(x) * mg.sin(x) + mg.cos(x) * mg.tanh(x) - mg.exp(-x) * mg.sqrt(x) + mg.sin(2 * x) * mg.cos(3 * x)
    return x + 1


def test_a_line_follows_a_wide_graph_to_the_box_that_a_line_of_code_makes(show):
    """The box of the last line was beyond the edge of the panel, and the line led to where it was not seen."""
    page = show(StaticVsDynamic(wide, mg.tensor([1.0, 2.0])), viewport={"width": 420, "height": 800}).page
    page.locator(".mg-widget").focus()
    press(page, "ArrowRight", times=2)
    assert page.locator(".mg-view[data-scrolls]").count()
    page.wait_for_function(
        """() => [...document.querySelectorAll(".mg-hot .mg-frame")].every((part) => {
      const { left, right } = part.getBoundingClientRect(), view = part.closest(".mg-view").getBoundingClientRect();
      return left >= view.left && right <= view.right; })""",
        timeout=5000,
    )
    page.wait_for_function(f"() => ({TOUCHES})() === 'true,true'", timeout=5000)


@pytest.mark.daily
def test_what_is_still_to_come_is_seen_as_an_empty_place(show):
    opened = show(StaticVsDynamic(f, mg.tensor(1.0)))
    page = opened.page
    hidden = page.locator(".mg-hidden.mg-box")
    assert hidden.count() > 4
    assert hidden.first.locator(".mg-frame").is_visible()
    assert hidden.first.locator("text").first.evaluate("text => getComputedStyle(text).visibility") == "hidden"
    assert opened.violations("html") == []  # a place is no button without a name


@pytest.mark.daily
def test_code_is_in_colours_and_not_by_colour_alone(show):
    page = show(StaticVsDynamic(f, mg.tensor(1.0))).page
    keywords = page.locator(".mg-code .mg-keyword")
    assert keywords.all_text_contents() == ["def", "if", "else", "return"]
    assert keywords.first.evaluate("word => getComputedStyle(word).fontWeight") == "700"
    assert page.locator(".mg-code .mg-string").all_text_contents() == ['"called"']
    assert page.locator(".mg-code .mg-figure").all_text_contents() == ["2", "3", "1"]
