"""Passes, one by one: what each does to a graph, what it leaves alone, and what it costs.

That none changes a result by a bit is shown on random graphs, in test_random_graphs.py.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.interpret import interpret
from minigrad.engine.core.node import NamedNode, Node, Place
from minigrad.engine.core.op import Elementwise
from minigrad.engine.tensor import rewrite
from minigrad.engine.tensor.rewrite import share, simplify
from minigrad.engine.tensor.symbol import Symbol, placeholder
from minigrad.graph.compiler.passes import fast_math, liveness
from minigrad.graph.compiler.passes.dce import dce
from minigrad.graph.compiler.passes.fold import Folded, fold
from minigrad.graph.compiler.passes.pipeline import FAST, STANDARD, name_of, optimised, steps
from minigrad.graph.compiler.passes.remat import flops, remat
from minigrad.graph.compiler.passes.transpose_rules import FAST_TRANSPOSES, narrow, transposes
from minigrad.graph.compiler.passes.verify import verify
from minigrad.tracing.gradients import gradients
from tests.support.python_calls import count_calls
from tests.support.table import table

X = np.random.default_rng(0).normal(size=(3, 4))


def f8(*shape):
    return Spec(shape, "f8")


def graph_of(f, *specs):
    xs = [placeholder(f"x{i}", spec) for i, spec in enumerate(specs)]
    y = f(*xs)
    ys = y if isinstance(y, tuple) else (y,)
    return Graph(tuple(x.node for x in xs), tuple(y.node for y in ys))


def with_gradients(f, *specs):
    """The graph of a number, and of its gradient by each argument."""
    graph = graph_of(f, *specs)
    (y,) = graph.outputs
    seed = Symbol(Node(ops.const(1.0), (), y.spec))
    found = gradients({y: seed}, graph.inputs)
    return Graph(graph.inputs, (y, *(found[x].node for x in graph.inputs)))


def kinds(graph):
    return [node.op.kind for node in graph.nodes if node.inputs]


class Noise(Elementwise):
    """An op with an effect, as printing is."""

    effect = True

    def forward(self, xp, x):
        return x + 0


# -- algebra ----------------------------------------------------------------------------------------------

STRANGE = np.broadcast_to([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan], (6, 6))

EXACT = {
    "x + 0, which makes 0 of −0": (lambda x, y: x + 0, ["Add"]), "x + (−0)": (lambda x, y: x + -0.0, []),
    "x − 0": (lambda x, y: x - 0, []), "x − (−0)": (lambda x, y: x - -0.0, ["Sub"]),
    "x + (−y)": (lambda x, y: x + (-y), ["Sub"]), "(−x) + y": (lambda x, y: (-x) + y, ["Sub"]),
    "x − (−y)": (lambda x, y: x - (-y), ["Add"]), "(−x)(−y)": (lambda x, y: (-x) * (-y), ["Mul"]),
    "(−x) · 3": (lambda x, y: (-x) * 3, ["Mul"]), "−(x · 3)": (lambda x, y: -(x * 3), ["Mul"]),
    "x / 4": (lambda x, y: x / 4, ["Mul"]), "x / 3": (lambda x, y: x / 3, ["Div"]),
    "−(x − y), which is −0 where they are equal": (lambda x, y: -(x - y), ["Sub", "Neg"]),
    "x · 0, which ∞ would not make 0": (lambda x, y: x * 0, ["Mul"]), "x − x": (lambda x, y: x - x, ["Sub"]),
    "max(x, x)": (lambda x, y: x.maximum(x), []), "x or x": (lambda x, y: x.where(y > 0, x), []),
    "||x||": (lambda x, y: abs(abs(x)), ["Abs"]), "|−x|": (lambda x, y: abs(-x), ["Abs"]),
    "¬¬": (lambda x, y: ~~(x > y), ["Greater"]),
    "narrower and back": (lambda x, y: x.float().double(), ["Cast", "Cast"]),
    "a copy's copy": (lambda x, y: x.flip(0).flip(0), []),
}  # fmt: skip


@table("case", EXACT)
def test_exact_rules_apply_where_every_bit_stays(case):
    f, expected = EXACT[case]

    graph = graph_of(f, f8(6, 6), f8(6, 6))
    after = simplify(graph)

    assert kinds(after) == expected
    with np.errstate(all="ignore"):
        (was,), (found,) = (interpret(g, STRANGE, STRANGE.T) for g in (graph, after))
    np.testing.assert_array_equal(found, was)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(was[was == 0]))


def test_a_wider_dtype_on_the_way_is_left_out():
    single = Spec((3,), "f4")

    assert kinds(simplify(graph_of(lambda x: x.double().float(), single))) == []
    assert kinds(simplify(graph_of(lambda x: x.double().half(), single))) == ["Cast"]
    assert kinds(simplify(graph_of(lambda x: x.half().float(), single))) == ["Cast", "Cast"]
    assert kinds(simplify(graph_of(lambda x: x.double().long(), single))) == ["Cast", "Cast"]
    assert kinds(simplify(graph_of(lambda x: x.double().float(), Spec((3,), "i8")))) == ["Cast", "Cast"]


def test_the_least_integer_is_its_own_negative_and_no_rule_forgets_it():
    graph = graph_of(lambda x, y: y + (-x), Spec((1,), "i1"), Spec((1,), "i8"))
    least = np.array([-128], "i1")

    (found,) = interpret(simplify(graph), least, np.array([0]))

    assert found == -128


FAST_MATH = {
    "x + 0": (lambda x: x + 0, []),
    "0 − x": (lambda x: 0 - x, ["Neg"]),
    "x / 3": (lambda x: x / 3, ["Mul"]),
    "(x · 3) · 5": (lambda x: x * 3 * 5, ["Mul"]),
    "a sum of sums": (lambda x: x.sum(1).sum(0), ["Sum"]),
    "a sum of sums, the first axis first": (lambda x: x.sum(0).sum(0), ["Sum"]),
    "a sum of sums that keep their axes": (lambda x: x.sum(1, keepdims=True).sum(0), ["Sum"]),
    "a sum of products": (lambda x: (x * x.exp()).sum(1), ["Exp", "SumOfProducts"]),
    "a number on either side": (lambda x: 5 * (3 * x), ["Mul"]),
    "a full sum of products": (lambda x: (x * x.exp()).sum(), ["Exp", "Affine"]),
    "a mean of products": (lambda x: (x * x.exp()).mean(), ["Exp", "Affine", "Mul"]),
    "a sum of one": (lambda x: x.reshape(3, 1, 4).sum(1), []),
    "a sum of copies": (lambda x: x.reshape(3, 1, 4).broadcast_to(3, 5, 4).sum(1), ["Mul"]),
}


@table("case", FAST_MATH)
def test_loose_rules_apply_only_where_they_are_asked_for(case):
    f, expected = FAST_MATH[case]
    graph = graph_of(f, f8(3, 4))
    after = simplify(graph, rewrite.RULES + fast_math.FAST_MATH)

    assert [kind for kind in kinds(after) if kind != "Reshape"] == expected
    assert kinds(after) != kinds(simplify(graph))
    np.testing.assert_allclose(interpret(after, X)[0], interpret(graph, X)[0], rtol=1e-14)


OUT_OF_RANGE = {
    "x / y with one y for many x": lambda x: x / x[:1], "x · (1 / y)": lambda x: x * (1 / x[:1]),
    "x / a subnormal number": lambda x: x / 1e-39, "x / a number with a subnormal inverse": lambda x: x / 3e38,
    "two small factors": lambda x: (x * 1e-30) * 1e-30, "two large factors": lambda x: (x * 1e30) * 1e30,
    "a small factor and a large one": lambda x: (x * 1e-30) * 1e25,
    "a large factor and a small one": lambda x: (x * 1e30) * 1e-25, "two large summands": lambda x: (x + 3e38) + -3e38,
    "a factor of 0": lambda x: (x * 0.0) * 2.0,
}  # fmt: skip


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_a_loose_rule_does_not_apply_beyond_the_range_it_states(case):
    """x · (1e-30 · 1e-30) was 0 at 1e38, where x · 1e-30 · 1e-30 is 1e-22; 0 / 1e-310 was NaN."""
    f = OUT_OF_RANGE[case]
    x = -np.array([0, 1e-45, 1e-38, 1e-30, 1, 1e30, 1e38, 3.4e38, np.inf, np.nan] * 2000, "f4")
    graph = graph_of(f, Spec(x.shape, "f4"))

    assert kinds(simplify(graph, rewrite.RULES + fast_math.FAST_MATH)) == kinds(simplify(graph))
    for first in (1e-45, 3e38):
        x[0] = first
        for mode in (True, "native"):
            with np.errstate(all="ignore"):
                found, expected = mg.function(f, jit_compile=mode)(mg.tensor(x)), f(mg.tensor(x))
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=5e-7)


def test_a_sum_along_what_was_not_copied_is_no_product():
    graph = graph_of(lambda x: x.broadcast_to(5, 3, 4).sum((0, 1)), f8(3, 4))
    after = simplify(graph, fast_math.FAST_MATH)

    assert "Sum" in kinds(after)
    np.testing.assert_allclose(interpret(after, X)[0], interpret(graph, X)[0], rtol=1e-14)


def test_x_plus_y_is_y_plus_x_and_is_computed_once():
    assert kinds(share(graph_of(lambda x, y: (x + y) * (y + x), f8(3), f8(3)))) == ["Add", "Mul"]


def test_a_reshape_that_copies_is_kept_for_the_order_in_which_a_sum_adds():
    turned = graph_of(lambda x: x.permute(1, 0).reshape(12).reshape(4, 3).sum(1), f8(3, 4))
    straight = graph_of(lambda x: x.reshape(12).reshape(4, 3).sum(1), f8(3, 4))

    assert kinds(simplify(turned)).count("Reshape") == 2
    assert kinds(simplify(straight)).count("Reshape") == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_are_added_up_by_a_product_with_ones(axis):
    graph = graph_of(lambda x: x.sum(axis), f8(3, 4))
    after = verify(simplify(graph, fast_math.BY_BLAS), graph)

    assert kinds(after) == ["Affine", "Reshape"]
    np.testing.assert_allclose(interpret(after, X)[0], interpret(graph, X)[0], rtol=1e-14)


def test_long_and_large_matrices_are_added_up_as_they_were():
    for shape in ((2000, 3), (300, 300)):
        assert kinds(simplify(graph_of(lambda x: x.sum(0), f8(*shape)), fast_math.BY_BLAS)) == ["Sum"]


def test_a_product_with_a_row_is_a_layer():
    graph = graph_of(lambda x: (x[:1] @ x.mT, x @ x.mT), f8(3, 4))

    assert kinds(simplify(graph, fast_math.BY_BLAS)).count("Affine") == 1


# -- constants --------------------------------------------------------------------------------------------


@table("each", [p for p in FAST if name_of(p) not in ("fuse", "ordered")], ids=name_of)
def test_a_pass_that_finds_nothing_to_change_gives_the_graph_itself_whose_order_is_known(each):
    graph = graph_of(lambda x, y: (x * y).tanh() @ y, f8(3, 3), f8(3, 3))

    assert each(graph) is graph


def test_what_depends_on_no_input_is_computed_when_compiling():
    c = Symbol(Node(ops.const(2.0), (), f8()))
    graph = graph_of(lambda x: x * ((c + 1).exp() / 3), f8(3))

    after = fold(graph)

    assert kinds(after) == ["Mul"]
    np.testing.assert_array_equal(interpret(after, X[0, :3])[0], interpret(graph, X[0, :3])[0])


def test_a_chain_of_constants_that_a_trace_named_is_folded_whole():
    """A folded node took over a name as it was put in, and was then another node than the one that was known."""

    @mg.function
    def fading(x):
        weights = mg.constant(0.5) ** mg.constant([0.0, 1.0, 2.0])
        return x * (weights / weights.sum())

    graph = fading.graph_for(mg.ones(3))

    assert kinds(graph) == ["Power", "Sum", "Div", "Mul"]
    assert kinds(fold(graph)) == ["Mul"]


def test_a_folded_array_is_read_only_small_and_equal_to_its_like():
    c = Symbol(Node(ops.const(2.0), (), f8()))
    row = lambda n: c.broadcast_to(n).exp()  # noqa: E731

    after = share(fold(graph_of(lambda x: x * row(3) + row(3), f8(3))))

    (held,) = [n.op for n in after.nodes if isinstance(n.op, Folded)]
    assert held.value.tolist() == [np.exp(2.0)] * 3
    with pytest.raises(ValueError, match="read-only"):
        held.value[0] = 1
    assert kinds(fold(graph_of(lambda x: x * row(10_000), f8(10_000)))) == ["BroadcastTo", "Exp", "Mul"]


def test_a_folded_array_has_its_elements_in_their_places():
    c = Symbol(Node(ops.const(2.0), (), f8()))
    graph = graph_of(lambda x: x * c.broadcast_to(3, 4).apply(ops.Tril(0)), f8(3, 4))
    after = fold(graph)

    assert kinds(after) == ["Mul"]
    np.testing.assert_array_equal(interpret(after, X)[0], interpret(graph, X)[0])


def test_what_has_an_effect_is_neither_folded_nor_shared():
    c = Symbol(Node(ops.const(2.0), (), f8()))
    graph = graph_of(lambda x: x * c.apply(Noise()) + c.apply(Noise()), f8(3))

    assert kinds(share(fold(graph))).count("Noise") == 2


def test_a_node_with_a_name_and_an_equal_one_without_become_one():
    """Expanded ops have no names, what a trace has written down has: neither is kept beside the other."""
    x = Node(ops.Input("x"), (), f8(3))
    named = [NamedNode(ops.Exp(), (x,), f8(3), name, None) for name in ("e", "f")]
    one = Node(ops.Exp(), (x,))

    assert len({*Graph((x,), tuple(named)).rebuild(lambda node, xs: one if xs else node).outputs}) == 1
    for both in ([Node(ops.Exp(), (x,)), *named], [*named, Node(ops.Exp(), (x,))]):
        assert len({*share(Graph((x,), tuple(both))).outputs}) == 1


# -- broadcasts and transposes ----------------------------------------------------------------------------


def test_a_loop_broadcasts_by_itself():
    graph = graph_of(lambda x, b: x * b.broadcast_to(3, 4) + (-b).broadcast_to(3, 4), f8(3, 4), f8(4))

    assert kinds(narrow(graph)) == ["Mul", "Neg", "Add"]


def test_what_is_made_of_broadcasts_alone_is_computed_before_they_are_broadcast():
    after = narrow(graph_of(lambda x, b: x + -b.broadcast_to(3, 4) * 2, f8(3, 4), f8(4)))

    assert [n.spec.shape for n in after.nodes if n.inputs] == [(4,), (4,), (3, 4)]


def test_the_gradient_of_a_mean_is_a_number_until_something_is_as_large():
    graph = optimised(with_gradients(lambda x: (x * x).mean(), f8(3, 4)), (narrow, fold, simplify, share))

    assert [n.spec.shape for n in graph.nodes if n.inputs] == [(3, 4), (), (3, 4), (3, 4)]


def test_a_transpose_goes_past_elementwise_ops_until_it_meets_its_like():
    graph = graph_of(lambda x: (x.mT * 2).exp().mT, f8(3, 4))

    assert kinds(simplify(transposes(graph))) == ["Mul", "Exp"]


def test_a_layer_reads_its_weights_the_other_way_round():
    after = transposes(graph_of(lambda x, w: x.apply(ops.Affine(), w.mT), f8(3, 4), f8(5, 4)))

    assert [n.op for n in after.nodes if n.inputs] == [ops.Affine(True)]


def test_the_gradient_of_a_layers_weights_comes_as_they_are_kept():
    graph = with_gradients(lambda w, x: (x @ w.mT).tanh().sum(), f8(5, 4), f8(3, 4))
    graph = Graph(graph.inputs, graph.outputs[1:2])
    arrays = np.ones((5, 4)), X

    after = transposes(graph, FAST_TRANSPOSES)

    assert after.outputs[0].op == ops.MatMul()
    np.testing.assert_allclose(interpret(after, *arrays)[0], interpret(graph, *arrays)[0])
    assert interpret(after, *arrays)[0].flags.c_contiguous


# -- what is not needed -------------------------------------------------------------------------------------


def test_only_wanted_results_are_computed():
    graph = graph_of(lambda x: (x.exp(), x.tanh()), f8(3))
    wanted = graph.with_outputs((None, graph.outputs[1]))

    assert kinds(wanted) == ["Tanh"]
    assert interpret(wanted, np.zeros(3))[0] is None


def test_nothing_waits_for_what_has_no_effect():
    graph = graph_of(lambda x: x.apply(ops.ControlDep(), x.exp(), x.apply(Noise()) * 2), f8(3))

    assert kinds(dce(graph)) == ["Noise", "Mul", "ControlDep"]
    assert kinds(dce(graph_of(lambda x: (x * 2).apply(ops.ControlDep(), x.exp()), f8(3)))) == ["Mul"]


# -- memory -------------------------------------------------------------------------------------------------


def peak_by_hand(graph):
    """Most bytes alive, by looking at every moment at every array: quadratic, and plain."""
    nodes, most = graph.nodes, 0
    home = liveness.memory_of(nodes)
    for now in range(len(nodes)):
        made = {home[n] for n in nodes[: now + 1] if n.inputs}
        read = {home[x] for n in nodes[now:] for x in n.inputs} | {home[y] for y in graph.outputs} | {home[nodes[now]]}
        most = max(most, sum(n.spec.nbytes for n in made & read if n.inputs))
    return most


def layers(depth=6, width=16):
    def f(x, *weights):
        for w in weights:
            x = (x @ w).silu() * 2
        return (x * x).mean()

    return with_gradients(f, f8(64, width), *[f8(width, width)] * depth)


@pytest.mark.parametrize("graph", [layers(), layers(2), graph_of(lambda x: x.exp().reshape(12) * 2, f8(3, 4))])
def test_peak_bytes_are_those_of_looking_at_every_moment(graph):
    assert liveness.peak_bytes(graph) == peak_by_hand(graph)


def test_bytes_moved_are_read_and_written_once_by_each_op():
    graph = graph_of(lambda x, b: x.mT.exp() + b.broadcast_to(4, 3), f8(3, 4), f8(3))

    assert liveness.bytes_moved(graph) == 8 * ((12 + 12) + (12 + 3 + 12))


def test_another_order_needs_less_memory_and_computes_the_same():
    graph = with_gradients(lambda x, w: ((x @ w).exp() @ w).exp().sum(), f8(64, 16), f8(16, 16))
    after = verify(liveness.ordered(graph), graph)

    assert liveness.peak_bytes(after) < liveness.peak_bytes(graph)
    assert liveness.peak_bytes(after) == peak_by_hand(after)
    place = {node: i for i, node in enumerate(after.nodes)}
    assert all(place[x] < place[node] for node in after.nodes for x in node.inputs)


def test_an_ordered_graph_with_other_outputs_runs_what_they_need_and_what_is_new_last():
    graph = liveness.ordered(graph_of(lambda x: x.exp() + x.tanh(), f8(3)))
    way = liveness.Ordered(graph.inputs, graph.outputs, tuple(graph.nodes))
    exp, dropped = way.outputs[0].inputs
    copy = Node(ops.Clone(), (exp,))
    again = Node(ops.Clone(), (copy,))

    after = way.with_outputs((again, None, copy))

    assert after.nodes == [*way.inputs, exp, copy, again]
    assert dropped not in after.nodes
    assert liveness.peak_bytes(after) == 2 * exp.spec.nbytes
    for y in interpret(after, np.arange(3.0))[::2]:
        np.testing.assert_array_equal(y, np.exp(np.arange(3.0)))


def gated(depth=4):
    def f(x, w):
        for _ in range(depth):
            x = (x * (x * 0.5).sigmoid()) @ w
        return (x * x).sum()

    return share(simplify(with_gradients(f, f8(64, 16), f8(16, 16))))


def test_the_gates_of_a_network_are_made_again_on_the_way_back():
    graph = gated()
    after = verify(remat(graph, share=1.0, least=0), graph)

    assert liveness.peak_bytes(liveness.ordered(after)) < liveness.peak_bytes(liveness.ordered(graph))
    assert kinds(after).count("Sigmoid") > kinds(graph).count("Sigmoid")
    assert flops(graph) < flops(after) <= 2 * flops(graph)
    assert remat(graph, share=0) is graph


def test_nothing_is_made_again_that_lowers_no_peak():
    graph = share(graph_of(lambda x: x.exp() + x.exp().tanh(), f8(3)))

    assert remat(graph) is graph


# -- names ----------------------------------------------------------------------------------------------------


def test_a_name_and_the_users_line_survive_every_pass():
    x = placeholder("x", f8(3))
    place = Place("model.py", 7, "forward")
    y = NamedNode(ops.Neg(), (Node(ops.Neg(), (Node(ops.Exp(), (x.node,)),)),), f8(3), "loss", place)
    half = NamedNode(ops.Div(), (y, Node(ops.const(2.0), (), f8())), f8(3), "half", place)

    after = optimised(Graph((x.node,), (half,)))

    (result,) = after.outputs
    assert (result.name, result.place) == ("half", place)
    inside = result.op.body.outputs[0]
    assert (inside.name, inside.place) == ("half", place)


# -- the pipeline -----------------------------------------------------------------------------------------------


def test_steps_print_as_a_table_of_what_each_pass_changed():
    way = steps(layers(2), measure=lambda graph: 0.0015)

    assert [step.name for step in way] == ["as written", *map(name_of, STANDARD)]
    assert way[-1].nodes < way[0].nodes
    assert way[-1].bytes_moved < way[0].bytes_moved
    assert way[-1].peak_bytes < way[0].peak_bytes
    assert "1.500" in repr(way)
    assert "nothing to change for dce," in repr(way)
    assert not any(line.startswith("dce") for line in repr(way).splitlines())
    assert all(len(line) <= 80 for line in repr(way).splitlines())


def test_fast_runs_no_more_than_standard():
    graph = layers(3)
    fast, standard = (optimised(graph, passes) for passes in (FAST, STANDARD))

    computing = [sum(bool(n.inputs) and not n.op.is_view for n in graph.nodes) for graph in (fast, standard)]
    assert computing[0] <= computing[1] + 1  # a mean of squares is a product, and a division


# -- growth -------------------------------------------------------------------------------------------------------


def chain(n):
    return graph_of(lambda x: [x := (x * 1.5).tanh() for _ in range(n // 2)][-1], f8(8))


def wide(n):
    return graph_of(lambda x: tuple((x * float(i)).exp() for i in range(n // 2)), f8(8))


def diamonds(n):
    return graph_of(lambda x: [x := x.tanh() + x.exp() for _ in range(n // 3)][-1], f8(8))


@pytest.mark.share(8)
@pytest.mark.parametrize("shape", [chain, wide, diamonds])
@pytest.mark.parametrize("one", STANDARD, ids=name_of)
def test_a_pass_over_ten_times_the_nodes_is_ten_times_the_work(one, shape):
    """Work is counted in Python calls, which no other process disturbs."""
    small, large = work(one, shape(500)), work(one, shape(5_000))

    assert large < 14 * small


def work(one, graph):
    nodes, after = graph.nodes, []
    count = count_calls(lambda: after.append(one(graph)), of=("call", "c_call"))
    assert len(after[0].nodes) <= len(nodes)
    return count


@pytest.mark.night
@pytest.mark.parametrize("shape", [chain, wide, diamonds])
def test_50_000_nodes_go_through_the_pipeline(shape):
    graph = shape(50_000)

    assert len(optimised(graph).nodes) < len(graph.nodes)
