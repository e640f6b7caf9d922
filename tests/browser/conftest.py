"""A learner's seat: a real JupyterLab with nothing of this machine's settings, and a real Chromium in front of it.

    def test_...(lab):
        notebook = lab.open_cells("import minigrad as mg", "...")
        notebook.run_all()
        notebook.page.locator(...)            # Playwright's page
        notebook.kernel("print(x.grad)")      # what the kernel says

JupyterLab is started once, and its page is loaded once: a notebook is opened in that page, and closed at the end of the
test. A test that fails, or leaves the page in an unknown state, closes the page, and the next test loads it again.
When a test is over, its page must have asked for nothing outside this machine, and thrown no error.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError

import pytest
from notebooks.browsers import BROWSERS, find_browser
from notebooks.forked_kernels import offer_forks
from playwright.sync_api import Browser, Error, Locator, Page, expect, sync_playwright

from tests.browser.listening import ROOT, end, free_port

LONGEST = [  # files, by the seconds they take
    *("test_book_browser", "test_lite_browser", "test_lesson_and_exercise_browser"),
    *("test_lessons_browser", "test_other_lessons_browser"),
    *("test_present_browser", "test_gallery_browser", "test_hostile_formgrader_browser", "test_chain_rule_browser"),
]
QUICK = "quick"  # the name of a kernelspec
PATIENCE_MS = 150_000  # two slow cores starting a kernel, beside other work
expect.set_options(timeout=PATIENCE_MS / 2)

CONNECTED = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel?.status === "idle";
}"""
OPEN = """(path) => window.jupyterapp.commands.execute("docmanager:open", { path }).then(({ revealed }) => revealed)"""
CLEAR = """async () => {
  const { commands, serviceManager, shell } = window.jupyterapp;
  if (document.querySelector(".mg-bar")) await commands.execute("minigrad:present"); // ends it
  for (const widget of [...shell.widgets("main")]) widget.dispose();
  await serviceManager.sessions.shutdownAll();
  document.body.style.overflow = "";
  if (document.body.dataset.jpThemeLight === "false")
    await commands.execute("apputils:change-theme", { theme: "JupyterLab Light" });
  return !document.querySelector(".jp-Dialog, .jp-Notebook, .mg-bar, .mg-widget");
}"""
# selectors: false, because half of axe's time goes into addresses of elements that nobody reads.
AXE = """async (selector) => {
  const { passes, violations } = await axe.run(selector, { selectors: false });
  const found = violations.flatMap(({ id, nodes }) => nodes.map((n) => `${id}: ${n.html} ${n.failureSummary}`));
  return [passes.find(({ id }) => id === "color-contrast")?.nodes.length ?? 0, found];
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
    found = find_browser()
    return Path(found) if found else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: one process runs a file, and at the end of a run no process should wait for another."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


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
    used = getattr(item, "funcargs", {})
    if report.failed and report.when != "teardown" and "pages" in used:
        report.sections += [(visit.page.url, visit.story()) for visit in used["pages"].visits]
        used["pages"].failed = True
        if "lab" in used:
            report.sections.append(("JupyterLab", (used["lab"].folder.parent / "log.txt").read_text("utf-8")[-3000:]))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, or the reason why there is none."""
    program = chromium()
    if program is None:
        reason = f"no browser on the PATH: none of {', '.join(BROWSERS)}"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; CI must have one")
        pytest.skip(reason)
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium refuses it to root
    options = [*sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@dataclass(eq=False)
class Visit:
    """One page, and what it did that it should not have done."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", lambda said: self.console.append(f"{said.type}: {said.text}"[:500]))
        self.page.on("request", lambda request: None if local(request.url) else self.outside.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))

    def clear(self) -> bool:
        """Leave nothing behind for the next test in this page. Returns whether that worked."""
        return True

    def story(self) -> str:
        """What the console said last, and the text on the screen, for who was not there."""
        try:
            shown = "" if self.page.is_closed() else self.page.inner_text("body", timeout=5000)
        except Error as error:
            shown = str(error)
        return "\n".join([*[said for said in self.console if not said.startswith("debug")][-20:], shown[-4000:]])

    def violations(self, selector: str) -> list[str]:
        """What axe-core finds wrong for people who do not see, or do not see colours, or use no mouse."""
        if self.page.evaluate("() => !window.axe"):
            # JupyterLab has an AMD loader, which axe would hand itself to instead of becoming a global.
            axe = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
            self.page.evaluate("source => new Function('define', 'module', source)()", axe)
        # JupyterLab's body has no height and hides what overflows: axe would take all text for invisible, and skip it.
        self.page.evaluate("() => { document.body.style.overflow = 'visible'; }")
        seen, found = self.page.evaluate(AXE, selector)
        assert seen > 1, f"axe saw no text in {selector}"
        return found


def local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:", "about:"))


def press(page: Page, *keys: str, times: int = 1) -> None:
    """Press one key after the other, as often as is said."""
    for key in keys * times:
        page.keyboard.press(key)


Kind = TypeVar("Kind", bound=Visit)


@dataclass
class Pages:
    """The pages of a test: its own, and those that it shares with other tests, one for each kind."""

    browser: Browser
    shared: dict[type[Visit], Visit]
    visits: list[Visit] = field(default_factory=list)
    failed: bool = False

    def open(self, kind: type[Kind], alone: bool = False, **context: Any) -> Kind:
        """A page with this context of Playwright's. The shared one, if a page can be changed to that context."""
        context = {"viewport": {"width": 1280, "height": 900}} | context
        if alone or context.keys() - {"viewport", "reduced_motion", "color_scheme"}:
            visit = kind(self.browser.new_page(**context))
        else:
            if kind not in self.shared:
                self.shared[kind] = kind(self.browser.new_page())
            visit = self.shared[kind]
            visit.page.set_viewport_size(context["viewport"])
            motion, scheme = context.get("reduced_motion", "no-preference"), context.get("color_scheme", "light")
            visit.page.emulate_media(reduced_motion=motion, color_scheme=scheme)
        if visit not in self.visits:
            self.visits.append(visit)
        return visit

    def visit(self, url: str, offline: bool = False, **context: Any) -> Visit:
        """A page at this address."""
        visit = self.open(Visit, **context)
        visit.page.context.set_offline(offline)
        visit.page.goto(url)
        visit.page.wait_for_function("() => document.querySelector('#widget')?.childElementCount !== 0")  # a saved page
        return visit

    def close(self) -> None:
        """Fail if a page asked the network or threw an error. Shared pages stay open, unless something went wrong."""
        outside = [url for visit in self.visits for url in visit.outside]
        errors = [error for visit in self.visits for error in visit.errors]
        stay = not (self.failed or outside or errors) and False not in [visit.clear() for visit in self.visits]
        for visit in self.visits:
            if stay and self.shared.get(type(visit)) is visit:
                visit.console.clear()
            else:
                if self.shared.get(type(visit)) is visit:
                    del self.shared[type(visit)]
                visit.page.context.close()
        assert outside == [], "a page asked for something outside this machine"
        assert errors == [], "a page threw an error"


@dataclass(eq=False)
class Notebook(Visit):
    """A notebook open in JupyterLab."""

    def clear(self) -> bool:
        before = len(self.errors)
        try:
            cleared = self.page.is_closed() or self.page.evaluate(CLEAR)
        except Error:
            cleared = False
        del self.errors[before:]  # JupyterLab complains of requests that a kernel did not answer before it ended
        return cleared

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
        self.page.wait_for_timeout(500)  # colours change by transitions

    def violations_by_theme(self, selector: str) -> list[str]:
        """What axe-core finds wrong in JupyterLab's dark theme, and in the light one, in which it ends."""
        found = []
        for name in ("JupyterLab Dark", "JupyterLab Light"):
            self.theme(name)
            found += self.violations(selector)
        return found


@dataclass
class Lab:
    """A running JupyterLab, and the folder that it serves."""

    url: str
    folder: Path
    pages: Pages

    def open_cells(self, *sources: str, **context: Any) -> Notebook:
        """A new notebook of these code cells, opened as `open` does."""
        return self.open(self.written(*sources), **context)

    def written(self, *sources: str) -> str:
        """The name of a new notebook of these code cells."""
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
            for n, s in enumerate(sources)
        ]
        kernelspec = {"name": QUICK, "display_name": "Python 3", "language": "python"}
        text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": cells})
        path = self.folder / f"notebook_{len(list(self.folder.iterdir()))}.ipynb"
        path.write_text(text, encoding="utf-8")
        return path.name

    def open(self, name: str, alone: bool = False, **context: Any) -> Notebook:
        """A notebook of the folder, once its kernel is there. What was open in the page is closed.

        alone      in a page of its own, for a test of how a page is loaded
        context    Playwright's, as in viewport={"width": 400, "height": 800} or reduced_motion="reduce"
        """
        notebook = self.pages.open(Notebook, alone, **context)
        page = notebook.page
        if page.url == "about:blank":
            page.goto(f"{self.url}/doc/tree/{name}?reset")
        else:
            assert notebook.clear(), "a dialog or a widget is still in the page"
            page.evaluate(OPEN, name)
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
    for path, text in quick_kernels().items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    own = {
        "JUPYTER_CONFIG_DIR": home / "config", "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_PATH": home / "data",  # before the environment of this Python
        "JUPYTER_RUNTIME_DIR": home / "runtime", "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces", "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{home}",
    }  # fmt: skip
    # An optional check of addresses, which compiles a grammar for three seconds when a server starts.
    (home / "rfc3987_syntax.py").write_text("raise ImportError", encoding="utf-8")
    environment = {**os.environ, **{key: str(value) for key, value in own.items()}}
    port = free_port()
    options = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=", "--ServerApp.password=",
        "--expose-app-in-browser", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly", f"--LabApp.extra_labextensions_path={ROOT / 'share' / 'jupyterlab'}",
    ]  # fmt: skip
    log = home / "log.txt"
    with log.open("w", encoding="utf-8") as out:
        command = [sys.executable, "-m", "jupyterlab", *options]
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status", process, log)
            yield f"http://127.0.0.1:{port}", folder
        finally:
            end(process)


def quick_kernels() -> dict[str, str]:
    """Files of a kernelspec, QUICK, whose kernels are forks, and of a server that can fork them.

    Notebooks that tests write use it. Lessons and exercises name python3, as a learner's do: their kernels are plain.
    """
    spec = {
        "argv": [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3 (ipykernel)", "language": "python", "metadata": offer_forks(),
    }  # fmt: skip
    script = f"import sys\nsys.path.append({str(ROOT / 'scripts')!r})\n"
    script += "from notebooks.forked_kernels import offer_forks\noffer_forks()\n"
    return {f"data/kernels/{QUICK}/kernel.json": json.dumps(spec), "config/jupyter_server_config.py": script}


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


@pytest.fixture(scope="session")
def shared_pages() -> dict[type[Visit], Visit]:
    return {}


@pytest.fixture
def pages(browser: Browser, shared_pages: dict[type[Visit], Visit]) -> Iterator[Pages]:
    """The pages of one test, which fails at its end if a page asked the network or threw an error."""
    pages = Pages(browser, shared_pages)
    yield pages
    pages.close()


@pytest.fixture
def lab(server: tuple[str, Path], pages: Pages) -> Lab:
    """JupyterLab for one test."""
    return Lab(*server, pages)


@pytest.fixture
def visit(pages: Pages) -> Callable[..., Visit]:
    """Opens a page that is a file, without any server: visit(path, viewport=...)."""
    return lambda path, **context: pages.visit(path.as_uri(), offline=True, **context)


@pytest.fixture
def show(visit: Callable[..., Visit], tmp_path: Path) -> Callable[..., Visit]:
    """Saves a widget as widget.html, and opens that page: show(ChainRule(y), viewport=...)."""

    def save_and_open(widget: Any, **context: Any) -> Visit:
        widget.save(tmp_path / "widget.html")
        return visit(tmp_path / "widget.html", **context)

    return save_and_open
