"""Leaves that are dragged: the numbers on the screen are those that Python has there; in a page without a kernel."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from minigrad.course.widgets import ChainRule
from minigrad.draw.words import number
from minigrad.scalar.value import Value, history

GRAPHS = {
    "a product and a sum": lambda x, y, w: x * y + w, "used twice": lambda x, y, w: (x * y + w).tanh() * x,
    "a quotient": lambda x, y, w: x.exp() / (y - w), "powers": lambda x, y, w: x**3 - y**-1.5 * (w**2 + 1),
    "a logarithm": lambda x, y, w: (x * x).log() * y + (-w).relu() + (x + w).relu(),
}  # fmt: skip
GIVEN, DRAGGED = (2.0, 3.0, 0.5), (2.65, 1.1, -0.425)
TEXTS = "parts => Object.fromEntries(parts.map((part) => [part.dataset.id, part.querySelector('.mg-{}').textContent]))"


def name_of(z):
    return f"#{len(history(z))}"


def rule_of(f, **options):
    x, y, w = map(Value, GIVEN)
    return ChainRule(f(x, y, w), {"x": x, "y": y, "w": w}, **options)


@pytest.mark.daily
@pytest.mark.parametrize("name", GRAPHS)
def test_dragged_leaves_move_values_and_gradients_to_those_that_python_has(name, show):
    page = show(rule_of(GRAPHS[name])).page
    for leaf, to in zip("xyw", DRAGGED):
        page.get_by_role("slider", name=f"{leaf}, dragged").fill(str(to))
    leaves = [Value(to) for to in DRAGGED]
    z = GRAPHS[name](*leaves)
    z.backward()
    boxes = page.locator("g[data-id^=b]:not(.mg-constant)")

    nodes = [(f"b{i}", v) for i, v in enumerate(history(z), 1) if v.parents or v in leaves]
    assert boxes.evaluate_all(TEXTS.format("value")) == {id: number(v.data) for id, v in nodes}
    assert boxes.evaluate_all(TEXTS.format("grad")) == {id: number(v.grad) for id, v in nodes}
    shares = [(v.grad, slope, v.grad * slope) for v in history(z) for _, slope in v.parents]
    lines = ["{} × {} = {} ".format(*map(number, share)) for share in shares]
    labels = page.locator("g[data-id^=a]:has(.mg-label)").evaluate_all(TEXTS.format("label"))
    assert labels == {id: lines[int(id[1:]) - 1] for id in labels}
    said = ", ".join(f"∂{name_of(z)}/∂{leaf} = {number(v.grad)}" for leaf, v in zip("xyw", leaves))
    expect(page.locator(".mg-say")).to_contain_text(f"= {number(z.data)}, and {said}.")


@pytest.mark.daily
def test_the_keyboard_drags_and_a_step_brings_the_run_back(show):
    small = {"viewport": {"width": 420, "height": 720}, "reduced_motion": "reduce"}
    visited = show(rule_of(GRAPHS["used twice"]), **small)
    page, rule = visited.page, visited.page.locator(".mg-widget")
    x, told = page.get_by_role("slider", name="x, dragged"), page.locator(".mg-drags output")
    assert told.all_text_contents() == ["2", "3", "0.5"]
    x.focus()
    page.keyboard.press("ArrowRight")
    expect(x).to_have_js_property("value", "2.05")
    expect(x).to_have_attribute("aria-valuetext", "2.05")
    expect(rule).to_have_attribute("data-phase", "done")
    assert visited.violations("html") == []
    page.get_by_role("button", name="Step back").click()
    expect(x).to_have_js_property("value", "2")
    assert told.all_text_contents() == ["2", "3", "0.5"]
    assert "2.05" not in rule.text_content()


def test_a_dragged_number_with_an_exponent_leaves_room_for_its_label(show):
    """It read grad1.748e−09."""
    x, y, w = Value(2.0), Value(-3.0), Value(4.0)
    page = show(ChainRule((x * y + w).tanh() * x)).page
    page.get_by_role("slider", name="x, dragged").fill("5.2")
    gaps = """all => all.map(grad => grad.getBoundingClientRect().left
        - grad.previousElementSibling.getBoundingClientRect().right)"""
    grads = page.locator(".mg-grad")
    assert "1.748e−09" in grads.all_text_contents()
    assert min(grads.evaluate_all(gaps)) > 3


def test_while_it_asks_nothing_is_dragged(show):
    page = show(rule_of(GRAPHS["used twice"], asks=True)).page
    assert page.get_by_role("slider", name="dragged").count() == 0
    page.get_by_label("ask me first").uncheck()
    expect(page.get_by_role("slider", name="dragged")).to_have_count(3)
