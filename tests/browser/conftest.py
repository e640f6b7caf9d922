"""A learner's seat: a real JupyterLab with nothing of this machine's settings, and a real Chromium in front of it.

    def test_...(lab):
        notebook = lab.open_cells("import minigrad as mg", "...")
        notebook.run_all()
        notebook.page.locator(...)            # Playwright's page
        notebook.kernel("print(x.grad)")      # what the kernel says

When a test is over, its page must have asked for nothing outside this machine, and thrown no error.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from browser.listening import end
from playwright.sync_api import Browser, Error, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUMS = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome", "msedge"),
)
PATIENCE_MS = 150_000  # two slow cores starting a kernel, beside other work
expect.set_options(timeout=PATIENCE_MS / 2)

CONNECTED = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel?.status === "idle";
}"""
ALL_RAN = """() => window.jupyterapp.shell.currentWidget.content.widgets.every(
  (cell) => cell.model.type !== "code" || !cell.model.sharedModel.source.trim() || cell.model.executionCount)"""
RESTART = """() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()
  .then(() => window.jupyterapp.commands.execute("notebook:clear-all-cell-outputs"))"""
ASK = """(code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const request = kernel.requestExecute({ code, store_history: false });
  const heard = [];
  request.onIOPub = ({ content }) => heard.push(content.text ?? content.evalue ?? "");
  return request.done.then(() => heard.join(""));
}"""


def chromium() -> Path | None:
    found = [program for program in map(shutil.which, CHROMIUMS) if program]
    return Path(found[0]) if found else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How soon widgets answered, which no test asserts: timings of shared machines vary by half."""
    reports = terminalreporter.stats.get("passed", [])
    measured = [value for report in reports for name, value in report.user_properties if name == "latency"]
    if measured:
        terminalreporter.section("how soon a widget answers, in ms (clicks and keys: the median)")
        for each in measured:
            terminalreporter.write_line(each)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Beside a failure, what its pages show and have said: it may have met a moment that nobody meets again."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if lab and report.when == "call" and report.failed:
        report.sections += [(visit.page.url, visit.story()) for visit in lab.visits]
        report.sections.append(("JupyterLab", (lab.folder.parent / "log.txt").read_text("utf-8")[-3000:]))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, or the reason why there is none."""
    program = chromium()
    if program is None:
        reason = f"no browser on the PATH: none of {', '.join(CHROMIUMS)}"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; CI must have one")
        pytest.skip(reason)
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium refuses it to root
    options = [*sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@dataclass
class Visit:
    """One page, and what it did that it should not have done."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", lambda said: self.console.append(f"{said.type}: {said.text}"[:500]))
        self.page.on("request", lambda request: None if local(request.url) else self.outside.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))

    def story(self) -> str:
        """What the console said last, and the text on the screen, for who was not there."""
        try:
            shown = "" if self.page.is_closed() else self.page.inner_text("body", timeout=5000)
        except Error as error:
            shown = str(error)
        return "\n".join([*[said for said in self.console if not said.startswith("debug")][-20:], shown[-4000:]])

    def violations(self, selector: str) -> list[str]:
        """What axe-core finds wrong for people who do not see, or do not see colours, or use no mouse."""
        axe = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        # JupyterLab has an AMD loader, which axe would hand itself to instead of becoming a global.
        self.page.evaluate("source => new Function('define', 'module', source)()", axe)
        # JupyterLab's body has no height and hides what overflows: axe would take all text for invisible, and skip it.
        self.page.evaluate("() => { document.body.style.overflow = 'visible'; }")
        found = self.page.evaluate("selector => axe.run(selector)", selector)
        contrasts = [len(rule["nodes"]) for rule in found["passes"] if rule["id"] == "color-contrast"]
        assert sum(contrasts) > 1, f"axe saw no text in {selector}"
        nodes = [(violation["id"], node) for violation in found["violations"] for node in violation["nodes"]]
        return [f"{rule}: {node['html']} {node['failureSummary']}" for rule, node in nodes]


def local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:", "about:"))


@dataclass
class Notebook(Visit):
    """A notebook open in JupyterLab."""

    def run_all(self) -> None:
        """Run every cell. Raises if one is still running when patience is out."""
        # The command's promise may never settle: it is not waited for.
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        self.page.wait_for_function(ALL_RAN)
        self.page.wait_for_function(CONNECTED)

    def restart(self) -> None:
        """A new kernel, with every cell run in it."""
        self.page.evaluate(RESTART)
        self.run_all()

    def cell(self, n: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(n)

    def kernel(self, code: str) -> str:
        """What the kernel prints when it runs some code beside the notebook."""
        return self.page.evaluate(ASK, code).strip()

    def told(self, code: str, answer: str) -> bool:
        """Whether the kernel prints this before patience is out: what a reader does reaches it a moment later."""
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while (came := self.kernel(code)) != answer and time.monotonic() < deadline:
            self.page.wait_for_timeout(100)
        return came == answer

    def theme(self, name: str) -> None:
        """Change to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate(
            "name => { window.jupyterapp.commands.execute('apputils:change-theme', { theme: name }); }", name
        )
        is_light = json.dumps("Light" in name)
        self.page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{is_light}'")


@dataclass
class Lab:
    """A running JupyterLab, and the folder that it serves."""

    url: str
    folder: Path
    browser: Browser
    visits: list[Visit] = field(default_factory=list)

    def open_cells(self, *sources: str, **context: Any) -> Notebook:
        """A new notebook of these code cells, opened in a new page."""
        return self.open(self.written(*sources), **context)

    def written(self, *sources: str) -> str:
        """The name of a new notebook of these code cells."""
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
            for n, s in enumerate(sources)
        ]
        kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": cells})
        path = self.folder / f"notebook_{len(list(self.folder.iterdir()))}.ipynb"
        path.write_text(text, encoding="utf-8")
        return path.name

    def open(self, name: str, **context: Any) -> Notebook:
        """A notebook of the folder, opened in a new page once its kernel is there.

        context    Playwright's, as in viewport={"width": 400, "height": 800} or reduced_motion="reduce"
        """
        page = self.browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | context)
        notebook = Notebook(page)
        notebook.watch()
        self.visits.append(notebook)
        page.goto(f"{self.url}/doc/tree/{name}?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.wait_for_function(CONNECTED)
        return notebook


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[tuple[str, Path]]:
    """The address and the folder of a JupyterLab of our own. Asks for the browser first: no browser, no server."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    folder.mkdir()
    settings = json.loads((ROOT / "share" / "jupyterlab" / "overrides.json").read_text(encoding="utf-8"))
    settings["@jupyterlab/apputils-extension:notification"]["doNotDisturbMode"] = True
    for plugin, wanted in settings.items():  # as this checkout would install them, whatever is installed
        path = home / "settings" / Path(*plugin.split(":")).with_suffix(".jupyterlab-settings")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(wanted), encoding="utf-8")
    own = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": ROOT,
    }
    environment = {**os.environ, **{key: str(value) for key, value in own.items()}}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        "--expose-app-in-browser",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        f"--LabApp.extra_labextensions_path={ROOT / 'share' / 'jupyterlab'}",
    ]
    log = home / "log.txt"
    with log.open("w", encoding="utf-8") as out:
        command = [sys.executable, "-m", "jupyterlab", *options]
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status", process, log)
            yield f"http://127.0.0.1:{port}", folder
        finally:
            end(process)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-3000:]}")


@pytest.fixture
def lab(server: tuple[str, Path], browser: Browser) -> Iterator[Lab]:
    """JupyterLab for one test, which fails at its end if a page asked the network or threw an error."""
    lab = Lab(*server, browser)
    yield lab
    close(lab.visits)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Any]:
    """Opens a page that is a file, without any server: visit(path, viewport=...). Checked as `lab` is."""
    visits: list[Visit] = []

    def open_file(path: Path, **context: Any) -> Visit:
        visit = Visit(browser.new_page(**context))
        visit.watch()
        visits.append(visit)
        visit.page.context.set_offline(True)
        visit.page.goto(path.as_uri())
        return visit

    yield open_file
    close(visits)


def close(visits: list[Visit]) -> None:
    for visit in visits:
        visit.page.context.close()
    assert [url for visit in visits for url in visit.outside] == [], "a page asked for something outside this machine"
    assert [error for visit in visits for error in visit.errors] == [], "a page threw an error"
