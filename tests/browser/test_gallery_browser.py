"""The gallery in a real JupyterLab: every widget is in it, and every one of them is on the screen."""

from __future__ import annotations

import re
import shutil

from browser.conftest import ROOT
from browser.fitting import CUT, SMALLEST, cut, scrolled
from playwright.sync_api import expect

from minigrad import widgets

GALLERY = ROOT / "lessons" / "90_gallery.ipynb"


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
    gallery.page.wait_for_function(f"() => ({CUT})({SMALLEST}).length === 0")
