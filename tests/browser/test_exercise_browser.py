"""What an exercise says of endless and broken answers, and what is kept when the kernel is started again.

That it is run untouched, answered wrongly and then rightly is in test_lesson_and_exercise_browser.py.
"""

from __future__ import annotations

import shutil

from playwright.sync_api import Locator, expect

from minigrad.course.attempts import FILE
from tests.browser.conftest import ROOT, press

NAME = "01_scalar_engine.ipynb"
WRONG = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))"
RIGHT = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))"


def answer(notebook, text: str, begins: str = "def multiply", part: str = "product") -> Locator:
    """Write an answer to a part in place of what is there, run it and its check; what is said."""
    page = notebook.page
    cells = page.locator(".jp-CodeCell")
    written = cells.filter(has_text=begins).locator(".cm-content")
    written.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    press(page, "Shift+Enter", "Shift+Enter")
    return cells.filter(has_text=f'check("{part}")').locator(".jp-OutputArea-output")


def test_what_froze_the_notebook_has_its_verdict_and_the_notebook_goes_on(lab):
    shutil.copy(ROOT / "exercises" / NAME, lab.folder)
    notebook = lab.open(NAME)
    notebook.run_all()

    for body in ("7 ** 10 ** 8", "sum(iter(int, 1))", "__import__('re').match('(a+)+$', 'a' * 60 + 'b')"):
        said = answer(notebook, f"kept = 42\ndef multiply(a, b):\n    return {body}")
        expect(said).to_contain_text("a loop in it never ends")
        assert notebook.kernel("print(kept)") == "42"
        said = answer(notebook, "def multiply(a, b):\n    raise ValueError('\\ud800')")
        expect(said).to_contain_text("raised ValueError (\\ud800")
    said = answer(notebook, "def multiply(a, b)\n    return 1")
    expect(said).to_contain_text("The cell of multiply was run last with a SyntaxError in line 1")
    said = answer(notebook, WRONG)
    expect(said.locator("figure svg[role=img]")).to_have_count(2)
    expect(said).to_contain_text("In yours, the slope from multiply(a, b) to a is 3; expected: −2.")
    assert notebook.violations_by_theme(".jp-OutputArea-output [role=status]") == []
    expect(answer(notebook, RIGHT)).to_contain_text("product: right (2 of 2 points).")


TOTAL = """class RunningTotal(Linear):
    def infer(self, x): return x
    def forward(self, xp, x): return xp.cumsum(x)
    def adjoint(self, gy, x): return {}
"""
OTHERS = ("gy * 2", "gy[::-1]", "gy", "gy * gy")  # the third is a known-wrong answer


def total(notebook, adjoint: str) -> Locator:
    return answer(notebook, TOTAL.format(adjoint), "class RunningTotal", "running_total")


def test_a_gradient_is_drawn_hints_outlive_the_kernel_and_the_start_page_tells(lab):
    (lab.folder / FILE).unlink(missing_ok=True)
    shutil.copy(ROOT / "exercises" / "03_a_new_op.ipynb", lab.folder)
    notebook = lab.open("03_a_new_op.ipynb")
    notebook.run_all()
    notebook.page.get_by_role("button", name="4 cells hidden").click()  # the optional part is folded

    said = total(notebook, OTHERS[0])
    picture = said.locator("svg[role=img]")
    expect(picture).to_be_visible()
    assert picture.locator("circle").count() == 6
    expect(said.locator("figure")).to_contain_text("at 1: −2 instead of 2.5")
    assert notebook.violations_by_theme(".jp-OutputArea-output [role=status]") == []

    notebook.restart()
    expect(total(notebook, OTHERS[1])).to_contain_text("a gradient arrives at the first total alone")
    expect(total(notebook, OTHERS[2])).to_contain_text("One more attempt")
    expect(total(notebook, OTHERS[3])).to_contain_text('solution("running_total") shows a way now')

    asked = "solution('running_total')", "solution('squares')", "dashboard()"
    pages = lab.open_cells("from minigrad.course import dashboard, solution", *asked)
    pages.run_all()
    shown = pages.page.locator(".jp-OutputArea-output")
    expect(shown.nth(0).locator("pre").first).to_contain_text("gy[::-1].apply(self)[::-1]")
    expect(shown.nth(1)).to_contain_text("the solution is shown after 4 different attempts; so far there was none")
    expect(shown.nth(2)).to_contain_text("◇ running_total (4 attempts)")
    assert pages.violations_by_theme(".jp-OutputArea-output section") == []
