"""Runs a notebook with nbval, through the same plugin that later checks its outputs (validation.py).

Only reproducible outputs are stored. A cell tagged "measured" shows figures of one machine, and its outputs are not
stored, except for the figures of `%%parallel`, which are shown to a reader without MPI.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from notebooks.outputs import refuse_unfit, sanitize
from notebooks.source import BuildError, text_of

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 90
PYTEST = (
    *("-x", "-q", "--color=no", "-c", os.devnull, "--rootdir", str(ROOT), "-p", "no:cacheprovider"),
    *("--disable-plugin-autoload", "-p", "nbval", "-p", "notebooks.validation", "--nbval"),
)


class Recorder:
    """Keeps the cells of a run, which hold their outputs, and the report of the first that failed."""

    cells: tuple[Any, ...] = ()
    failure: pytest.TestReport | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.cells = tuple(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failure:
            self.failure = report


def execute(nb: NotebookNode, name: str, seconds: float = CELL_SECONDS) -> NotebookNode:
    """Run the notebook in the folder of its name; returns it with outputs. Raises BuildError if a cell fails.

    seconds    time limit of each cell
    """
    part = (ROOT / name).with_name(f".{Path(name).stem}.run.ipynb")
    recorder = Recorder()
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text_of(deepcopy(nb)), "utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as report:
            status = pytest.main([*PYTEST, f"--nbval-cell-timeout={seconds}", str(part)], plugins=[recorder])
    finally:
        part.unlink(missing_ok=True)
    if recorder.failure:
        raise BuildError(f"{name}, {describe_failure(recorder, nb)}")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise BuildError(f"{name} could not be run:\n{report.getvalue()}")
    store(nb, {item.cell.id: item.test_outputs or [] for item in recorder.cells}, name)
    return nb


def describe_failure(recorder: Recorder, nb: NotebookNode) -> str:
    """The number of the failed cell, and nbval's report."""
    code = [number for number, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    failure = recorder.failure
    number = code[next(i for i, item in enumerate(recorder.cells) if item.nodeid == failure.nodeid)]
    return f"cell {number} fails:\n{plain_text(failure.longreprtext).strip()}"


def store(nb: NotebookNode, outputs: dict[str, list[NotebookNode]], name: str) -> None:
    """Put the outputs of each code cell, by the cell's id, into the notebook. Raises BuildError for what is unfit."""
    count = 0
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            count += bool(cell.source.strip())
            cell.execution_count = count
            cell.outputs = [nbformat.from_dict(output) for output in sanitize(outputs[cell.id])]
            refuse_unfit(cell, f"{name}, cell {number}")
            if "measured" in cell.metadata.get("tags", ()):
                cell.outputs = first_run(cell, name) if cell.source.startswith("%%parallel") else []
                if "nbval-ignore-output" not in cell.metadata.tags:
                    raise BuildError(f'{name}, cell {number}: "measured" also needs "nbval-ignore-output"')


def first_run(cell: NotebookNode, name: str) -> list[NotebookNode]:
    """The stored outputs of ranks, kept until the cell's source changes."""
    path = ROOT / name
    old = nbformat.read(path, 4).cells if path.exists() else []
    outputs: list[NotebookNode] = next((past.outputs for past in old if past.source == cell.source), cell.outputs)
    return outputs


def reuse_outputs(nb: NotebookNode, name: str) -> NotebookNode:
    """The notebook with the stored outputs of the same cells, without a run."""
    path = ROOT / name
    if path.exists():
        stored = {cell.id: cell.get("outputs", []) for cell in nbformat.read(path, 4).cells}
        store(nb, {cell.id: stored.get(cell.id, []) for cell in nb.cells}, name)
    return nb


def plain_text(text: str) -> str:
    """The text without the colours of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
