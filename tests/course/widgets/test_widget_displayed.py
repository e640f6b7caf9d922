"""A widget lives as long as a cell shows it."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances as live


class Kernel(InteractiveShell):
    """A shell that knows which cell it runs, as Jupyter's does."""

    cell = ""

    def get_parent(self):
        return {"metadata": {"cellId": self.cell}}

    def run(self, cell, code):
        self.cell = cell
        self.run_cell(code, cell_id=cell).raise_error()


@pytest.fixture
def kernel():
    kernel = Kernel.instance()
    kernel.run("imports", "import minigrad as mg; x = mg.Value(2.0); y = x * x")
    yield kernel
    Kernel.clear_instance()


def test_a_cell_that_runs_again_leaves_one_widget(kernel):
    kernel.run("a", "display(mg.widgets.ChainRule(y))")
    before = len(live)
    for _ in range(5):
        kernel.run("a", "display(mg.widgets.ChainRule(y))")
    assert len(live) == before
    kernel.run("a", "1")
    assert len(live) < before


def test_what_another_cell_still_shows_stays(kernel):
    kernel.run("a", "rule = mg.widgets.ChainRule(y); display(rule)")
    rule = kernel.user_ns["rule"]
    kernel.run("b", "display(rule)")
    kernel.run("a", "1")
    assert rule.comm is not None
    kernel.run("b", "1")
    assert rule.comm is None


def test_a_widget_that_was_closed_is_opened_when_it_is_shown_again(kernel):
    kernel.run("a", "rule = mg.widgets.ChainRule(y); display(rule)")
    kernel.run("a", "rule.index = 2")
    rule = kernel.user_ns["rule"]
    assert rule.comm is None
    assert rule.layout.comm is None
    kernel.run("b", "display(rule)")
    assert rule.comm is not None
    assert rule.layout.comm is not None
    assert live[rule.model_id] is rule
    assert rule.index == 2
    bundle, _ = rule._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == int(rule.model_id)


def test_where_cells_have_no_names_widgets_stay(kernel):
    kernel.cell = None
    kernel.run_cell("rule = mg.widgets.ChainRule(y); display(rule)").raise_error()
    kernel.run_cell("1").raise_error()
    assert kernel.user_ns["rule"].comm is not None
