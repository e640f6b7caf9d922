"""`minigrad lab`, opened for real: JupyterLab serves the learner's copy, on a port that is free."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.browser.listening import end, free_port
from tests.support.miniature_checkout import Checkout
from tests.support.root import ROOT

REPORTS = """
import os, sys
from pathlib import Path
from minigrad.course import lab

def report(program, command, environment):
    raise SystemExit(environment.get("MINIGRAD_REVEAL_AT_ONCE", "unset"))

os.execve = report
lab.open_lab(Path(sys.argv[1]), presented=sys.argv[2])
"""
LOG = Path(".jupyter") / "log.txt"
SECONDS = 150  # JupyterLab takes three on a quick machine, and many on a busy one


class Lab:
    """A `minigrad lab` that is running, what it has printed, and the server it has become."""

    def __init__(self, checkout: Checkout, home: Path, port: int):
        environment = os.environ | {"PYTHONPATH": str(checkout.root), "PYTHONUTF8": "1", "HOME": str(home)}
        for name in ("CONFIG", "DATA", "RUNTIME"):
            environment[f"JUPYTER_{name}_DIR"] = str(home / name.lower())
        command = [sys.executable, "-P", "-m", "minigrad", "lab", "--no-browser", f"--port={port}"]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(command, cwd=checkout.root, env=environment, encoding="utf-8", **streams)
        self.printed = ""
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.process.stdout:
            self.printed += line

    def match(self, pattern: str) -> re.Match[str]:
        """Wait until a pattern has been printed."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(pattern, self.printed)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} was not printed in {SECONDS} s, but this:\n{self.printed}")

    def get(self, path: str) -> dict:
        address, token = self.match(r"(http://127\.0\.0\.1:\d+/)\S*token=(\w+)").groups()
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{address}api/{path}?token={token}", timeout=SECONDS) as answer:
                    return json.load(answer)
            except URLError:  # it has told its address, and does not listen yet
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise AssertionError(f"{address} does not answer:\n{self.printed}") from None
                time.sleep(0.2)

    def stop(self) -> None:
        end(self.process)
        self.process.stdout.close()


@pytest.fixture
def lab(checkout: Checkout, tmp_path: Path) -> Iterator[Lab]:
    opened = Lab(checkout, tmp_path, free_port())
    yield opened
    opened.stop()


def test_jupyterlab_opens_at_the_first_lesson_in_the_learners_folder(lab: Lab, checkout: Checkout) -> None:
    address = lab.match(r"http://127\.0\.0\.1:\d+(/\S*)\?token").group(1)
    notebook = lab.get("contents/lessons/00_start_here.ipynb")

    assert address == "/lab/tree/lessons/00_start_here.ipynb"
    assert [cell["source"] for cell in notebook["content"]["cells"]] == ["1 + 1", "2 + 2"]
    assert f"Course folder: {checkout.work} (4 new)" in lab.printed


@pytest.mark.share(8)
def test_a_second_jupyterlab_names_the_first_and_takes_another_port(
    lab: Lab, checkout: Checkout, tmp_path: Path
) -> None:
    port = int(lab.match(r"http://127\.0\.0\.1:(\d+)/").group(1))
    lab.get("status")

    second = Lab(checkout, tmp_path, port)
    other = int(second.match(r"http://127\.0\.0\.1:(\d+)/").group(1))
    second.stop()

    assert other != port
    assert re.search(rf"already open in JupyterLab: http://localhost:{port}/lab\?token=\w+\n", second.printed)
    assert f"port {port} is already in use, trying another port" in (checkout.work / LOG).read_text("utf-8")


@pytest.mark.share(8)
def test_the_terminal_has_one_address_and_how_to_stop_and_the_rest_is_in_a_file(lab: Lab, checkout: Checkout) -> None:
    """It was a wall of 40 lines, in which the address was three times; and each kernel added to it."""
    lab.match(r"To stop it, press Ctrl-C here\.\n")  # and then y, where there is somebody to type it
    log = checkout.work / LOG

    assert len(re.findall("https?://", lab.printed)) == 1, lab.printed
    assert not re.search(r"\[[IW] ", lab.printed), lab.printed
    assert "JupyterLab extension loaded from" in log.read_text("utf-8")
    assert os.name != "posix" or log.stat().st_mode & 0o077 == 0, "the token is for others to read"


TROUBLE = """
import logging, subprocess, sys
from minigrad.course.terminal import Quiet
log = logging.getLogger("ServerApp")
log.addHandler(Quiet(sys.argv[1], stream=sys.stderr))
log.warning("nothing that a person can change")
log.error("the disk is full")
subprocess.run([sys.executable, "-c", "import sys; print('a kernel starts', file=sys.stderr)"], check=True)
raise SystemExit("JupyterLab ends")
"""


def test_errors_are_told_and_what_kernels_write_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TROUBLE, str(tmp_path / "log.txt")]

    process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert process.stderr.splitlines() == ["the disk is full", "JupyterLab ends"]
    log = (tmp_path / "log.txt").read_text("utf-8").splitlines()
    assert log == ["nothing that a person can change", "the disk is full", "a kernel starts"]


@pytest.mark.share(8)
def test_what_has_no_slides_is_said_before_it_is_presented(checkout: Checkout) -> None:
    """A page of words was opened as ever, without a reason."""
    (checkout.root / "lessons" / "GLOSSARY.md").write_text("words", "utf-8")

    said = checkout.minigrad("lab", "--present", "exercises/01", "--version").stdout

    assert "exercises/01_graph.ipynb marks no slides: each heading begins a slide\n" in said
    assert "lessons/01_graph.ipynb marks no" in checkout.minigrad("lab", "--present", "01", "--version").stdout
    assert checkout.minigrad("lab", "--present", "lessons/GLOSS").stderr == (
        "minigrad: lessons/GLOSSARY.md is not a notebook, and has no slides: choose one such as "
        "lessons/00_start_here.ipynb\n"
    )


def test_without_jupyterlab_the_way_to_get_it_is_said(checkout: Checkout) -> None:
    """Python finds the site-packages of this test neither through -S nor through the path it is given."""
    (checkout.root / "lazy_loader.py").write_text("attach_stub = lambda *names: (None, None, [])", "utf-8")
    environment = os.environ | {"PYTHONPATH": str(checkout.root), "PYTHONUTF8": "1"}
    command = [sys.executable, "-S", "-P", "-m", "minigrad", "lab"]

    process = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)

    assert process.returncode == 1
    advice = "has no JupyterLab: run `python3 start.py`, or `pip install minigrad-course` again\n"
    assert process.stderr.endswith(advice)
    assert process.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="elsewhere JupyterLab is a process of its own")
def test_reveal_asks_for_no_lock_in_a_lecture(tmp_path):
    """The room has voted by hand, and nobody has locked an answer on the screen."""
    for presented, value in (("", "unset"), ("lessons/a.ipynb", "lecture")):
        command = [sys.executable, "-c", REPORTS, str(tmp_path), presented]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60).stderr
        assert said.strip() == value
