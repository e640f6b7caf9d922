"""The chain-rule widget as a learner meets it: on the screen, under the keys, beside the kernel."""

from __future__ import annotations

import os

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import minigrad as mg
from minigrad.course.widgets import ChainRule
from minigrad.draw.words import number
from minigrad.scalar.value import Value
from tests.browser.conftest import press

GRAPH = """
import minigrad as mg

x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
temp = x * y
s = temp + w
z = s.tanh() * x
"""
WIDGET = "rule = mg.widgets.ChainRule(z)\nrule"
STEPS = 15


def widget(page: Page, n: int = 0) -> Locator:
    return page.locator(".mg-widget").nth(n)


def grads(widget: Locator) -> dict[str, str]:
    """The gradients on the screen, by the name in the box."""
    boxes = widget.locator(".mg-leaf").all()
    return {box.locator(".mg-name").text_content(): box.locator(".mg-grad").text_content() for box in boxes}


def test_a_learner_steps_their_own_graph_in_jupyterlab(lab):
    notebook = lab.open_cells(GRAPH, WIDGET, "rule", "")
    notebook.run_all()
    page, rule, second_view = notebook.page, widget(notebook.page), widget(notebook.page, 1)

    # No key of the widget is a command of JupyterLab, whichever part of it has the focus first.
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for part in (rule.get_by_role("button", name="Step", exact=True), rule.get_by_label("Speed"), rule):
        part.focus()
        press(page, "b", "d", "d")
        assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    assert page.evaluate("() => document.activeElement.className") == "mg-widget"

    # Keys.
    expect(rule).to_have_attribute("data-phase", "built")
    assert set(grads(rule).values()) == {"·"}
    press(page, "ArrowRight", times=12)
    expect(rule).to_have_attribute("data-step", "12")
    expect(rule.locator(".mg-say")).to_contain_text("−0.964 + (−0.4239) = −1.388")
    assert grads(rule) == {"x": "−1.388", "y": "·", "w": "0.1413"}
    assert rule.locator(".mg-part").all_text_contents() == ["−0.964", "−0.4239"]
    assert rule.locator(".mg-box.mg-hot.mg-backward .mg-name").all_text_contents() == ["x"]
    assert rule.locator(".mg-arrow.mg-hot.mg-backward .mg-label").all_text_contents() == ["0.1413 × −3 = −0.4239 "]

    # The other view of the same model follows once the reader pauses, and the two share no id.
    expect(second_view).to_have_attribute("data-step", "12")
    assert page.evaluate("() => [...document.querySelectorAll('.mg-widget [id]')].length") == 0

    # The numbers on the screen are the kernel's, and the kernel knows where we are.
    press(page, "End")
    expect(rule).to_have_attribute("data-phase", "done")
    assert notebook.told("print(rule.index)", str(STEPS - 1))
    assert notebook.kernel("print(x.grad, y.grad, w.grad)") == "0.0 0.0 0.0"
    told = notebook.kernel("z.backward(); print(*(f'{v.grad:.4g}' for v in (x, y, w)))").replace("-", "−").split()
    assert list(map(grads(rule).get, "xyw")) == told

    # The kernel can move the cursor.
    notebook.kernel("rule.index = 12")
    expect(rule).to_have_attribute("data-step", "12")
    assert notebook.violations_by_theme(".mg-widget") == []


@pytest.mark.daily
def test_a_graph_of_tensors_is_stepped_to_the_engines_gradients(show):
    x, y = (mg.tensor(values, requires_grad=True) for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    loss = (x * y).sum()
    page = show(ChainRule(loss, {"x": x, "y": y})).page
    loss.backward()
    rule = widget(page)
    rule.focus()

    press(page, "End")

    expect(rule).to_have_attribute("data-phase", "done")
    shown = {name: grad.replace(",", "") for name, grad in grads(rule).items()}
    assert shown == {name: str(leaf.grad.numpy()).replace(".", "") for name, leaf in (("x", x), ("y", y))}
    assert rule.locator(".mg-keeps").count() == 0  # backward has freed what was kept
    press(page, "ArrowLeft", times=2)
    assert rule.locator(".mg-keeps").count() == 2  # and going back brings it back


@pytest.mark.daily
def test_a_reader_who_wants_no_motion_gets_none(show):
    page = show(example(), reduced_motion="reduce").page
    widget(page).focus()
    press(page, "ArrowRight", times=8)

    moving = "g => { const style = getComputedStyle(g); return [style.animationName, style.transitionDuration]; }"
    dash, band = (page.locator(f".mg-arrow.mg-hot path.mg-{name}") for name in ("pulse", "flow"))
    assert dash.evaluate(moving) == ["none", "0s"]
    still = band.evaluate("band => getComputedStyle(band).strokeWidth")
    page.emulate_media(reduced_motion="no-preference")
    assert dash.evaluate(moving) == ["mg-travel", "0.2s, 0.2s"]
    assert band.evaluate("band => getComputedStyle(band).strokeWidth") == still == "6.5px"  # the still says the same


def example(**options) -> ChainRule:
    """The widget on z = x y + w."""
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    temp = x * y
    z = temp + w
    return ChainRule(z, **options)


# -- questions ------------------------------------------------------------------------------------------------


def long_chain(n: int) -> Value:
    """5 n + 1 questions: n times y ↦ (y² + y) ÷ 2."""
    y = Value(0.5)
    for _ in range(n):
        y = (y * y + y) * Value(0.5)
    return y


def test_questions_are_answered_with_the_keyboard_alone(show):
    """Forty of them; in a night two hundred."""
    asked = 0
    for n in range(films := 5 if os.environ.get("NIGHTLY") else 1):
        rule = ChainRule(long_chain(9 + n % 2), names={}, asks=True)
        page = show(rule).page
        shown = widget(page)
        shown.focus()
        press(page, "End")
        for step, question in [(n, s["question"]) for n, s in enumerate(rule.steps) if "question" in s]:
            expect(shown).to_have_attribute("data-step", str(step))
            assert shown.locator(".mg-say").text_content() == question["ask"]
            assert screen_of(shown) == played(rule, step - 1)  # nothing of the answer is there
            page.keyboard.type(repr(question["right"]))
            press(page, "Enter")
            assert shown.locator(".mg-say").text_content().startswith("You said ")
            assert ": right" in shown.locator(".mg-say").text_content()
            assert screen_of(shown) == played(rule, step)
            press(page, "ArrowRight")
            asked += 1
        expect(shown).to_have_attribute("data-phase", "done")
    assert asked >= 40 * films


def screen_of(rule: Locator) -> dict[str, str]:
    """The gradients that can be seen, by box."""
    return rule.evaluate(
        """rule => Object.fromEntries([...rule.querySelectorAll(".mg-box")]
          .map(box => [box.dataset.id, box.querySelector(".mg-grad")?.textContent])
          .filter(([, grad]) => grad && grad !== "·"))"""
    )


def played(rule: ChainRule, upto: int) -> dict[str, str]:
    return {id: grad for step in rule.steps[: upto + 1] for id, grad in step.get("grads", {}).items()}


@pytest.mark.daily
def test_no_way_leads_past_an_open_question(show):
    page = show(example(asks=True)).page
    rule, first = widget(page), 4
    rule.focus()
    for way in ("End", "ArrowRight", " "):
        press(page, way)
        page.wait_for_timeout(100)
        rule.focus()
        expect(rule).to_have_attribute("data-step", str(first))
        assert grads(rule) == {"x": "·", "y": "·", "w": "·"}
    rule.get_by_role("slider", name="Step").fill("8")
    expect(rule).to_have_attribute("data-step", str(first))
    assert rule.get_by_role("slider", name="Step").input_value() == str(first)

    # Play goes to the question, and waits there.
    rule.get_by_role("button", name="First step").click()
    rule.get_by_label("Speed").select_option("4")
    rule.get_by_role("button", name="Play").click()
    expect(rule).to_have_attribute("data-step", str(first))
    expect(rule.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(rule.locator(".mg-say")).to_have_attribute("aria-live", "polite")
    assert rule.get_by_label("your answer").get_attribute("type") == "number"

    # What is no number is no answer; a skip is one.
    rule.get_by_role("button", name="Check").click()
    expect(rule.locator(".mg-say")).to_contain_text("Write a number, or skip.")
    rule.get_by_role("button", name="Skip and reveal").click()
    expect(rule.locator(".mg-say")).to_contain_text("Skipped: it is 1. Backward starts at z")
    rule.focus()
    press(page, "ArrowRight")
    page.keyboard.type("2")
    press(page, "Enter")
    expect(rule.locator(".mg-say")).to_contain_text("You said 2; it is 1: 1 too high.")

    # Without questions everything can be reached again, and with them what was answered stays so.
    rule.get_by_label("ask me first").uncheck()
    rule.focus()
    press(page, "End")
    assert grads(rule) == {"x": "3", "y": "2", "w": "1"}
    rule.get_by_label("ask me first").check()
    expect(rule).to_have_attribute("data-step", str(first + 2))


ASKS = "rule = mg.widgets.ChainRule(z, asks=True)\nrule"


def test_the_kernel_reads_answers_and_both_views_show_them(lab):
    notebook = lab.open_cells(GRAPH, ASKS, "rule")
    notebook.run_all()
    page, rule, second_view = notebook.page, widget(notebook.page), widget(notebook.page, 1)
    rule.focus()

    press(page, "End")
    page.keyboard.type("1")
    press(page, "Enter", "ArrowRight")
    page.keyboard.type("1.99")
    press(page, "Enter")
    expect(rule.locator(".mg-say")).to_contain_text("You said 1.99: right, for it is within 1 % of 2.")
    press(page, "ArrowRight")
    rule.get_by_role("button", name="Skip and reveal").click()
    assert notebook.told(
        "print({n: (a['guess'], round(a['gap'] or 0, 6), a['close']) for n, a in rule.answers.items()})",
        "{6: (1, 0, True), 7: (1.99, -0.01, True), 8: (None, 0, None)}",
    )
    expect(second_view.locator(".mg-say")).to_contain_text("Skipped: it is −0.964.")

    # The kernel cannot step past a question either, and says where it is; it can take all answers back.
    notebook.kernel("rule.index = 14")
    expect(rule).to_have_attribute("data-step", "9")
    assert notebook.told("print(rule.index)", "9")
    notebook.kernel("rule.answers = {}")
    expect(rule).to_have_attribute("data-step", "6")
    assert notebook.told("print(rule.index)", "6")
    notebook.kernel("rule.asks = False; rule.view = 'formulas'; rule.index = 12")
    expect(rule.locator(".mg-arrow.mg-hot .mg-label")).to_have_text("∂temp/∂x = y")


@pytest.mark.daily
def test_a_choice_is_made_with_the_keyboard_and_its_box_does_not_tell(show):
    w = mg.tensor(np.ones((9, 3)), requires_grad=True)
    page = show(ChainRule((mg.tensor(np.ones((2, 9))) @ w).sum(), names={"w": w}, asks=True)).page
    rule = widget(page)
    rule.focus()
    press(page, "End")
    for right in ("1", "1"):
        page.keyboard.type(right)
        press(page, "Enter", "ArrowRight")
    box = rule.locator(".mg-leaf", has_text="w").filter(has_text="grad")
    expect(rule.locator(".mg-say")).to_contain_text("What shape has the gradient of w?")
    expect(box).to_contain_text("?")
    expect(box).not_to_contain_text("f64[9, 3]")
    assert page.evaluate("() => document.activeElement.textContent") == "f64[2, 3]"
    press(page, "Tab", times=3)
    press(page, "Enter")
    expect(rule.locator(".mg-say")).to_contain_text("f64[9, 3]: right.")
    expect(box).to_contain_text("f64[9, 3]")


# -- formulas and heat maps --------------------------------------------------------------------------------------


def matrices(**options) -> ChainRule:
    rng = np.random.default_rng(0)
    x, w = mg.tensor(rng.normal(size=(8, 8))), mg.tensor(rng.normal(size=(8, 8)), requires_grad=True)
    h = (x @ w).tanh()
    return ChainRule((h * h).sum(), **options)


@pytest.mark.daily
def test_the_cells_on_the_screen_are_the_engines_and_a_box_opens_to_its_numbers(show):
    page = show(matrices()).page
    rule = widget(page)
    rng = np.random.default_rng(0)
    x, w = mg.tensor(rng.normal(size=(8, 8))), mg.tensor(rng.normal(size=(8, 8)), requires_grad=True)
    h = (x @ w).tanh()
    (h * h).sum().backward()
    box = rule.get_by_role("button", name="numbers of w")

    assert set(box.locator("[data-of=grad] .mg-cell title").all_text_contents()) == {"·"}
    box.focus()
    press(page, "Enter")
    expect(rule.get_by_role("region", name="Numbers of a box")).to_be_visible()
    rule.focus()
    press(page, "End")
    wanted = [number(g) for g in w.grad.numpy().ravel()]
    assert box.locator("[data-of=grad] .mg-cell title").all_text_contents() == wanted
    assert rule.locator(".mg-inspected table").nth(1).locator("td").all_text_contents() == wanted
    negative = [mark for mark in box.locator("[data-of=grad] .mg-cell text").all_text_contents() if mark]
    assert negative == ["−"] * sum(g < 0 for g in w.grad.numpy().ravel())
    press(page, "Home")
    assert rule.locator(".mg-inspected table").count() == 0
    box.focus()
    press(page, " ")
    expect(rule.locator(".mg-inspected")).to_be_hidden()


def test_an_array_travels_on_its_arrow_and_a_small_graph_takes_the_width(show):
    page = show(matrices()).page
    widget(page).focus()
    assert page.locator(".mg-arrow .mg-heat:visible").count() == 0
    press(page, "End")
    assert page.locator(".mg-flows [data-of=passed] .mg-cell:not(.mg-blank)").count() == 5 * 64

    page = show(example(), viewport={"width": 1076, "height": 768}).page
    widget(page).focus()
    press(page, "End", "ArrowLeft", "ArrowLeft")
    assert page.locator(".mg-slope .mg-name").all_text_contents() == ["y"]  # y is the slope on the way back to x
    assert min(page.locator(".mg-arrow.mg-hot .mg-label").evaluate_all(SIZES)) > 15


@pytest.mark.daily
def test_formulas_and_numbers_change_places_at_the_step_where_one_is(show):
    page = show(example()).page
    rule = widget(page)
    rule.focus()
    press(page, "ArrowRight", times=7)
    label = rule.locator(".mg-arrow.mg-hot .mg-label")
    expect(label).to_contain_text("× ")
    rule.get_by_label("on the arrows").select_option("formulas")
    expect(label).to_contain_text("∂temp/∂")
    expect(rule).to_have_attribute("data-step", "7")
    rule.get_by_label("on the arrows").select_option("numbers")
    expect(label).to_contain_text("× ")


def test_what_is_freed_is_seen_to_go(show):
    page = show(matrices()).page
    rule = widget(page)
    rule.focus()
    for step in ("forward", "done"):
        while rule.get_attribute("data-phase") != ("backward" if step == "forward" else "done"):
            press(page, "ArrowRight")
        kept = rule.locator(".mg-keeps").count()
        assert (kept, rule.locator(".mg-freed").count()) == ((2, 0) if step == "forward" else (0, 2))
    expect(rule.locator(".mg-held")).to_have_text("saved for backward: 0 bytes")
    assert rule.locator(".mg-freed .mg-kept text").all_text_contents() == ["freed", "freed"]


def test_axe_finds_no_violation_in_questions_and_heat_maps_on_a_phone(show):
    for asks, steps in ((True, 20), (False, 9)):
        size = {"width": 420, "height": 900}
        opened = show(matrices(asks=asks), reduced_motion="reduce", viewport=size)
        rule = widget(opened.page)
        rule.get_by_role("button", name="numbers of h").focus()
        press(opened.page, "Enter")
        rule.focus()
        press(opened.page, "ArrowRight", times=steps)
        assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for scheme in ("light", "dark"):
            opened.page.emulate_media(color_scheme=scheme)
            assert opened.violations("html") == [], f"{scheme}, asks={asks}"


# -- gradients that flow -----------------------------------------------------------------------------------------


def layer() -> ChainRule:
    """Five columns of arrays, as in lesson 04."""
    x = mg.tensor([[1.0, -1.0], [0.0, 2.0], [0.5, 1.0]])
    w, b = mg.tensor([[0.5, -1.0], [1.0, 0.5]], requires_grad=True), mg.tensor([0.1, -0.2], requires_grad=True)
    return ChainRule(((x @ w + b) ** 2).mean())


def product() -> ChainRule:
    a, b = (mg.tensor(np.linspace(-1, 1, 6).reshape(shape), requires_grad=True) for shape in ((2, 3), (3, 2)))
    return ChainRule((a @ b).tanh().sum())


def tanh() -> ChainRule:
    x, y, w = Value(2.0), Value(-3.0), Value(4.0)
    return ChainRule((x * y + w).tanh() * x)


BANDS = """bands => bands.map((band) => parseFloat(getComputedStyle(band).strokeWidth))"""
FILLS = """tips => tips.map((tip) => getComputedStyle(tip).fill)"""
ON_ARROWS = """labels => labels.filter((label) => {
  const { x, y, width, height } = label.getBBox(), path = label.parentNode.querySelector(".mg-flow");
  const half = parseFloat(getComputedStyle(path).strokeWidth) / 2, length = path.getTotalLength();
  return Array.from({ length: 100 }, (_, i) => path.getPointAtLength((length * i) / 100)).some((p) =>
    p.x + half > x && p.x - half < x + width && p.y + half > y && p.y - half < y + height);
}).map((label) => label.textContent)"""
SIZES = """texts => texts.filter((text) => text.textContent)
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""


@pytest.mark.parametrize("make", [layer, product, tanh])
def test_the_whole_widget_is_seen_at_once_from_left_to_right_in_readable_type(show, make):
    """Lesson 04's was 1,213 pixels high, from top to bottom, and the gallery's had type of 11 pixels."""
    page = show(make(), viewport={"width": 1074, "height": 768}).page
    rule = widget(page)
    rule.focus()
    heights = set()
    for _ in range(int(rule.get_by_role("slider", name="Step").get_attribute("max"))):
        press(page, "ArrowRight")
        heights.add(round(rule.bounding_box()["height"]))
    assert len(heights) == 1, "the widget changes its height"
    assert heights.pop() <= 520
    assert rule.locator("svg.mg-down").count() == 0
    assert min(rule.locator(".mg-picture text:not(.mg-cell text)").evaluate_all(SIZES)) > 11.9
    marks = rule.locator(".mg-box .mg-cell text").all_text_contents()  # numbers, where there is room at that size
    assert marks[:3] == {layer: ["1", "−1", "0"], product: ["−1", "−.6", "−.2"], tanh: []}[make]
    edges = rule.locator(".mg-box:not(.mg-constant) .mg-frame").evaluate_all(
        "frames => frames.map((frame) => [frame.getAttribute('x'), frame.getAttribute('width')].map(Number))"
    )
    for x, width in edges:
        assert {w for other, w in edges if abs(other + w / 2 - x - width / 2) < 2} == {width}, "one column, one width"


def test_at_the_end_each_arrow_says_what_it_carried_and_is_as_wide(show):
    page = show(tanh(), reduced_motion="reduce").page
    rule = widget(page)
    rule.focus()
    press(page, "End")
    arrows = rule.locator(".mg-arrow.mg-flows")
    labels = [" ".join(text.split()) for text in arrows.locator(".mg-label").all_text_contents()]
    widths = arrows.locator("path.mg-flow").evaluate_all(BANDS)
    said = sorted(zip(widths, labels))
    assert len(said) == arrows.count() == 7
    assert said[-1] == (6.5, "1 × 2 = 2")
    assert (2.7, "2 × 0.07065 = 0.1413") in said
    keys = rule.locator(".mg-legend text").all_text_contents()
    assert keys[1:] == ["0", "≤ 1/16", "1", "≥ 16", "arriving gradient g, × slope, = passed on"]
    rule.locator("[data-view]").select_option("formulas")
    expect(rule.locator(".mg-legend text:visible").last).to_have_text("slope = formula")
    rule.locator("[data-view]").select_option("numbers")
    assert {*arrows.locator(".mg-tip").evaluate_all(FILLS)} == {"none"}, "a head at each end reads as both ways"

    press(page, "Home")
    assert rule.locator(".mg-flows:not(.mg-legend *)").count() == 0
    slider = rule.get_by_role("slider", name="x, dragged")
    slider.fill("0")
    assert rule.locator(".mg-part").all_text_contents()[0] == number(np.tanh(4))
    assert rule.locator(".mg-arrow.mg-none").count() == 6  # 0 × tanh: nothing else gets a gradient


@pytest.mark.parametrize("of", [tanh, matrices])
def test_on_a_phone_no_label_lies_on_its_arrow_and_the_key_is_whole(show, of):
    page = show(of(), reduced_motion="reduce", viewport={"width": 420, "height": 800}).page
    rule = widget(page)
    rule.focus()
    press(page, "End")
    assert rule.locator("svg.mg-down .mg-arrow.mg-flows .mg-label").evaluate_all(ON_ARROWS) == []
    view = rule.locator("svg.mg-down").bounding_box()
    ends = [box["x"] + box["width"] for box in (each.bounding_box() for each in rule.locator(".mg-legend text").all())]
    assert max(ends) <= view["x"] + view["width"]
    cells = rule.locator(".mg-legend .mg-cell").count()
    assert cells == (3 if rule.locator(".mg-heat").count() else 0), "what the frame and the colours of cells mean"


def test_a_cell_that_is_pointed_at_lights_what_makes_it_and_says_the_sum(show):
    page = show(layer(), reduced_motion="reduce", viewport={"width": 1074, "height": 768}).page
    rule, lit = widget(page), page.locator(".mg-maker title")
    rule.focus()
    press(page, "End")
    done = rule.locator(".mg-say").text_content()
    grad = rule.locator(".mg-box:has(.mg-name:text-is('w')) [data-of=grad] .mg-cell")
    grad.nth(2).hover()
    expect(rule.locator(".mg-say")).to_contain_text("w, row 2, column 1: −1 × −0.1333 + 2 × 0.7 + 1 × 0.45 = 1.983.")
    assert sorted(lit.all_text_contents()) == sorted(["1.983", "1.983", "−1", "2", "1", "−0.1333", "0.7", "0.45"])
    page.mouse.move(2, 2)
    expect(rule.locator(".mg-say")).to_have_text(done)
    rule.locator(".mg-box:has(.mg-name:text-is('b'))").press("Enter")
    rule.locator("[data-of=grad] td").last.focus()  # by keys
    expect(rule.locator(".mg-say")).to_contain_text("−0.5667 + 0.2667 − 0.06667 = −0.3667.")


def test_a_dash_travels_forward_and_back_within_a_second_and_the_next_step_ends_it(show):
    page = show(tanh()).page
    rule = widget(page)
    rule.focus()
    running = """() => document.getAnimations().filter(({ animationName }) => animationName === "mg-travel")
      .map(({ effect }) => [effect.getComputedTiming().duration, effect.getComputedTiming().direction])"""
    for keys, direction in ((2, "normal"), (5, "reverse")):
        press(page, "ArrowRight", times=keys)
        (duration, way), *_ = page.evaluate(running)
        assert (duration < 1000, way) == (True, direction)
    before = rule.locator(".mg-hot .mg-pulse").count()
    rule.get_by_label("Speed").select_option("4")
    press(page, "Home")
    assert (before, page.evaluate(running)) == (1, [])


WHOLE = """() => {
  const [box, view] = [".mg-widget", ".jp-WindowedPanel-outer"]
    .map((part) => document.querySelector(part).getBoundingClientRect());
  return box.top >= view.top - 1 && box.bottom <= view.bottom + 1;
}"""
ABOVE = """() => {
  const cell = document.querySelectorAll(".jp-Notebook .jp-Cell")[2];
  const view = document.querySelector(".jp-WindowedPanel-outer");
  view.scrollTop += cell.getBoundingClientRect().bottom - view.getBoundingClientRect().top - 30;
}"""


@pytest.mark.parametrize("is_above", [False, True])
def test_a_widget_is_seen_whole_once_its_cell_is_run(lab, is_above):
    """Its lower half was below the window, or its buttons above, where the reader had scrolled on."""
    filler, longer = "print('a line\\n' * 14)", "# long" + "\n#" * 30
    notebook = lab.open_cells(filler, GRAPH, WIDGET, longer, longer, viewport={"width": 1366, "height": 768})
    page = notebook.page
    page.locator(".jp-Notebook .jp-Cell").first.click()
    press(page, "Shift+Enter", times=2)
    if is_above:
        page.evaluate(ABOVE)
    press(page, "Shift+Enter")
    widget(page).wait_for()
    page.wait_for_function(WHOLE, timeout=15_000)
