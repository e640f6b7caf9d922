"""An exercise as a learner does it: run untouched, answered wrongly, the hint read, answered rightly."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Locator, expect

ROOT = Path(__file__).resolve().parents[2]
NAME = "01_scalar_engine.ipynb"
WRONG = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))"
RIGHT = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))"


def answer(notebook, text: str) -> Locator:
    """Write an answer to the first part in place of what is there, run it and its check; what is said."""
    page = notebook.page
    cells = page.locator(".jp-CodeCell")
    written = cells.filter(has_text="def multiply").locator(".cm-content")
    written.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    return cells.filter(has_text='check("product")').locator(".jp-OutputArea-output")


def test_a_learner_fails_an_exercise_reads_the_hint_and_solves_it(lab):
    shutil.copy(ROOT / "exercises" / NAME, lab.folder)
    notebook = lab.open(NAME)
    notebook.run_all()
    page = notebook.page
    verdicts = page.locator(".jp-OutputArea-output [role=status]")

    expect(verdicts).to_have_count(5)
    expect(verdicts.first).to_contain_text("product: not attempted yet (2 points).")
    expect(verdicts.first).to_contain_text("multiply is not written yet.")

    said = answer(notebook, WRONG)
    expect(said).to_contain_text("product: not yet (0 of 2 points).")
    expect(said).to_contain_text("should give [-2, 3], and gave [3, -2].")
    expect(said).to_contain_text("Each factor is given its own value as its slope.")
    expect(said).to_contain_text("Hint: Nudge a in a · b by 0.001")
    said.get_by_text("What was run").click()
    expect(said.locator("pre")).to_contain_text("a, b = (Node(3.0), Node(-2.0))")
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.theme(theme)
        page.wait_for_timeout(500)  # the theme's stylesheet is fetched, then the page repaints
        assert notebook.violations(".jp-OutputArea-output [role=status]") == []
    notebook.theme("JupyterLab Light")

    said = answer(notebook, RIGHT)
    expect(said).to_contain_text("product: right (2 of 2 points).")
