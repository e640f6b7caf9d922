"""What docs/classroom.md tells an instructor to use, as far as it can be tried without a hub, an engine or GitHub.

With a hub and a browser, deploy/try_jupyterhub.py tries it by hand.
"""

import base64
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from types import SimpleNamespace

import pytest
import yaml

from minigrad.course.grading.sandbox import HIDDEN, IMAGE, PACKAGE, Limits, NoSandbox, find_sandbox
from minigrad.course.lessons import shipped_names
from minigrad.course.referee import parse_probes
from tests.course.grading.cases import CASES, NAME
from tests.support.root import ROOT

DEPLOY = ROOT / "deploy"
RIGHT = CASES["as_it_should_be"].data

posix = pytest.mark.skipif(os.name != "posix", reason="hubs and sandboxes are for POSIX")


def here(tmp_path, **commands):
    """An environment in which these commands are found first, this minigrad, and this Python as `python`."""
    for name, script in {"python": f'exec {quote(sys.executable)} "$@"', **commands}.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.defpath])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}


def test_every_file_to_deploy_is_explained():
    text = (ROOT / "docs" / "classroom.md").read_text("utf-8")
    assert [path.name for path in DEPLOY.iterdir() if path.is_file() and path.name not in text] == []


@posix
def test_a_hub_copies_the_course_as_the_student_and_opens_its_first_lesson(tmp_path):
    spawner = SimpleNamespace()
    code = (DEPLOY / "jupyterhub_config.py").read_text("utf-8")
    exec(code, {"get_config": lambda: SimpleNamespace(Spawner=spawner)})
    environment = here(tmp_path, minigrad='exec python -m minigrad "$@"', **{"jupyterhub-singleuser": 'echo got "$@"'})

    command = [*spawner.cmd, "--port=1", "a b"]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines()[-1] == "got --port=1 a b"
    assert spawner.default_url.removeprefix("/lab/tree/course/") in shipped_names()
    assert (tmp_path / spawner.default_url.removeprefix("/lab/tree/")).is_file()


@pytest.mark.parametrize("name", ["Containerfile", "grading.Containerfile"])
def test_an_image_is_made_of_what_is_there_and_runs_as_nobody_special(name):
    lines = (DEPLOY / name).read_text("utf-8").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]

    assert [word for word in copied if not (ROOT / word).exists()] == []
    assert [line.split()[1] for line in lines if line.startswith("USER")] in (["learner"], ["60000"])


@posix
def test_the_image_for_grading_runs_probes_and_holds_no_answers(tmp_path):
    text = (DEPLOY / "grading.Containerfile").read_text("utf-8")
    removed = re.search(r"cd /opt/grading/minigrad && rm -r (.*?) \\", text)[1].split()
    program = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[1])
    assert sorted(removed) == sorted(HIDDEN)
    assert f"-t {IMAGE} " in text

    shutil.copytree(PACKAGE, tmp_path / "minigrad", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in removed:
        shutil.rmtree(tmp_path / "minigrad" / folder, ignore_errors=True)  # a checkout has no _course
    command = [word.replace("/opt/grading", str(tmp_path)) for word in program]
    job = {
        "cells": [["one", "import minigrad as mg\nx = mg.Value(3.0)\n(x * x).backward()"]],
        "parts": [["slope", ["x"], parse_probes("x.grad\nmg.__file__")]], "limits": asdict(Limits()),
    }  # fmt: skip
    streams = {"input": json.dumps(job), "capture_output": True, "text": True}
    ran = subprocess.run([sys.executable, *command[1:]], **streams, check=True)

    slope, where = json.loads(ran.stdout)["parts"]["slope"]
    assert slope[:2] == ["gave", 6.0]
    assert where[1].startswith(str(tmp_path))


@posix
@pytest.mark.parametrize(
    ("data", "points", "status"), [(RIGHT, 10, "graded"), (b"no notebook", "no score", "unreadable")]
)
def test_a_push_to_github_is_told_its_points(tmp_path, data, points, status):
    try:
        find_sandbox()
    except NoSandbox as missing:
        pytest.skip(str(missing))
    (job,) = yaml.safe_load((DEPLOY / "github_classroom.yml").read_text("utf-8"))["jobs"].values()
    (step,) = [step for step in job["steps"] if step.get("id") == "grade"]
    (tmp_path / f"{NAME}.ipynb").write_bytes(data)
    environment = here(tmp_path) | job["env"] | {"RUNNER_TEMP": str(tmp_path)}
    environment |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output")}

    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=True)

    assert f"{status}: {points} of 10 points" in (tmp_path / "summary").read_text("utf-8")
    report = json.loads(base64.b64decode((tmp_path / "output").read_text().removeprefix("result=")))
    looked_at = status == "graded"
    assert (report["status"], report["max_score"]) == ("pass" if looked_at else "error", 10)
    assert sum(test["score"] for test in report["tests"]) == (10 if looked_at else 0)
    assert {test["status"] for test in report["tests"]} == {"pass" if looked_at else "error"}


# -- home folders -------------------------------------------------------------------------------------


@pytest.fixture
def homes(monkeypatch):
    spec = importlib.util.spec_from_file_location("homes", DEPLOY / "homes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PATIENCE", 1)
    return module


@pytest.fixture
def public():
    """A folder that everybody may go through, as pytest's own may not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def home(tmp_path, student):
    folder = tmp_path / "homes" / student
    (folder / "course" / "exercises").mkdir(parents=True)
    return folder


@posix
def test_notebooks_are_collected_and_pages_given_back(tmp_path, homes, monkeypatch):
    (home(tmp_path, "ada") / "course" / "exercises" / f"{NAME}.ipynb").write_bytes(RIGHT)
    home(tmp_path, "bob")
    os.mkfifo(home(tmp_path, "eve") / "course" / "exercises" / f"{NAME}.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["homes.py", "--homes", "homes", "collect", NAME, "submissions"])
    assert homes.main() == 0
    assert [path.as_posix() for path in Path("submissions").rglob("*.ipynb")] == [f"submissions/ada/{NAME}.ipynb"]

    results = [{"student": student, "exercise": NAME} for student in ("ada", "../eve", "gone")]
    Path("results/feedback").mkdir(parents=True)
    Path("results/results.json").write_text(json.dumps(results))
    for result in results:
        Path("results/feedback", f"{homes.label(result)}.html").write_text(f"for {result['student']}")
    monkeypatch.setattr(sys, "argv", ["homes.py", "--homes", "homes", "give", "results"])
    assert homes.main() == 0
    pages = list(Path().rglob(f"{NAME}.html"))
    assert [path.as_posix() for path in pages] == [f"homes/ada/course/feedback/{NAME}.html"]
    assert pages[0].read_text() == "for ada"
    assert pages[0].stat().st_mode & 0o077 == 0


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root acts as somebody else")
def test_links_lead_no_further_than_their_owner_may_go(public, homes):
    """root collects from all homes: a link in one to a notebook, or a folder, of another must not be followed."""
    ada, bob = home(public, "ada"), home(public, "bob")
    (ada / "course" / "exercises" / f"{NAME}.ipynb").write_bytes(RIGHT)
    shutil.rmtree(bob / "course")
    (bob / "course").symlink_to(ada / "course")
    for student, uid in ((ada, 60_001), (bob, 60_002)):
        for path in (student, *student.rglob("*")):
            os.chown(path, uid, uid, follow_symlinks=False)
        student.chmod(0o700)

    both = {"ada": ada, "bob": bob}
    assert homes.collect(both, f"course/exercises/{NAME}.ipynb", public / "submissions") == ["ada"]
    assert homes.as_owner(bob, ["sh", "-c", homes.WRITE, "write", "course/feedback/x.html"], b"page") is None
    assert homes.as_owner(ada, ["sh", "-c", homes.WRITE, "write", "course/feedback/x.html"], b"page") == b""
    assert (ada / "course" / "feedback" / "x.html").stat().st_uid == 60_001
