"""Each lesson as a room sees it: its first page and its last; one in six is run before, and shown page by page.

nbval runs every cell of all lessons. By night this runs and shows all of them. Here is every second lesson; the others
are in test_other_lessons_browser.py, which runs beside this file, and in test_lesson_and_exercise_browser.py.
"""

import os
import re
import shutil
import sys
from itertools import repeat
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from notebooks.folding import unfolded_cells

from tests.plugins.tiers import is_row_in_share

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
RUN_ONE_IN = 1 if os.environ.get("NIGHTLY") else 6
DAILY = "01_what_a_graph_is"
NAMES = sorted({path.stem for path in LESSONS.glob("*.ipynb")} - {DAILY})
FAILED = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(({ model }) => model.type === "code" && !(model.getMetadata("tags") ?? []).includes("raises-exception"))
  .flatMap(({ model }) => model.outputs.toJSON().filter((output) => output.output_type === "error")
    .map((output) => `${output.ename}: ${output.evalue}`))"""
PAGE = """() => {
  const notebook = document.querySelector(".mg-shown .jp-Notebook");
  const cells = [...notebook.querySelectorAll(".jp-Cell:not(.mg-off)")];
  const words = cells.map((cell) => cell.innerText).join(" ").trim().length;
  const top = Math.round(document.querySelector(".mg-shown .jp-WindowedPanel-outer").scrollTop);
  const place = document.querySelector(".mg-bar [data-place]").textContent;
  return words && { top, place, cells: cells.length, words };
}"""


@pytest.mark.parametrize("name", NAMES[1::2])
def test_a_lesson_is_run_and_shown_page_by_page_or_shown_at_its_first_and_last_page(lab, name, request):
    run_and_present(lab, name, is_row_in_share(name, RUN_ONE_IN, request.config.option.share))


def run_and_present(lab, name, whole):
    """Show the lesson at its first and last page; if it is to be shown whole, run it and turn all pages."""
    folder = lab.folder / "lessons"
    folder.mkdir(exist_ok=True)
    shutil.copy(LESSONS / f"{name}.ipynb", folder)
    notebook = lab.open(f"lessons/{name}.ipynb")
    if whole:
        notebook.run_all()
        assert notebook.page.evaluate(FAILED) == []

    notebook.page.get_by_role("button", name="Present", exact=True).click()
    notebook.page.keyboard.press("Home")
    seen = [shown(notebook)]
    for key in repeat("PageDown") if whole else ("End",):
        notebook.page.keyboard.press(key)
        now = shown(notebook)
        if now == seen[-1]:
            break
        seen.append(now)

    places = [re.match(r"(\d+) of (\d+)", page["place"]).groups() for page in seen]
    numbers = {int(number) for number, _ in places}
    assert {int(of) for _, of in places} == {pages(name)}
    assert numbers == ({*range(1, pages(name) + 1)} if whole else {1, pages(name)})
    assert all(page["cells"] for page in seen)


def shown(notebook):
    """What the page shows, once JupyterLab has rendered a cell of it."""
    return notebook.page.wait_for_function(PAGE).json_value()


def pages(name: str) -> int:
    """How many pages the lesson's metadata make, without what is folded."""
    cells = unfolded_cells(nbformat.read(LESSONS / f"{name}.ipynb", 4))
    return sum(cell.metadata.get("slideshow", {}).get("slide_type") in ("slide", "subslide") for cell in cells)
