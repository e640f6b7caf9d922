"""The cheat sheet: its column of minigrad is a program that runs."""

import re
import runpy
from pathlib import Path

import numpy as np

SHEET = Path(__file__).parents[1] / "lessons" / "CHEATSHEET.md"
ROW = re.compile(r"^\| [^|`]+ \| `([^`]+)` \|", re.M)


def test_what_the_sheet_says_of_minigrad_runs_from_top_to_bottom(tmp_path):
    rows = ROW.findall(SHEET.read_text("utf-8"))
    program = tmp_path / "sheet.py"
    program.write_text("\n".join(["import numpy as np", "import minigrad as mg", *rows]), "utf-8")

    names = runpy.run_path(str(program))

    assert len(rows) > 30
    assert np.array_equal(names["x"].tolist(), [1.0, 2.0])
    assert np.array_equal(names["sess"].run(names["g"], {names["p"]: np.ones((3, 2))}), [[3.0], [3.0]])


def test_every_row_says_something_of_each_framework():
    lines = [line for line in SHEET.read_text("utf-8").splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in lines if not line.startswith("|---")} == {5}
