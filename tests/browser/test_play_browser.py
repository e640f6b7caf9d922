"""The book's playground: its JavaScript computes what minigrad computes, and works by mouse and by keys."""

from __future__ import annotations

import json
import random
import re
import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ROOT, Visit
from tests.repository.test_function_sizes import BRANCHES, LINES, javascript_functions
from tests.support.play_in_python import run_in_python

PLAY = runpy.run_path(str(ROOT / "scripts" / "site" / "book" / "play.py"))
CASES = json.loads((ROOT / "tests" / "browser" / "play_cases.json").read_text("utf-8"))
COLOURS = "--color-foreground-primary: #000; --color-background-primary: #fff; --color-foreground-secondary: #5a5c63;"
HEAD = f"<!doctype html><html lang=en><meta charset=utf-8><title>Play</title><style>body {{ {COLOURS} }}"
RUN = """([text, given]) => [false, true].map((isStatic) => {
  const { result, nodes } = recorded(text, new Map(Object.entries(given)), isStatic);
  const leaves = nodes.filter(({ kind }) => kind === "leaf").map(({ name, grad }) => [name, grad]);
  return [result.value, Object.fromEntries(leaves)];
})"""
FAIL = """(text) => { try { recorded(text); } catch ({ at, until, message }) { return [at, until, message]; } }"""
# The labels that are not on their own arrows
LOST = """() => [...document.querySelectorAll(".play-chip")].filter((chip) => {
  const { x, y, width, height } = chip.querySelector("rect").getBoundingClientRect();
  const points = [[x + 1, y + height / 2], [x + width / 2, y + 1]];
  const there = points.flatMap((point) => document.elementsFromPoint(...point));
  return !there.includes(chip.closest("svg").querySelectorAll(".play-line")[chip.dataset.slot.split(" ")[1]]);
}).length"""


@pytest.fixture
def play(visit: Callable[..., Visit], tmp_path) -> Callable[..., Page]:
    """Opens a page of the playground alone: play("x * y", viewport=...). `recorded` is a global in it."""

    def open_page(program: str = PLAY["FIRST"], state: str = "", **context: Any) -> Page:
        script = PLAY["script"]().replace("return (place)", "globalThis.recorded = recorded;\nreturn (place)")
        ground = f'<main class="play play-ground"><h1>Play</h1>{PLAY["html_of"](program)}</main>'
        start = "playground(document.querySelector('.play'))"
        path = tmp_path / "play.html"
        path.write_text(f"{HEAD}{PLAY['sheet']()}</style>{ground}<script>{script}{start}</script>", "utf-8")
        page = visit(path, **context).page
        if state:
            page.goto(f"{path.as_uri()}#{state}")
        return page

    return open_page


def drag(slider: Locator, pixels: int) -> None:
    """In ten moves; at the first one the graph may become another."""
    box, mouse = slider.bounding_box(), slider.page.mouse
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + pixels, y, steps=10)
    mouse.up()


def is_same(found: Any, wanted: Any) -> bool:
    if found is None or wanted is None or np.shape(found) != np.shape(wanted):
        return found is wanted
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-12, equal_nan=True)


def differences(page: Page, programs: list[Any]) -> list[Any]:
    """The programs whose value or gradients are not minigrad's, eagerly or in a static graph."""
    wrong = []
    for text, given in programs:
        for (value, grads), is_static in zip(page.evaluate(RUN, [text, given]), (False, True)):
            wanted = run_in_python(text, given, is_static)
            pairs = [(value, wanted["value"]), *((grads[name], grad) for name, grad in wanted["grads"].items())]
            if len(pairs) != 1 + len(grads) or not all(is_same(*pair) for pair in pairs):
                wrong.append([text, given, is_static, value, grads, wanted])
    return wrong


def test_values_and_gradients_are_those_of_minigrad(play):
    """NaN and infinities are among them."""
    assert differences(play(), CASES["programs"]) == []


def test_random_programs_have_the_values_and_gradients_of_minigrad(play):
    draw = random.Random(39)

    def expression(depth: int) -> str:
        if depth == 0:
            return draw.choice(["x", "y", "w", "v", "2", "0.5", "-3"])
        a, b = (expression(draw.randrange(depth)) for _ in range(2))
        call, sign = draw.choice(["sin", "cos", "tanh", "relu", "exp", "sqrt", "log"]), draw.choice("+-*/")
        test = f"{draw.choice('xyw')} {draw.choice(['<', '>=', '!='])} {draw.choice(['0.5', 'y', '-2'])}"
        return draw.choice([f"({a} {sign} {b})", f"{call}({a})", f"-{a} ** 2", f"({a} if {test} else {b})"])

    given = {"x": 0.5, "y": -2, "w": 1.25}
    programs = [[f"v = [1, -0.5]\nmean(v * x * y * w + {expression(4)})", given] for _ in range(150)]
    assert differences(play(), programs) == []


@pytest.mark.parametrize(("text", "at", "until", "message"), CASES["mistakes"])
def test_a_mistake_is_named_at_its_place(play, text, at, until, message):
    assert play().evaluate(FAIL, text) == [at, until, message]


def test_a_text_and_a_graph_have_a_limit(play):
    page = play()
    page.get_by_role("textbox").select_text()
    page.keyboard.insert_text("\n" * 401)  # as a paste: it is not cut in silence
    expect(page.get_by_role("alert")).to_contain_text("This is longer than 400 characters.")
    assert page.get_by_role("textbox").bounding_box()["height"] < 400
    assert page.evaluate(FAIL, "x" * 401)[2] == "This is longer than 400 characters."
    assert page.evaluate(FAIL, " + ".join("x" * 60))[2] == "This graph has more than 40 boxes."
    assert page.evaluate(FAIL, "(" * 399)[2].startswith("A number, a name or a bracket is missing before the end")


def test_each_lesson_has_an_expression_that_runs(play):
    assert PLAY["LESSONS"].keys() == {path.name[:2] for path in (ROOT / "lessons").glob("*.ipynb")}
    given = {"x": 2, "y": -3, "w": 4}
    programs = [[text.replace("; ", "\n"), given if text == PLAY["FIRST"] else {}] for text in PLAY["LESSONS"].values()]
    assert differences(play(), programs) == []


def test_a_paste_from_a_page_is_read(play):
    """It brings spaces that do not break and spaces without width."""
    page = play("x\xa0*\u200b y")
    expect(page.get_by_role("status")).to_contain_text("The result = −6.")


def test_pi_and_e_start_at_their_values(play):
    expect(play("pi * e").get_by_role("status")).to_contain_text("The result = 8.54.")


def test_a_mistake_in_a_long_line_is_shown_in_one_row_of_a_phone(play):
    page = play("1", viewport={"width": 420, "height": 800})
    page.get_by_role("textbox").fill("z = (first * second + third) * fourth $ fifth + sixth")
    expect(page.get_by_role("alert")).to_have_text(
        "…third) * fourth $ fifth +\n                 ^\n$ has no meaning here."
    )
    assert page.get_by_role("alert").bounding_box()["height"] < 100  # three rows


def test_the_graph_stays_while_the_text_has_a_mistake(play):
    page = play("x = 2; z = (x * y + w) * x")
    page.get_by_role("textbox").fill("# longer\nx = 2\nz = x * y +\nw")
    expect(page.get_by_role("alert")).to_have_text(
        "z = x * y +\n           ^\nA number, a name or a bracket is missing before the end of the line."
    )
    expect(page.get_by_role("textbox")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".play-op")).to_have_count(3)
    drag(page.get_by_role("slider", name="x"), 30)
    expect(page.get_by_role("textbox")).to_have_value("# longer\nx = 2\nz = x * y +\nw")

    page.get_by_role("textbox").fill("z = x * y")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator(".play-op")).to_have_count(1)


def test_numbers_follow_a_leaf_that_is_dragged_or_changed_by_keys(play):
    page = play()
    x = page.get_by_role("slider", name="x")
    x.focus()
    page.keyboard.press("PageUp")
    expect(x).to_have_attribute("aria-valuetext", "4; z is −32")
    expect(page.get_by_role("status")).to_have_text("z = −32. Its gradients are x: −12 + (−8) = −20; y: 16; w: 4.")

    x.focus()
    page.keyboard.press("ArrowLeft")
    expect(x).to_have_attribute("aria-valuenow", "3.8")
    page.keyboard.press("Home")
    expect(x).to_have_attribute("aria-valuenow", "-10")


@pytest.mark.parametrize("program", ["x", "x = [5, -5]\nsum(x)"])
def test_the_knob_follows_the_pointer(play, program):
    """It moved by a fifth, and a press on the track did nothing."""
    page = play(program)
    slider, mouse = page.get_by_role("slider").first, page.mouse
    knob, track = (slider.locator(f".play-{part}") for part in ("knob", "track"))
    middle = "one => { const b = one.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }"
    start, y = knob.evaluate(middle)
    mouse.move(start, y)
    mouse.down()
    mouse.move(start - 23, y, steps=5)
    mouse.up()
    assert knob.evaluate(middle)[0] == pytest.approx(start - 23, abs=1)

    wide = track.bounding_box()
    mouse.click(wide["x"] + 0.9 * wide["width"], y)
    assert knob.evaluate(middle)[0] == pytest.approx(wide["x"] + 0.9 * wide["width"], abs=1)
    value = slider.get_attribute("aria-valuenow")
    slider.locator(".play-number").click()  # only moves the focus
    assert slider.get_attribute("aria-valuenow") == value


def test_long_numbers_of_an_array_stay_in_their_columns(play):
    page = play("x = [-123456, -1e-300]\nz = sum(x * [-2.5e10, -1.5e-300])")
    for box in page.locator(".play-box").filter(has_text="value").all():
        frame = box.locator(":scope > rect").bounding_box()
        texts = [text.bounding_box() for text in box.locator(".play-number, text.play-grad").all()]
        lines = {round(text["y"]) for text in texts}
        for line in lines:
            number, gradient = [text for text in texts if round(text["y"]) == line]
            assert frame["x"] < number["x"]
            assert number["x"] + number["width"] + 2 < gradient["x"]
            assert gradient["x"] + gradient["width"] < frame["x"] + frame["width"]
        assert len(lines) == 2


def test_a_number_of_the_text_is_rewritten_where_it_stands(play):
    page = play("x = [1, 2]; z = sum(x) * 3")
    page.get_by_role("slider", name="x, number 2").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("textbox")).to_have_value("x = [1, 2.2]\nz = sum(x) * 3")
    expect(page.get_by_role("status")).to_contain_text("z = 9.6.")


def test_the_branch_changes_while_its_leaf_keeps_the_focus(play):
    page = play("x = 0.1; z = tanh(x) if x > 0 else 0.1 * x")
    eager, static = (page.locator(f"figure[data-view={view}]") for view in ("eager", "static"))
    expect(eager.locator(".play-op .play-head")).to_have_text(["z = tanh x"])
    expect(static.locator(".play-op .play-head")).to_have_text(["x > 0", "tanh x", "0.1 × x", "z = select"])
    drag(eager.get_by_role("slider"), -40)
    expect(eager.locator(".play-op .play-head")).to_have_text(["z = 0.1 × x"])
    expect(eager.get_by_role("slider")).to_be_focused()
    expect(eager.locator("figcaption")).to_contain_text("x > 0 is false, so only 0.1 * x was run")


def test_an_arrow_is_as_wide_as_its_gradient_and_says_the_product(play):
    page = play("x = 2; z = 1000 * x + 0.001 * x + 0 * x")
    width = "bands => bands.map(band => band.style.getPropertyValue('--width'))"
    widths = ["9.5", "1.5", "5.5", "5.5", "1.5", "5.5", "5.5"]
    assert page.locator(".play-graphs .play-band").evaluate_all(width) == widths
    expect(page.locator(".play-chip").last).to_have_text("1 × 1000 = 1000")
    expect(page.locator(".play-none")).to_have_count(2)  # the arrow and its label
    assert page.locator(".play-band .play-tip").first.evaluate("tip => getComputedStyle(tip).fill") == "rgb(176, 70, 0)"
    page = play("x = 2; z = 4 * x")
    assert page.locator(".play-graphs .play-band").evaluate_all(width) == ["7.5"]  # twice as large is a pixel wider
    assert page.locator(".play-line.play-under").evaluate("line => getComputedStyle(line).stroke") == "rgba(0, 0, 0, 0)"
    page = play("x = 0; z = sqrt(x) if x > 0 else 0 * x")
    expect(page.locator("figure[data-view=static] .play-chip.play-odd")).to_have_text("0 × ∞ = NaN")
    expect(page.locator("figure[data-view=eager] .play-odd")).to_have_count(0)


@pytest.mark.parametrize("program", [PLAY["FIRST"], *PLAY["LESSONS"].values()])
def test_a_label_is_on_its_arrow(play, program):
    assert play(program, viewport={"width": 1366, "height": 1500}).evaluate(LOST) == 0


def test_arrows_of_the_first_graph_do_not_cross(play):
    page = play()
    tops = [page.get_by_role("slider", name=name).bounding_box()["y"] for name in "wyx"]
    assert tops == sorted(tops)


@pytest.mark.parametrize("x", ["1e308", "-1.7e308", "1e-320"])
def test_the_largest_and_the_smallest_numbers_can_be_dragged(play, x):
    page = play(f"x = {x}; z = x")
    page.get_by_role("slider", name="x").focus()
    page.keyboard.press("ArrowLeft")
    assert re.fullmatch(r"x = -?[\d.]+(e[-+]\d+)?\nz = x", page.get_by_role("textbox").input_value())


def test_a_link_holds_the_state(play):
    page = play()
    page.get_by_role("slider", name="y").focus()
    page.keyboard.press("PageUp")
    page.get_by_role("radio", name="static graph").check()
    page.wait_for_function("() => location.hash.includes('static')")
    state = page.evaluate("location.hash.slice(1)")
    assert state == "play=z+%3D+%28x+*+y+%2B+w%29+*+x&view=static&at=y%3A-1"

    page = play("1", state)
    expect(page.get_by_role("textbox")).to_have_value("z = (x * y + w) * x")
    expect(page.get_by_role("radio", name="static graph")).to_be_checked()
    expect(page.get_by_role("slider", name="y")).to_have_attribute("aria-valuenow", "-1")


def test_undo_takes_back_a_drag_and_the_typing_before_it(play):
    """The browser's undo put the old text into the new one."""
    page = play()
    field, x = page.get_by_role("textbox"), page.get_by_role("slider", name="x")
    field.select_text()
    page.keyboard.type("x=2\nz=x*3")
    expect(x).to_have_attribute("aria-valuetext", "2; z is 6")
    x.focus()
    page.keyboard.press("PageUp")
    expect(field).to_have_value("x=4\nz=x*3")
    field.focus()
    for keys, text in [
        ("Control+z", "x=2\nz=x*3"),
        ("Control+z", PLAY["FIRST"]),
        ("Control+z", PLAY["FIRST"]),
        ("Control+Shift+z", "x=2\nz=x*3"),
        ("Control+y", "x=4\nz=x*3"),
    ]:
        page.keyboard.press(keys)
        expect(field).to_have_value(text)
    expect(x).to_have_attribute("aria-valuetext", "4; z is 12")


def test_a_dragged_value_ends_with_its_text(play):
    """It stayed for every later text, and in the link even where the text assigned the name."""
    page = play("x * y")
    page.get_by_role("slider", name="x").focus()
    page.keyboard.press("End")
    page.get_by_role("textbox").press("End")
    page.keyboard.type(" + w")
    expect(page.get_by_role("status")).to_contain_text("The result = −26.")  # an edit keeps x = 10
    page.get_by_role("textbox").press("ControlOrMeta+Home")
    page.keyboard.type("x = 3\n")
    page.wait_for_function("() => location.hash.endsWith('at=')")
    page.get_by_role("textbox").press("ControlOrMeta+z")
    expect(page.get_by_role("status")).to_contain_text("The result = −26.")
    page.get_by_role("textbox").fill("z = 5 * x")
    expect(page.get_by_role("status")).to_contain_text("z = 10.")  # a new text begins at x = 2


DEEP = """y = tanh(sin(exp(x) * 2 + w) * x - cos(w * x) / (1 + exp(w)))
z = (y * x + relu(y - w)) ** 2 * tanh(x * w) + y"""


def test_a_deep_graph_runs_in_rows_and_its_labels_are_shown_on_demand(play):
    """It was 1,600 pixels wide and 1,800 tall; then 1,110 tall."""
    page = play(DEEP, viewport={"width": 1366, "height": 768})
    box, chip = page.locator("figure > div"), page.locator(".play-chip").last
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    assert box.bounding_box()["height"] < 640
    expect(chip).to_have_css("opacity", "0")
    chip.focus()
    expect(chip).to_have_css("opacity", "1")


def test_a_negative_number_after_a_sign_is_in_brackets(play):
    page = play("x = 2; z = (x * -3) ** -2")
    expect(page.locator(".play-op .play-head")).to_have_text(["x × (−3)", "z = … ^ (−2)"])
    expect(page.locator(".play-chip").last).to_have_text("0.00926 × (−3) = −0.0278")


def test_on_a_phone_the_first_graph_goes_down_and_its_labels_have_two_lines(play):
    """It ran in three rows, with arrows around all of them."""
    page = play(viewport={"width": 420, "height": 800})
    rows = [page.get_by_role("slider", name=name).bounding_box()["y"] for name in "wyx"]
    assert max(rows) - min(rows) < 2
    assert page.locator(".play-chip").first.locator("text").all_text_contents() == ["1 × (−2)", "= −2"]
    assert page.evaluate(LOST) == 0


def test_a_mistake_moves_nothing(play):
    for width in (1366, 420):
        page = play("z = x * y + w", viewport={"width": width, "height": 768})
        before = page.locator(".play-graphs").bounding_box()["y"]
        page.get_by_role("textbox").fill("z = x * y + (w")
        expect(page.get_by_role("alert")).to_be_visible()
        assert page.locator(".play-graphs").bounding_box()["y"] == before


def test_a_screen_reader_hears_boxes_first_and_each_number_once(play):
    """Labels of arrows came first, a key was announced twice, and the carets were read aloud."""
    page = play()
    expect(page.locator("figure")).to_match_aria_snapshot("""
      - figure:
        - group:
          - group "w; 4; gradient 2":
            - slider "w"
          - group "y; −3; gradient 4":
            - slider "y"
          - group "x; 2; gradient −8":
            - slider "x"
          - img "x × y; −6; gradient 2"
          - img "… + w; −2; gradient 2"
          - img "z = … × x; −4; gradient 1"
          - 'img "z = … × x, to x: 1 × (−2) = −2"'
    """)
    expect(page.get_by_role("status")).to_have_attribute("aria-live", "polite")
    page.get_by_role("slider", name="x").press("ArrowUp")
    expect(page.get_by_role("status")).to_have_attribute("aria-live", "off")
    page.get_by_role("textbox").fill("x $")
    expect(page.get_by_role("alert").locator("[aria-hidden]")).to_have_text("^")


@pytest.mark.parametrize("state", ["play=<img src=x onerror=alert(1)>", "play=x&view=__proto__&at=x:1e999,:,__proto__"])
def test_a_hostile_link_is_text(play, state):
    page = play("x", state)
    assert page.locator("img").count() == 0
    expect(page.get_by_role("alert" if "img" in state else "slider").first).to_be_visible()


def test_motion_ends_within_a_second_and_can_be_interrupted(play):
    page = play()
    running = "() => document.getAnimations().length"
    page.wait_for_function("() => !document.getAnimations().length")
    page.get_by_role("button", name="Replay the flow").click()
    assert page.evaluate(running) > 10
    longest = "() => Math.max(...document.getAnimations().map((one) => one.effect.getComputedTiming().endTime))"
    assert page.evaluate(longest) <= 1000
    page.keyboard.press("Escape")
    assert page.evaluate(running) == 0

    page = play(reduced_motion="reduce")
    page.get_by_role("button", name="Replay the flow").click()
    assert page.evaluate(running) == 0


def test_labels_fit_their_frames_after_a_drag_and_after_keys(play):
    """They kept the width of the first numbers, and a minus lay outside, on the band."""
    wider = """() => [...document.querySelectorAll(".play-chip text")].filter((text) => (
      text.getBBox().width > text.parentNode.querySelector("rect").getBBox().width)).length"""
    page = play()
    x = page.get_by_role("slider", name="x")
    box = x.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 37, box["y"] + box["height"] - 8, steps=9)
    assert page.evaluate(wider) == 0, "a frame did not grow in a drag"
    page.mouse.up()
    assert page.evaluate(wider) == 0
    for key in ("ArrowRight", "PageDown", "ArrowLeft"):
        x.press(key)
        assert page.evaluate(wider) == 0
    assert x.evaluate("slider => slider === document.activeElement")
    box = x.bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + box["height"] - 8)
    page.mouse.down()
    before = page.locator(".play-box").first.bounding_box()
    page.mouse.move(box["x"] + 63, box["y"] + box["height"] - 8)
    assert page.locator(".play-box").first.bounding_box() == before, "a drag moved a box"
    page.mouse.up()


CROSSED = """() => [...document.querySelectorAll(".play-line")].filter((line) => {
  const boxes = [...line.closest("svg").querySelectorAll(".play-box > rect")].map((rect) => rect.getBBox());
  const points = Array.from({ length: 99 }, (_, i) => line.getPointAtLength((line.getTotalLength() * (i + 1)) / 100));
  return points.some((p) => boxes.some(({ x, y, width, height }) => (
    p.x > x + 1 && p.x < x + width - 1 && p.y > y + 1 && p.y < y + height - 1)));
}).length"""


def test_an_arrow_bends_only_where_a_box_is_in_its_way(play):
    """The arrows of w and x bent twice after their labels, because the layout gave them a way point in each column."""
    lines = play().locator(".play-line").all()
    assert sorted(line.get_attribute("d").count("C") for line in lines) == [1, 1, 1, 2, 2, 2]
    for program in (*PLAY["LESSONS"].values(), "z = (x * x + x * y) * sin(x * x + y)", DEEP):
        assert play(program).evaluate(CROSSED) == 0, program


def test_each_arrow_has_a_tip_for_its_value_and_one_for_its_gradient(play):
    page = play("z = (x * y + w) * 2")
    assert [page.locator(f".play-svg .play-{tip}").count() for tip in ("line", "fore", "tip")] == [6, 6, 5]


@pytest.mark.parametrize("program", [PLAY["FIRST"], PLAY["LESSONS"]["10"], PLAY["LESSONS"]["09"]])
def test_axe_finds_nothing_and_a_phone_is_wide_enough(play, program):
    page = play(program, viewport={"width": 420, "height": 800}, reduced_motion="reduce")
    assert Visit(page).violations("main") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_the_module_is_small_and_reaches_for_nothing():
    sources = {path.name: path.read_text("utf-8") for path in PLAY["PARTS"]}
    assert sum(text.count("\n") for text in sources.values()) <= 600
    functions = [one for text in sources.values() for one in javascript_functions(text)]
    assert [one for one in functions if one[1] > LINES or one[2] > BRANCHES] == []
    assert re.findall(r"\beval|Function\(|fetch|http|import|XMLHttp", "".join(sources.values())) == []
