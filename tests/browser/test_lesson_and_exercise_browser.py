"""A lesson and an exercise as a learner meets them in JupyterLab: what the default runs there.

They stand in one file, because one process runs a file: so the default starts JupyterLab once.
"""

import shutil

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT
from tests.browser.test_exercise_browser import NAME, RIGHT, WRONG, answer
from tests.browser.test_lessons_browser import DAILY, run_and_present


@pytest.mark.daily
def test_a_lesson_is_run_and_shown_page_by_page(lab):
    run_and_present(lab, DAILY, whole=True)


@pytest.mark.daily
def test_a_learner_fails_an_exercise_reads_the_hint_and_solves_it(lab):
    shutil.copy(ROOT / "exercises" / NAME, lab.folder)
    notebook = lab.open(NAME)
    notebook.run_all()
    page = notebook.page
    verdicts = page.locator(".jp-OutputArea-output [role=status]")

    expect(verdicts).to_have_count(6)
    expect(verdicts.first).to_contain_text("product: not attempted yet (2 points).")
    expect(verdicts.first).to_contain_text("multiply is not written yet.")

    said = answer(notebook, WRONG)
    expect(said).to_contain_text("product: not yet (0 of 2 points).")
    expect(said).to_contain_text("should give [-2, 3], and gave [3, -2].")
    expect(said).to_contain_text("Each factor is given its own value as its slope.")
    expect(said).to_contain_text("Hint: Nudge a in a · b by 0.001")
    said.get_by_text("What was run").click()
    expect(said.locator("pre")).to_contain_text("a, b = (Node(3.0), Node(-2.0))")
    assert notebook.violations_by_theme(".jp-OutputArea-output [role=status]") == []

    said = answer(notebook, RIGHT)
    expect(said).to_contain_text("product: right (2 of 2 points).")
