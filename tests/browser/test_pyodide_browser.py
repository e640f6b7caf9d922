"""All lessons, and all solutions as `check` judges them, in the browser edition with NumPy: for a publisher.

    MINIGRAD_PYODIDE=DIR python -m pytest tests/browser/test_pyodide_browser.py

DIR is Pyodide's own distribution, unpacked: docs/publishing.md has where it is. One page and one kernel do for all;
each notebook is shown in it, and run cell by cell, in names of its own. The cells that end in an error elsewhere must
do so here, and no others: what a browser cannot do is said in a sentence, and the lesson goes on.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, TimeoutError

from tests.browser.conftest import ROOT
from tests.browser.listening import run_with_site, served
from tests.browser.test_lite_browser import BUILD, LESSON, Seat

sys.path.insert(0, str(ROOT / "scripts" / "site"))

from browser_edition import packages

DISTRIBUTION = os.environ.get("MINIGRAD_PYODIDE")
LESSONS, SOLUTIONS = (sorted(path.stem for path in (ROOT / name).glob("*.ipynb")) for name in ("lessons", "solutions"))
PATIENCE = 600  # seconds for a cell: lessons train networks, and products take many times as long as elsewhere
GONE = [{"ename": "the kernel has gone, or found no end"}]
SHOW = """(notebook) => window.jupyterapp.shell.currentWidget.content.model.sharedModel.fromJSON(notebook)"""
START = """(n) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = n;
  window.ran = null;
  window.jupyterapp.commands.execute("notebook:run-cell").then(() => { window.ran = content.widgets[n].model; });
}"""

WHY = "a publisher's, half an hour: MINIGRAD_PYODIDE=DIR runs it, with Pyodide's distribution (docs/publishing.md)"
with_numpy = pytest.mark.skipif(not DISTRIBUTION, reason=WHY)


@dataclass
class Kernel:
    """Python in the page of a seat, and whether it has come to its end."""

    seat: Seat
    ended: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.seat.load(LESSON)
        self.seat.wait_for(LESSON)
        self.ended.clear()

    def run(self, n: int) -> list[dict[str, Any]]:
        """What the cell with this number puts out, or that the kernel has gone."""
        page, until = self.seat.page, time.monotonic() + PATIENCE
        page.evaluate(START, n)
        while not self.ended and time.monotonic() < until:
            with suppress(TimeoutError):
                return page.wait_for_function("window.ran?.outputs.toJSON()", polling=50, timeout=2000).json_value()
        return GONE

    def heard(self, message: ConsoleMessage) -> None:
        if "fatal error" in message.text:
            self.ended.append(message.text)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("site")
    build = BUILD.replace("(sys.argv[1])", "(sys.argv[1]), pathlib.Path(sys.argv[2])")
    built = run_with_site(build, folder, DISTRIBUTION)
    assert built.returncode == 0, built.stdout + built.stderr
    with served(folder) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        seat = Seat(f"http://127.0.0.1:{server.server_port}/run/", folder / "run", page, server)
        kernel = Kernel(seat)
        page.on("console", kernel.heard)
        kernel.start()
        yield kernel
        page.close()


def ran(kernel: Kernel, notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each cell of code, and what it puts out here; the first that ends the kernel is the last."""
    kernel.seat.ask("%reset -f")
    kernel.seat.page.evaluate(SHOW, notebook)
    for n, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            outputs = kernel.run(n)
            yield cell, outputs
            if outputs == GONE:
                kernel.start()
                return


def read(folder: str, name: str) -> dict[str, Any]:
    return json.loads((ROOT / folder / f"{name}.ipynb").read_text("utf-8"))


def errors(outputs: list[dict[str, Any]]) -> list[str]:
    """The kinds of errors; this kernel says <class 'KeyError'> where others say KeyError."""
    return [re.findall(r"\w+", each["ename"])[-1] for each in outputs if "ename" in each]


def test_the_courses_wheel_has_the_runs_that_a_browser_cannot_make(tmp_path):
    """And of those lessons nothing else. `%%parallel` found no lesson there, and the cells after it no names."""
    with zipfile.ZipFile(packages.course(tmp_path, {})) as wheel:
        kept = {name: json.loads(wheel.read(name))["cells"] for name in wheel.namelist() if "/_course/" in name}

    assert [Path(name).name[:2] for name in kept] == ["22", "23", "25"]
    for cell in chain(*kept.values()):
        assert "".join(cell["source"]).startswith("%%parallel")
        assert cell["outputs"]


@with_numpy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_in_the_browser_from_top_to_bottom(kernel, lesson):
    wrong = {}
    for cell, outputs in ran(kernel, read("lessons", lesson)):
        if errors(outputs) != errors(cell["outputs"]):
            wrong[cell["id"]] = "".join(cell["source"])[:80], [each for each in outputs if "ename" in each]

    assert wrong == {}


@with_numpy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("exercise", SOLUTIONS)
def test_every_part_of_a_solution_is_judged_right_in_the_browser(kernel, exercise):
    wrong, notebook = {}, read("solutions", exercise)
    for cell in notebook["cells"]:
        if cell["id"].startswith("check-"):
            cell["source"] = cell["source"][-1:]  # without its assertion, so that it says what was wrong
    for cell, outputs in ran(kernel, notebook):
        said = "".join(each.get("data", {}).get("text/plain", "") for each in outputs)
        if errors(outputs) or (cell["id"].startswith("check-") and ": right (" not in said):
            wrong[cell["id"]] = outputs

    assert wrong == {}
