"""The way through a container engine, with a program in the engine's place: no daemon is met here."""

import json
import os
import sys

import pytest

from minigrad.course.grading import inside, sandbox
from minigrad.course.grading.grade import grade, task
from tests.course.grading.cases import CASES, NAME, ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="submissions are graded where processes can be forked")

ENGINE = f"""#!/bin/sh
'''exec' '{sys.executable}' "$0" "$@"
' '''
import json, os, sys
with open(os.environ["SAID"], "a") as said:
    said.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    os.execv({sys.executable!r}, [{sys.executable!r}, "-s", "-P", {inside.__file__!r}, {str(ROOT)!r}])
sys.exit(sys.argv[1] == "image" and os.environ.get("NO_IMAGE", "") != "")
"""
RULES = {
    "--rm", "--interactive", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
    "--memory=2048m", "--memory-swap=2048m", "--cpus=1", "--pids-limit=64", "--shm-size=32m",
    "--tmpfs=/tmp:size=32m,mode=1777", "--tmpfs=/home/student:size=32m,mode=1777", "--workdir=/home/student",
    "--env=HOME=/home/student", f"--ulimit=fsize={32 << 20}", "--ulimit=nofile=256", "--ulimit=core=0",
}  # fmt: skip


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A machine with this engine and no bubblewrap; what the engine was asked."""
    program = tmp_path / "podman"
    program.write_text(ENGINE, "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setattr(sandbox, "no_bubblewrap", lambda: "bubblewrap is for Linux")
    return lambda: [json.loads(line) for line in (tmp_path / "said").read_text("utf-8").splitlines()]


def test_a_submission_goes_through_the_engine(engine):
    box = sandbox.find_sandbox()
    result = grade(CASES["slopes_swapped"].data, task(NAME, ROOT / "exercises"), box)

    assert (box.kind, result["status"], result["points"]) == ("container", "graded", 8)
    asked, run, kill = engine()
    assert asked == ["image", "inspect", "minigrad-grading"]
    assert (run[0], run[-1]) == ("run", "minigrad-grading")
    name, user = sorted({*run[1:-1]} - RULES)
    assert {*run[1:-1]} > RULES
    assert name.startswith("--name=minigrad-grading-")
    assert int(user.removeprefix("--user=")) in sandbox.IDS
    assert kill == ["kill", name.removeprefix("--name=")]


def test_what_fails_is_ended_by_name_too(engine, monkeypatch):
    def broken(*_):
        raise OSError("the pipe")

    monkeypatch.setattr(sandbox, "answer", broken)
    with pytest.raises(OSError, match="the pipe"):
        sandbox.Sandbox("container").run({"cells": [], "parts": []})
    assert engine()[-1][0] == "kill"


def test_an_engine_without_the_image_is_no_sandbox(engine, monkeypatch):
    monkeypatch.setenv("NO_IMAGE", "1")
    with pytest.raises(sandbox.NoSandbox, match="podman has no image minigrad-grading"):
        sandbox.find_sandbox()
