"""mg.func: functions to functions. Against finite differences, against each other, and inside each other."""

from collections import namedtuple
from itertools import product

import numpy as np
import pytest

import minigrad as mg
from minigrad import func
from minigrad.engine.base import errors
from minigrad.engine.core.node import history
from tests.autograd.test_forward_mode import moved
from tests.support.table import mistakes, table

UNITS = mg.eye(3)
Pair = namedtuple("Pair", "x w")


def vector(*numbers):
    return mg.tensor(list(numbers) or [0.5, -1.0, 1.5])


def near(found, expected, rtol=1e-7):
    np.testing.assert_allclose(found.numpy(), expected.numpy() if hasattr(expected, "numpy") else expected, rtol, 1e-9)


def number(x):
    """A number of a vector, whose second derivatives are not diagonal."""
    return (x.sin() * x.exp()).sum() * x[0]


def curve(x):
    """A vector of a vector, of another length."""
    return mg.stack([x.prod(), x.exp().sum(), x[0] * x[1], (x**3).sum()])


# -- values ----------------------------------------------------------------------------------------


def test_grad_is_the_slope_in_every_direction():
    x = vector()
    for i in range(3):
        assert func.grad(number)(x)[i].item() == pytest.approx(moved(number, [x], [UNITS[i]]), rel=1e-7)


def test_value_and_grad_runs_the_function_once():
    calls = []
    value, g = func.value_and_grad(lambda x: calls.append(1) or number(x))(vector())

    assert len(calls) == 1
    near(value, number(vector()))
    near(g, func.grad(number)(vector()))


def test_jvp_is_the_slope_and_vjp_its_transpose():
    x, dx, gy = vector(), vector(1.0, -2.0, 0.5), vector(1.0, 2.0, 3.0, 4.0)
    y, dy = func.jvp(curve, (x,), (dx,))
    z, pull = func.vjp(curve, x)
    (gx,) = pull(gy)

    near(y, curve(x))
    near(z, curve(x))
    near(dy, moved(curve, [x], [dx]), 1e-6)
    assert (gy * dy).sum().item() == pytest.approx((gx * dx).sum().item(), rel=1e-12)


def test_a_pullback_may_be_called_again():
    _, pull = func.vjp(curve, vector())
    gy = vector(1.0, 2.0, 3.0, 4.0)

    near(pull(gy)[0], pull(gy)[0])


def test_jacobians_by_rows_and_by_columns_are_one():
    x = vector()
    J = func.jacrev(curve)(x)

    assert J.shape == (4, 3)
    near(J, func.jacfwd(curve)(x), 1e-12)
    for i in range(3):
        near(J.select(1, i), moved(curve, [x], [UNITS[i]]), 1e-6)


@table("derivative", [
    lambda f, x: func.jacrev(f)(x), lambda f, x: func.jacfwd(f)(x), lambda f, x: func.hessian(lambda x: f(x).sum())(x),
    mg.autograd.functional.jacobian, lambda f, x: mg.autograd.functional.hessian(lambda x: f(x).sum(), x),
])  # fmt: skip
def test_a_jacobian_runs_the_function_once(derivative):
    """By columns it was once for each input, and there were as many backward passes as rows."""
    runs = []
    derivative(lambda x: runs.append(x) or curve(x), vector())

    assert len(runs) == 1


@table("shape, out", [((), ()), ((2,), ()), ((2, 3), (3, 2)), ((0,), ()), ((2, 0), (0, 2)), ((1,), (1, 1))])
def test_a_jacobian_has_the_shape_of_the_output_and_then_of_the_input(shape, out):
    def f(x):
        return x.sum() if out == () else x.reshape(out).sin()

    x = mg.tensor(np.ones(shape))
    for J in (func.jacrev(f)(x), func.jacfwd(f)(x)):
        assert J.shape == out + shape


def test_the_hessian_is_symmetric_and_the_slope_of_the_gradient():
    x = vector()
    curvature = func.hessian(number)(x)

    near(curvature, curvature.t(), 1e-12)
    for i in range(3):
        near(curvature[i], moved(func.grad(number), [x], [UNITS[i]]), 1e-6)
    for outer, inner in ((func.jacrev, func.jacrev), (func.jacfwd, func.jacfwd), (func.jacrev, func.jacfwd)):
        near(outer(inner(number))(x), curvature, 1e-10)


def test_linearize_is_jvp_and_runs_the_function_once():
    calls, x = [], vector()
    y, push = func.linearize(lambda x: calls.append(1) or curve(x), x)
    for dx in (vector(1.0, 0.0, 0.0), vector(1.0, -2.0, 0.5)):
        near(push(dx), func.jvp(curve, (x,), (dx,))[1], 1e-12)

    near(y, curve(x))
    assert len(calls) == 1


def test_linearize_of_what_does_not_depend_on_an_argument():
    """A constant was no place where a gradient could begin, and it broke there."""
    for f in (lambda x, w: w * w, lambda x, w: vector(1.0, 1.0)):
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        _, push = func.linearize(f, x, w)
        near(push(x, w), func.jvp(f, (x, w), (x, w))[1])


def test_a_linear_map_can_be_differentiated():
    """J dx of linearize was cut off from dx: its gradient was zero, without a word."""
    x, gy = vector(), vector(1.0, 2.0, 3.0, 4.0)
    _, push = func.linearize(curve, x)

    near(func.grad(lambda dx: (push(dx) * gy).sum())(vector()), func.vjp(curve, x)[1](gy)[0], 1e-12)


def test_vmap_is_a_loop_and_a_stack():
    rows, shared = mg.tensor(np.arange(6.0).reshape(2, 3)), vector()
    f = lambda x, w: (x * w, x.sum())  # noqa: E731
    y, total = func.vmap(f, in_dims=(0, None), out_dims=(1, 0))(rows, shared)

    near(y, (rows * shared).t())
    near(total, rows.sum(1))
    near(func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(rows), rows * 2)
    near(func.vmap(lambda pair: pair["x"] * pair["w"])({"x": rows, "w": rows}), rows * rows)
    near(func.vmap(func.grad(number))(rows)[1], func.grad(number)(rows[1]))


# -- arguments of any structure --------------------------------------------------------------------


def test_argnums_choose_arguments_also_from_the_right():
    """A negative position was looked up from the right and replaced from the left: the gradient was zero."""
    x, w = vector(1.0, 2.0), vector(3.0, 4.0)
    f = lambda x, w: (x * w).sum()  # noqa: E731

    near(func.grad(f)(x, w), w)
    near(func.grad(f, argnums=1)(x, w), x)
    near(func.grad(f, argnums=-1)(x, w), x)
    for g, expected in zip(func.grad(f, argnums=(1, 0))(x, w), (x, w)):
        near(g, expected)
    with pytest.raises(errors.ShapeError, match=r"argnums=2.*only 2"):
        func.grad(f, argnums=2)(x, w)


def test_gradients_have_the_structure_of_the_argument():
    given = {"a": vector(1.0), "rest": [vector(2.0), (vector(3.0), Pair(vector(4.0), vector(5.0)))]}

    def f(tree, scale):
        a, (b, (c, pair)) = tree["a"], tree["rest"]
        return (a * b * c * pair.x * pair.w * scale).sum()

    g = func.grad(f)(given, 10.0)
    assert g["a"].item() == 1200
    assert g["rest"][1][1].w.item() == 240
    assert isinstance(g["rest"][1][1], Pair)
    assert isinstance(g["rest"], list)


def test_tangents_are_matched_by_name_and_not_by_the_order_of_writing():
    """Two dictionaries were matched by the order in which they had been written down."""
    x = {"a": vector(1.0), "b": vector(2.0)}
    dx = {"b": vector(10.0), "a": vector(1.0)}
    f = lambda x: {"y": x["a"] * 3 + x["b"] * 5}  # noqa: E731

    assert func.jvp(f, (x,), (dx,))[1]["y"].item() == 53
    assert func.linearize(f, x)[1](dx)["y"].item() == 53
    for wrong in ({"a": vector(1.0)}, [vector(1.0), vector(1.0)], vector(1.0)):
        with pytest.raises(errors.ShapeError, match=r"structure of.*'a': ·, 'b': ·"):
            func.jvp(f, (x,), (wrong,))


def test_jacobians_of_several_outputs_by_several_arguments():
    x, w = vector(1.0, 2.0), vector(3.0)

    def f(x, w):
        return {"y": x * w, "z": x.sum()}

    for jacobian in (func.jacrev, func.jacfwd):
        J = jacobian(f, argnums=(0, 1))(x, w)
        near(J["y"][0], np.diag([3.0, 3.0]))
        near(J["y"][1], [[1.0], [2.0]])
        near(J["z"][0], [1.0, 1.0])
        near(J["z"][1], [0.0])
    blocks = func.hessian(lambda x, w: (x * x * w).sum(), argnums=(0, 1))(x, w)
    near(blocks[0][0], np.diag([6.0, 6.0]))
    near(blocks[0][1], [[2.0], [4.0]])
    near(blocks[1][0], [[2.0, 4.0]])


def test_what_else_a_function_gives_comes_along_without_history():
    f = lambda x: ((x * x).sum(), {"double": x * 2, "word": "hello"})  # noqa: E731
    x = vector(1.0, 2.0)
    g, aux = func.grad(f, has_aux=True)(x)
    (value, aux2), g2 = func.value_and_grad(f, has_aux=True)(x)
    J, aux3 = func.jacrev(f, has_aux=True)(x)
    K, aux4 = func.jacfwd(f, has_aux=True)(x)
    _, pull, aux5 = func.vjp(f, x, has_aux=True)
    _, dy, aux6 = func.jvp(f, (x,), (x,), has_aux=True)

    assert value.item() == 5
    assert dy.item() == 10
    for each in (g, g2, J, K, pull(1.0)[0]):
        near(each, [2.0, 4.0])
    for each in (aux, aux2, aux3, aux4, aux5, aux6):
        assert each["double"].tolist() == [2, 4]
        assert each["word"] == "hello"
        assert not each["double"].requires_grad


def test_keywords_are_passed_on_and_numbers_and_arrays_are_made_tensors():
    for transform in (func.grad, func.jacrev, func.jacfwd):
        assert transform(lambda x, *, scale: x * scale)(2.0, scale=3.0).item() == 3
    assert func.grad(lambda xs: xs[0] * xs[1])([2.0, 5.0])[0].item() == 5
    assert func.grad(lambda x: (x * x).sum())(np.array([2.0, 5.0])).tolist() == [4, 10]


def test_the_transform_has_the_name_of_the_function():
    for transform in (func.grad, func.value_and_grad, func.jacrev, func.jacfwd, func.vmap, func.hessian):
        assert transform(number).__name__ == "number"


def test_a_function_that_gives_back_its_argument():
    x = vector(1.0, 2.0)
    y, pull = func.vjp(lambda x: x, x)

    near(y, x)
    near(pull(vector(5.0, 6.0))[0], [5.0, 6.0])
    near(func.jacrev(lambda x: x)(x), np.eye(2))
    near(func.jacfwd(lambda x: x)(x), np.eye(2))
    assert func.grad(lambda x: x)(3.0).item() == 1


def test_a_function_of_nothing_that_was_given_has_zeros_for_gradients():
    assert func.grad(lambda x: mg.tensor(3.0))(vector()).tolist() == [0, 0, 0]
    assert func.jacrev(lambda x: vector(1.0, 2.0))(vector()).tolist() == [[0] * 3] * 2
    assert func.jacfwd(lambda x: vector(1.0, 2.0))(vector()).tolist() == [[0] * 3] * 2


# -- inside each other -----------------------------------------------------------------------------


def test_gradients_nest_to_any_order():
    f = lambda x: x**5  # noqa: E731
    for expected in (5 * 16, 20 * 8, 60 * 4, 120 * 2, 120):
        f = func.grad(f)
        assert f(mg.tensor(2.0)).item() == expected


def test_perturbations_are_not_confused():
    """d/dx (x · d/dy (x + y)) = 1; d/dx (x · d/dy (x y)) = 2x. (Siskind & Pearlmutter 2005.)"""
    x = mg.tensor(3.0)
    ways = (func.grad, func.jacrev, func.jacfwd, lambda f: lambda x: func.jvp(f, (x,), (mg.tensor(1.0),))[1])
    for outer, inner in product(ways, ways):
        plus = outer(lambda x, inner=inner: x * inner(lambda y: x + y)(mg.tensor(1.0)))
        times = outer(lambda x, inner=inner: x * inner(lambda y: x * y)(x))
        assert plus(x).item() == 1
        assert times(x).item() == 6


def test_the_older_spelling_nests_inside_the_newer():
    """What autograd.functional differentiated was cut off from what moved around it: the outer derivative was zero."""
    F, x = mg.autograd.functional, vector(1.0, 2.0)
    f = lambda y: (y**3).sum()  # noqa: E731

    ways = (lambda x: F.vjp(f, x)[1], lambda x: F.jacobian(f, x), lambda x: F.hvp(f, x, x / 2)[1])
    for inner in ways:
        near(func.jvp(inner, (x,), (vector(1.0, 0.0),))[1], [6.0, 0.0], 1e-10)


def test_results_can_be_differentiated_from_outside():
    w = mg.tensor([2.0, 3.0], requires_grad=True)
    f = lambda x: (w * x**3).sum()  # noqa: E731
    x = vector(1.0, 2.0)

    for derivative in (func.grad(f)(x), func.jacrev(f)(x), func.jacfwd(f)(x), func.vjp(f, x)[1](1.0)[0]):
        (g,) = mg.grad(derivative.sum(), w)
        assert g.tolist() == [3, 12]
    (g,) = mg.grad(func.jvp(f, (x,), (x,))[1], w)
    assert g.tolist() == [3, 24]


def test_a_tracked_argument_keeps_its_connection():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    (g,) = mg.grad(func.grad(lambda x: (x**3).sum())(x).sum(), x)

    assert g.tolist() == [6, 12]


def test_results_carry_no_history_that_nobody_can_ask_for():
    x = vector()
    y, pull = func.vjp(curve, x)
    derivatives = [transform(number)(x) for transform in (func.grad, func.hessian, func.jacrev, func.jacfwd)]
    for each in (*derivatives, y, pull(y)[0], func.linearize(curve, x)[0], *func.jvp(curve, (x,), (x,))):
        assert not each.requires_grad
        assert each.grad_fn is None
        assert each.node is None or history(each.node) == []


@pytest.mark.parametrize("mode", [mg.no_grad, mg.inference_mode])
def test_they_work_where_nothing_is_recorded_and_give_what_is_not_recorded(mode):
    x = mg.tensor([0.5, -1.0, 1.5], requires_grad=True)
    with mode():
        found = [
            func.grad(number)(x), func.grad(lambda x: func.grad(number)(x).sum())(x), func.hessian(number)(x),
            func.jacrev(curve)(x), func.jacfwd(curve)(x), func.vjp(number, x)[1](1.0)[0],
            func.jvp(curve, (x,), (x,))[1], func.linearize(curve, x)[1](x),
        ]  # fmt: skip
        assert not any(each.requires_grad for each in found)
    x = vector()
    near(found[0], func.grad(number)(x))
    near(found[2], func.hessian(number)(x))
    near(found[7], func.jvp(curve, (x,), (x,))[1], 1e-12)


def test_no_grad_inside_the_function_holds():
    def f(x):
        with mg.no_grad():
            c = x * 10
        return (c * x).sum()

    assert func.grad(f)(vector(1.0, 2.0)).tolist() == [10, 20]


def test_grad_of_the_arguments_is_left_alone():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    func.grad(lambda x: (x * x).sum())(x)
    func.hessian(lambda x: (x**3).sum())(x)

    assert x.grad is None
    assert x.is_leaf


def test_edits_in_place_inside_the_function():
    def f(x):
        y = x * 1
        y[1:].mul_(x[0])
        return y.prod()

    x = vector(2.0, 3.0, 5.0)
    near(func.grad(f)(x), slope_of_product(x))
    near(func.jacfwd(f)(x), slope_of_product(x))
    near(func.hessian(f)(x), func.jacrev(func.grad(f))(x))


def slope_of_product(x):
    """∇ x₀ · x₁ x₀ · x₂ x₀"""
    a, b, c = x.tolist()
    return np.array([3 * a * a * b * c, a**3 * c, a**3 * b])


# -- mistakes --------------------------------------------------------------------------------------


MISTAKES = {
    "a gradient of many": (lambda: func.grad(curve)(vector()), errors.NoGradientError, "jacrev"),
    "a gradient of no tensor": (lambda: func.grad(lambda x: 3.0)(vector()), errors.NoGradientError, "returned 3.0"),
    "a gradient by integers": (lambda: func.grad(lambda x: x.sum())(mg.tensor([1, 2])), errors.DTypeError, "nudge"),
    "a tangent of integers": (
        lambda: func.jvp(lambda x: x, (mg.tensor([1]),), (mg.tensor([1]),)), errors.DTypeError, "floating"),
    "a tangent of another shape": (
        lambda: func.jvp(curve, (vector(),), (vector(1.0),)), errors.ShapeError, r"f64\[3\].*f64\[1\]"),
    "a tangent too few": (lambda: func.jvp(curve, (vector(),), ()), errors.ShapeError, "structure"),
    "a gradient too many": (
        lambda: func.vjp(curve, vector())[1]((vector(1.0), vector(1.0))), errors.ShapeError, "structure"),
    "axes of two lengths": (
        lambda: func.vmap(lambda x, y: x)(vector(1.0), vector(1.0, 2.0)), errors.ShapeError, r"lengths \[1, 2\]"),
    "no axis at all": (lambda: func.vmap(lambda x: x, in_dims=None)(vector()), errors.ShapeError, "lengths"),
    "an axis too many": (
        lambda: func.vmap(lambda x: x, in_dims=(0, 0))(vector()), errors.ShapeError, "each of 1 arguments"),
}  # fmt: skip


test_a_clear_sentence_answers = mistakes(MISTAKES)
