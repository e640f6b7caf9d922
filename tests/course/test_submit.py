"""`minigrad submit` makes the file to hand in, and `minigrad add` installs where the course runs."""

from __future__ import annotations

import json
import sys

import pytest

from minigrad.course import CourseError, cli, doctor, lab, lessons, standing
from minigrad.course.attempts import FILE, Attempts
from tests.support.root import ROOT

NAME = "02_backward_by_hand"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A course folder."""
    monkeypatch.chdir(tmp_path)
    lessons.copy(tmp_path)
    return tmp_path


def test_the_file_to_hand_in_is_the_exercise_as_saved(home, capsys):
    notebook = home / "exercises" / f"{NAME}.ipynb"
    mine = json.loads(notebook.read_text("utf-8"))
    mine["cells"][-1]["source"] = "my own words"
    notebook.write_text(json.dumps(mine), "utf-8")
    Attempts(home / FILE).record("by_hand", "passed")

    assert cli.main(["submit", "02"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == f"The file to hand in is {home / 'submit' / NAME}.ipynb"
    assert said[-1].startswith("It is your exercise 02 as saved; `check` has given ")
    assert said[-1].endswith(" of 10 points so far.")
    assert "my own words" in (home / "submit" / f"{NAME}.ipynb").read_text("utf-8")


def test_the_same_as_data_and_by_other_names(home, capsys):
    for name in (f"exercises/{NAME}.ipynb", NAME, "02_back", str(home / "exercises" / f"{NAME}.ipynb")):
        assert cli.main(["submit", name, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data == {"path": str(home / "submit" / f"{NAME}.ipynb"), "points": 0, "of": 10}


@pytest.mark.parametrize(
    ("name", "told"),
    [("lessons/02", "lessons/02_chain_rule_backwards.ipynb is not an exercise: name one by its number, such as 02"),
     ("77", "the course has no file 'exercises/77'"), ("00", "the course has no file 'exercises/00'")],
)  # fmt: skip
def test_what_is_no_exercise_is_refused(home, capsys, name, told):
    assert cli.main(["submit", name]) == 1
    assert told in capsys.readouterr().err
    assert not (home / "submit").exists()


def test_a_notebook_that_is_damaged_or_gone_is_not_handed_in(home, capsys):
    notebook = home / "exercises" / f"{NAME}.ipynb"
    notebook.write_text('{"cells": 3', "utf-8")
    with pytest.raises(CourseError, match=r"is damaged: .* `minigrad reset exercises/02_backward_by_hand\.ipynb`"):
        lessons.hand_in(home, "02")
    notebook.unlink()
    gone = r"there is no .*02_backward_by_hand\.ipynb: `python3 start.py copy` or `minigrad copy` brings it"
    with pytest.raises(CourseError, match=gone):
        lessons.hand_in(home, "02")


def test_a_typo_is_answered_with_the_nearest_verb(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["stauts"])
    assert end.value.code == 2
    assert "there is no verb 'stauts': did you mean status? The verbs are lab, copy," in capsys.readouterr().err


def test_the_course_opens_where_you_left_off(home):
    assert lab.first_notebook(home) == "lessons/00_start_here.ipynb"
    Attempts(home / FILE).record("by_hand", "tried", "aa")
    assert lab.first_notebook(home) == f"exercises/{NAME}.ipynb"
    command = lab.lab_command(home, [], "", f"exercises/{NAME}.ipynb")
    assert f"--LabApp.default_url=/lab/tree/exercises/{NAME}.ipynb" in command
    assert "--LabApp.default_url=/lab/tree/lessons/05.ipynb" in lab.lab_command(home, [], "lessons/05.ipynb", "other")
    for part in (part for work in standing.standing(home).exercises for part in work.parts):
        Attempts(home / FILE).record(part.name, "passed")
    assert lab.first_notebook(home).startswith("exercises/")
    (home / lab.first_notebook(home)).unlink()
    assert lab.first_notebook(home) == "lessons/00_start_here.ipynb"


# -- extras -------------------------------------------------------------------------------------------


@pytest.fixture
def declared(monkeypatch):
    """The extras that the package declares, whatever is installed here."""
    monkeypatch.setattr(doctor, "declared_extras", lambda: ["mpi", "onnx"])


def test_in_the_environment_of_start_py_start_py_installs(declared, monkeypatch):
    monkeypatch.setattr(doctor.sys, "prefix", str(ROOT / ".venv"))

    assert doctor.install_command(["mpi"]) == [sys.executable, str(ROOT / "start.py"), "add", "mpi"]


def test_elsewhere_it_is_uv_or_pip_for_the_python_that_runs(declared, monkeypatch):
    wanted = f"{ROOT}[mpi,onnx]"
    monkeypatch.setattr(doctor.shutil, "which", lambda name, path=None: "/bin/uv" if path is None else None)
    by_uv = ["/bin/uv", "pip", "install", "--python", sys.executable]
    assert doctor.install_command(["mpi", "onnx"]) == [*by_uv, "--editable", wanted]
    monkeypatch.setattr(doctor.shutil, "which", lambda name, path=None: None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: True)
    monkeypatch.setattr(doctor, "checkout", lambda: None)
    assert doctor.install_command(["mpi"]) == [sys.executable, "-m", "pip", "install", "minigrad-course[mpi]"]
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match="has neither pip nor uv: run `"):
        doctor.install_command(["mpi"])


def test_an_unknown_extra_is_refused_with_the_choice(declared):
    with pytest.raises(CourseError, match="there is no extra 'gpu': choose from mpi, onnx"):
        doctor.install_command(["gpu"])


def test_add_runs_the_command_and_says_what_then(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "install_command", lambda x: [sys.executable, "-c", f"raise SystemExit({len(x) - 1})"])

    assert cli.main(["add", "mpi"]) == 0
    assert capsys.readouterr().out == "Installed: mpi. Restart the kernels of open notebooks.\n"
    assert cli.main(["add", "mpi", "onnx"]) == 1
    assert "could not install mpi onnx: see above; it needs the network" in capsys.readouterr().err
