"""Each lesson as a room sees it, from the first page to the last; one in three as a learner runs it before.

nbval runs every cell of all lessons, and by night this does, too. Here is every second lesson; the others are in
test_other_lessons_browser.py, which runs beside this file.
"""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from notebooks.folding import road
from plugins.tiers import is_row_in_share

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NAMES = sorted(path.stem for path in LESSONS.glob("*.ipynb"))
RUN_ONE_IN = 1 if os.environ.get("NIGHTLY") else 3
MARKED = [pytest.param(name, marks=[pytest.mark.daily] * name.startswith("01")) for name in NAMES[1::2]]
FAILED = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(({ model }) => model.type === "code" && !(model.getMetadata("tags") ?? []).includes("raises-exception"))
  .flatMap(({ model }) => model.outputs.toJSON().filter((output) => output.output_type === "error")
    .map((output) => `${output.ename}: ${output.evalue}`))"""
PAGE = """() => {
  const notebook = document.querySelector(".mg-shown .jp-Notebook");
  const cells = [...notebook.querySelectorAll(".jp-Cell:not(.mg-off)")];
  const top = Math.round(document.querySelector(".mg-shown .jp-WindowedPanel-outer").scrollTop);
  return { top, place: document.querySelector(".mg-bar [data-place]").textContent, cells: cells.length,
    words: cells.map((cell) => cell.innerText).join(" ").trim().length };
}"""


@pytest.mark.parametrize("name", MARKED)
def test_a_lesson_runs_from_top_to_bottom_and_is_shown_page_by_page(lab, name, request):
    run_and_present(lab, name, request.config.option.share)


def run_and_present(lab, name, share):
    folder = lab.folder / "lessons"
    folder.mkdir(exist_ok=True)
    shutil.copy(LESSONS / f"{name}.ipynb", folder)
    notebook = lab.open(f"lessons/{name}.ipynb")

    if name.startswith("01") or is_row_in_share(name, RUN_ONE_IN, share):
        notebook.run_all()
        assert notebook.page.evaluate(FAILED) == []

    notebook.page.get_by_role("button", name="Present", exact=True).click()
    notebook.page.keyboard.press("Home")
    seen = [notebook.page.evaluate(PAGE)]
    while True:
        notebook.page.keyboard.press("PageDown")
        now = notebook.page.evaluate(PAGE)
        if now == seen[-1]:
            break
        seen.append(now)

    assert len({page["place"].partition(",")[0] for page in seen}) == pages(name)
    assert all(page["cells"] and page["words"] for page in seen)


def pages(name: str) -> int:
    """How many pages the lesson's metadata make, without what is folded."""
    cells = road(nbformat.read(LESSONS / f"{name}.ipynb", 4))
    return sum(cell.metadata.get("slideshow", {}).get("slide_type") in ("slide", "subslide") for cell in cells)
