"""The chain-rule widget as a learner meets it: on the screen, under the keys, beside the kernel."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from minigrad.scalar import Value
from minigrad.widgets import ChainRule

GRAPH = """
import minigrad as mg

x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
temp = x * y
s = temp + w
z = s.tanh() * x
"""
WIDGET = "rule = mg.widgets.ChainRule(z)\nrule"
TENSORS = """
import minigrad as mg

x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)
loss = (x * y).sum()
mg.widgets.ChainRule(loss)
"""
STEPS = 15


def widget(page: Page, n: int = 0) -> Locator:
    return page.locator(".mg-widget").nth(n)


def grads(widget: Locator) -> dict[str, str]:
    """The gradients on the screen, by the name in the box."""
    boxes = widget.locator(".mg-leaf").all()
    return {box.locator(".mg-name").text_content(): box.locator(".mg-grad").text_content() for box in boxes}


def press(page: Page, key: str, times: int = 1) -> None:
    for _ in range(times):
        page.keyboard.press(key)


def test_a_learner_steps_their_own_graph_in_jupyterlab(lab):
    notebook = lab.open_cells(GRAPH, WIDGET, "rule", "")
    notebook.run_all()
    page, rule, second_view = notebook.page, widget(notebook.page), widget(notebook.page, 1)

    # Keys.
    rule.focus()
    expect(rule).to_have_attribute("data-phase", "built")
    assert set(grads(rule).values()) == {"·"}
    press(page, "ArrowRight", 12)
    expect(rule).to_have_attribute("data-step", "12")
    expect(rule.locator(".mg-say")).to_contain_text("−0.964 + (−0.4239) = −1.388")
    assert grads(rule) == {"x": "−1.388", "y": "·", "w": "0.1413"}
    assert rule.locator(".mg-box.mg-hot.mg-backward .mg-name").all_text_contents() == ["x"]
    assert rule.locator(".mg-arrow.mg-hot.mg-backward .mg-label").all_text_contents() == ["× −3"]

    # The other view of the same model follows once the reader pauses, and the two share no id.
    expect(second_view).to_have_attribute("data-step", "12")
    assert page.evaluate("() => [...document.querySelectorAll('.mg-widget [id]')].length") == 0

    # No key of the widget is a command of JupyterLab, and no command of JupyterLab reaches through it.
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    press(page, "b")
    press(page, "d", 2)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    assert page.evaluate("() => document.activeElement.className") == "mg-widget"

    # The numbers on the screen are the kernel's, and the kernel knows where we are.
    press(page, "End")
    expect(rule).to_have_attribute("data-phase", "done")
    page.wait_for_timeout(400)  # the cursor is sent when the reader has paused
    assert notebook.kernel("print(rule.index)") == str(STEPS - 1)
    assert notebook.kernel("print(x.grad, y.grad, w.grad)") == "0.0 0.0 0.0"
    told = notebook.kernel("z.backward(); print(*(f'{v.grad:.4g}' for v in (x, y, w)))").replace("-", "−").split()
    assert list(map(grads(rule).get, "xyw")) == told

    # The kernel can move the cursor.
    notebook.kernel("rule.index = 3")
    expect(rule).to_have_attribute("data-step", "3")


def test_a_graph_of_tensors_is_stepped_to_the_kernels_gradients(lab):
    notebook = lab.open_cells(TENSORS)
    notebook.run_all()
    rule = widget(notebook.page)
    rule.focus()

    press(notebook.page, "End")

    expect(rule).to_have_attribute("data-phase", "done")
    assert grads(rule) == {"x": "[4, 5, 6]", "y": "[1, 2, 3]"}
    assert rule.locator(".mg-keeps").count() == 0  # backward has freed what was kept
    press(notebook.page, "ArrowLeft", 2)
    assert rule.locator(".mg-keeps").count() == 2  # and going back brings it back
    assert notebook.kernel("loss.backward(); print(x.grad.numpy(), y.grad.numpy())") == "[4. 5. 6.] [1. 2. 3.]"


def test_every_control_does_what_its_name_says(lab):
    notebook = lab.open_cells(GRAPH, WIDGET)
    notebook.run_all()
    page, rule = notebook.page, widget(notebook.page)

    for name, step in (("Step", 1), ("Step", 2), ("Step back", 1), ("Last step", STEPS - 1), ("First step", 0)):
        rule.get_by_role("button", name=name, exact=True).click()
        expect(rule).to_have_attribute("data-step", str(step))

    slider = rule.get_by_role("slider", name="Step")
    slider.fill("7")
    expect(rule).to_have_attribute("data-step", "7")
    expect(slider).to_have_attribute("aria-valuetext", f"step 7 of {STEPS - 1}, backward")

    rule.get_by_label("Speed").select_option("2")
    rule.get_by_role("button", name="Play").click()
    expect(rule.locator(".mg-say")).to_have_attribute("aria-live", "off")
    page.wait_for_function("() => document.querySelector('.mg-widget').dataset.step >= 9")
    rule.get_by_role("button", name="Pause").click()
    at_rest = rule.get_attribute("data-step")
    page.wait_for_timeout(1200)
    assert rule.get_attribute("data-step") == at_rest
    expect(rule.locator(".mg-say")).to_have_attribute("aria-live", "polite")

    rule.get_by_label("Speed").select_option("4")
    rule.focus()
    press(page, " ")
    expect(rule).to_have_attribute("data-phase", "done", timeout=10_000)
    expect(rule.get_by_role("button", name="Play")).to_be_visible()


def test_axe_finds_no_violation_in_either_theme(lab):
    notebook = lab.open_cells(GRAPH, WIDGET)
    notebook.run_all()
    rule = widget(notebook.page)
    rule.focus()

    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        notebook.theme(theme)
        for step in ("Home", *["ArrowRight"] * 12):
            press(notebook.page, step)
        notebook.page.wait_for_timeout(300)  # transitions of colours
        assert notebook.violations(".mg-widget") == []


def test_a_reader_who_wants_no_motion_gets_none(visit, tmp_path):
    page = visit(saved(tmp_path), reduced_motion="reduce").page
    widget(page).focus()
    press(page, "ArrowRight", 8)

    moving = "g => { const style = getComputedStyle(g); return [style.animationName, style.transitionDuration]; }"
    arrow = page.locator(".mg-arrow.mg-hot path")
    assert arrow.evaluate(moving) == ["none", "0s"]
    page.emulate_media(reduced_motion="no-preference")
    assert arrow.evaluate(moving) == ["mg-flow", "0.2s, 0.2s"]


def test_a_saved_page_steps_without_kernel_and_network(visit, tmp_path):
    page = visit(saved(tmp_path)).page
    rule = widget(page)
    rule.focus()
    press(page, "End")

    assert grads(rule) == {"x": "3", "y": "2", "w": "1"}
    for grad in ("x.grad = 3", "y.grad = 2", "w.grad = 1"):
        expect(rule.locator(".mg-say")).to_contain_text(grad)
    assert set(re.findall(r'(?:src|href)="?([^"\s>]+)', saved(tmp_path).read_text(encoding="utf-8"))) == set()


def test_axe_finds_no_violation_in_a_saved_page(visit, tmp_path):
    for scheme in ("light", "dark"):
        opened = visit(saved(tmp_path), color_scheme=scheme, reduced_motion="reduce")
        widget(opened.page).focus()
        press(opened.page, "ArrowRight", 8)
        assert opened.violations("html") == []


def test_on_a_phone_and_at_double_size_only_the_picture_scrolls(visit, tmp_path):
    for width, scale in ((360, 1), (640, 2)):  # a window of 1280 at 200 % shows 640 pixels
        page = visit(saved(tmp_path), viewport={"width": width, "height": 700}, device_scale_factor=scale).page
        widget(page).focus()
        press(page, "ArrowRight", 7)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for button in widget(page).get_by_role("button").all():
            assert button.bounding_box()["height"] >= 24  # WCAG 2.2, target size


def saved(folder: Path) -> Path:
    """The widget on z = x y + w, as a page."""
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    temp = x * y
    z = temp + w
    path = folder / "chain_rule.html"
    ChainRule(z).save(path)
    return path
