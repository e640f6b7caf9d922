"""A section beside the road of a lesson: closed when it opens, run with the rest, and opened by click or key."""

import json
import re

import pytest
from playwright.sync_api import expect

CELLS = [
    "# A lesson", "x = 3", "### Further: the square, without which the road goes on",
    "from minigrad.course import Predict, reveal\nPredict('square', 'What is x * x?')", "y = x * x\ny", "## The road",
    "x + 1",
]  # fmt: skip
HEADING, QUESTION, SQUARE, ROAD = 2, 3, 4, 5


@pytest.fixture
def lesson(lab):
    name = lab.written(*CELLS)
    path = lab.folder / name
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["source"].startswith("#"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]
    notebook["cells"][HEADING]["metadata"]["jp-MarkdownHeadingCollapsed"] = True
    path.write_text(json.dumps(notebook), "utf-8")
    return lab.open(name)


def test_it_opens_closed_and_the_keyboard_opens_closes_and_passes_it(lesson):
    expect(lesson.cell(SQUARE)).to_be_hidden()
    expect(lesson.cell(QUESTION)).to_be_hidden()
    expect(lesson.cell(ROAD)).to_be_visible()

    lesson.cell(HEADING).click()
    for key, at, opened in (("ArrowRight", HEADING, True), ("ArrowLeft", HEADING, False), ("ArrowDown", ROAD, False),
                            ("ArrowUp", HEADING, False), ("Shift+Enter", QUESTION, True)):  # fmt: skip
        lesson.page.keyboard.press(key)
        expect(lesson.cell(SQUARE)).to_be_visible(visible=opened)
        expect(lesson.cell(at)).to_have_class(re.compile("jp-mod-active"))


def test_run_all_runs_what_is_closed_and_a_prediction_in_it_can_be_made(lesson):
    lesson.run_all()
    expect(lesson.cell(SQUARE)).to_be_hidden()

    lesson.page.get_by_role("button", name="2 cells hidden").click()
    expect(lesson.cell(SQUARE)).to_contain_text("9")
    question = lesson.page.locator(".mg-widget")
    question.get_by_role("textbox").fill("8")
    question.get_by_role("radio", name="certain", exact=True).check()
    question.get_by_role("button", name="Lock").click()
    expect(question).to_have_attribute("data-phase", "locked")
    assert "you predicted 8" in lesson.kernel("print(reveal('square', y))")
