"""Predictions and quizzes as a learner meets them: answered by keyboard alone, locked, revealed, locked still after a
restart."""

from __future__ import annotations

import json
import shutil

import pytest
from playwright.sync_api import Locator, expect

from minigrad.course import Predict, Quiz
from minigrad.course.question import Question
from tests.browser.conftest import ROOT, press

ASK = """
from minigrad.course import Predict, reveal

p = Predict("boxes", "How many boxes will the picture have?", unit="boxes")
p
"""
REVEAL = "reveal('boxes', 5)"
KINDS = """
from minigrad.course import Predict

Predict("kinds shape", "Which shape?", "shape")
"""
ORDER = 'o = Predict("kinds order", "In which order?", "order", ["backward", "clear", "forward"])\no'
TRUTH = 't = Predict("kinds truth", "Is <b>it</b> so?", "truth")\nt'
CHOICE = 'c = Predict("kinds choice", "Which one?", options=["up", "down"])\nc'


def kept(lab, name: str) -> list[dict]:
    lines = (lab.folder / ".minigrad-answers.jsonl").read_text("utf-8").splitlines()
    return [record for line in lines if (record := json.loads(line))["name"] == name]


def radio(widget: Locator, name: str) -> Locator:
    return widget.get_by_role("radio", name=name, exact=True)


def test_a_prediction_is_locked_by_keyboard_revealed_and_locked_still_after_a_restart(lab):
    notebook = lab.open_cells(ASK, "")
    notebook.run_all()
    page = notebook.page
    widget = page.locator(".mg-widget")
    cells = page.locator(".jp-Notebook .jp-Cell").count()

    # Not a number, which is said while it is typed, then one; b and d are letters here, and no commands of JupyterLab.
    widget.get_by_role("textbox").focus()
    slip, field = widget.locator(".mg-slip"), widget.get_by_role("textbox")
    page.keyboard.type("bdd")
    expect(slip).to_have_text("'bdd' is not a number, such as 12 or 0.25.")
    expect(field).to_have_attribute("aria-invalid", "true")
    press(page, "Tab", "Space", "ArrowRight", "ArrowRight", "Enter")
    assert notebook.told("print(p.locked)", "{}")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    expect(field).to_be_focused()
    press(page, "ControlOrMeta+a")
    page.keyboard.type("4")
    expect(slip).to_have_text("")
    expect(field).to_have_attribute("aria-invalid", "false")
    press(page, "Tab", "Tab", "Enter")
    expect(widget).to_have_attribute("data-phase", "locked")
    expect(widget.locator(".mg-say")).to_have_text("Locked. Now run on.")
    assert page.evaluate("() => document.activeElement.className") == "mg-say"  # the keyboard is still here
    expect(widget.get_by_role("textbox")).to_be_disabled()
    expect(radio(widget, "certain")).to_be_checked()
    assert notebook.told("print(p.locked)", "{'answer': 4, 'confidence': 'certain'}")
    assert notebook.kernel("print(p.outcome)") == "{}"
    assert widget.locator(".mg-number-line text:not(:empty)").all_text_contents()[-1] == "you: 4 boxes"
    assert widget.locator(".mg-number-line :is(circle, .mg-came, .mg-gap)").count() == 0

    # The kernel reveals what its own code has found: in the widget, and under the cell.
    assert "you predicted 4 boxes" in notebook.kernel(f"from minigrad.course import reveal; print({REVEAL})")
    expect(widget).to_have_attribute("data-phase", "revealed")
    expect(widget.locator(".mg-say")).to_contain_text("It is 5 boxes: 1 too few. You were certain")
    expect(widget.locator(".mg-result")).to_have_text("predicted4 boxes ✗ (wrong)result5 boxes")
    line, sentence = (widget.locator(f".mg-{x}").bounding_box() for x in ("number-line", "say"))
    assert line["y"] + line["height"] <= sentence["y"]
    assert widget.locator(".mg-number-line .mg-bar:not(.mg-empty)").count() == 3  # certain
    assert [record["right"] for record in kept(lab, "boxes")] == [None, False]

    # A new kernel knows what was locked, and no longer what came.
    notebook.restart()
    expect(widget).to_have_attribute("data-phase", "locked")
    expect(widget.get_by_role("textbox")).to_have_value("4")
    expect(widget.get_by_role("button", name="Locked")).to_be_disabled()
    assert notebook.told("print(p.locked)", "{'answer': 4, 'confidence': 'certain'}")


def test_every_kind_of_answer_can_be_given_by_keyboard(lab):
    notebook = lab.open_cells(KINDS, ORDER, TRUTH, CHOICE, "")
    notebook.run_all()
    page = notebook.page
    shape, order, truth, choice = (page.locator(".mg-widget").nth(n) for n in range(4))

    shape.get_by_role("textbox").focus()
    page.keyboard.type("(2, 3)")
    press(page, "Tab", "Space", "Enter")
    expect(shape).to_have_attribute("data-phase", "locked")
    assert kept(lab, "kinds shape")[0]["answer"] == [2, 3]

    # Twice up with one button: it keeps the focus while its item moves.
    order.get_by_role("button", name="Move forward up").focus()
    press(page, "Enter", "Enter", "Enter")
    items = order.locator("li").evaluate_all("items => items.map(item => item.dataset.item)")
    assert items == ["forward", "backward", "clear"]
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Move forward up"
    order.get_by_role("button", name="Move backward down").focus()
    press(page, "Space")
    order.get_by_role("button", name="Lock").focus()
    press(page, "Enter")
    expect(order.locator(".mg-say")).to_have_text("Say how sure you are.")
    radio(order, "guess").focus()
    press(page, "Space", "Enter")
    expect(order).to_have_attribute("data-phase", "locked")
    assert kept(lab, "kinds order")[0]["answer"] == ["forward", "clear", "backward"]

    expect(truth.locator("legend")).to_have_text("Is <b>it</b> so?")
    truth.get_by_role("button", name="Lock").focus()
    press(page, "Enter")
    expect(truth.locator(".mg-say")).to_have_text("There is no answer yet.")
    for widget, option, answer in ((truth, "false", False), (choice, "down", "down")):
        radio(widget, option).focus()
        press(page, "Space")
        radio(widget, "fairly sure").focus()
        press(page, "Space", "Enter")
        expect(widget).to_have_attribute("data-phase", "locked")
        assert kept(lab, f"kinds {'truth' if widget is truth else 'choice'}")[0]["answer"] == answer

    # Locked is locked, also for somebody who knows the browser's tools.
    choice.evaluate("""widget => {
        for (const control of widget.querySelectorAll(":disabled")) control.disabled = false;
        widget.querySelector("[value=up]").click();
        widget.querySelector(".mg-controls button").click();
    }""")
    expect(choice.locator(".mg-say")).to_have_text("It is locked: down, fairly sure.")
    assert notebook.told("print(c.locked['answer'])", "down")


TYPED = {
    "number": ("2", " 0.5 ", ".5", "2.", "-3", "−3", "+4", "1e5", "1E-5", "1_000", "bdd", "1,5", "-1,5", "1/3", "2 3",
               "-", "e5", "1e", "--1", "1.2.3", "inf", "nan", "1000 boxes", "(2)", "½"),
    "shape": ("(2, 3)", "[2, 3]", "(4,)", "()", "2, 3", "2x3", "2 × 3", "7", "2", "(2; 3)", "two", "(-1, 2)",
              "(2.5,)", "{2}"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPED)
def test_the_form_names_the_slips_that_the_kernel_would_refuse_in_the_same_words(show, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = show(Predict(f"typed {kind}", "What will it be?", kind)).page
    field, slip = page.get_by_role("textbox"), page.locator(".mg-slip")
    said, refused = {}, {}
    for text in TYPED[kind]:
        field.fill(text)
        field.blur()
        said[text] = slip.text_content()
        try:
            Question("q", "?", kind).read(text)
            refused[text] = ""
        except ValueError as error:
            refused[text] = str(error).replace(repr(text), f"'{text}'")
    assert said == refused


def test_what_may_still_become_a_number_is_no_slip_while_it_is_typed(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = show(Predict("typed", "How many?")).page
    field, slip = page.get_by_role("textbox"), page.locator(".mg-slip")
    for text in ("-", "-0.", "1e", "1e-"):
        field.fill(text)
        assert slip.text_content() == "", text
        field.blur()
        assert slip.text_content() == ("" if text == "-0." else f"'{text}' is not a number, such as 12 or 0.25.")
    field.fill("4")
    assert (slip.text_content(), field.get_attribute("aria-invalid")) == ("", "false")


MARKED = """
[[questions]]
name = "code"
ask = "What does `x.exp()` <b>save</b>?"
kind = "option"
options = ["`x`", "its result", "`<i>x</i>`"]
right = "its result"
why = "exp is its own slope: `y`."
{wrong}
[[questions]]
name = "many"
ask = "How many?"
kind = "number"
right = 3
why = "Count."
[[questions]]
name = "order"
ask = "Which first?"
kind = "order"
options = ["`a`", "b", "c"]
right = ["`a`", "c", "b"]
why = "So."
"""
WRONG = '[[questions.wrong]]\nanswer = "{}"\nshows = "No: `z`."\nhint = "Look."\n'


def test_a_quiz_marks_right_and_wrong_where_they_stand_and_sets_code_as_code(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "marked.toml"
    file.write_text(MARKED.format(wrong="".join(map(WRONG.format, ("`x`", "`<i>x</i>`")))), "utf-8")
    quiz = Quiz("marked", file)
    before = show(quiz).page
    assert before.locator("legend code").all_text_contents() == ["x.exp()"]
    assert before.locator(".mg-option code").all_text_contents() == ["x", "<i>x</i>", "a"]
    assert before.locator(".mg-mark, .mg-certainty, legend b, i").count() == 0

    for name, answer in (("code", "`x`"), ("many", 3), ("order", ["`a`", "b", "c"])):
        quiz.lock(name, answer, "guess")
    visit = show(quiz)
    assert visit.page.locator(".mg-verdict").all_text_contents() == ["✗ wrong", "✓ right", "✗ wrong"]
    right, wrong, _ = visit.page.locator(".mg-certainty tr").all()
    assert [row.locator("td").all_text_contents() for row in (right, wrong)] == [["2", "", ""], ["13", "", ""]]
    assert quiz.text.endswith("\nguess: 1 of 3 right")
    assert visit.violations("html") == []
    visit.page.get_by_role("button", name="1. What does x.exp()").click()
    choice, number, order = (visit.page.locator(".mg-asked").nth(n) for n in range(3))
    marked = choice.locator("label:has(.mg-mark)").all_text_contents()
    assert marked == ["x ✗ (wrong)", "its result ✓ (right)", "<i>x</i> ✗ (wrong)"]
    expect(choice.get_by_role("radio", name="its result (right)")).not_to_be_checked()
    assert number.locator(".mg-mark").all_text_contents() == [" ✓ (right)"]
    assert order.locator(".mg-mark").all_text_contents() == [" ✓ (right)", " ✗ (wrong)", " ✗ (wrong)"]
    assert choice.locator(".mg-feedback code").all_text_contents() == ["z", "y"]
    assert visit.violations("html") == []


def test_a_quiz_tells_what_is_right_once_all_is_locked_and_again_after_a_restart(lab):
    notebook = lab.open_cells("from minigrad.course import Quiz\nq = Quiz('00_start_here')\nq", "")
    notebook.run_all()
    page = notebook.page
    widget = page.locator(".mg-widget")
    parts = [widget.locator(".mg-asked").nth(n) for n in range(4)]

    for part, option in ((parts[0], "It has an error"), (parts[1], "false")):
        radio(part, option).focus()
        press(page, "Space")
        radio(part, "certain").focus()
        press(page, "Space", "Enter")
        expect(part.locator("form")).to_have_attribute("data-locked", "true")
        press(page, "ArrowRight")
        expect(part).to_be_hidden()
    parts[2].get_by_role("textbox").focus()
    page.keyboard.type("30")
    press(page, "Tab", "Space", "Enter")
    expect(widget.locator(".mg-score")).to_contain_text("3 of 4 locked.")
    assert widget.locator(".mg-feedback p").count() == 0
    assert "You multiplied" not in page.content()
    notebook.restart()
    expect(widget.locator(".mg-score")).to_contain_text("3 of 4 locked.")
    expect(widget.locator(".mg-tabs .mg-count")).to_have_text("4 of 4")  # the first that is not locked

    radio(parts[3], "guess").focus()
    press(page, "Space", "Enter")

    expect(widget.locator(".mg-score")).to_have_text("1 of 4 right.")
    assert widget.locator(".mg-verdict").all_text_contents() == ["✗ wrong", "✓ right", "✗ wrong", "✗ wrong"]
    expect(parts[0]).to_have_attribute("data-right", "false")
    expect(parts[1].locator(".mg-feedback")).to_contain_text("Right.")
    expect(parts[2].locator(".mg-feedback")).to_contain_text("You multiplied by 3")
    assert notebook.violations_by_theme(".mg-widget") == []


PRESENT = "() => [...document.querySelectorAll('.mg-asked:not([hidden]) legend')].map((words) => words.textContent)"


@pytest.mark.daily
def test_a_quiz_asks_one_question_at_a_time_and_keeps_what_is_written(show, tmp_path, monkeypatch):
    """Its four questions took 920 pixels, one below the other, of which a laptop shows 600."""
    monkeypatch.chdir(tmp_path)
    page = show(Quiz("00_start_here"), viewport={"width": 1366, "height": 768}).page
    widget, count = page.locator(".mg-widget"), page.locator(".mg-tabs .mg-count")
    numbers = page.get_by_role("navigation").get_by_role("button")
    seen = []
    for n in range(1, 5):
        assert count.text_content() == f"{n} of 4"
        assert widget.bounding_box()["height"] <= 420
        seen += page.evaluate(PRESENT)
        page.get_by_role("button", name="Next →").click()
    assert len(set(seen)) == 4
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()
    assert page.locator(".mg-verdict").all_text_contents() == ["open"] * 4

    # Arrows turn the pages, except where an answer needs them; what was written and chosen stays.
    numbers.nth(2).click()
    page.get_by_role("textbox").fill("30")
    press(page, "ArrowLeft")
    assert count.text_content() == "3 of 4"
    press(page, "PageUp", "ArrowLeft")
    assert count.text_content() == "1 of 4"
    radio(widget, "It has an error").focus()
    press(page, "Space", "ArrowRight")
    assert count.text_content() == "1 of 4"
    press(page, "PageDown", "PageDown")
    expect(page.get_by_role("textbox")).to_have_value("30")
    numbers.nth(0).click()
    expect(radio(widget, "It is running, or waits for a cell before it")).to_be_checked()


def test_a_learner_predicts_in_the_first_lesson(lab):
    shutil.copy(ROOT / "lessons" / "00_start_here.ipynb", lab.folder)
    notebook = lab.open("00_start_here.ipynb")
    page = notebook.page
    gate = page.locator(".jp-CodeCell").filter(has_text='reveal("z moves by"')
    gate.locator(".cm-content").click()
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-above'); }")
    widget = page.locator(".mg-widget")
    widget.get_by_role("textbox").click()
    page.keyboard.type("1.5")
    press(page, "Tab", "Space", "Enter")
    expect(widget).to_have_attribute("data-phase", "locked")

    gate.locator(".cm-content").click()
    press(page, "Shift+Enter")

    told = "z moves by: you predicted 1.5 (guess); and so it is."
    expect(gate.locator(".jp-OutputArea-output")).to_contain_text(told)
    expect(widget).to_have_attribute("data-phase", "revealed")
    (_, verdict) = kept(lab, "z moves by")
    assert (verdict["notebook"], verdict["right"]) == ("00_start_here", True)


def test_a_kernel_that_is_gone_is_told(lab):
    notebook = lab.open_cells(CHOICE.replace("c = ", "from minigrad.course import Predict\nc = "), "")
    notebook.run_all()
    widget = notebook.page.locator(".mg-widget")
    notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    for name in ("up", "guess"):
        radio(widget, name).check()
    widget.get_by_role("button", name="Lock").click()

    expect(widget.locator(".mg-say")).to_contain_text("so nothing is locked. Run this cell again.")
    expect(widget.get_by_role("button", name="Lock")).to_be_enabled()


@pytest.mark.daily
def test_a_saved_page_locks_and_compares_nothing(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = show(Quiz("00_start_here")).page
    alone = "This page compares no answers: run the notebook to see what is right."
    expect(page.locator(".mg-score")).to_have_text(f"0 of 4 locked. {alone}")  # it promised to tell later
    part = page.locator(".mg-asked").first
    part.get_by_text("It has an error").click()
    part.get_by_text("fairly sure").click()
    part.get_by_role("button", name="Lock").click()

    expect(part.locator(".mg-say")).to_have_text("It can no longer be changed.")
    expect(part.get_by_role("button", name="Locked")).to_be_disabled()
    expect(page.locator(".mg-score")).to_have_text(f"1 of 4 locked. {alone}")
    assert "warning" not in page.content()  # what the wrong answer shows


def test_axe_finds_no_violation_in_any_state(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    widgets = {
        "open": Predict("open", "How many boxes will the picture have?", unit="boxes"),
        "locked": Predict("locked", "In which order do these come?", "order", ["a", "b"]).lock(["b", "a"], "guess"),
        "revealed": Predict("revealed", "Which shape?", "shape").lock((2, 3), "certain"),
        "quiz": Quiz("00_start_here"),
    }
    widgets["revealed"].reveal((3, 2))
    for name, widget in widgets.items():
        opened = show(widget, viewport={"width": 420, "height": 800})
        assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), name
        for scheme in ("light", "dark"):
            opened.page.emulate_media(color_scheme=scheme)
            assert opened.violations("html") == [], f"{name}, {scheme}"


PLACES = """(line) => [...line.querySelectorAll(".mg-own, circle")].map((part) => {
  const { left, right } = part.getBoundingClientRect();
  return Math.round((left + right) / 2 - line.getBoundingClientRect().left); })"""


@pytest.mark.parametrize(("own", "came", "places"), [
    (0, 0, (20, 20)), (-2, 6, (20, 380)), (3, 4.0, (290, 380)), (24_000, 2_400_000, (66, 306)), (1e-9, 1e-7, (20, 380)),
])  # fmt: skip
def test_own_and_true_answer_stand_on_a_number_line_that_holds_both(show, own, came, places, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = Predict(f"on a line {own}", "How many?").lock(own, "guess")
    asked.reveal(came)
    line = show(asked, viewport={"width": 700, "height": 500}).page.locator(".mg-number-line")
    assert line.evaluate(PLACES) == pytest.approx(places[::-1], abs=1)
