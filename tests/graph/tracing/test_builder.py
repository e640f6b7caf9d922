"""A graph being built: ops are written down, tensors with values take part by reference."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError, GraphError, NoGradientError, NoValueError, ShapeError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.interpret import interpret
from minigrad.engine.core.op import Linear
from minigrad.tracing.builder import GraphBuilder

F = mg.nn.functional
X = Spec((3,), "f8")


def run(builder, outputs, *arrays):
    captured = [c.what.value for c in builder.captured.values()]
    return interpret(builder.finish_graph(outputs), *arrays, *captured)


def test_ops_on_tensors_with_values_are_written_down_too():
    w = mg.tensor([1.0, 2.0, 3.0])
    with GraphBuilder().building() as builder:
        y = w * 2 + w

    (before,) = run(builder, [y])
    w.fill_(1.0)
    (after,) = run(builder, [y])

    assert before.tolist() == [3, 6, 9]
    assert after.tolist() == [3, 3, 3], "a captured tensor is read when the graph runs"
    assert isinstance(w * 2, mg.Tensor), "outside the block ops run again"


def test_nodes_have_names_of_their_own_and_know_the_line_that_built_them():
    with GraphBuilder().building() as builder:
        x = builder.argument("x", X)
        y = (x * x).exp() * x

    assert [n.name for n in builder.finish_graph([y]).nodes] == ["x", "Mul", "Exp", "Mul_1"]
    assert y.node.place.file == __file__
    assert y.node.place.function == "test_nodes_have_names_of_their_own_and_know_the_line_that_built_them"


def test_a_whole_training_step_in_pytorchs_words_is_one_graph():
    rng = np.random.default_rng(0)
    x, t = mg.tensor(rng.normal(size=(5, 3))), mg.tensor([0, 1, 1, 0, 1])

    def step(net, x, t):
        for p in net.parameters():
            p.grad = None
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        with mg.no_grad():
            for p in net.parameters():
                p.sub_(0.1 * p.grad)
        return loss

    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.Tanh(), mg.nn.Linear(4, 2))
    start = [p.numpy().copy() for p in net.parameters()]
    with GraphBuilder().building() as builder:
        loss = step(net, builder.argument("x", x.spec), builder.argument("t", t.spec))
    got = run(builder, [loss, *(c.symbol for c in builder.edited.values())], x.numpy(), t.numpy())

    assert all(np.array_equal(p.numpy(), old) for p, old in zip(net.parameters(), start)), "building runs nothing"
    assert all(p.grad is None for p in net.parameters())

    assert np.array_equal(got[0], step(net, x, t).numpy())
    for p, new in zip(net.parameters(), got[1:], strict=True):
        assert np.array_equal(p.numpy(), new)


def test_an_edit_is_a_new_value_for_whoever_reads_after_it():
    b = mg.tensor([1.0, 2.0, 3.0])
    with GraphBuilder().building() as builder:
        x = builder.argument("x", X)
        before = x * b
        b.mul_(10)
        b[0] = 0.0
        after = x * b
        x += 1

    got = run(builder, [before, after, x, *(c.symbol for c in builder.edited.values())], np.ones(3))
    assert [g.tolist() for g in got] == [[1, 2, 3], [0, 20, 30], [2, 2, 2], [0, 20, 30]]
    assert b.numpy().tolist() == [1, 2, 3]


def test_an_edit_keeps_the_shape_and_needs_memory_for_each_element():
    with GraphBuilder().building() as builder:
        x = builder.argument("x", X)
        with pytest.raises(EditedError, match="several of its elements share memory"):
            x.broadcast_to(2, *x.shape).add_(1)
        with pytest.raises(ShapeError, match="its shape stays"):
            x.add_(np.ones((2, 3)))


def test_gradients_are_more_nodes_of_the_same_graph_and_differentiable_again():
    with GraphBuilder().building() as builder:
        x, z = builder.argument("x", X), builder.argument("z", X)
        (g, none) = builder.gradients([x.tanh() * x], [x, z])
        (h,) = builder.gradients([g], [x])

    a = np.array([0.1, -0.4, 1.0])
    got = run(builder, [g, h], a, a)
    e = mg.tensor(a, requires_grad=True)
    (eg,) = mg.autograd.grad((e.tanh() * e).sum(), [e], create_graph=True)
    (eh,) = mg.autograd.grad(eg.sum(), [e])

    assert none is None
    np.testing.assert_allclose(got[0], eg.numpy(), rtol=1e-15)
    np.testing.assert_allclose(got[1], eh.numpy(), rtol=1e-14)


def test_no_gradient_passes_what_was_detached():
    with GraphBuilder().building() as builder:
        x = builder.argument("x", X)
        (g,) = builder.gradients([x * x.detach()], [x])

    assert run(builder, [g], np.array([1.0, 2, 3]))[0].tolist() == [1, 2, 3]


def test_a_tensor_of_another_graph_is_refused_by_name_and_line():
    one, other = GraphBuilder(), GraphBuilder()
    x = one.argument("mine", X)
    with other.building(), pytest.raises(GraphError, match=r"mine.*test_builder.py:\d+.*belongs to another graph"):
        x + 1


def test_a_stage_inside_captures_from_the_one_around_it():
    with GraphBuilder().building() as outer:
        x = outer.argument("x", X)
        with GraphBuilder(outer).building() as inner:
            y = x * 2
        with pytest.raises(GraphError, match="belongs to another graph"):
            y + 1

    assert [c.what for c in inner.captured.values()] == [x]


def test_a_symbol_has_no_value_and_says_so():
    x = GraphBuilder().argument("x", X)
    for asked in (x.numpy, x.item, lambda: bool(x), lambda: float(x.sum())):
        with pytest.raises(NoValueError, match="has no value"):
            asked()
    with pytest.raises(GraphError, match=r"with graph\.as_default"):
        mg.tensor([1.0, 2.0, 3.0]) * x


def test_backward_onto_a_gradient_from_before_the_graph_is_refused():
    w = mg.tensor([1.0], requires_grad=True)
    (w * w).sum().backward()
    with GraphBuilder().building(), pytest.raises(NoGradientError, match="begin with zero_grad"):
        (w * 3).sum().backward()
    assert w.grad.numpy().tolist() == [2]


def product(A, adjoint):
    """An op: y = A x."""

    class Product(Linear):
        def infer(self, x):
            return x

        def forward(self, xp, x):
            return xp.asarray(A) @ x

        def adjoint(self, gy, x):
            return adjoint(A, gy)

    return Product()


@pytest.mark.parametrize("adjoint", [lambda A, gy: mg.tensor(A.T) @ gy, lambda A, gy: gy @ mg.tensor(A), lambda A, gy:
                                     (mg.tensor(A) * gy.reshape(3, 1)).sum(0)])  # fmt: skip
def test_a_rule_may_have_a_matrix_of_its_own(adjoint):
    """It was refused: a symbol, it said, works with symbols and numbers."""
    A = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0], [3.0, 1.0, 1.0]])

    op = product(A, adjoint)
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    mg.laws.check(op, (3,))
    (g,) = mg.grad((x.apply(op) ** 2).sum(), x, create_graph=True)
    (h,) = mg.grad(g.sum(), x)

    np.testing.assert_allclose(g.detach().numpy(), 2 * A.T @ A @ x.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(h.numpy(), (2 * A.T @ A).sum(0), rtol=1e-12)


def test_a_matrix_of_a_rules_own_is_read_at_each_call():
    """A rule that was compiled once went on with the matrix of the first call, without a word."""
    A = np.eye(3)

    x, op = mg.tensor([1.0, 2.0, 3.0], requires_grad=True), product(A, lambda A, gy: mg.tensor(A.T) @ gy)
    found = []
    for _ in range(2):
        found.append(mg.grad(x.apply(op).sum(), x)[0].tolist())
        A *= 10

    assert found == [[1, 1, 1], [10, 10, 10]]
