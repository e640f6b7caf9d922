"""The passes on the screen: what is said is what the pipeline did."""

import re

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
    pictures, table, _ = PassViewer(f, X, Y).films[0]["panels"]

    assert re.findall(r'data-scene="scene (\d+)"', pictures["html"]) == [str(n) for n in range(len(way))]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(\d+)</td><td>([\d,]+)</td><td>([\d,]+)</td>', table["html"])
    assert rows == [(s.name, str(s.nodes), f"{s.bytes_moved:,}", f"{s.peak_bytes:,}") for s in way]


def test_what_is_taken_out_is_dashed_before_and_what_is_new_is_lit_after():
    widget = PassViewer(loss(), X, Y)
    before, after = (
        next(s for s in widget.steps if s["say"].startswith(words)) for words in ("fuse will", "fuse puts")
    )
    html = widget.films[0]["panels"][0]["html"]

    assert len(before["hot"]["back"]) == 3  # of (affine, +, tanh) and (affine, +, −, ×) the last stands for the group
    assert all(f'data-id="{part}"' in html for part in before["hot"]["back"])
    assert "+ tanh" in after["say"]
    fresh = [part for part in after["hot"]["hot"] if part.startswith("s")]
    assert {part.split(".")[0] for part in fresh} == {"s" + after["scene"].split()[1]}


def test_constants_are_seen():
    """Or nobody sees that it was 1 that something was multiplied by."""
    html = PassViewer(mg.function(lambda x: x * 1.0 + 7.0), mg.ones(3)).films[0]["panels"][0]["html"]
    assert ">1</text>" in html
    assert ">7</text>" in html


def test_what_stays_has_one_key_in_all_scenes():
    html = PassViewer(loss(), X, Y).films[0]["panels"][0]["html"]
    scenes = [set(re.findall(r'data-key="(.*?)"', scene)) for scene in html.split("<div data-scene")[1:]]

    assert {"x", "y", "Mean"} <= set.intersection(*scenes)


def test_the_code_at_the_end_is_that_of_the_last_graph():
    widget = PassViewer(loss(), X, Y)
    code = widget.films[0]["panels"][2]["html"]

    assert "def program(" in code
    assert "tanh(" in code
    assert widget.steps[-1]["off"] == {"gone": ["code"]}


def test_fast_takes_the_passes_that_may_round_otherwise():
    f, x = mg.function(lambda x: (x * x).sum()), mg.ones(64, 64)

    assert PassViewer(f, x, fast=True).steps[1]["say"] == "simplify will take out ×."  # Σ x² in one op
    assert not any("simplify will" in step["say"] for step in PassViewer(f, x).steps)


def test_the_pieces_of_what_is_fused_are_no_ops():
    f = mg.function(lambda x: (x * 2, x + 1))

    assert [step.nodes for step in steps(f.graph_for(X)) if step.changed] == [2, 1]
    widget = PassViewer(f, X)
    assert "piece" not in widget.text
    assert ". Now: 1 op, " in widget.text


def test_a_pass_that_only_takes_out_is_not_said_to_sort():
    widget = PassViewer(mg.function(lambda x: (x * 1).tanh() + x), mg.ones(4))

    assert widget.steps[1]["say"] == "simplify will take out ×."
    assert widget.steps[2]["say"].startswith("simplify puts nothing in. Now: 2 ops, ")


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
