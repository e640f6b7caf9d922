"""Try a class of two on one machine: a JupyterHub, two students in a browser, the grader, and the feedback they read.

    pip install ".[instructor]" jupyterhub nbgitpuller playwright && npm install configurable-http-proxy
    PATH="$PWD/node_modules/.bin:$PATH" python deploy/try_jupyterhub.py

It is tried by hand: it needs Node, Chromium, git and some two minutes. What it makes is in a temporary folder.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import psutil
from playwright.sync_api import Browser, Page, expect, sync_playwright

from minigrad.course.exercise import load_exercise

DEPLOY = Path(__file__).resolve().parent
EXERCISE = "01_scalar_engine"
ANSWERS = {  # to the first part, which gives 2 points
    "ada": "def multiply(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))",
    "bob": "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))",
}
SAID = {"ada": "product: right (2 of 2 points).", "bob": "Each factor is given its own value as its slope."}
PATIENCE_MS = 90_000
IDLE = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel?.status === "idle";
}"""

# The course's half is the file that is shipped. Here anybody may log in, and all are one user: for trying only.
CONFIG = """
load_subconfig({course!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.args = [*c.Spawner.args, "--LabApp.expose_app_in_browser=True", *{root!r}]
"""


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, sync_playwright() as playwright:
        folder = Path(name)
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=[*root, "--disable-dev-shm-usage"])
        with hub(folder) as url:
            pages = {student: solved(browser, url, student) for student in ANSWERS}
            tell("memory", ", ".join(f"{kind} {mb} MB" for kind, mb in sorted(memory(folder / "homes"))))
            graded(folder)
            assert [*(folder / "homes").glob("*/.run/*-ipc-1")], "kernels listen on ports of the machine"
            for student, page in pages.items():
                read(page, url, student)
            pulled(pages["bob"], url, folder)
            browser.close()


@contextmanager
def hub(folder: Path) -> Iterator[str]:
    """A running JupyterHub; its address."""
    port, inner, api = free_ports(3)
    config = folder / "jupyterhub_config.py"
    config.write_text(
        CONFIG.format(
            course=str(DEPLOY / "jupyterhub_config.py"), port=port, hub=inner, api=api, homes=str(folder / "homes"),
            root=["--allow-root"] if os.geteuid() == 0 else [],
        )
    )  # fmt: skip
    own = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), "HOME": str(folder)}
    command = [sys.executable, "-m", "jupyterhub", "--config", str(config)]
    with (folder / "hub.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=os.environ | own, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/hub/health")
        yield url
    except BaseException:
        print((folder / "hub.log").read_text(errors="replace")[-4000:], file=sys.stderr)
        raise
    finally:
        started = psutil.Process(process.pid).children(recursive=True)
        process.terminate()  # the hub then ends the students' servers and the proxy
        process.wait(90)
        for left in psutil.wait_procs(started, timeout=10)[1]:
            left.kill()


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for(url: str) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(f"{url} does not answer")


def solved(browser: Browser, url: str, student: str) -> Page:
    """The page of a student who has logged in, answered the first part, been told about it, and saved."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    start = time.monotonic()
    page.goto(url)
    page.fill("#username_input", student)
    page.fill("#password_input", "anything")
    page.click("#login_submit")
    page.wait_for_selector(".jp-Notebook .jp-Cell")  # the first lesson
    assert page.url.endswith("/lab/tree/course/lessons/00_start_here.ipynb"), page.url
    tell(student, f"the first lesson is open {time.monotonic() - start:.0f} s after logging in")

    page.goto(f"{url}/user/{student}/doc/tree/course/exercises/{EXERCISE}.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(IDLE)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    cells, parts = page.locator(".jp-CodeCell"), len(load_exercise(EXERCISE).parts)
    expect(page.locator(".jp-OutputArea-output [role=status]")).to_have_count(parts, timeout=PATIENCE_MS)
    cells.filter(has_text="def multiply").locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(ANSWERS[student])
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    said = cells.filter(has_text='check("product")').locator(".jp-OutputArea-output")
    expect(said).to_contain_text(SAID[student], timeout=PATIENCE_MS)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    tell(student, f"check says: {SAID[student]}")
    return page


def memory(homes: Path) -> Iterator[tuple[str, int]]:
    """Resident memory of each server and kernel, in MB."""
    for process in psutil.process_iter():
        try:
            command = " ".join(process.cmdline())
            if process.environ().get("HOME", "").startswith(str(homes)):
                kind = "kernel" if "ipykernel" in command else "server" if "singleuser" in command else "other"
                yield kind, process.memory_info().rss >> 20
        except psutil.Error:
            pass


def graded(folder: Path) -> None:
    """Collect, grade, and give back: what docs/classroom.md says, word for word."""
    homes = [sys.executable, str(DEPLOY / "homes.py"), "--homes", str(folder / "homes")]
    subprocess.run([*homes, "collect", EXERCISE, "submissions"], cwd=folder, check=True)
    grade = [sys.executable, "-m", "minigrad", "grade", "submissions", "--out", "results"]
    subprocess.run(grade, cwd=folder, check=True)
    subprocess.run([*homes, "give", "results"], cwd=folder, check=True)
    with (folder / "results" / "scores.csv").open() as file:
        points = {row["student"]: row["points"] for row in csv.DictReader(file)}
    assert points == {"ada": "2", "bob": "0"}, points
    tell("scores", json.dumps(points))


def read(page: Page, url: str, student: str) -> None:
    """Open the feedback in the student's own JupyterLab."""
    page.goto(f"{url}/user/{student}/lab/tree/course/feedback/{EXERCISE}.html")
    shown = page.frame_locator(".jp-HTMLViewer iframe").locator("body")
    expect(shown).to_contain_text("product", timeout=PATIENCE_MS)
    expect(shown).to_contain_text("2 of 10" if student == "ada" else "0 of 10")
    tell(student, f"reads: {shown.inner_text()[:80]!r}")


def pulled(page: Page, url: str, folder: Path) -> None:
    """Follow a link of nbgitpuller's to a repository of the instructor's own."""
    subprocess.run([sys.executable, "-m", "minigrad", "copy", "class"], cwd=folder, check=True)
    git = ["git", "-C", str(folder / "class"), "-c", "user.name=i", "-c", "user.email=i@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "course"]):
        subprocess.run([*git, *command], check=True)
    lesson = "tree/class/lessons/00_start_here.ipynb"
    to = urlencode({"repo": f"file://{folder / 'class'}", "branch": "main", "urlpath": f"lab/{lesson}"})
    page.goto(f"{url}/hub/user-redirect/git-pull?{to}")
    page.wait_for_url(f"**/{lesson}*")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    tell("nbgitpuller", "the pulled lesson is open")


def tell(who: str, what: str) -> None:
    print(f"{who:12}{what}", flush=True)


if __name__ == "__main__":
    main()
