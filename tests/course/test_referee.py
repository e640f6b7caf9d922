"""Referees judge data, and run outside: beside the learner's code nothing is compared."""

import ast
import sys
from math import inf, nan

import pytest

from minigrad import function, gradcheck, ops, tensor
from minigrad.course.exercise import all_exercises, load_exercise
from minigrad.course.probe import Outcome, observe, plain
from minigrad.course.referee import inner_probes, judge
from minigrad.files.saving import evidence
from tests.support.table import table

PARTS = [
    pytest.param(part, id=f"{each.name}-{part.name}") for each in all_exercises() for part in each.parts if part.probes
]
COMPARISONS = {"all", "any", "bool", "allclose", "isclose", "array_equal", "array_equiv", "gradcheck", "check", "equal"}
PROBES = """
import math

LIMIT = 3


def helper(x):
    return x <= LIMIT


def sizes(n):
    return [answer(i) for i in range(n)]


@referee
def sizes(sent, n):
    return len(sent) == n and all(map(helper, sent))


def one(f, x):
    return f(x)


@referee
def one(sent, _, *others):
    return math.isclose(sent, *others)
"""


def outcomes(probe, answer=lambda x: x):
    probes = f"{PROBES}\n{probe}"
    return judge(probes, observe(inner_probes(probes), {"answer": answer}))


@table("probe, outcome", [
    ("answer(2)", ("gave", 2)), ("sizes(3)", ("gave", True)), ("sizes(9)", ("gave", False)),
    ("one(answer, 2.0)", ("gave", True)), ("[sizes(n) for n in (2, 9)]", ("gave", [True, False])),
    ("[sizes(2), answer(5), 'text']", ("gave", [True, 5, "text"])), ("1 <= answer(2) <= 3", ("gave", True)),
    ("not answer(0) or answer(1) == 7", ("gave", True)), ("sizes('no number')", ("raised", "TypeError")),
    ("one(answer, [])", ("raised", "TypeError")), ("answer(nobody)", ("raised", "NameError")),
])  # fmt: skip
def test_a_referee_decides_about_what_was_sent(probe, outcome):
    (came,) = outcomes(probe)

    assert (came.kind, came.value) == outcome


def test_nothing_of_a_referee_is_in_what_runs_beside_the_answer():
    text = text_of(inner_probes(f"{PROBES}\nsizes(3)\nanswer(2) <= 17"))

    assert "isclose" not in text
    assert "17" not in text
    assert text.endswith("sizes(3)\nanswer(2)")


def test_an_answer_that_replaces_builtins_gains_nothing(monkeypatch):
    def answer(x):
        monkeypatch.setattr("builtins.all", lambda found: True)
        return 99

    probes = f"{PROBES}\nsizes(3)"
    sent = observe(inner_probes(probes), {"answer": answer})
    monkeypatch.undo()  # as the process ends in which it was replaced

    assert judge(probes, sent) == [Outcome("gave", False)]


def test_an_answer_is_judged_where_numpy_is_missing(monkeypatch):
    """The browser edition has exercise 01 and no NumPy: each `check` of it failed there."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert outcomes("sizes(3)") == [Outcome("gave", True)]


def test_an_overflow_in_a_referee_shows_no_warning():
    """The learner read `<referee>:20: RuntimeWarning` under their own call of check()."""
    probes = "import numpy\ndef double():\n    return values\n@referee\n"
    probes += "def double(sent):\n    return numpy.multiply(sent, 2.0)\ndouble()"

    assert judge(probes, [Outcome("gave", [1e308])]) == [Outcome("gave", [inf])]


@table("sent", [None, [], {}, "text", nan, 10**400, [[[]]], {"a": [1]}, [None] * 3])
def test_whatever_is_sent_has_an_outcome(sent):
    probes = f"{PROBES}\nsizes(3)\none(answer, 1.0)\n[sizes(n) for n in (1, 2)]\nanswer(1) == answer(2)"

    for came in judge(probes, [Outcome("gave", sent)] * 4):
        assert came.kind in ("gave", "raised", "odd")


@table("exercise, part, sent", [("02_backward_by_hand", "trap", [0, [[[-1, 1.0]]]])])
def test_no_graph_that_is_sent_keeps_a_referee_busy(exercise, part, sent):
    """A node that named -1 as its parent was its own parent: the walk never ended, and neither did the grader."""
    (probes,) = (each.probes for each in load_exercise(exercise).parts if each.name == part)

    assert judge(probes, [Outcome("gave", sent)])[0].kind in ("gave", "raised")


def test_what_was_sent_cannot_change_the_next_verdict():
    probes = "KNOWN = [1]\ndef grown(x):\n    return x\n@referee\ndef grown(sent):\n    KNOWN.append(sent)\n"
    probes += "    return len(KNOWN)\ngrown(1)"

    assert [judge(probes, [Outcome("gave", 5)])[0].value for _ in range(3)] == [2, 2, 2]


@table("part", PARTS)
def test_no_probe_compares_beside_the_answer(part):
    """A comparison may choose between values that are sent; its own result is never sent."""
    tree = ast.parse(text_of(inner_probes(part.probes)))
    assert not [ast.unparse(node) for node in ast.walk(tree) if callee(node) in COMPARISONS]
    for sent in results(tree):
        assert not {*comparisons(sent)}, ast.unparse(sent)


def text_of(probes):
    """Everything that these probes run, as one text."""
    return "\n".join([probes[-1].preparation, *(probe.expression for probe in probes)])


def callee(node):
    """The name of what is called, or is handed on to be called."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Attribute(attr=name):
            return name
    return ""


def results(tree):
    """The expressions that functions return, and the probes."""
    for node in ast.walk(tree):
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Lambda(body=value):
                yield value
    yield from (node.value for node in tree.body if isinstance(node, ast.Expr))


def comparisons(node):
    """The comparisons in an expression, except those that choose between values or filter them."""
    match node:
        case ast.IfExp(test, ast.Constant(), ast.Constant()):
            yield ast.unparse(test)
        case ast.IfExp(_, body, other):
            yield from (*comparisons(body), *comparisons(other))
        case ast.comprehension(_, listed, _):
            yield from comparisons(listed)
        case ast.Compare() | ast.UnaryOp(ast.Not()):
            yield ast.unparse(node)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from comparisons(child)


# -- evidence ---------------------------------------------------------------------------------------


def sent_of(f, *arrays):
    return plain(evidence.sent_graph(function(f, autograph=False).graph_for(*map(tensor, arrays))))


def test_a_graph_arrives_as_it_was_sent():
    sent = sent_of(lambda x: (x * 2).sum() - x[0], [1.0, 2.0])

    assert plain(evidence.sent_graph(evidence.graph_of(sent)))["nodes"] == sent["nodes"]


@table("node", [
    {"op": "Expand", "fields": {"shape": {"tuple": [1 << 40]}}, "inputs": [0], "spec": ["F64", [1 << 40]]},
    {"op": "Print", "fields": {"what": {"tuple": ["x", None]}}, "inputs": [0], "spec": ["F64", [2]]},
    {"op": "Mul", "inputs": [0, 7], "spec": ["F64", [2]]},
    {"op": "os.system", "fields": {"command": "true"}, "inputs": [0], "spec": ["F64", [2]]},
])  # fmt: skip
def test_a_graph_that_costs_too_much_or_is_none_is_refused(node):
    sent = sent_of(lambda x: x * 2, [1.0, 2.0])
    sent["nodes"].append(node)

    with pytest.raises(ValueError, match=r"."):
        evidence.graph_of(sent)


def test_a_graph_with_a_loop_is_refused():
    def f(x):
        while x < 9:
            x = x + 1
        return x

    sent = plain(evidence.sent_graph(function(f).graph_for(tensor(1.0))))

    with pytest.raises(ValueError, match=r"."):
        evidence.graph_of(sent)


@table("op", [ops.Tanh(), ops.Exp(), ops.Sum((0,))], ids=repr)
def test_the_laws_hold_on_the_numbers_of_an_op_and_not_on_other_numbers(op):
    sent = plain(evidence.sent_op(op, (2, 3)))
    evidence.obeys(sent, (2, 3))

    for name in ("pushed", "gradients", "compiled", "nudged"):
        wrong = sent | {name: plain([[1.0] * 3] * 2)}
        with pytest.raises((AssertionError, ValueError)):
            evidence.obeys(wrong, (2, 3))


def test_slopes_are_compared_with_nudges():
    def cut(x):
        return x * x.detach()

    assert evidence.slopes_agree(plain(evidence.sent_slopes(lambda x: x.exp(), [1.0, 2.0])))
    assert not evidence.slopes_agree(plain(evidence.sent_slopes(cut, [1.0, 2.0])))


def test_slopes_are_compared_as_closely_as_gradcheck_does():
    """A derivative that was off by 0.05% passed: the referee's tolerances were ten times those of gradcheck()."""

    def nearly(x):
        return 2.001 * x - 0.001 * x.detach()

    assert not gradcheck(nearly, tensor([1.0, 2.0]), raise_exception=False)
    assert not evidence.slopes_agree(plain(evidence.sent_slopes(nearly, [1.0, 2.0])))
