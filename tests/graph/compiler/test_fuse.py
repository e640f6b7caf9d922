"""Fusion: which ops run in one loop, what a loop reads, and that no two loops wait for each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad import ops
from minigrad.engine.base.errors import ShapeError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.interpret import interpret
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.fuse import LARGEST, Fused, epilogues, fuse
from minigrad.graph.compiler.passes.liveness import bytes_moved
from minigrad.graph.compiler.passes.verify import verify
from tests.support.all_close import assert_all_equal
from tests.support.table import table

RNG = np.random.default_rng(0)


def graph_of(f, *shapes):
    xs = [placeholder(f"x{i}", Spec(shape, "f8")) for i, shape in enumerate(shapes)]
    y = f(*xs)
    ys = y if isinstance(y, tuple) else (y,)
    return Graph(tuple(x.node for x in xs), tuple(y.node for y in ys))


def kinds(graph):
    return [node.op.kind for node in graph.nodes if node.inputs]


def loops(graph):
    return [node.op for node in graph.nodes if isinstance(node.op, Fused)]


def assert_same(before, after):
    arrays = [RNG.normal(size=x.spec.shape) for x in before.inputs]
    assert_all_equal(interpret(after, *arrays), interpret(before, *arrays))


def fused(f, *shapes, **options):
    before = graph_of(f, *shapes)
    after = verify(fuse(before, **options), before)
    assert_same(before, after)
    return after


def test_a_chain_becomes_one_loop_that_reads_and_writes_memory_once():
    before = graph_of(lambda x, a, b: (x * a + b).tanh(), (100, 100), (100,), (100,))
    after = fuse(before)

    assert kinds(after) == ["Fused"]
    assert bytes_moved(after) == 8 * (100 * 100 * 2 + 100 * 2)
    assert bytes_moved(before) == 8 * (100 * 100 * 6 + 100 * 2)


def test_a_loop_has_as_many_results_as_are_read_outside():
    after = fused(lambda x: ((y := x.exp()), (y * 2).sum(0), y.mT @ y), (3, 4))

    (loop,) = loops(after)
    assert len(loop.body.outputs) == 2
    assert kinds(after).count("TupleGet") == 2


FUSED = {
    "one op alone is left as it is": (lambda x: x.exp(), [(3,)], "Exp"),
    "loops of different shapes stay apart": (lambda x, b: x + (b * 2).exp(), [(3, 4), (4,)], "Fused Add"),
    "one array is read once": (lambda x: (x * 2, x.exp()), [(3, 4)], "Fused TupleGet TupleGet"),
    "integers and booleans too": (lambda x: ((x > 0) & (x < 1)).double() * x, [(3, 4)], "Fused"),
    # One loop of all four would wait for the product, and the product for it.
    "a product between two loops keeps them apart":
        (lambda x, w: (y := (x * 2).exp()) + (y @ w).tanh() * 3, [(3, 4), (4, 4)], "Fused MatMul Fused"),
}  # fmt: skip


@table("case", FUSED)
def test_ops_share_a_loop_where_none_waits_for_another(case):
    f, shapes, expected = FUSED[case]

    assert kinds(fused(f, *shapes)) == expected.split()


def test_what_is_read_late_is_made_late():
    """1 − y² waits for the gradient, in the loop that reads it: of what forward made only y is kept."""
    after = fused(lambda x, w: (((y := (x + 1).tanh()) @ w).exp() @ w) * (1 - y * y), (3, 4), (4, 4))

    early, late = loops(after)
    assert [n.op.kind for n in early.body.nodes if n.inputs] == ["Add", "Tanh"]
    assert [n.op.kind for n in late.body.nodes if n.inputs] == ["Mul", "Sub", "Mul"]


def test_numbers_and_broadcasts_are_repeated_in_every_loop_and_nothing_else_is():
    def f(x, b):
        wide = b.broadcast_to(3, 4)
        y = (x * 2 + wide).exp()
        return (y @ y.mT @ y) * 2 + wide

    after = fused(f, (3, 4), (4,))

    assert kinds(after).count("BroadcastTo") == 0
    inside = [n.op.kind for loop in loops(after) for n in loop.body.nodes if n.inputs]
    assert sorted(inside) == ["Add", "Add", "BroadcastTo", "BroadcastTo", "Exp", "Mul", "Mul"]


def test_a_long_chain_is_cut():
    after = fused(lambda x: [x := (x * 1.01).tanh() for _ in range(100)][-1], (3,))

    assert [len([n for n in loop.body.nodes if n.inputs]) for loop in loops(after)] == [LARGEST, LARGEST, LARGEST, 8]


def test_a_full_reduction_ends_a_loop_only_where_adding_in_another_order_is_allowed():
    f = lambda x: ((y := x.exp() * x).sum(), y.amax() * 2, y.mean())  # noqa: E731

    assert kinds(fused(f, (3, 4))).count("Sum") == 1
    after = fused(f, (3, 4), reductions=True)
    assert kinds(after) == ["Fused", "TupleGet", "TupleGet", "Mul", "TupleGet"]
    (loop,) = loops(after)
    assert [y.spec.shape for y in loop.body.outputs] == [(), (), ()]


def test_what_reads_a_reduction_is_another_loop():
    after = fused(lambda x: (y := x.exp() * 2) - y.sum(), (3, 4), reductions=True)

    assert kinds(after) == ["Fused", "TupleGet", "TupleGet", "Sub"]


def test_of_a_loop_that_follows_a_product_the_product_comes_first():
    after = fused(lambda x, w, b: (b + x @ w).tanh(), (3, 4), (4, 5), (5,))

    assert [x.op.kind for x in after.outputs[0].inputs] == ["MatMul", "Input"]


@pytest.mark.parametrize("wanted", ["Affine", "Convolution"])
def test_the_bias_of_a_layer_joins_the_activation(wanted):
    window = ops.Window((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    layer, shapes = {
        "Affine": (ops.Affine(True), [(5, 4), (3, 4), (3,)]),
        "Convolution": (ops.Convolution(window), [(2, 3, 6, 6), (4, 3, 3, 3), (4,)]),
    }[wanted]
    before = graph_of(lambda x, w, b: x.apply(layer, w, b).relu(), *shapes)

    after = verify(fuse(epilogues(before)), before)

    assert_same(before, after)
    assert [k for k in kinds(after) if k != "Reshape"] == [wanted, "Fused"]
    (loop,) = loops(after)
    assert [n.op.kind for n in loop.body.nodes if n.inputs] == ["Add", "Relu"]
    assert len(next(n for n in after.nodes if n.op.kind == wanted).inputs) == 2


def test_a_bias_that_no_loop_would_take_stays():
    before = graph_of(lambda x, w, b: x.apply(ops.Affine(), w, b).sum(0), (5, 4), (4, 3), (3,))

    assert epilogues(before).outputs == before.outputs
    alone = graph_of(lambda x, w, b: x.apply(ops.Affine(), w, b), (5, 4), (4, 3), (3,))
    assert epilogues(alone).outputs == alone.outputs


def test_numbers_alone_are_no_loop():
    after = fused(lambda x: x.lift(2.0) * 3 + 1 + x, ())

    assert all(node.inputs for node in after.nodes if isinstance(node.op, Fused))
    assert "Mul" in kinds(after)


def test_a_loop_refuses_shapes_it_was_not_made_for():
    (loop,) = loops(fuse(graph_of(lambda x: x.exp() * 2, (3,))))

    with pytest.raises(ShapeError, match="fuse after the shapes are known"):
        loop.infer(Spec((4,), "f8"))


def test_a_loop_costs_what_its_ops_cost():
    (loop,) = loops(fuse(graph_of(lambda x: x.exp() * 2 + x, (3, 4))))

    assert loop.flops(Spec((3, 4), "f8"), Spec((3, 4), "f8")) == 3 * 12


@given(st.lists(st.tuples(st.sampled_from("+*@t"), st.integers(0, 99), st.integers(0, 99)), max_size=40))
def test_loops_among_products_never_wait_for_each_other(steps):
    """A cycle would be found by the order that verify asks for; and by the results, were it cut."""

    def f(x):
        made = [x]
        for name, i, j in steps:
            a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
            made.append({"+": a + b, "*": a * 0.5, "@": (a @ b) * 0.1, "t": a.tanh()}[name])
        return tuple(made)

    after = fused(f, (3, 3))

    fused_nodes = [node for node in after.nodes if isinstance(node.op, Fused)]
    joined = [node for node in fused_nodes if any(isinstance(x.op, Fused) for x in node.inputs)]
    assert all(len(node.op.body.nodes) <= LARGEST + 8 for node in joined)
