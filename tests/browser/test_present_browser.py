"""A notebook as live slides: in a real JupyterLab, with a widget that is moved on a slide."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, ROOT, Notebook, Visit, press
from tests.browser.listening import end

WIDGET = """
import minigrad as mg
from minigrad.course.widgets import ChainRule

x = mg.Value(2.0)
ChainRule(x * x + 1)
"""
CELLS = [  # kind, slide_type, notes, source
    ("markdown", "slide", "Ask *before* you show `x`.", "# One\n\nthe first page"),
    ("code", "skip", "", "hidden = 1"),
    ("markdown", "slide", "", "## Two"),
    ("code", "fragment", "", "6 * 7"),
    ("code", "fragment", "", "1 / 0"),
    ("markdown", "subslide", "", "### Three"),
    ("code", None, "", WIDGET),
    ("markdown", "notes", "", "Only for whoever speaks."),
    ("markdown", "slide", "", "## Four\n\n" + "a line\n\n" * 40),
]


def written(lab, *cells, **metadata):
    """The path of a notebook of such cells."""
    path = lab.folder / lab.written(*(source for *_, source in cells))
    notebook = json.loads(path.read_text("utf-8"))
    for cell, (kind, slide_type, notes, _) in zip(notebook["cells"], cells):
        cell["cell_type"] = kind
        if kind == "markdown":
            del cell["outputs"], cell["execution_count"]
        if slide_type:
            cell["metadata"]["slideshow"] = {"slide_type": slide_type} | ({"notes": notes} if notes else {})
    notebook["metadata"] |= metadata
    path.write_text(json.dumps(notebook), "utf-8")
    return path


@pytest.fixture
def deck(lab):
    """A notebook of nine cells on four pages, open and not yet presented."""
    return lab.open(written(lab, *CELLS, minigrad={"minutes": 45}).name)


def seen(notebook):
    """The numbers of the cells that are on the screen."""
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    return [n for n in range(cells.count()) if cells.nth(n).is_visible()]


def present(notebook):
    notebook.page.get_by_role("button", name="Present", exact=True).click()
    expect(notebook.page.get_by_role("toolbar", name="Presentation")).to_be_visible()


def test_what_is_presented_is_turned_written_shown_and_left(deck):
    """One notebook for many questions: nothing of it is run, and each begins at its first page."""
    on_leaving_the_notebook_is_as_it_was(deck)
    for question in (pages_are_turned_and_what_is_skipped_is_on_none, notes_are_in_a_window_of_their_own,
                     black_code_size_dark_and_help, a_page_that_is_too_high_is_scrolled,
                     code_is_written_and_its_keys_are_the_editors):  # fmt: skip
        if deck.page.locator(".mg-bar").count() == 0:
            present(deck)
        press(deck.page, "Home")
        question(deck)


def pages_are_turned_and_what_is_skipped_is_on_none(deck):
    place, status = deck.page.locator(".mg-bar [data-place]"), deck.page.locator(".mg-bar [role=status]")
    assert (seen(deck), place.text_content()) == ([0], "1 of 4")

    turned = []
    for key in ("PageDown", "ArrowRight", " ", "n", "PageDown", "PageDown"):
        press(deck.page, key)
        turned.append(seen(deck))
    assert turned == [[2], [2, 3], [2, 3, 4], [5, 6], [8], [8]]
    assert status.text_content() == "Page 4 of 4: Four"

    press(deck.page, "PageUp", "ArrowLeft")
    assert (seen(deck), place.text_content()) == ([2, 3, 4], "2 of 4, part 3 of 3")
    press(deck.page, "End")
    assert seen(deck) == [8]
    press(deck.page, "Home")
    assert seen(deck) == [0]
    deck.page.get_by_role("button", name="Next").click()
    deck.page.get_by_role("button", name="Next").click()
    assert seen(deck) == [2, 3]
    deck.page.get_by_role("button", name="Back").click()
    assert seen(deck) == [2]


def test_a_folded_section_is_on_no_page_until_it_is_unfolded(lab):
    texts = ("# One", "## Two", "### Further: beside the road", "6 * 7", "#### Deeper", "### Three", "1 + 1")
    cells = [("markdown", "subslide", "", text) if text.startswith("#") else ("code", None, "", text) for text in texts]
    path = written(lab, *cells)
    notebook = json.loads(path.read_text("utf-8"))
    notebook["cells"][2]["metadata"]["jp-MarkdownHeadingCollapsed"] = True
    path.write_text(json.dumps(notebook), "utf-8")
    opened = lab.open(path.name)
    place = opened.page.locator(".mg-bar [data-place]")

    present(opened)
    assert (seen(opened), place.text_content()) == ([0], "1 of 3")
    press(opened.page, "PageDown", "PageDown")
    assert seen(opened) == [5, 6]

    press(opened.page, "Escape")
    opened.page.get_by_role("button", name="2 cells hidden").click()
    present(opened)
    press(opened.page, "Home", "PageDown", "PageDown")
    assert (seen(opened), place.text_content()) == ([2, 3], "3 of 5")


def test_cells_run_and_a_widget_is_moved_on_its_slide(deck):
    present(deck)
    said = deck.page.locator(".mg-bar output")
    press(deck.page, "PageDown", "PageDown", "r")
    expect(deck.cell(3).locator(".jp-OutputArea-output")).to_have_text("42")
    press(deck.page, "PageDown", "r")
    expect(said).to_have_text("A cell has raised an error.")
    press(deck.page, "PageDown", "r")
    widget = deck.page.locator(".mg-widget")
    expect(widget).to_be_visible()

    widget.click()
    press(deck.page, "ArrowRight", "ArrowRight")
    expect(widget).to_have_attribute("data-step", "2")
    assert seen(deck) == [5, 6], "the widget's own keys turned a page"

    widget.get_by_role("slider", name="Step").focus()
    press(deck.page, "ArrowRight")
    expect(widget).to_have_attribute("data-step", "3")
    press(deck.page, "Escape", "ArrowRight")
    assert seen(deck) == [8]


def code_is_written_and_its_keys_are_the_editors(deck):
    press(deck.page, "PageDown", "PageDown")
    deck.cell(3).locator(".cm-content").click()
    press(deck.page, "End")
    deck.page.keyboard.type(" + n  ")
    press(deck.page, "ArrowLeft")
    assert seen(deck) == [2, 3]
    expect(deck.cell(3).locator(".cm-content")).to_have_text("6 * 7 + n  ")
    press(deck.page, "PageUp")
    assert seen(deck) == [2]


def notes_are_in_a_window_of_their_own(deck):
    """Which turns pages too."""
    with deck.page.expect_popup() as opened:
        press(deck.page, "s")
    notes = opened.value
    expect(notes.locator("[data-notes]")).to_have_text("Ask before you show x.")
    assert notes.locator("[data-notes] code").inner_text() == "x"
    expect(notes.locator("[data-next]")).to_have_text("Two")
    expect(notes.locator("[data-preview]")).to_have_text(re.compile(r"Two.*6 \* 7.*1 / 0", re.DOTALL))
    expect(notes.locator("[data-time]")).to_have_text(re.compile(r"0:\d\d of 45 min"))

    press(notes, "PageDown", "End", "PageUp")
    assert seen(deck) == [5, 6]
    expect(notes.locator("[data-title]")).to_have_text("Three")
    expect(notes.locator("[data-notes]")).to_have_text("Only for whoever speaks.")
    expect(notes.locator("[data-time]")).to_have_text(re.compile(r"^(?!0:00)\d+:\d\d of"))  # the clock runs

    deck.page.bring_to_front()
    with notes.expect_event("close"):
        deck.page.get_by_role("button", name="Exit").click()


def black_code_size_dark_and_help(deck):
    press(deck.page, "PageDown", "PageDown")
    shown, cell = deck.page.locator(".mg-shown"), deck.cell(3)
    zoom = lambda: float(shown.evaluate("node => getComputedStyle(node).getPropertyValue('--mg-zoom')"))  # noqa: E731
    size = lambda: cell.bounding_box()["height"]  # noqa: E731
    before, fitted = size(), zoom()
    press(deck.page, "+", "+", "+")
    assert zoom() == pytest.approx(1.3 * fitted)
    assert size() > 1.2 * before
    press(deck.page, "-", "-", "-")
    assert zoom() == pytest.approx(fitted)

    press(deck.page, "b")
    assert deck.page.evaluate("() => getComputedStyle(document.body, '::after').position") == "fixed"
    press(deck.page, "b", "c")
    assert not deck.cell(3).locator(".cm-content").is_visible()
    press(deck.page, "c")
    expect(deck.cell(3).locator(".cm-content")).to_be_visible()

    press(deck.page, "d")
    deck.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    press(deck.page, "?")
    expect(deck.page.locator(".mg-keys li")).to_have_count(17)
    press(deck.page, "?")
    expect(deck.page.locator(".mg-keys")).to_have_count(0)
    assert deck.violations(".mg-bar") == []
    press(deck.page, "Escape")
    deck.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")


SCROLLED = "() => document.querySelector('.mg-shown .jp-WindowedPanel-outer').scrollTop"
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".mg-shown :is(.cm-content, pre, code)")]
  .filter((code) => code.checkVisibility())
  .map((code) => parseFloat(getComputedStyle(code).fontSize) * code.currentCSSZoom))"""


ZOOMS = """() => [document.querySelector(".mg-shown").style.getPropertyValue("--mg-zoom"),
  [...document.querySelectorAll(".mg-shown .jp-Cell:not(.mg-off)")]
    .at(-1).style.getPropertyValue("--mg-picture"),
].map(Number)"""


def test_type_has_one_size_on_all_pages_and_pictures_take_the_room_that_is_left(deck):
    """Each page was enlarged on its own: type jumped from page to page, and pictures were no larger than text."""
    for width, height, code in ((1280, 720, 16), (1920, 1080, 21.6)):
        deck.page.set_viewport_size({"width": width, "height": height})
        deck.page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        present(deck)
        press(deck.page, "Home", "r")
        sizes = [deck.page.evaluate(ZOOMS)[0]]
        press(deck.page, "PageDown", "PageDown", "PageDown", "r")
        expect(deck.page.locator(".mg-bar output")).to_have_text("A cell has raised an error.")
        assert deck.page.evaluate(SMALLEST) == pytest.approx(code, abs=0.01)
        press(deck.page, "PageDown", "r")
        expect(deck.page.locator(".mg-widget")).to_be_visible()
        press(deck.page, "c")  # without code there is room
        deck.page.wait_for_function(f"() => ({ZOOMS})()[1] > 1.2")
        assert visible(deck, deck.page.locator(".mg-widget"))
        press(deck.page, "c")
        sizes += [deck.page.evaluate(ZOOMS)[0]]
        press(deck.page, "End")
        sizes += [deck.page.evaluate(ZOOMS)[0]]
        assert len(set(sizes)) == 1
        press(deck.page, "Escape")


def test_what_was_read_before_leaves_when_a_new_picture_needs_its_room(lab):
    """Prose above a picture kept the numbers of the picture small."""
    kinds = (("markdown", "slide"), ("code", "fragment"), ("markdown", "fragment"))
    texts = ("# One\n\n" + "a line\n\n" * 2, WIDGET.replace("x * x + 1", "(x * x + 1) * x"), "after it")
    cells = [(kind, type_, "", text) for (kind, type_), text in zip(kinds, texts)]
    deck = lab.open(written(lab, *cells).name, viewport={"width": 1920, "height": 1080})
    present(deck)
    press(deck.page, "PageDown", "r")
    expect(deck.page.locator(".mg-widget")).to_be_visible()
    deck.page.wait_for_function("() => document.querySelector('.mg-heading').textContent === 'One'")
    assert seen(deck) == [1]
    assert visible(deck, deck.page.locator(".mg-widget"))
    press(deck.page, "PageDown")  # the picture makes room for what is said of it
    assert seen(deck)[-2:] == [1, 2]


def test_a_page_that_was_asked_for_before_another_failed_is_run(lab):
    """A kernel passes over what has come by then, and the second page said that a cell had raised an error."""
    path = written(lab, ("code", "slide", "", "import time\ntime.sleep(2)\n1 / 0"), ("code", "slide", "", "6 * 7"))
    deck = lab.open(path.name)
    present(deck)
    press(deck.page, "r", "PageDown", "r")
    expect(deck.cell(1).locator(".jp-OutputArea-output")).to_have_text("42")


def test_a_line_of_code_is_not_cut_off(lab):
    notebook = lab.open_cells("x = [" + "1, " * 28 + "1]  # and a remark")
    present(notebook)
    line = notebook.cell(0).locator(".cm-scroller")
    assert line.evaluate("node => node.scrollWidth <= node.clientWidth + 1")


def a_page_that_is_too_high_is_scrolled(deck):
    press(deck.page, "End")
    place = deck.page.locator(".mg-bar [data-place]")
    last = deck.cell(8).get_by_text("a line").last
    assert not visible(deck, last)
    press(deck.page, *["PageDown"] * 5)  # what does not fit is scrolled, before the page is turned
    assert visible(deck, last)
    assert place.text_content() == "4 of 4"


def test_what_has_no_room_is_turned_over_to_cell_by_cell_and_nothing_scrolls(lab):
    """On 1280 × 720 nearly every page of lessons 04 and 06 had to be scrolled to its end."""
    line = "a line\n\n"
    texts = ("# One", line * 6, line * 6, line * 6, "# Two", line * 6, line * 14)
    kinds = ("slide", None, None, None, "slide", None, "fragment")
    path = written(lab, *(("markdown", kind, "", text) for kind, text in zip(kinds, texts)))
    opened = lab.open(path.name, viewport={"width": 1280, "height": 720})
    present(opened)

    turned, headings = [seen(opened)], []
    for _ in range(4):
        press(opened.page, "PageDown")
        turned.append(seen(opened))
        headings.append(opened.page.locator(".mg-heading").text_content())
        assert opened.page.evaluate(SCROLLED) == 0
    assert turned == [[0, 1, 2, 3], [3], [4, 5], [6], [6]]
    assert headings == ["One", "", "Two", "Two"]  # it stays when its cell has made room

    press(opened.page, "PageUp", "PageUp")
    assert seen(opened) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["Predict", "Guess"])
def test_what_is_below_a_question_comes_with_the_next_press(lab, kind):
    """Whatever the metadata say: here they say nothing of it."""
    asks = f'{kind}("sum", "What is 1 + 1?")'
    notebook = lab.open_cells(f"from minigrad.course import {kind}, reveal", asks, 'reveal("sum", 1 + 1)', "3")
    present(notebook)
    assert seen(notebook) == [0, 1]
    assert notebook.cell(1).locator(".cm-content").is_visible()  # until it has run there is nothing else of it
    press(notebook.page, "r")
    expect(notebook.cell(1).locator(".mg-widget")).to_be_visible()
    assert not notebook.cell(1).locator(".cm-content").is_visible()
    press(notebook.page, "PageDown")
    assert seen(notebook) == [0, 1, 2, 3]


def test_a_notebook_without_a_page_stays_as_it_is_and_says_why(lab):
    notebook = lab.open(written(lab, ("code", "skip", "", "1 + 1")).name)
    notices = notebook.page.locator(".jp-Notification-Status")
    before = int(notices.inner_text().strip() or 0)
    notebook.page.get_by_role("button", name="Present", exact=True).click()

    # Where Jupyter's notices are silenced, as they are here, it is told in their list.
    expect(notices).to_contain_text(str(before + 1))
    assert notebook.page.locator(".mg-bar, .mg-shown, .mg-off").count() == 0
    expect(notebook.cell(0)).to_be_visible()


def visible(deck, part):
    """Whether a part of the page is on the screen, above the bar."""
    box, bar = part.bounding_box(), deck.page.locator(".mg-bar").bounding_box()
    return box["y"] >= 0 and box["y"] + box["height"] <= bar["y"]


def on_leaving_the_notebook_is_as_it_was(deck):
    """But for the cell: one goes on with that of the page."""
    state = """() => { const { content, context } = window.jupyterapp.shell.currentWidget;
        return [content.notebookConfig.windowingMode, content.mode, context.model.dirty]; }"""
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    deck.cell(2).click()
    before = deck.page.evaluate(state)
    present(deck)
    assert deck.page.locator(".mg-bar [data-place]").text_content() == "2 of 4, part 1 of 3"  # where one was
    press(deck.page, "End", "b", "Escape")

    assert deck.page.evaluate(state) == before
    assert deck.page.evaluate(active) == 8
    deck.cell(2).click()
    assert len(seen(deck)) == len(CELLS)
    assert deck.page.locator(".mg-bar, .mg-shown, .mg-around, .mg-black, .mg-off").count() == 0
    deck.page.keyboard.press("Alt+Shift+P")
    expect(deck.page.get_by_role("toolbar", name="Presentation")).to_be_visible()


def test_the_command_opens_a_lesson_at_its_first_page(pages, tmp_path):
    """The address is the printed one, as a person would copy it."""
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = os.environ | own | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    extension = f"--LabApp.extra_labextensions_path={ROOT / 'share' / 'jupyterlab'}"
    command = [sys.executable, "-m", "minigrad", "lab", "--present", "lessons/01", "--dir", str(tmp_path / "course")]
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen([*command, "--no-browser", extension], env=environment, stdout=out, stderr=out)
    try:
        opened = pages.open(Visit, alone=True)
        opened.page.goto(printed(log, process))
        expect(opened.page.locator(".mg-bar [data-place]")).to_have_text(re.compile(r"^1 of \d+"))
        expect(opened.page.locator(".mg-shown h1")).to_contain_text("01 What a computation graph is")
        opened.page.keyboard.press("PageDown")
        expect(opened.page.locator(".mg-bar [data-place]")).to_have_text(re.compile(r"^2 of \d+"))
    finally:
        end(process)


def printed(log, process):
    """The address that Jupyter prints when it is ready."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", log.read_text()):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_an_address_begins_the_show_and_cells_run_when_they_are_shown(lab):
    deck = lab.pages.open(Notebook, alone=True)
    deck.page.goto(f"{lab.url}/lab/tree/{written(lab, *CELLS).name}?present")

    expect(deck.page.get_by_role("toolbar", name="Presentation")).to_be_visible()
    press(deck.page, "PageDown", "PageDown")
    expect(deck.cell(3).locator(".jp-OutputArea-output")).to_have_text("42")
    assert deck.kernel("print(hidden)") == "1"  # a cell that is on no page, before it
    assert deck.cell(4).locator(".jp-OutputArea-output").count() == 0
    press(deck.page, "PageDown")
    expect(deck.cell(4).locator(".jp-OutputArea-output")).to_contain_text("ZeroDivisionError")
    before = ran(deck)
    press(deck.page, "PageUp", "PageDown", "PageUp")
    assert ran(deck) == before


def test_the_button_runs_nothing_until_it_is_told_to(deck):
    """What has run before is not run again; what has not is, with the cells on no page above it."""
    present(deck)
    said, live = deck.page.locator(".mg-bar output"), deck.page.get_by_role("button", name="Live")
    expect(said).to_contain_text("No cell has run yet")
    press(deck.page, "PageDown", "PageDown", "l")
    expect(live).to_have_attribute("aria-pressed", "true")
    expect(deck.cell(3).locator(".jp-OutputArea-output")).to_have_text("42")
    assert deck.kernel("print(hidden)") == "1"
    before = ran(deck)

    press(deck.page, "l")
    expect(live).to_have_attribute("aria-pressed", "false")
    press(deck.page, "PageDown", "Escape")
    present(deck)
    expect(said).to_be_empty()
    live.click()
    press(deck.page, "Home", "PageDown", "PageDown")
    assert (seen(deck), ran(deck)) == ([2, 3], before)


def test_what_a_kernel_before_this_one_has_run_is_run_again(lab):
    """A saved notebook says how often its cells ran, and not in which kernel."""
    path = written(lab, *CELLS)
    path.write_text(path.read_text("utf-8").replace('"execution_count": null', '"execution_count": 7'), "utf-8")
    deck = lab.open(path.name)
    present(deck)
    said = deck.page.locator(".mg-bar output")
    expect(said).to_contain_text("No cell has run yet")
    press(deck.page, "PageDown", "PageDown", "l")
    expect(deck.cell(3).locator(".jp-OutputArea-output")).to_have_text("42")
    assert deck.kernel("print(hidden)") == "1"
    press(deck.page, "Escape")

    deck.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    present(deck)
    expect(said).to_contain_text("No cell has run yet")


def ran(notebook):
    """How many cells the kernel has run. What is asked while an error ends the queue is not answered: ask again."""
    while not (told := notebook.kernel("print(len(In))")):
        pass
    return int(told)
