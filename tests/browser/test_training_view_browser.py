"""Training on the screen: live from the kernel, paused and stepped by its buttons, and replayed where there is none."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import minigrad as mg
from minigrad.course.widgets import TrainingView
from minigrad.draw.words import number

SETUP = """
import numpy as np
import minigrad as mg
from minigrad.course.widgets import TrainingView

rng = np.random.default_rng(0)
x = rng.normal(size=(60, 2))
y = (x[:, 0] * x[:, 1] > 0).astype(int)
model = mg.nn.Sequential(mg.nn.Linear(2, 16, rng=rng), mg.nn.Tanh(), mg.nn.Linear(16, 2, rng=rng))
optimizer = mg.optim.SGD(model.parameters(), lr=0.3)
view = TrainingView(model, mg.cross_entropy, (mg.tensor(x), y), optimizer)
"""
FURTHER = """(n) => {
  const [, said] = /After ([\\d,]+)/.exec(document.querySelector(".mg-say").textContent);
  return Number(said.replaceAll(",", "")) > n;
}"""
LAGS = """() => new Promise((done) => {
  const widget = document.querySelector(".mg-widget");
  let lags = 0;
  const watching = new MutationObserver((changes) => {
    for (const { oldValue } of changes) lags += Number(widget.dataset.step) < Number(oldValue);
  });
  watching.observe(widget, { attributeFilter: ["data-step"], attributeOldValue: true });
  setTimeout(() => { watching.disconnect(); done(lags); }, 3000);
})"""
PAINTED = """canvas => Array.from({ length: 576 }, (_, i) => {
  const [red, , blue] = canvas.getContext("2d").getImageData(8 * (i % 24) + 4, 8 * Math.floor(i / 24) + 4, 1, 1).data;
  return blue > red;
})"""


def assert_painted(widget: Locator, heat: str) -> None:
    """Blue is where the network says class 1, as far as the four points around agree."""
    blue, one = widget.locator(".mg-boundary canvas").evaluate(PAINTED), [letter > "O" for letter in heat]
    sure = [i for i in range(23 * 24) if i % 24 < 23 and len({one[i + step] for step in (0, 1, 24, 25)}) == 1]
    assert len(sure) > 300
    assert [blue[i] for i in sure] == [one[i] for i in sure]


DRAWN = """parts => parts.map((part) => {
  const [k, i] = part.dataset.at.split(",").map(Number), { x, y } = part.getBBox();
  if (part.matches("path")) return [true, k, i, part.dataset.sign * part.getAttribute("stroke-width")];
  const pen = part.closest("figure").querySelector("canvas").getContext("2d");
  const [red, , blue, opacity] = pen.getImageData(x + 15, y + 15, 1, 1).data;
  return [false, k, i, Math.sign(blue - red) * (opacity / 127.5) ** 2];
})"""


def assert_network_drawn(widget: Locator, weights: list[list[float]], corners: list[float]) -> None:
    """A line is as thick as its weight is large. The middle pixel of each hidden unit has the colour of its output."""
    units = np.tanh(np.reshape(weights[0], (16, 2)) @ np.reshape(corners, (2, 2)).mean(0) + weights[1])
    parts = widget.locator(".mg-network [data-at]").evaluate_all(DRAWN)
    lines = [(drawn, weights[k][i]) for is_line, k, i, drawn in parts if is_line]
    assert [drawn for drawn, _ in lines] == pytest.approx([np.copysign(0.5, x) + 1.4 * x for _, x in lines], rel=1e-3)
    hidden = [drawn for is_line, k, i, drawn in parts if (is_line, k) == (False, 1)]
    assert hidden == pytest.approx(units[:8], abs=0.15)  # half a pixel from the middle
    assert (len(lines), len(parts)) == (8 * 2 + 2 * 8, 32 + 2 + 8 + 2)


def steps_said(widget: Locator) -> int:
    """How many steps were made, by the sentence on the screen."""
    found = re.search(r"After ([\d,]+) steps", widget.locator(".mg-say").text_content())
    return int(found[1].replace(",", "")) if found else 0


def trained(steps: int, kind: Any = mg.optim.SGD, more: int = 0) -> TrainingView:
    rng, now = np.random.default_rng(0), iter(range(10**6))
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    layers = mg.nn.Linear(2, 16, rng=rng), mg.nn.Tanh(), mg.nn.Linear(16, 2, rng=rng)
    model = mg.nn.Sequential(*[mg.nn.LayerNorm(2) for _ in range(more)], *layers)
    optimizer = kind(model.parameters(), lr=0.3)
    data = (mg.tensor(x), y)
    return TrainingView(model, mg.cross_entropy, data, optimizer, clock=lambda: next(now) / 100).run(steps).wait()


def test_a_learner_watches_pauses_steps_and_resumes_while_the_kernel_trains(lab):
    notebook = lab.open_cells(SETUP, "view", "view.run(10**7)", "")
    notebook.run_all()
    page = notebook.page
    widget = page.locator(".mg-widget").first

    # Frames come in while the kernel is free.
    expect(widget).to_have_attribute("data-state", "running")
    page.wait_for_function("() => document.querySelectorAll('.mg-widget')[0].dataset.step > 3")
    page.wait_for_function(FURTHER, arg=steps_said(widget))
    assert notebook.kernel("print(view.state, 1 + 1)") == "running 2"

    # It keeps to the newest frame, whatever the kernel says of an older one meanwhile.
    assert page.evaluate(LAGS) == 0

    # Paused, the screen says what the kernel has.
    widget.get_by_role("button", name="Pause", exact=True).click()
    expect(widget).to_have_attribute("data-state", "paused")
    n = int(notebook.kernel("print(len(view.losses))"))
    expect(widget.locator(".mg-news")).to_have_text(f"Paused after step {n:,}.")
    assert steps_said(widget) == n
    loss = notebook.kernel("from minigrad.draw.words import number; print(number(view.losses[-1]))")
    expect(widget.locator(".mg-say")).to_contain_text(f"loss {loss},")
    assert_painted(widget, notebook.kernel("print(view._boundary.levels())"))

    # By keyboard: one step, then on.
    widget.get_by_role("button", name="Train 1 step").focus()
    page.keyboard.press("Enter")
    expect(widget.locator(".mg-news")).to_have_text(f"Paused after step {n + 1:,}.")
    assert steps_said(widget) == n + 1
    widget.get_by_role("button", name="Resume").focus()
    page.keyboard.press("Space")
    expect(widget).to_have_attribute("data-state", "running")
    page.wait_for_function(FURTHER, arg=n + 1)

    # Slower; and closed, nothing goes on.
    widget.get_by_label("Pace").select_option("5")
    expect(widget.get_by_label("Pace")).to_have_value("5")
    assert notebook.told("print(view.speed)", "5.0")
    rate = widget.get_by_role("slider", name="learning rate")
    assert (rate.input_value(), rate.get_attribute("aria-valuetext")) == ("0.3", "0.3")
    rate.focus()
    page.keyboard.press("ArrowRight")
    assert notebook.told("print(round(optimizer.lr, 6))", "0.33")
    expect(widget.locator(".mg-settings output")).to_have_text("0.33")
    notebook.kernel("view.rate = 0.06")
    expect(rate).to_have_attribute("aria-valuetext", "0.06")
    assert notebook.kernel("view.close(); print(view.alive)") == "False"


def test_what_a_loss_raises_is_shown_and_the_kernel_lives(lab):
    bad = "bad = TrainingView(model, lambda output, y: output / nothing, (mg.tensor(x), y), optimizer)\nbad"
    loss = "lambda output, y: mg.cross_entropy(output, y) * float('nan')"
    nan = f"nan = TrainingView(model, {loss}, (mg.tensor(x), y), optimizer)\nnan"
    notebook = lab.open_cells(SETUP, bad, nan, "")
    notebook.run_all()
    page = notebook.page
    for n, words in ((0, "Step 1 raised NameError: name 'nothing' is not defined."), (1, "Step 1: the loss is nan.")):
        widget = page.locator(".mg-widget").nth(n)
        widget.get_by_role("button", name="Train 100 steps").click()
        expect(widget.locator(".mg-news")).to_contain_text(words)
        expect(widget).to_have_attribute("data-state", "failed")
    assert notebook.kernel("print('alive')") == "alive"


LABEL_ABOVE = """() => {
  const label = document.querySelector(".mg-loss .mg-name");
  const [, x, y] = label.getAttribute("transform").match(/\\((\\S+) (\\S+)\\)/);
  return [...document.querySelectorAll(".mg-loss .mg-curve")].at(-1).getAttribute("points").split(" ")
    .map((point) => point.split(",").map(Number)).filter(([at]) => at > x).every(([, at]) => at > y); }"""


@pytest.mark.daily
def test_a_saved_page_replays_the_frames(show):
    view = trained(200)
    view.steps[-1]["curve"] = [*view.steps[-1]["curve"][:-1], [199, 0.7], view.steps[-1]["curve"][-1]]  # a spike
    page = show(view, reduced_motion="reduce").page
    widget = page.locator(".mg-widget")
    expect(widget.locator(".mg-say")).to_have_text("Before the first step.")
    widget.focus()

    for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        frame = view.steps[int(widget.get_attribute("data-step"))]
        expect(widget.locator(".mg-count")).to_have_text(f"step {frame['step']} of 200")
        expect(widget.locator(".mg-say")).to_have_text(frame["say"])
        assert_painted(widget, frame["heat"])
        assert_network_drawn(widget, frame["weights"], view.corners)
    page.keyboard.press("End")
    assert page.evaluate(LABEL_ABOVE), "the last loss lies on the curve"
    assert widget.locator(".mg-mark").count() == 60
    assert widget.locator("path.mg-mark").count() == sum(point[2] == 0 for point in view.points)
    assert widget.bounding_box()["height"] <= 600


def test_a_saved_page_trains_as_python_does_and_starts_over(show):
    for optimizer in (mg.optim.SGD, mg.optim.Adam):
        view = trained(40, optimizer)
        page = show(view).page
        widget = page.locator(".mg-widget")
        page.get_by_label("Pace", exact=True).select_option("0")
        page.get_by_role("button", name="Train 40 steps").click()

        expect(widget.locator(".mg-news")).to_have_text("40 steps are done, in this page.")
        expect(widget.locator(".mg-say")).to_have_text(view.steps[-1]["say"])
        assert_painted(widget, view.steps[-1]["heat"])
        assert_network_drawn(widget, view.steps[-1]["weights"], view.corners)
    page.get_by_role("button", name="Train 1 step").click()
    expect(widget.locator(".mg-say")).to_contain_text("After 41 steps")
    page.get_by_role("button", name="Reset").click()
    expect(widget.locator(".mg-say")).to_have_text("Before the first step.")


def test_a_saved_page_in_which_training_runs_away_draws_what_is_finite(show):
    """The loss and the widths of weights were drawn at NaN: errors in the console, and no curve."""
    view = trained(1)
    view.rate = 1.7e308
    visit = show(view)
    for _ in range(3):
        visit.page.locator("[data-do=step]").click()

    expect(visit.page.locator(".mg-news")).to_contain_text("The loss is no longer a number.", timeout=5000)
    assert visit.page.locator(".mg-weight").first.get_attribute("stroke-width") == "0.5"
    assert not [said for said in visit.console if said.startswith("error")]


def test_a_point_that_is_moved_changes_the_boundary_by_mouse_and_by_keys(show):
    page = show(trained(200)).page
    plane, say = page.locator(".mg-boundary svg"), page.locator(".mg-say")
    box = plane.bounding_box()
    point = plane.locator("circle").first.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 9, box["y"] + 9, steps=3)
    page.mouse.up()

    expect(say).to_contain_text("After 200 steps")
    assert not say.text_content().startswith(f"After 200 steps: loss {number(trained(200).losses[-1])}")
    moved = plane.locator(".mg-chosen").get_attribute("transform")
    plane.press("ArrowDown")
    assert plane.locator(".mg-chosen").get_attribute("transform") != moved
    expect(say).to_contain_text("After 400 steps")


@pytest.mark.parametrize("width", [1074, 420])
def test_other_models_have_histograms_on_one_axis_and_nothing_scrolls(show, width):
    view = trained(2000, more=5)
    page = show(view, viewport={"width": width, "height": 768}).page
    page.locator(".mg-widget").press("End")
    layers, rows, figure = view.steps[-1]["layers"], page.locator(".mg-layers tr"), page.locator(".mg-layers")

    names = [name for name, _ in view.model.named_parameters() if name not in ("4.bias", "7.bias")]
    assert figure.locator("th[scope]").all_text_contents() == names
    bars = rows.nth(1).locator("td").nth(1).locator("rect").all()
    drawn = [float(bar.get_attribute("height")) / 3 for bar in bars]
    assert drawn == [int(bar) for bar in layers[0]["gradients"]["bars"]]
    most = max(abs(layer["weights"][end]) for step in view.steps for layer in step["layers"] for end in ("low", "high"))
    lefts = figure.locator("td:nth-child(2) rect:first-of-type").evaluate_all("r => r.map(b => b.x.baseVal.value)")
    assert lefts == pytest.approx([layer["weights"]["low"] / most for layer in layers], abs=1e-5)
    assert rows.last.locator("span").nth(2).text_content() == number(most, 2)
    assert figure.evaluate("box => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight")
    expect(page.locator(".mg-count")).to_contain_text("2,000 of 2,000")
    expect(figure.locator("figcaption")).to_have_text("How the numbers are spread: the 12 largest of 14 parameters")


def test_where_training_is_possible_its_buttons_take_the_place_of_the_players(show):
    page = show(trained(40), viewport={"width": 1060, "height": 768}).page
    assert page.locator(".mg-top button:visible").all_inner_texts() == [" Train 40 steps", "Train 1 step", "Reset"]
    expect(page.get_by_role("button", name="Play")).to_have_count(0)
    page.locator(".mg-widget").press("Space")
    expect(page.locator(".mg-news")).to_have_text("40 steps are done, in this page.", timeout=9000)
    page.get_by_role("slider", name="Step").press("Home")
    expect(page.locator(".mg-say")).to_have_text("Before the first step.")
    assert page.locator(".mg-widget").bounding_box()["height"] <= 500


def test_what_no_page_can_train_says_what_is_needed(show):
    view = trained(5)
    view.program = {}
    page = show(view).page

    expect(page.get_by_role("toolbar", name="Training")).to_be_hidden()
    expect(page.locator(".mg-news")).to_contain_text("shows it. No kernel runs: to train, run the notebook's cells")
