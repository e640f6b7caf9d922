"""`check` draws the graph of a wrong answer beside the expected one, and says only what is true of both."""

from __future__ import annotations

import re
from functools import cache, reduce

import pytest

from minigrad.course import exercise, feedback, graph_comparison
from minigrad.course.fork import run_probes
from minigrad.course.graph_comparison import MOST, PACK, draw_side, find_difference, graph_figure, pack, unpack
from minigrad.course.referee import inner_probe
from minigrad.scalar import Value
from tests.course.test_verdicts import ANSWERS, code, known, making
from tests.support.table import table


@cache
def answered(name, part, answer):
    """The verdict on an answer, and the names of its notebook."""
    nb, parts = known(name)
    names = making.names_after(nb, part, answer, part)
    return exercise.check_answer(parts[part], names), names


MULTIPLY = "def multiply(a, b):\n    return Node(a.data * b.data, {})"
FEW = MULTIPLY.format("((a, b.data),)")
SUM_FOR_PRODUCT = MULTIPLY.format("((a, b.data), (b, a.data))").replace("a.data * b.data,", "a.data + b.data,")
PASS = "def {}(graph):\n{}\n    return graph.rebuild(make)"
RELU = "    make = lambda node, inputs: Node(ops.Relu(), inputs) if node.inputs else node"
APART = "    make = lambda node, inputs: node.with_inputs(inputs)"
KEY = "(node.op, frozenset(inputs))"
MERGED = f"    seen = {{}}\n    make = lambda node, inputs: seen.setdefault({KEY}, node.with_inputs(inputs))"
KINDS = [  # what is wrong → exercise, part, answer, what is said, what is marked in both pictures
    ("an arrow too few", "01", "product", FEW,
     "In yours, `multiply(a, b)` reads `a`; expected: `multiply(a, b)` reads `a` and `b`.", "y a1"),
    ("no arrow", "01", "product", MULTIPLY.format("()"),
     "In yours, `multiply(a, b)` reads nothing; expected: `multiply(a, b)` reads `a` and `b`.", "y a0"),
    ("one operand twice", "01", "product", MULTIPLY.format("((a, b.data), (a, a.data))"),
     "In yours, `multiply(a, b)` reads `a` twice; expected: `multiply(a, b)` reads `a` and `b`.", "a1 a1"),
    ("parents in another order", "01", "product", MULTIPLY.format("((b, a.data), (a, b.data))"),
     "In yours, `multiply(a, b)` reads `b` and `a`; expected: `multiply(a, b)` reads `a` and `b`.", "a0 a0"),
    ("a copy of a leaf", "01", "product", MULTIPLY.format("((Node(a.data), b.data), (b, a.data))"),
     "In yours, `multiply(a, b)` reads a new leaf of `3` and `b`; expected: `multiply(a, b)` reads `a` and `b`.",
     "a0 a0"),
    ("another slope", "01", "product", MULTIPLY.format("((a, b.data), (b, b.data))"),
     "In yours, the slope from `multiply(a, b)` to `b` is −2; expected: 3.", "a1 a1"),
    ("another number", "01", "product", SUM_FOR_PRODUCT, "In yours, `multiply(a, b)` is 1; expected: −6.", "y y"),
    ("another gradient", "01", "gradients", "def gradients(y):\n    return dict.fromkeys(order(y), 1.0)",
     "In yours, the gradient of `w` is 1; expected: 4.", "b2 b2"),
    ("another op", "13", "double_signs", PASS.format("without_double_signs", RELU),
     "In yours, `relu` reads `x`: that is not expected. Missing in yours: `neg` reads `x`.", "b2 b2"),
    ("copies instead of sharing", "13", "shared_right", PASS.format("shared", APART),
     "In yours, 2 boxes do this: `×` reads `x` and `2`. Expected: 1.", "b5 b3"),
    ("sharing what differs", "13", "shared_right", PASS.format("shared", MERGED),
     "In yours, `×` reads `x − y` twice: that is not expected. Missing in yours: `−` reads `y` and `x`.", "b4 b4"),
]  # fmt: skip


def name_of(number):
    return next(name for name in exercise.names() if name.startswith(number))


@table("what, number, part, answer, said, marks", KINDS)
def test_the_first_difference_is_marked_and_put_into_words(what, number, part, answer, said, marks):
    verdict, names = answered(name_of(number), part, answer)
    sentence, html = graph_figure(verdict, names)

    assert verdict.state == "fail"
    assert sentence == said
    assert html.count("<svg ") == html.count('role="img" aria-label="') == 2
    assert re.findall(r'mg-(?:yours|expected)" data-id="(\w+)"', html) == marks.split()
    assert html.startswith("<style>")


@pytest.mark.share(4)
@table("name, part, answer", [
    (name, part, answer)
    for name, deserves, part, _, answer in (param.values for param in ANSWERS)
    if deserves == "right" and known(name)[1][part].graphs
], groups=4)  # fmt: skip
def test_a_right_answer_has_the_expected_graph(name, part, answer):
    """Else the drawing of a wrong answer could mark what is not wrong in it."""
    facts = known(name)[1][part]
    names = answered(name, part, code(facts, answer))[1]

    for expression, expected in filter(None, facts.graphs):
        probe = inner_probe(f"{facts.probes}\n{PACK}\npack_graph({expression}, globals())", -1)
        (came,) = run_probes([probe], names)
        assert came.kind == "gave", came
        if expected:
            with pytest.raises(StopIteration):
                find_difference(unpack(came.value), unpack(expected))


def test_only_the_graph_of_the_learner_is_drawn_where_many_are_right():
    three = "def mine(a, b):\n    t = subtract(a, b)\n    return add(subtract(add(t, Node(2.0)), t), b)"

    sentence, html = graph_figure(*answered(name_of("01"), "eight_signs", three))

    assert sentence == "Your graph has 7 boxes and 8 arrows. The marked leaf is neither `a` nor `b`."
    assert html.count("<svg ") == 1
    assert "expected</figcaption>" not in html


def shown(answer):
    """What check() displays of this answer to `product`."""
    names = answered(name_of("01"), "product", answer)[1]
    return eval("check('product')", names | {"check": feedback.check})


def test_check_shows_the_graphs_and_says_the_same_in_text():
    note = shown(FEW)

    html = note._repr_mimebundle_()["text/html"]
    assert "In yours, `multiply(a, b)` reads `a`; expected" in repr(note)
    assert "In yours, <code>multiply(a, b)</code> reads <code>a</code>; expected" in html
    assert html.count("<figcaption>") == 2


@pytest.mark.parametrize("broken", ["svg", "run_probes", "find_difference"])
def test_a_drawing_that_fails_leaves_the_verdict_as_it_is(monkeypatch, broken):
    graded = feedback.verdict_note(answered(name_of("01"), "product", FEW)[0])
    monkeypatch.setattr(graph_comparison, broken, lambda *_: 1 / 0)

    note = shown(FEW)

    assert note.graph is graded.graph is None  # the grader never asks for a drawing
    assert note.sentences[: len(graded.sentences)] == graded.sentences


def values(formula):
    x, y = Value(1.0), Value(2.0)
    return unpack(pack(formula(x, y), {"x": x, "y": y}))


def test_the_order_of_operands_counts_only_where_it_changes_the_result():
    with pytest.raises(StopIteration):
        find_difference(values(lambda x, y: x * y + x), values(lambda x, y: x + y * x))

    marks = find_difference(values(lambda x, y: y * 2.0), values(lambda x, y: x * y))[1:]
    said = find_difference(values(lambda x, y: x * 2.0 - x * y), values(lambda x, y: x * y - x * 2.0))[0]
    deep = find_difference(values(lambda x, y: x * y * x - x * y * y), values(lambda x, y: x * y * y - x * y * x))[0]
    assert marks == ("a2", "a1")  # not the arrows from y, which both have
    assert deep == "In yours, `−` reads `×` and `×`; expected: others, or another order."
    assert said == "In yours, `−` reads `x × 2` and `x × y`; expected: `−` reads `x × y` and `x × 2`."


def chain(x, y):
    """Sixty products in a row, of which the 21st reads y."""
    return reduce(lambda z, i: z * (y if i == 20 else x), range(60), x)


def test_a_large_graph_is_cut_to_the_boxes_near_the_difference():
    mine, wanted = values(lambda x, y: chain(x, x)), values(chain)
    sentence, *marks = find_difference(mine, wanted)

    assert sentence == "In yours, `×` reads `×` and `x`; expected: `×` reads `×` and `y`."
    for title, picture, mark in zip(("yours", "expected"), (mine, wanted), marks, strict=True):
        drawn = draw_side(sentence, title, picture, mark)
        assert drawn.count('class="mg-box') == MOST
        assert f"<figcaption>{title}: the {MOST} of {len(picture.boxes)} boxes" in drawn
        assert f'mg-{title}" data-id="{mark}"' in drawn
