"""Every widget in a real JupyterLab: on the screen of the gallery, and under the keys."""

from __future__ import annotations

import re
import shutil

from playwright.sync_api import expect

from minigrad import widgets
from tests.browser.conftest import ROOT, press
from tests.browser.fitting import cut, scrolled, settle
from tests.examples.widgets import WIDGETS

GALLERY = ROOT / "lessons" / "90_gallery.ipynb"
IMPORT = f"import sys\n\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests.examples.widgets import WIDGETS"


def test_the_gallery_shows_every_widget(lab):
    text = GALLERY.read_text("utf-8")
    made = set(re.findall(r"widgets\.(\w+)\(", text))
    assert made == set(dir(widgets))

    shutil.copy(GALLERY, lab.folder)
    gallery = lab.open(GALLERY.name, viewport={"width": 1280, "height": 30_000})
    gallery.run_all()

    assert cut(gallery.page) == []
    assert scrolled(gallery.page) == []
    shown = gallery.page.locator(".mg-widget")
    expect(shown).to_have_count(len(re.findall(r"widgets\.\w+\(", text)))
    for each in shown.all():
        assert each.bounding_box()["height"] > 100
    assert gallery.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    gallery.page.set_viewport_size({"width": 420, "height": 30_000})
    settle(gallery.page)
    assert cut(gallery.page) == []


def test_every_widget_steps_by_key_and_its_kernel_follows(lab):
    notebook = lab.open_cells(IMPORT, *(f"{name} = WIDGETS[{name!r}]()\n{name}" for name in WIDGETS))
    notebook.run_all()
    page, shown = notebook.page, notebook.page.locator(".mg-widget")
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    expect(shown).to_have_count(len(WIDGETS))
    assert page.locator(".mg-widget [id]").count() == 0

    for widget, (name, make) in zip(shown.all(), WIDGETS.items(), strict=True):
        if hasattr(make(), "index"):
            widget.focus()
            press(page, "Home", "ArrowRight", "b", "d", "d")  # letters are commands of JupyterLab elsewhere
            expect(widget, name).to_have_attribute("data-step", "1")
            assert notebook.told(f"print({name}.index)", "1"), name
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    assert notebook.violations_by_theme(".jp-Notebook .mg-widget") == []
