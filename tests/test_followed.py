"""Forward mode through branches and loops: op by op, against the same Python function and against backward."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import NoGradientError

X, DX = mg.tensor([1.0, 2.0]), mg.tensor([1.0, -0.5])


def branch(x):
    return mg.cond(x.sum() > 0, lambda: x.exp() + 1, lambda: x * 2)


def loop(x):
    return mg.while_loop(lambda y: y.sum() < 100, lambda y: y * y + 1, (x,))[0]


def no_turn(x):
    return mg.while_loop(lambda y: y.sum() < 0, lambda y: y * y, (x,))[0] * x


def rows(x):
    return mg.lax.scan(lambda c, a: (c * a + 1, c * a), x.sum(), x)[1]


def rows_backwards(x):
    return mg.lax.scan(lambda c, a: (c * a + 1, c * a), x.sum(), x, reverse=True)[1]


def nested(x):
    def turn(y):
        return mg.cond(y[0] > 3, lambda: y + x.sin(), lambda: loop(y) / 10)

    return mg.while_loop(lambda y: y.sum() < 40, turn, (x,))[0]


FUNCTIONS = [branch, loop, no_turn, rows, rows_backwards, nested]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_tangents_through_control_flow_are_those_of_the_python_function(f):
    y, dy = mg.func.jvp(mg.function(f), (X,), (DX,))
    z, dz = mg.func.jvp(f, (X,), (DX,))

    np.testing.assert_array_equal(y.numpy(), z.numpy())
    np.testing.assert_array_equal(dy.numpy(), dz.numpy())


@pytest.mark.parametrize("f", FUNCTIONS)
def test_forwards_and_backwards_make_one_jacobian(f):
    traced = mg.function(f)
    forwards, backwards = mg.func.jacfwd(traced)(X), mg.func.jacrev(traced)(X)

    np.testing.assert_allclose(forwards.numpy(), backwards.numpy(), rtol=1e-12)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_hessian_goes_forwards_over_backwards(f):
    hessian = mg.func.hessian(lambda x: mg.function(f)(x).sum())(X)

    np.testing.assert_allclose(hessian.numpy(), mg.func.hessian(lambda x: f(x).sum())(X).numpy(), rtol=1e-12)
    np.testing.assert_allclose(hessian.numpy(), hessian.numpy().T, rtol=1e-9)


def test_a_python_function_of_several_results_stands_still():
    @mg.function
    def f(x):
        y, _ = mg.py_func(lambda a: (a * 2, a), [x], [x.spec, x.spec])
        return y * x

    _, dy = mg.func.jvp(f, (X,), (DX,))

    assert dy.tolist() == (2 * X * DX).tolist()


def test_a_rule_for_backward_alone_is_refused_forwards():
    @mg.custom_vjp
    def both(x, y):
        return x * y, x + y

    both.defvjp(lambda x, y: (both.fun(x, y), (x, y)), lambda xy, g: (g[0] * xy[1] + g[1], g[0] * xy[0] + g[1]))

    with pytest.raises(NoGradientError, match=r"take mg\.custom_jvp"):
        mg.func.jvp(mg.function(lambda x: both(x, x)), (X,), (DX,))
