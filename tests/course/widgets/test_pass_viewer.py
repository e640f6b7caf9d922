"""The passes on the screen: what is said is what the pipeline did."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import PassViewer
from minigrad.course.widgets.recording import TooLong
from minigrad.graph.compiler.passes.pipeline import steps
from tests.support.endless_functions import endless

X, Y = mg.ones(5, 3), mg.zeros(5, 1)


def loss():
    net = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.Tanh(), mg.nn.Linear(4, 1)).double()
    return mg.function(lambda x, y: ((net(x) - y) ** 2).mean())


def test_every_pass_that_changes_something_is_a_scene_with_its_figures():
    f = loss()
    way = [step for i, step in enumerate(steps(f.graph_for(X, Y))) if step.changed or i == 0]
    before, after, table = PassViewer(f, X, Y).films[0]["panels"]

    for panel in (before, after, table):  # and one that compares the first graph with the last
        assert re.findall(r'data-scene="scene (\d+)"', panel["html"]) == [str(n) for n in range(len(way) + 1)]
    rows = re.findall(
        r'<th scope="row">(.*?)</th><td>(\d+)</td><td class="mg-bar" .*?>([\d,]+)</td><td>([\d,]+)</td>', table["html"]
    )
    assert rows == [(s.name, str(s.nodes), f"{s.bytes_moved:,}", f"{s.peak_bytes:,}") for s in way]


def test_the_picture_of_a_loop_is_well_formed():
    """The box of a loop had an attribute twice, so that a browser showed an error in place of the picture."""

    @mg.function
    def doubled(x):
        while x.sum() < 10:
            x = x * 2
        return x

    ElementTree.fromstring(PassViewer(doubled, mg.ones(2)).svg)


def scene(widget, panel, name):
    return re.search(rf'data-scene="{name}".*?</svg>.*?</svg>', widget.films[0]["panels"][panel]["html"], re.DOTALL)[0]


def test_what_is_removed_is_crossed_out_before_and_what_is_new_is_framed_after():
    widget = PassViewer(loss(), X, Y)
    step = next(step for step in widget.steps if step["say"].startswith("fuse "))
    before, after = (scene(widget, panel, step["scene"]) for panel in (0, 1))

    assert re.search(r'title">Next, after simplify: ▣ new<.*>6 ops<', scene(widget, 1, "scene 0"), re.DOTALL)
    assert re.search(r'mg-gone".*?>−   square[(]', widget.films[0]["panels"][2]["html"])
    assert step["say"].startswith("fuse joins +, tanh, +, − and × into ")
    assert "+ tanh" in step["say"]
    assert before.count(" mg-fused") == 5
    assert not before.count(" mg-removed"), "what lives on in a fused op is not removed"
    assert (after.count(" mg-removed"), after.count(" mg-added")) == (0, 2)  # (affine, +, tanh), (affine, +, −, ×)
    assert before.count("mg-strike") == before.count("mg-frame")
    first, second = (int(re.search(r">([\d,]+) bytes moved", each)[1].replace(",", "")) for each in (before, after))
    saved = f">−{100 * (1 - second / first):.0f} %<"
    assert (saved in before, saved in after) == (False, True)  # of the graph beside it, not of the graph as written


def test_the_still_compares_the_graph_as_written_with_the_one_that_runs():
    widget = PassViewer(loss(), X, Y)
    titles = re.findall(r'class="mg-name" x="\S+" y="[\d.]+">((?:As|After|The) .*?)<', widget.svg)

    assert [title.split(":")[0] for title in titles] == ["As written", "After all passes", "The code"]
    assert widget.svg.count(" mg-fused") == scene(widget, 0, widget.steps[-1]["scene"]).count(" mg-fused") > 0
    assert ".mg-removed .mg-strike" in widget.svg  # the still has the rules that show its marks


def test_constants_are_seen():
    """Or nobody sees that it was 1 that something was multiplied by."""
    widget = PassViewer(mg.function(lambda x: 7.0 - x * 1.0), mg.ones(3))
    html = widget.films[0]["panels"][0]["html"]
    assert ">× 1</text>" in html
    assert ">7 −</text>" in html
    assert widget.steps[1]["say"].startswith("simplify removes × 1. Now: 1 op, ")


@pytest.mark.parametrize(("f", "stays"), [(lambda x: x.tanh() * 1 + 0, True), (lambda x: x.tanh() + 0.5, False)])
def test_why_a_zero_is_still_added_is_told(f, stays):
    assert ("+ 0 stays: −0 + 0 is 0, and not −0." in PassViewer(mg.function(f), mg.ones(3)).steps[-1]["say"]) == stays


def test_what_stays_has_one_key_in_all_scenes():
    html = PassViewer(loss(), X, Y).films[0]["panels"][0]["html"]
    scenes = [set(re.findall(r'data-key="(.*?)"', scene)) for scene in html.split("<div data-scene")[1:]]

    assert {"x", "y", "Mean"} <= set.intersection(*scenes)


def test_the_code_at_the_end_is_that_of_the_last_graph():
    widget = PassViewer(loss(), X, Y)
    panel = widget.films[0]["panels"][2]["html"]
    last = panel[panel.index(f'data-scene="{widget.steps[-1]["scene"]}"') :]

    assert '<i class="mg-keyword">def</i> program(' in last
    assert re.search(r"dot[(]x, \w+, buf\d", last)  # the names of the graph
    # Three calls are one op: it is one loop in the code, and the comment has the symbol of its box.
    head, *calls = re.findall(r'class="mg-hot mg-fused".*?>(.*?)</span>', last)[:3]
    assert head.endswith("# + tanh, 1 block</i>")
    assert all(call.startswith(" " * 8) and "[k]" in call for call in calls)
    assert "┃" in widget.svg
    assert "mg-fused" not in panel[:2000]  # what it did not have at first


def test_code_names_the_line_of_the_function_it_comes_from():
    """It was `<ipython-input-12-ab34>:2` in a notebook, longer than the code beside it."""

    def scaled(x):
        return x * 2

    def layer(x):
        return scaled(x.tanh())

    line, helper = (f.__code__.co_firstlineno + 1 for f in (layer, scaled))
    code = PassViewer(mg.function(layer), mg.ones(3)).films[0]["panels"][2]["html"]
    assert f'<i class="mg-comment"># tanh, layer:{line}</i>' in code
    assert f'<i class="mg-comment"># × 2, scaled:{helper}</i>' in code
    assert __file__ not in code


def test_fast_takes_the_passes_that_may_round_otherwise():
    f, x = mg.function(lambda x: (x * x).sum()), mg.ones(64, 64)

    assert PassViewer(f, x, fast=True).steps[1]["say"].startswith("simplify removes ×")  # Σ x² in one op
    assert not any("simplify" in step["say"].split(".")[0] for step in PassViewer(f, x).steps)


def test_the_pieces_of_what_is_fused_are_no_ops():
    f = mg.function(lambda x: (x * 2, x + 1))

    assert [step.nodes for step in steps(f.graph_for(X)) if step.changed] == [2, 1]
    widget = PassViewer(f, X)
    assert "piece" not in widget.text
    assert ". Now: 1 op, " in widget.text


def divided(x):
    mg.print("printed")
    return x / 0 * 0


def test_constants_are_not_ops_and_measured_runs_neither_print_nor_warn(capsys, recwarn):
    """The film said of a pass that merged two zeros that it reorders the ops."""
    assert "share changes no op, only constants. Now: 2 ops, " in PassViewer(mg.function(divided), X).text
    assert ("printed" in capsys.readouterr().out, recwarn.list) == (False, [])


def test_a_pass_that_only_takes_out_is_not_said_to_sort():
    widget = PassViewer(mg.function(lambda x: (x * 1).tanh() + x), mg.ones(4))

    assert widget.steps[1]["say"].startswith("simplify removes × 1. Now: 2 ops, ")


@pytest.mark.parametrize(
    ("f", "arg"), [(lambda x: x * 2, np.ones(3)), (lambda xs: xs[0] * xs[1], [mg.tensor(1.0), mg.tensor(2.0)])]
)
def test_arrays_and_lists_of_tensors_are_arguments_too(f, arg):
    assert PassViewer(mg.function(f), arg).steps[0]["say"].startswith("As written: 1 op, ")


@pytest.mark.parametrize(("f", "error", "match"), [
    (lambda x: x, TypeError, "expects a traced function"),
    (mg.function(lambda x: sum([x * i for i in range(50)])), ValueError, "up to 60 boxes"),
    (mg.function(endless), TooLong, "endless has run 2000 lines while it was traced"),
    (mg.function(lambda x: x), ValueError, "a graph of at least 1 op, but <lambda> computes nothing"),
    (mg.function(lambda x: print(x.shape)), ValueError, "at least 1 op"),
    (mg.function(lambda x: 3.0), ValueError, "at least 1 op"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused(f, error, match):
    with pytest.raises(error, match=match):
        PassViewer(f, mg.ones(2))
