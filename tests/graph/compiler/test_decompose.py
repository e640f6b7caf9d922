"""Compact ops, seen through: forward and backward compute what is dear once; pooling before relu gives the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad import laws, ops
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.interpret import interpret
from minigrad.engine.tensor.rewrite import share
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.decompose import decompose
from minigrad.graph.compiler.passes.fuse import Fused
from minigrad.graph.compiler.passes.liveness import peak_bytes
from minigrad.graph.compiler.passes.pipeline import FAST, STANDARD, optimised
from minigrad.graph.compiler.passes.remat import QUICK, remat
from minigrad.graph.compiler.passes.verify import verify
from minigrad.graph.compiler.program.program import Program
from minigrad.nn.functional import conv2d, cross_entropy, layer_norm, max_pool2d, scaled_dot_product_attention
from minigrad.tracing.gradients import gradients
from tests.examples import EXAMPLES
from tests.support.all_close import assert_all_close, assert_all_equal
from tests.support.table import table

COMPACT = [case for op, cases in EXAMPLES.items() if hasattr(op, "decompose") for case in cases]


def with_gradients(f, *specs):
    """The graph of a number, and of its gradient by each floating argument."""
    xs = [placeholder(f"x{i}", Spec(shape, dtype)) for i, (shape, dtype) in enumerate(specs)]
    y = f(*xs)
    inputs = tuple(x.node for x in xs)
    found = gradients({y.node: y.lift(1.0)}, [x.node for x in xs if x.spec.is_float])
    return Graph(inputs, (y.node, *(g.node for g in found.values())))


def values(graph, seed=0):
    rng = np.random.default_rng(seed)
    specs = [x.spec for x in graph.inputs]
    return [rng.normal(size=s.shape) if s.is_float else rng.integers(0, 3, s.shape) for s in specs]


def count(graph, *kinds):
    """How many ops of these kinds a run runs, those in loops included."""
    inside = [n for node in graph.nodes if isinstance(node.op, Fused) for n in node.op.body.nodes]
    return sum(isinstance(node.op, kinds) for node in (*graph.nodes, *inside))


# -- expansions -------------------------------------------------------------------------------------------


@table("case", COMPACT, ids=lambda case: str(case[0]))
def test_an_op_is_what_it_says_it_is_made_of(case):
    laws.expanded_is_forward(*case)


def test_the_law_of_parts_sees_a_wrong_part():
    class Half(ops.Softmax):
        def decompose(self, x):
            return super().decompose(x) * 0.5

    with pytest.raises(AssertionError, match="its parts"):
        laws.expanded_is_forward(Half(1), *EXAMPLES[ops.Softmax][0][1:])


F8 = "f8"
EXPONENTIALS = {
    "softmax": (lambda x, w: (x.softmax(-1) * w).sum(), ((4, 5), F8), ((4, 5), F8)),
    "logsumexp": (lambda x, w: (x.logsumexp(1) * w).sum(), ((4, 5), F8), ((4,), F8)),
    "logsumexp, axes kept": (lambda x, w: (x.logsumexp(0, keepdims=True) * w).sum(), ((4, 5), F8), ((1, 5), F8)),
    "both": (lambda x, w: (x.softmax(-1) * w).sum() + x.logsumexp(-1).sum(), ((4, 5), F8), ((4, 5), F8)),
    "cross entropy": (cross_entropy, ((4, 5), F8), ((4,), "i8")),
}


@table("case", EXPONENTIALS.values(), ids=EXPONENTIALS)
def test_a_softmax_takes_one_exponential_forwards_and_backwards(case):
    graph = with_gradients(*case)
    after = verify(optimised(graph, FAST), graph)
    arrays = values(graph)

    assert count(after, ops.Exp, ops.Softmax, ops.LogSumExp, ops.CrossEntropy, ops.SoftmaxMinusOneHot) == 1
    for found in (interpret(after, *arrays), Program(after)(*arrays)):
        assert_all_close(found, interpret(graph, *arrays), rtol=1e-12, atol=1e-14)


def test_large_logits_and_rows_of_one_value_survive_it():
    graph = with_gradients(*EXPONENTIALS["logsumexp"])
    x = np.array([[1000.0, 999, 0, 0, 0], [-1000.0] * 5, [-np.inf, 0, 1, 2, 3], [0.0] * 5])

    expected = interpret(graph, x, np.ones(4))
    assert_all_close(interpret(optimised(graph, FAST), x, np.ones(4)), expected, rtol=1e-12, atol=1e-14)


def test_the_exponential_of_another_difference_is_no_softmax():
    graph = with_gradients(lambda x: (x - x.logsumexp(1).reshape(1, 4)).exp().sum(), ((4, 4), F8))
    arrays = values(graph)

    assert_all_close(interpret(decompose(graph), *arrays), interpret(graph, *arrays), rtol=1e-12)


def test_attention_weighs_once_forwards_and_backwards():
    shape = ((2, 3, 4), F8)
    graph = with_gradients(lambda q, k, v: (scaled_dot_product_attention(q, k, v) ** 2).sum(), *[shape] * 3)

    assert count(optimised(graph, FAST), ops.Attention, ops.AttentionWeights) == 1
    assert count(optimised(graph), ops.Attention, ops.AttentionWeights) == 2  # which is less memory


def test_a_normalisation_centres_once_forwards_and_to_the_last_bit():
    graph = with_gradients(lambda x, w, b: (layer_norm(x, (5,), w, b) ** 3).sum(), ((4, 5), F8), ((5,), F8), ((5,), F8))
    arrays = values(graph)

    assert count(graph, ops.Standardise, ops.InverseRMS) == 2
    for passes in (STANDARD, FAST):
        assert count(optimised(graph, passes), ops.Standardise, ops.InverseRMS) == 1
    assert_all_equal(Program(optimised(graph))(*arrays), interpret(graph, *arrays))


def test_what_has_no_elements_stays_whole():
    graph = with_gradients(lambda x: x.softmax(-1).sum(), ((4, 0), F8))

    assert count(decompose(graph), ops.Softmax) == 1
    assert interpret(optimised(graph, FAST), np.zeros((4, 0)))[0] == 0


# -- pooling ------------------------------------------------------------------------------------------------


def network(x, w, b):
    return (max_pool2d(conv2d(x, w, b).relu(), 2) ** 2).sum()


SPECS = ((2, 3, 7, 7), F8), ((4, 3, 2, 2), F8), ((4,), F8)


def test_relu_and_bias_come_after_pooling_where_there_is_less_of_them():
    graph = with_gradients(network, *SPECS)
    after = verify(share(decompose(graph)), graph)

    cheap = ops.Relu | ops.Add | ops.ReluDifferential
    sizes = {n.op.kind: n.spec.shape for n in after.nodes if isinstance(n.op, cheap)}
    assert sizes == dict.fromkeys(("Relu", "Add", "ReluDifferential"), (2, 4, 3, 3))
    assert count(after, ops.Convolution) == count(graph, ops.Convolution) == 1
    (slope,) = (n for n in after.nodes if isinstance(n.op, ops.Sum) and n.spec.shape == (4,))
    assert slope.inputs[0].spec.shape == (2, 4, 3, 3)


WINDOWS = [(2, 2, 0), (3, 2, 0), (2, 3, 0), (2, 1, 0), (3, 2, 1)]  # kernel, stride, padding


@given(st.sampled_from(WINDOWS), st.integers(0, 99), st.booleans(), st.booleans())
def test_pooling_first_gives_the_same_ties_and_zeros_included(window, seed, relu, biased):
    def f(x, w, b, p):
        y = conv2d(x, w, b if biased else None)
        y = max_pool2d(y.relu() if relu else y, *window)
        return (y.tanh() * p).sum() + b.sum()

    graph = with_gradients(f, *SPECS, ((1,), F8))
    arrays = [np.random.default_rng(seed).integers(-2, 3, x.spec.shape) / 2 for x in graph.inputs]

    for after in (decompose(graph), optimised(graph, FAST)):
        found = interpret(verify(after, graph), *arrays)
        assert_all_close(found, interpret(graph, *arrays), rtol=1e-12, atol=1e-12)


def test_small_and_large_slopes_of_relu_move_alike():
    """Beside a large array relu's slope is an op of its own, beside a small one a product with a mask."""
    large = ((3, 3, 101, 101), F8), *SPECS[1:]
    after = share(decompose(with_gradients(network, *large)))

    (slope,) = (n for n in after.nodes if isinstance(n.op, ops.ReluDifferential))
    assert slope.spec.shape == (3, 4, 50, 50)


# -- memory ---------------------------------------------------------------------------------------------------


def gates(x, w):
    for _ in range(4):
        x = (x * (x * 0.5).sigmoid() * 2 + 1) @ w
    return (x * x).sum()


def test_where_time_counts_nothing_dear_is_computed_again():
    graph = share(with_gradients(gates, ((64, 16), F8), ((16, 16), F8)))

    assert count(remat(graph, share=1.0, ops=QUICK, least=0), ops.Sigmoid) == count(graph, ops.Sigmoid)
    assert count(remat(graph, share=1.0, least=0), ops.Sigmoid) > count(graph, ops.Sigmoid)


def test_a_peak_that_stays_in_the_cache_is_left_alone():
    graph = share(with_gradients(gates, ((64, 16), F8), ((16, 16), F8)))

    assert remat(graph, share=1.0, least=peak_bytes(graph) + 1) is graph


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rows_with_infinities_have_no_softmax_compiled_either(dtype):
    """Compiled, softmax of (inf, 1, 2) was (NaN, 0, 0) and its cross-entropy inf; PyTorch and eager mode give NaN."""
    nan, inf = np.nan, np.inf
    rows = [[inf, 1, 2], [-inf, -inf, -inf], [-inf, 1, 2], [nan, 1, 2], [inf, inf, 1], [inf, -inf, 1], [inf, nan, 1]]
    x, k = mg.tensor(np.array(rows)).astype(getattr(mg, dtype)), mg.tensor(np.ones(len(rows), int))

    def f(x):
        return x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1), mg.nn.functional.cross_entropy(x, k, reduction="none")

    with np.errstate(all="ignore"):
        expected, *compiled = f(x), *(mg.function(f, jit_compile=mode)(x) for mode in (False, True, "native"))
        assert np.isnan(expected[0].double().numpy()).all(1).tolist() == [True, True, False, True, True, True, True]
        for found in compiled:
            assert_all_close(*([y.double().numpy() for y in ys] for ys in (found, expected)), rtol=1e-2)
