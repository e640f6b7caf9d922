"""A notebook that was run, saved, and opened again without its kernel: what it showed is there, and steps."""

import json
import time

from ipykernel.ipkernel import IPythonKernel
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from minigrad.course import lessons
from tests.browser.conftest import CONNECTED, PATIENCE_MS, Notebook

IMPORTS = """
import minigrad as mg
from minigrad.course import Predict
from minigrad.course.widgets import ChainRule, GraphView, StaticVsDynamic, TrainingView
"""
TRAINING = """
net = mg.nn.Sequential(mg.nn.Linear(2, 4), mg.nn.Tanh(), mg.nn.Linear(4, 2))
data = mg.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), mg.tensor([0, 1, 1, 0])
TrainingView(net, mg.cross_entropy, data, mg.optim.SGD(net.parameters(), lr=0.5)).run(20).wait()
"""
CELLS = (
    IMPORTS,
    "x, y = mg.Value(3.0), mg.Value(4.0)\nChainRule(x * y + x)",
    "t = mg.rand(3, requires_grad=True)\nGraphView((t * 2).sum())",
    "StaticVsDynamic(lambda x: x * 2 + 1, mg.tensor(2.0))",
    "Predict('reopened', 'How many boxes?').lock('4', 'certain')",
    TRAINING,
)
DASHBOARD = "from minigrad.course import dashboard\n\ndashboard()"
SAVE = "() => window.jupyterapp.commands.execute('docmanager:save')"
KERNEL_KNOWN = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  return Promise.all([kernel.info, kernel.spec]).then(() => new Promise(requestAnimationFrame));
}"""
PATH = "() => window.jupyterapp.shell.currentWidget.context.path"
METADATA = "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.sharedModel.getMetadata())"
DIRTY = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"


def test_a_notebook_that_is_opened_again_without_its_kernel_shows_and_steps_what_it_showed(lab):
    name = lab.written(*CELLS)
    first = lab.open(name)
    first.run_all()
    expect(first.page.locator(".mg-widget")).to_have_count(5)
    assert saved_with(first, lab.folder / name, models=5)
    html, _ = HTMLExporter().from_filename(str(lab.folder / name))  # as on a machine without the course
    assert html.count('src="data:image/svg+xml') == 4
    assert 'widget-view+json">' not in html

    assert first.clear()  # ends the kernel
    page = reopened(lab, name, shown=5)
    widgets = page.locator(".mg-widget")
    assert page.get_by_text("Error displaying widget").count() == 0
    chain_rule, film = widgets.nth(0), widgets.nth(2)
    for widget in (chain_rule, film):
        widget.focus()
        page.keyboard.press("End")
        last = widget.get_attribute("data-step")
        page.keyboard.press("Home")
        assert widget.get_attribute("data-step") == "0" != last
    expect(widgets.nth(3).get_by_role("textbox")).to_be_disabled()
    widgets.nth(4).get_by_role("button", name="Train 20 steps").click()  # no kernel answers: it trains in the page
    expect(widgets.nth(4).locator(".mg-news")).to_have_text("20 steps are done, in this page.")


def saved_with(notebook, path, models):
    """Whether the file holds that many models of widgets with a view, before patience is out.

    The widget manager puts them into the notebook a moment after they are shown, so it may be saved too soon.
    """
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline:
        notebook.page.evaluate(SAVE)
        widgets = json.loads(path.read_text("utf-8"))["metadata"].get("widgets", {}).values()
        if sum("_esm" in model["state"] for each in widgets for model in each["state"].values()) == models:
            return True
        notebook.page.wait_for_timeout(200)
    return False


def reopened(lab, name, shown):
    """A page with the notebook, as soon as it shows that many widgets.

    ipywidgets asks the kernel for its widgets first. If the connection breaks before the answer, ipywidgets never reads
    those of the notebook, and shows "Loading widget..." for ever. The page is then loaded again, as a learner would do.
    """
    page = lab.pages.open(Notebook, alone=True).page
    connections = []
    page.on("websocket", lambda socket: connections.append(socket) if "/channels" in socket.url else None)
    while len(connections) != 1:
        connections.clear()
        page.goto(f"{lab.url}/doc/tree/{name}?reset")
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < deadline and len(connections) < 2:
            if page.locator(".mg-widget").count() == shown:
                return page
            page.wait_for_timeout(200)
    raise AssertionError(f"{shown} widgets did not come back, though the kernel's connection held")


def test_a_link_of_the_dashboard_opens_its_notebook_which_has_nothing_to_save(lab):
    """JupyterLab writes down which kernel it got: what the copy says of its kernel must be that already."""
    course, name = lab.folder / "course", "exercises/01_scalar_engine.ipynb"
    lessons.write(course / name, lessons.pristine(name))
    lessons.write(course / lessons.STATE, b"{}")
    (lab.folder / lab.written(DASHBOARD)).rename(course / "home.ipynb")
    home = lab.open("course/home.ipynb")
    home.run_all()

    home.page.get_by_role("link", name="01 The pieces of a scalar engine").click()

    page = home.page
    page.wait_for_function(f"() => ({PATH})() === 'course/{name}'")
    page.wait_for_function(CONNECTED)
    page.evaluate(KERNEL_KNOWN)
    assert json.loads(page.evaluate(METADATA))["language_info"] == IPythonKernel.language_info
    assert page.evaluate(DIRTY) is False
