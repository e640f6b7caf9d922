"""What nbval refuses, with our plugin: each kind of output that differs from what is stored, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebooks.execution import PYTEST
from notebooks.validation import Kernel

from tests.support.root import ROOT

pytestmark = pytest.mark.tool

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAFUlEQVR4nGP8//8/A27AhEduBEsDAKXjAxF9kqZqAAAAAElFTkSuQmCC"
DRAW = "import IPython.display as d, PIL.Image as i; _ = i.new('RGB', (10, 10), {!r}).save('p.png'); d.Image('p.png')"


def results(tmp_path: Path, folder: str, cells: list[nbformat.NotebookNode]) -> list[str]:
    """Whether each cell of a notebook in this folder passed, and what was printed."""
    path = tmp_path / folder / "notebook.ipynb"
    path.parent.mkdir()
    nbformat.write(new_notebook(cells=cells), path)
    command = [sys.executable, "-m", "pytest", *(word for word in PYTEST if word != "-x"), "-rA", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "scripts")))}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    return [*re.findall(r"^(PASSED|FAILED|ERROR) .*::Cell \d+", printed, re.M), printed]


def cell(source: str, *outputs: nbformat.NotebookNode, tags: tuple[str, ...] = ()) -> nbformat.NotebookNode:
    return new_code_cell(source, outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)})


def result(count: int, **data: str) -> nbformat.NotebookNode:
    mimes = {name.replace("_", "/"): value for name, value in data.items()}
    return new_output("execute_result", mimes, execution_count=count)


def test_every_part_of_an_output_is_compared(tmp_path):
    shown = "<IPython.core.display.Image object>"
    raised = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])
    cells = [
        cell("print(1 + 1)", new_output("stream", name="stdout", text="2\n")),
        cell("print(1 + 1)", new_output("stream", name="stdout", text="3\n")), cell("1 + 1"),
        cell("{}['x']", raised, tags=("raises-exception",)), cell("{}['y']", raised, tags=("raises-exception",)),
        cell(DRAW.format("white"), result(6, text_plain=shown, image_png=DOT)),
        cell(DRAW.format("black"), result(7, text_plain=shown, image_png=DOT)),
        cell("import warnings; warnings.warn('old')"),
    ]  # fmt: skip

    *passed, printed = results(tmp_path, "lessons", cells)

    wanted = "PASSED FAILED FAILED PASSED FAILED PASSED FAILED FAILED".split()  # noqa: SIM905  (in the cells' order)
    assert sorted(passed) == sorted(wanted), printed
    assert {int(n) for n in re.findall(r"^FAILED .*::Cell (\d+)", printed, re.M)} == {1, 2, 4, 6, 7}, printed


def test_only_a_missing_answer_may_raise_in_an_exercise(tmp_path):
    sources = ["raise NotImplementedError", "import no_such_module"]
    cells = [new_code_cell(source, metadata={"tags": ["raises-exception"]}) for source in sources]

    *passed, printed = results(tmp_path, "exercises", cells)

    assert sorted(passed) == ["FAILED", "PASSED"], printed
    assert "Only NotImplementedError is expected here" in printed


def test_a_kernel_that_dies_is_noticed_at_once(tmp_path):
    *_, printed = results(tmp_path, "lessons", [new_code_cell("import os; os._exit(3)")])

    assert "Kernel died" in printed


def test_two_kernels_share_no_state(tmp_path):
    """They may be forks of one process, which has imported NumPy with its random numbers."""
    each = "f'{numpy.random.rand()} {os.getpid()} {os.environ.pop(\"HOME\")}\\n'"
    code = f"import numpy, os; open('each', 'a').write({each})"
    for _ in range(2):
        kernel = Kernel(tmp_path)
        kernel.await_reply(kernel.execute_cell_input(code))
        kernel.stop()
        assert not kernel.is_alive()
    first, second = (line.split() for line in (tmp_path / "each").read_text("utf-8").splitlines())
    assert [a == b for a, b in zip(first, second, strict=True)] == [False, False, True]
