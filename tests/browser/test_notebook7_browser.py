"""The widgets in Notebook 7, which is another face of the same server."""

from __future__ import annotations

import json
import time
import urllib.request

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.examples.widgets import WIDGETS

IMPORT = """
import sys

sys.path.insert(0, {root!r})
from tests.examples.widgets import WIDGETS
"""
PATIENCE = 150  # seconds


def test_every_widget_steps_in_notebook_7(lab, request):
    imported = IMPORT.format(root=str(request.path.parents[2]))
    name = lab.written(imported, *(f"{name} = WIDGETS[{name!r}]()\n{name}" for name in WIDGETS))
    seven = lab.pages.open(Visit, alone=True)
    page = seven.page

    page.goto(f"{lab.url}/notebooks/{name}")
    wait_for_kernel(lab.url, name)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

    shown = page.locator(".mg-widget")
    expect(shown).to_have_count(len(WIDGETS), timeout=1000 * PATIENCE)
    for n, make in enumerate(WIDGETS.values()):
        if hasattr(make(), "index"):
            shown.nth(n).focus()
            page.keyboard.press("Home")  # training has as many frames as there was time for, and shows the last
            expect(shown.nth(n)).to_have_attribute("data-step", "0")
            page.keyboard.press("ArrowRight")
            expect(shown.nth(n)).to_have_attribute("data-step", "1")
    seven.errors = [error for error in seven.errors if not its_own(error)]


def its_own(error: str) -> bool:
    """Whether Notebook itself has thrown it, as 7.6 does while it opens any notebook."""
    return "/static/notebook/notebook_core" in error.splitlines()[1]


def wait_for_kernel(url: str, notebook: str) -> None:
    """Wait until the page is connected to the notebook's kernel, and the kernel waits for code."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{url}/api/sessions", timeout=PATIENCE) as answer:
            kernels = [session["kernel"] for session in json.load(answer) if session["path"] == notebook]
        if any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels):
            return
        time.sleep(0.2)
    raise TimeoutError(f"{notebook} has no kernel after {PATIENCE} s")
