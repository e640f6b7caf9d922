"""The cheat sheet: its column of minigrad is a program that runs."""

import json
import re
import runpy
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from tests.support.root import ROOT

SHEET = (ROOT / "lessons" / "CHEATSHEET.md").read_text("utf-8")
ROW = re.compile(r"^\| [^|`]+ \| `([^`]+)` \|", re.M)
IMPORTS = ["import numpy as np", "import minigrad as mg"]
LINES = [row for row in ROW.findall(SHEET) if row[0] != "!" and ("mg.onnx" not in row or find_spec("onnx"))]
COMMANDS = {row.split()[1]: shlex.split(row)[1:] for row in ROW.findall(SHEET) if row[0] == "!"}
MINIGRAD = [sys.executable, "-m", "minigrad"]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The sheet's lines in a file, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "train.py").write_text("\n".join([*IMPORTS, *LINES]), "utf-8")
    return str(tmp_path / "train.py")


def test_what_the_sheet_says_of_minigrad_runs_from_top_to_bottom(program):
    names = runpy.run_path(program)

    assert len(LINES) > 55
    assert np.array_equal(names["x"].tolist(), [1.0, 2.0])
    assert np.array_equal(names["sess"].run(names["g"], {names["p"]: np.ones((3, 2))}), [[3.0], [3.0]])
    assert names["cost"].flops > 0 < names["ledger"].peak.total
    assert np.array_equal(names["again"](names["mg"].ones(3, 2)), names["net"](names["mg"].ones(3, 2)))


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'minigrad-course[mpi]'")
def test_several_processes_run_the_lines_as_the_sheet_says(program):
    with Path(program).open("a", encoding="utf-8") as file:
        file.write("\nprint('the sum is', total.tolist())")

    done = subprocess.run([*MINIGRAD, *COMMANDS["run"]], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the sum is [2.0, 2.0, 2.0]") == 2


@pytest.mark.skipif(find_spec("httptools") is None, reason="the extra `serve` is not installed")
def test_what_was_saved_is_served_as_the_sheet_says(program):
    runpy.run_path(program)

    with subprocess.Popen([*MINIGRAD, *COMMANDS["serve"], "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().split()[-1]
        with urlopen(f"{address}:predict", json.dumps({"instances": [[1.0, 1.0]]}).encode(), timeout=30) as answer:
            said = json.loads(answer.read())
        server.terminate()

    assert np.shape(said["predictions"]) == (1, 2)


def test_every_command_of_the_sheet_is_tried():
    assert {*COMMANDS} == {"run", "serve"}


def test_every_row_says_something_of_each_framework():
    lines = [line for line in SHEET.splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in lines if not line.startswith("|---")} == {5}
