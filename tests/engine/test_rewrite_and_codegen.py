"""Rewriting and code generation: better graphs that compute the same, as text a student can read."""

import numpy as np

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.device import CPU
from minigrad.engine.base.spec import spec_of
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor import codegen, rewrite
from minigrad.engine.tensor.rules import plan
from minigrad.engine.tensor.symbol import placeholder
from tests.support.table import table

A = np.random.default_rng(0).normal(size=(2, 3, 4))


def graph_of(f, *arrays):
    xs = [placeholder(f"x{i}", spec_of(a)) for i, a in enumerate(arrays)]
    return Graph(tuple(x.node for x in xs), (f(*xs).node,))


def ran(graph, *arrays):
    return codegen.function(graph, "program", CPU)(*arrays)[0]


ALGEBRA = {
    "x + 0, which makes 0 of −0": (lambda x: x + 0, 1), "x + (−0)": (lambda x: x + -0.0, 0),
    "x − 0": (lambda x: x - 0, 0), "x · 1": (lambda x: x * 1, 0), "1 · x": (lambda x: 1 * x, 0),
    "x / 1": (lambda x: x / 1, 0), "x¹": (lambda x: x**1, 0), "x · −1": (lambda x: x * -1, 1),
    "−(−x)": (lambda x: (x * -1) * -1, 0), "x²": (lambda x: x**2, 1),
    "a reshape of a reshape": (lambda x: x.reshape(24).reshape(4, 6), 1),
    "there and back": (lambda x: x.reshape(24).reshape(2, 3, 4), 0),
    "a transpose of a transpose": (lambda x: x.transpose(1, 2, 0).transpose(1, 2, 0), 1),
    "two different turns": (lambda x: x.transpose(1, 2, 0).transpose(0, 2, 1), 1),
    "turned three times": (lambda x: x.transpose(1, 2, 0).transpose(1, 2, 0).transpose(1, 2, 0), 0),
    "what is no identity": (lambda x: x * 2 + 1 - x**3, 4),
    "the same twice": (lambda x: (x * 3).exp() + (x * 3).exp(), 3),
}  # fmt: skip


@table("case", ALGEBRA)
def test_a_rewritten_graph_computes_the_same_in_as_many_ops_as_it_needs(case):
    f, needed = ALGEBRA[case]
    graph = graph_of(f, A)
    better = rewrite.optimise(graph)

    np.testing.assert_array_equal(ran(better, A), ran(graph, A))
    assert sum(1 for node in better.nodes if node.inputs) == needed


def test_a_rule_that_would_change_the_dtype_does_not_apply():
    integers = np.arange(3)
    graph = graph_of(lambda x: x * 1.0, integers)

    assert ran(rewrite.optimise(graph), integers).dtype == np.float64


def test_generated_code_is_read_as_it_is_written():
    rule = plan(ops.Tanh(), (spec_of(A[0, 0]),)).rule((True,))

    assert rule.reads == (0,)
    assert [line.split("#")[0].strip() for line in rule.source.splitlines()] == [
        "def pull(gy, y):",
        "t0 = y * y",
        "t1 = xp.subtract(c0, t0, out=t0)",
        "t2 = xp.multiply(gy, t1, out=t1)",
        "return t2,",
    ]


KEPT_APART = {
    "a view looks at it": lambda x: (t := x * 2).reshape(24) + (t + 1).reshape(24) * t.reshape(24),
    "a view of it is read later": lambda x: (t := x * 2).reshape(24) + (t + 1).reshape(24),
    "it is read again": lambda x: ((t := x * 2) + 1) * t, "it is read twice at once": lambda x: (t := x * 2) * t + 1,
    "it is broadcast": lambda x: (x[0] * 2) + x, "the dtype changes": lambda x: (x * 2).astype("f4") + (x > 0),
    "it has no axes": lambda x: x.sum() * 2 + 1, "it is an input": lambda x: x + x,
}  # fmt: skip


@table("case", KEPT_APART)
def test_what_is_written_over_was_read_for_the_last_time(case):
    f = KEPT_APART[case]
    given = A.copy()

    np.testing.assert_array_equal(ran(graph_of(f, A), given), f(mg.tensor(A)).numpy())
    np.testing.assert_array_equal(given, A)


def test_a_chain_of_elementwise_ops_works_in_one_array():
    assert codegen.source(graph_of(lambda x: ((x * 2).exp() + 1).tanh(), A), "program").count("out=t") == 3


def test_both_outputs_of_a_program_keep_their_memory():
    x = placeholder("x0", spec_of(A))
    doubled = x * 2
    graph = Graph((x.node,), (doubled.node, (doubled + 1).node))

    twice, more = codegen.function(graph, "program", CPU)(A)

    np.testing.assert_array_equal(twice, A * 2)
    np.testing.assert_array_equal(more, A * 2 + 1)


def test_a_gradient_that_nobody_wants_is_not_computed():
    specs = spec_of(A[0]), spec_of(A[1].T)
    both, one = (plan(ops.MatMul(), specs).rule(wanted) for wanted in ((True, True), (False, True)))

    assert (both.source.count("@"), one.source.count("@")) == (2, 1)
    assert (both.reads, one.reads) == ((1, 2), (1,))


def test_a_gradient_has_the_dtype_of_its_own_tensor():
    narrow = mg.tensor(np.ones(3, "f4"), requires_grad=True)
    wide = mg.tensor(np.ones(3), requires_grad=True)
    (narrow * wide).sum().backward()

    assert (narrow.grad.numpy().dtype, wide.grad.numpy().dtype) == (np.float32, np.float64)


def test_zero_and_minus_zero_are_two_constants():
    x = mg.tensor([1.0])
    with np.errstate(divide="ignore"):
        assert ((x / 0.0).item(), (x / -0.0).item(), (x / 0.0).item()) == (np.inf, -np.inf, np.inf)


def test_derivatives_that_read_alike_are_compiled_once_and_stay_what_they_are():
    x = mg.tensor(np.arange(4.0), requires_grad=True)
    first, third = x[0], x[2]

    (first + 2 * third).backward()

    assert first.node.rule.pull.__code__ is third.node.rule.pull.__code__
    assert x.grad.numpy().tolist() == [1, 0, 2, 0]
