"""A site without NumPy: lessons that use arrays are marked, and what lessons 00 to 02 do with arrays is a recorded run.

Each of these lessons is run twice, once with NumPy and once with the stand-ins of packages.py. A cell that fails only
without NumPy begins with `%%recorded` in the site: this magic, in recorded_cells.py, shows the outputs that the lesson
is shipped with.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from minigrad.course import lessons
from minigrad.course.prediction import AT_ONCE

HERE = Path(__file__).parent
SCALAR = ("lessons/00", "lessons/01", "lessons/02", "exercises/01")  # the notebooks that run without NumPy
MAGIC = "%%recorded needs NumPy, which this site does not have\n"
WAITS = (
    "> **This notebook needs NumPy, which this site does not have.** Its cells end in an error here. Read it, and run "
    "it on your own machine: the first page of the book says how. Lessons 00 to 02 and exercise 01 run here."
)
MAGICS = "recorded_cells.py"  # module that the site's Python imports
RECORDINGS = "recorded_cells.json"  # in the same folder: source of a cell → {outputs, reveals, numbers}
REVEALS = ("reveal", "reveal_range")


def needs_numpy(name: str) -> bool:
    """Whether a notebook cannot run without NumPy. `lessons/00_start_here` can."""
    return not name.startswith(SCALAR)


def notebooks_with_numpy(files: Path) -> list[Path]:
    """The notebooks in a folder that need NumPy."""
    paths = sorted([*files.glob("lessons/*.ipynb"), *files.glob("exercises/*.ipynb")])
    return [path for path in paths if needs_numpy(f"{path.parent.name}/{path.stem}")]


def mark(files: Path, stand_ins: dict[str, bytes]) -> dict[str, bytes]:
    """Mark the notebooks in a folder; returns the modules that play the recordings, by file name."""
    runs = [path for path in sorted(files.glob("lessons/*.ipynb")) if not needs_numpy(f"lessons/{path.stem}")]
    with ThreadPoolExecutor() as pool:
        given = pool.map(lambda path: with_and_without(path, files, stand_ins), runs)
    recorded = [recording for path, cells in zip(runs, given) for recording in record(path, cells)]
    for path in notebooks_with_numpy(files):
        note(path)
    return {MAGICS: (HERE / MAGICS).read_bytes(), RECORDINGS: json.dumps(dict(recorded)).encode()}


def with_and_without(path: Path, files: Path, stand_ins: dict[str, bytes]) -> list[dict[str, Any]]:
    """The cells of a lesson that fail only without NumPy, each with the number variables after it."""
    stubs = files.parent / "without_numpy"
    stubs.mkdir(exist_ok=True)
    for name, text in stand_ins.items():
        (stubs / name).write_bytes(text)
    root, here = str(HERE.parents[2]), files.parent / f"{path.stem}_run"
    here.mkdir()
    (here / lessons.STATE).touch()  # the folder for locked answers and attempts
    runs = []
    for first in ([root], [str(stubs), root]):
        place = {"PYTHONPATH": os.pathsep.join(first), AT_ONCE: "1"}
        command = [sys.executable, str(HERE / "lesson_run.py"), str(path)]
        done = subprocess.run(
            command, cwd=here, env=os.environ | place, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise RuntimeError(f"{path.stem} could not be run: {done.stderr[-2000:]}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    with_numpy, without = runs
    return [cell for cell, other in zip(with_numpy, without) if cell["ran"] and not other["ran"]]


def record(path: Path, cells: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Mark cells in a notebook; yields the source of each and what to show for it."""
    notebook = json.loads(path.read_text("utf-8"))
    shipped = json.loads((lessons.course() / "lessons" / path.name).read_text("utf-8"))["cells"]
    outputs = {cell["id"]: cell.get("outputs") for cell in shipped}
    numbers = {cell["id"]: cell["numbers"] for cell in cells}
    for cell in notebook["cells"]:
        if (known := numbers.get(cell["id"])) is not None:
            source = "".join(cell["source"])
            given = {name: known[name] for name in assigned(source) & known.keys()}
            yield source, {"outputs": outputs[cell["id"]], "reveals": list(reveals(source, known)), "numbers": given}
            cell["source"] = MAGIC + source
    path.write_text(json.dumps(notebook, indent=1), "utf-8")


def assigned(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def reveals(source: str, numbers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls of reveal in a cell, as data: those whose arguments are constants and names of recorded numbers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REVEALS:
            named = [numbers[arg.id] if isinstance(arg, ast.Name) and arg.id in numbers else arg for arg in node.args]
            arguments = [arg.value if isinstance(arg, ast.Constant) else arg for arg in named]
            if not any(isinstance(arg, ast.AST) for arg in arguments):
                yield {"name": node.func.id, "arguments": arguments}


def note(path: Path) -> None:
    """Add a note at the top of a notebook: it needs NumPy."""
    notebook = json.loads(path.read_text("utf-8"))
    notebook["cells"].insert(0, {"cell_type": "markdown", "id": "needs-numpy", "metadata": {}, "source": WAITS})
    path.write_text(json.dumps(notebook, indent=1), "utf-8")
