"""The answer below a question stays folded until it is locked, or opened on purpose: in JupyterLab and Notebook 7."""

from __future__ import annotations

import json

import nbformat
import pytest
from notebooks.answer_folding import fold_answers
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, press

ASK = """
from minigrad.course import Predict, reveal

Predict("ran. `one`", "How many of `f(x)` ran?")
"""
REVEAL = "reveal('ran. `one`', len('12345'))\nprint('These five: exp, add')"
WHY = """\
*Five* ran, because `k * k` was not recorded, and $x_1^2$ was:

| op | recorded |
|---|---|
| exp | yes |

```python
y = x * x
```"""
NEXT = "## Next\n\nAnother topic."
ANSWER = "details.mg-answer"


@pytest.fixture
def name(lab):
    """A notebook of one question, as the build writes it."""
    path = lab.folder / lab.written(ASK, REVEAL, WHY, NEXT)
    nb = nbformat.from_dict(json.loads(path.read_text("utf-8")))
    for cell in nb.cells[2:]:
        cell.cell_type = "markdown"
        del cell["outputs"], cell["execution_count"]
    path.write_text(json.dumps(fold_answers(nb)), "utf-8")
    return path.name


def is_folded(page: Page) -> bool:
    expect(page.locator(f"{ANSWER} summary")).to_have_text("Locked? Then read why.")
    hidden = not page.locator(ANSWER).get_by_text("Five").is_visible()
    assert hidden == (page.locator(ANSWER).get_attribute("open") is None)
    expect(page.locator("p", has_text="Another topic.")).to_be_visible()
    return hidden


def lock(page: Page, answer: str) -> None:
    page.locator(".mg-widget").get_by_role("textbox").fill(answer)
    page.locator(".mg-widget").get_by_role("radio", name="certain", exact=True).check()
    page.locator(".mg-widget").get_by_role("button", name="Lock").click()


def test_a_click_opens_an_answer_with_all_its_markdown(lab, name):
    notebook = lab.open(name)
    page = notebook.page
    assert is_folded(page)
    page.locator(f"{ANSWER} summary").focus()
    page.keyboard.press("Enter")

    assert not is_folded(page)
    for part, words in (("em", "Five"), ("code", "k * k"), ("td", "exp"), ("pre", "y = x * x"), ("mjx-container", "")):
        expect(page.locator(f"{ANSWER} {part}").first).to_contain_text(words)
    assert notebook.violations(ANSWER) == []


def test_without_a_lock_the_answer_stays_folded_until_one_is_locked(lab, name):
    notebook = lab.open(name)
    page, note = notebook.page, notebook.cell(1).locator(".jp-OutputArea-output")
    notebook.run_all()
    expect(note).to_contain_text("Lock your answer first")
    expect(note).not_to_contain_text("These five")
    expect(page.get_by_role("button", name="Show the result")).to_be_visible()
    assert is_folded(page)

    lock(page, "4")
    expect(page.locator(".mg-say")).to_contain_text("It is 5: 1 too few")
    expect(note).to_contain_text("you predicted 4 (certain); it is 5: 1 too few")
    expect(note).to_contain_text("These five: exp, add")
    expect(page.get_by_role("button", name="Show the result")).to_be_hidden()
    expect(page.locator(ANSWER)).to_have_attribute("open", "")
    page.locator(f"{ANSWER} summary").click()
    notebook.kernel("_minigrad_memory.predictions['ran. `one`'].face.say = 'Changed later.'")
    expect(page.locator(".mg-say")).to_have_text("Changed later.")
    assert is_folded(page)  # the reader closed it


def test_the_result_is_shown_without_an_answer_and_a_late_one_is_not_counted(lab, name):
    notebook = lab.open(name)
    page = notebook.page
    notebook.run_all()
    page.get_by_role("button", name="Show the result").click()
    expect(page.locator(".mg-say")).to_contain_text("It is 5. No prediction was locked. You can still lock yours")
    assert is_folded(page)

    expect(page.get_by_role("button", name="Lock late")).to_be_enabled()
    lock(page, "5")
    expect(page.locator(".mg-say")).to_have_text(
        "And so it is. You locked it late, after the answer was shown, so it is not counted."
    )
    expect(page.locator(ANSWER)).to_have_attribute("open", "")
    assert notebook.violations_by_theme(".mg-widget") == []


def test_answers_are_open_in_a_lecture_and_closed_after_it(lab, name):
    notebook = lab.open(name)
    page = notebook.page
    page.get_by_role("button", name="Present", exact=True).click()
    expect(page.get_by_role("toolbar", name="Presentation")).to_be_visible()
    press(page, "PageDown")
    expect(page.locator(ANSWER).get_by_text("Five")).to_be_visible()
    press(page, "Escape")
    assert is_folded(page)


def test_notebook_7_folds_it_too(lab, name):
    seven = lab.pages.open(Visit, alone=True)
    seven.page.goto(f"{lab.url}/notebooks/{name}")
    assert is_folded(seven.page)
    seven.page.locator(f"{ANSWER} summary").click()
    expect(seven.page.locator(f"{ANSWER} td").first).to_be_visible()
    seven.errors = [error for error in seven.errors if "/static/notebook/notebook_core" not in error]
