"""Drawings as JupyterLab shows them."""

from __future__ import annotations

import base64

from playwright.sync_api import Page, expect

DRAWING = """
import minigrad as mg

x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(4.0)
temp = x * y
z = temp + w
mg.draw(z)
"""
PLOT = """
import matplotlib.pyplot as plt
from minigrad.course.plots import follow_theme

follow_theme()
fig, ax = plt.subplots(figsize=(4, 3))
ax.plot([1, 2], [1, 2])
plt.show()
"""
WHITE, INK = [255, 255, 255], {"JupyterLab Light": [0x1F, 0x23, 0x28], "JupyterLab Dark": [0xE6, 0xED, 0xF3]}
LEAF = {"JupyterLab Light": [0xE3, 0xF0, 0xFB], "JupyterLab Dark": [0x14, 0x34, 0x4D]}
COUNT_PIXELS = """async ([png, [r, g, b]]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += data[i] === r && data[i + 1] === g && data[i + 2] === b;
  return count;
}"""


def pixels(page: Page, png: bytes, colour: list[int]) -> int:
    return page.evaluate(COUNT_PIXELS, [base64.b64encode(png).decode(), colour])


def test_a_drawing_follows_the_theme_of_jupyterlab(lab):
    notebook = lab.open_cells(DRAWING, PLOT)
    notebook.run_all()
    image = notebook.cell(0).locator(".jp-OutputArea-output :is(img, svg)").first
    expect(image).to_be_visible()

    for theme, other in (("JupyterLab Light", "JupyterLab Dark"), ("JupyterLab Dark", "JupyterLab Light")):
        notebook.theme(theme)
        shot = image.screenshot()
        assert pixels(notebook.page, shot, LEAF[theme]) > 1000
        assert pixels(notebook.page, shot, LEAF[other]) == 0
        plot = notebook.cell(1).locator(".jp-OutputArea-output img").first.screenshot()
        assert (pixels(notebook.page, plot, WHITE) > 1000) == ("Light" in theme)
        assert pixels(notebook.page, plot, INK[theme]) > 100
