"""`jupyter nbconvert --to html` on a notebook of a learner: each picture is in the page, and nothing is fetched."""

import os
import subprocess
import sys

import pytest

from tests.support.root import ROOT

CELLS = (
    "import minigrad as mg\nfrom minigrad import widgets\nx, y = mg.Value(3.0), mg.Value(4.0)\nz = x * y + x",
    "widgets.GraphView(z)", "widgets.ChainRule(z)", "widgets.StaticVsDynamic(lambda x: x * 2 + 1, mg.tensor(2.0))",
    "widgets.Predict('in_html', 'How many boxes?')",
)  # fmt: skip
PICTURES = """() => [...document.querySelectorAll("img")].map(({ alt, naturalWidth }) => [alt, naturalWidth > 100])"""


def html_of(lab, *cells):
    """The page that nbconvert makes where the course is installed, from a notebook of these cells."""
    path = lab.folder / lab.written(*cells)
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--log-level=ERROR", str(path)]
    own = {"JUPYTER_CONFIG_PATH": str(ROOT / "share" / "config"), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **own, "PYTHONWARNINGS": "ignore"}
    subprocess.run([*command, "--ExecutePreprocessor.kernel_name=python3"], env=environment, check=True)
    return path.with_suffix(".html")


def test_a_page_of_nbconvert_shows_each_widget_and_fetches_nothing(lab, visit):
    page = visit(html_of(lab, *CELLS)).page
    labels = ["The graph of z", "Chain rule on the graph of z", "<lambda>, eager and as a static graph"]
    assert page.evaluate(PICTURES) == [[label, True] for label in labels]
    assert page.get_by_text("How many boxes?").last.is_visible()


@pytest.mark.night
def test_a_page_of_nbconvert_keeps_what_other_widgets_and_formulas_need(lab):
    html = html_of(lab, "import ipywidgets\nipywidgets.IntSlider()", "from IPython.display import Math\nMath('x^2')")
    assert all(script in html.read_text("utf-8") for script in ("html-manager", "require.min.js", "MathJax.Hub"))
