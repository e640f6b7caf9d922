"""How to call each grader: its assignment made from our exercise, its command, and where its scores are.

Each is used as documented, with the settings that gave the most right scores. nbgrader restores missing cells, and
Python's warnings are off, as it would count them as failures. `otter grade`, for many submissions, needs Docker; `otter
run` grades one, as `otter grade` does inside each container.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minigrad.course.grading.sandbox import Limits

from . import otter
from .suite import NAME, ROOT
from .world import HOME

LIMITS = Limits()  # seconds for a cell, and for a submission: the same for all three
START = 60  # seconds of overhead that a grader may have, on a busy machine
CONFIG = f"""
c = get_config()
c.CourseDirectory.course_id = "minigrad"
c.ExecutePreprocessor.timeout = {LIMITS.cell:g}
c.Execute.timeout = {LIMITS.cell:g}
c.OverwriteCells.add_missing_cells = True
"""
COMMAND = "from minigrad.course.cli import main; raise SystemExit(main())"
OURS = """
import json, pathlib
found = pathlib.Path("results/results.json")
told = json.loads(found.read_text("utf-8")) if found.exists() else []
print(json.dumps({r["student"]: r["points"] if r["status"] in ("graded", "crashed") else None for r in told}))
"""
NBGRADER = f"""
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({{s.student_id: s.score for s in book.assignment_submissions("{NAME}")}}))
"""
OTTER = """
import json, pathlib
found = {path.parent.name: json.loads(path.read_text("utf-8")) for path in pathlib.Path("out").glob("*/results.json")}
print(json.dumps({who: sum(test.get("score", 0) for test in told["tests"]) for who, told in found.items()}))
"""


@dataclass(frozen=True)
class Grader:
    """A grader.

    module      the module that must be installed
    assign      makes its assignment in a folder, with its Python
    commands    the commands for these students
    read        a program that prints student → score, None if the grader reports none
    batch       whether one command grades many
    as_root     whether it makes sandboxes of its own
    """

    name: str
    module: str
    assign: Callable[[str, Path], None]
    commands: Callable[[str, Sequence[str]], list[list[str]]]
    read: str
    batch: bool = True
    as_root: bool = False

    def job(self, python: str, students: Sequence[str]) -> dict[str, Any]:
        commands = self.commands(python, students)
        seconds = START + LIMITS.all * len(students) / len(commands)
        steps = [{"command": command, "seconds": seconds} for command in commands]
        return {"steps": steps, "read": [python, "-c", self.read]}

    def missing(self, python: str) -> str:
        """Why it cannot be measured; "" if it can."""
        if shutil.which(python) is None:
            return f"there is no {python}"
        asked = subprocess.run([python, "-c", f"import {self.module}"], check=False, capture_output=True, cwd=ROOT)
        return f"{python} has no {self.module}: it is in the extra [graders]" if asked.returncode else ""

    def version(self, python: str) -> str:
        package = {"minigrad": "minigrad-course", "otter": "otter-grader"}.get(self.module, self.module)
        code = f"import importlib.metadata as m; print(m.version('{package}'))"
        asked = subprocess.run([python, "-c", code], check=False, capture_output=True, text=True)
        return asked.stdout.strip()


def nothing(python: str, folder: Path) -> None:
    """Ours grades by files in the package."""


def nbgrader_course(python: str, folder: Path) -> None:
    """An nbgrader course: our solutions are in its format."""
    source = folder / "source" / NAME
    source.mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / f"{NAME}.ipynb", source)
    (folder / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    environment = {**os.environ, "PATH": f"{Path(python).absolute().parent}{os.pathsep}{os.environ['PATH']}"}
    command = [python, "-m", "nbgrader", "generate_assignment", NAME]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)


def with_path(python: str, *arguments: str) -> list[str]:
    """A command that finds its Python's other programs by name, as in an activated environment."""
    return ["env", f"PATH={Path(python).absolute().parent}{os.pathsep}{os.defpath}", f"USER={Path(HOME).name}",
            python, *arguments]  # fmt: skip


GRADERS = {
    "minigrad": Grader(
        "minigrad", "minigrad", nothing,
        lambda python, students: [[python, "-c", COMMAND, "grade", "submitted", "--out", "results"]],
        OURS, as_root=True,
    ),
    "nbgrader": Grader(
        "nbgrader", "nbgrader", nbgrader_course,
        lambda python, students: [with_path(python, "-m", "nbgrader", "autograde", NAME)],
        NBGRADER,
    ),
    "otter": Grader(
        "otter", "otter", lambda python, folder: otter.assignment(python, NAME, folder),
        lambda python, students: [
            with_path(python, "-m", "otter", "run", "-a", "autograder.zip", "-o", f"out/{student}", "--no-logo",
                      f"submitted/{student}/{NAME}/{NAME}.ipynb")
            for student in students
        ],
        OTTER, batch=False,
    ),
}  # fmt: skip
