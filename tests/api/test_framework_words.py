"""Words of TensorFlow, JAX and PyTorch for what is here under another name, or is not here and says what to write."""

import functools

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd.function import once_differentiable
from minigrad.engine.base.errors import GraphError, NoGradientError, ShapeError

x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
m = mg.tensor(np.arange(6.0).reshape(2, 3))
WAYS = {"by run": lambda f: f, "traced": mg.function, "jit": mg.jit}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


# -- JAX -----------------------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize(
    "index", [0, (1, 2), slice(1, None), (slice(None), [0, 0]), (..., -1), ([0, 0, 1], [2, 2, 0])], ids=repr
)
def test_places_are_set_and_added_to_in_a_new_tensor(way, index):
    """Of a tensor `x.at` was an AttributeError; of a symbol a method of the engine's, which no index fits."""
    set_, added, got = way(lambda m: (m.at[index].set(9.0), m.at[index].add(1.0), m.at[index].get()))(m)
    expected_set, expected_added = m.numpy().copy(), m.numpy().copy()
    expected_set[index] = 9
    np.add.at(expected_added, index, 1)

    np.testing.assert_array_equal(set_, expected_set)
    np.testing.assert_array_equal(added, expected_added)
    np.testing.assert_array_equal(got, m.numpy()[index])
    np.testing.assert_array_equal(m.numpy().ravel(), range(6))


def test_gradients_pass_places_that_are_set_and_other_words_are_refused_by_name():
    assert mg.grad((x.at[0].set(5.0) * x).sum(), x)[0].tolist() == [5, 4, 6]
    with pytest.raises(AttributeError, match=r"get, set and add, but no multiply: use x.at\[i\].set"):
        x.at[0].multiply(2.0)


def test_a_function_is_mapped_over_trees_of_one_structure():
    tree, other = {"w": [1, (2,)], "b": 3}, {"w": [10, (20,)], "b": 30}

    assert mg.func.tree_map(lambda a, b: a + b, tree, other) == {"w": [11, (22,)], "b": 33}
    with pytest.raises(ShapeError):
        mg.func.tree_map(lambda a, b: a, tree, {"w": 1})


def test_the_program_of_a_function_is_printed():
    lines = mg.make_jaxpr(lambda x, k: ((x * k).sin(), x.sum()))(x, 2.0).splitlines()

    assert [line.partition(" = ")[0] for line in lines[:-1]] == ["x", "k", "Mul", "Sin", "Sum"]
    assert lines[2:] == ["Mul = Mul(x, k)  # f64[3]", "Sin = Sin(Mul)  # f64[3]", lines[4], "return Sin, Sum"]


# -- TensorFlow ----------------------------------------------------------------------------------------


def test_a_concrete_function_is_traced_once_for_tensors_of_its_specs():
    f = mg.function(lambda x, y: (x * y).sum())
    for concrete in (f.get_concrete_function(mg.TensorSpec((None,)), mg.TensorSpec((None,))),
                     f.get_concrete_function(m[0], m[0].numpy())):  # fmt: skip
        assert [node.op.kind for node in concrete.graph.nodes if node.inputs] == ["Mul", "Sum"]
        assert concrete(m[0], m[0]) == 5
        assert concrete(m[1], m[1].numpy()) == 50
        assert (concrete.trace_count, f.trace_count) == (1, 0)
    with pytest.raises(ShapeError):
        concrete(m, m[0])
    with pytest.raises(GraphError, match="was not traced yet"):
        _ = f.graph


def generator(x):
    yield x


async def coroutine(x):
    return x


async def stream(x):
    yield x


@pytest.mark.parametrize("f", [generator, coroutine, stream, functools.partial(generator)])
@pytest.mark.parametrize("decorator", [mg.function, mg.jit])
def test_generators_and_async_functions_are_refused_at_decoration(decorator, f):
    """A generator was traced to a generator of symbols, which had no value when somebody asked it for one."""
    with pytest.raises(TypeError, match=r"is (a generator|async): trace what it calls at each step"):
        decorator(f)


# -- PyTorch -------------------------------------------------------------------------------------------


@ways
def test_gradients_of_a_batch_are_those_of_its_rows_stacked(way):
    def rows(x):
        y = x**3
        return mg.autograd.grad([y, y.sum()], x, [mg.eye(3), None], is_grads_batched=True, create_graph=True)[0]

    by_hand = np.diag(3 * x.numpy() ** 2) + 3 * x.numpy() ** 2

    np.testing.assert_allclose(way(rows)(x), by_hand)


class Square(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 2 * x * gy


@ways
def test_a_backward_may_be_differentiable_once(way):
    np.testing.assert_array_equal(mg.grad(way(Square.apply)(x).sum(), x)[0], [2, 4, 6])


class OfAnAttribute(Square):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, gy):
        return 2 * ctx.x * gy


@pytest.mark.parametrize("square", [Square, OfAnAttribute])
@pytest.mark.parametrize("loss", [lambda y: (y * x).sum(), lambda y: (y * y).sum(), lambda y: y.sum()])
def test_a_second_gradient_through_once_differentiable_is_refused_and_never_zero(square, loss):
    g, wanted = (mg.grad(loss(f(x)), x, create_graph=True)[0] for f in (square.apply, lambda x: x * x))

    np.testing.assert_array_equal(g.detach(), wanted.detach())
    with pytest.raises(NoGradientError, match="marked @once_differentiable"):
        mg.grad(g.sum() + x.sum(), x)


class Through(Square):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    @once_differentiable
    def backward(ctx, gy):
        return gy


def test_the_rest_of_a_graph_has_a_second_gradient():
    (g,) = mg.grad(Through.apply(x).sum() + (x**3).sum(), x, create_graph=True)

    np.testing.assert_array_equal(mg.grad(g.sum(), x)[0], 6 * x.detach())


def test_hooks_belong_to_tensors_that_have_values():
    leaf = (x * 2).grad_fn.next_functions[0][0]
    with pytest.raises(NoGradientError, match=r"AccumulateGrad belongs to a leaf .*register_post_accumulate_grad_hook"):
        leaf.register_hook(print)
    y = (x * 2).grad_fn
    for traced in (
        lambda x: (x * 2).register_hook(print), lambda _: x.register_hook(print), lambda _: y.register_hook(print),
        lambda _: y.register_prehook(print),
    ):  # fmt: skip
        with pytest.raises(GraphError, match="register the hook outside"):
            mg.function(traced)(x)


@pytest.mark.parametrize("asked", ["grad", "tape"])
def test_a_gradient_in_a_traced_function_passes_the_hooks_of_a_parameter(asked):
    """backward() heard them, and grad() and the tape did not: (2, 4) for (20, 40)."""
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda g: g * 10)

    def f():
        with mg.GradientTape() as tape:
            y = (w * w).sum()
        return mg.grad(y, w)[0] if asked == "grad" else tape.gradient(y, w)

    np.testing.assert_array_equal(f(), [20, 40])
    np.testing.assert_array_equal(mg.function(f)(), [20, 40])
