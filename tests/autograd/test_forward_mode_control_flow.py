"""Forward mode through branches and loops: op by op, against the same Python function and against backward."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import NoGradientError
from tests.support.table import table

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


@table("f", FUNCTIONS)
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

    with pytest.raises(NoGradientError, match=r"use mg\.custom_jvp"):
        mg.func.jvp(mg.function(lambda x: both(x, x)), (X,), (DX,))


# -- a derivative written by hand -------------------------------------------------------------------------


@mg.custom_jvp
def thrice(x):
    return x.sin()


@thrice.defjvp
def move_thrice(primals, tangents):
    (x,), (dx,) = primals, tangents
    return thrice(x), dx * 3 * x  # not the derivative of sin: to be told from it


@mg.custom_jvp
def pair(x, y):
    return {"product": x * y, "power": x**y}


@pair.defjvp
def move_pair(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return pair(x, y), {"product": 2 * dx * y + dy * x, "power": x * x * (5 * dy + dx)}


class Grown(mg.autograd.Function):
    """exp, whose derivatives are read off the result."""

    @staticmethod
    def forward(ctx, x, n):
        y = (x * n).exp()
        ctx.n = n
        ctx.save_for_backward(y)
        ctx.save_for_forward(y)
        return y

    @staticmethod
    def backward(ctx, gy):
        (y,) = ctx.saved_tensors
        return gy * y * ctx.n, None

    @staticmethod
    def jvp(ctx, dx, dn):
        assert dn is None
        (y,) = ctx.saved_tensors
        return dx * y * ctx.n


WRITTEN = {
    "custom_jvp": thrice, "several results": lambda x: pair(x * 2, x)["power"] + pair(x, 3.0 * x)["product"],
    "a Function that saves its result": lambda x: Grown.apply(x, 2),
    "in a loop": lambda x: mg.lax.fori_loop(0, 2, lambda i, y: thrice(y), x),
    "in a branch": lambda x: mg.cond(x.sum() > 0, lambda: thrice(x), lambda: x),
    "one in another's argument": lambda x: thrice(Grown.apply(x * x, 2)),
}  # fmt: skip
ASKED = {
    "jvp": lambda f: mg.func.jvp(f, (X,), (DX,))[1],
    "jacfwd of jacfwd": lambda f: mg.func.jacfwd(mg.func.jacfwd(f))(X),
    "jacrev of jacrev": lambda f: mg.func.jacrev(mg.func.jacrev(f))(X),
    "jacfwd of jacrev": lambda f: mg.func.jacfwd(mg.func.jacrev(f))(X),
    "jacrev of jacfwd": lambda f: mg.func.jacrev(mg.func.jacfwd(f))(X),
    "hessian": lambda f: mg.func.hessian(lambda x: f(x).sum())(X),
}


@pytest.mark.parametrize("asked", ASKED)
@table("written", WRITTEN)
def test_a_derivative_written_by_hand_is_that_of_the_traced_function_too(written, asked):
    """Forwards it was refused; and backwards twice, what had saved its own result took that for a constant."""
    f, ask = WRITTEN[written], ASKED[asked]

    for traced in (mg.function(f), mg.jit(f)):
        np.testing.assert_allclose(ask(traced).numpy(), ask(f).numpy(), rtol=1e-12)


class Doubled(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gy):
        return gy * 2


def test_a_jvp_that_cannot_be_written_down_is_refused_when_it_is_asked_for():
    class Peeking(Doubled):
        @staticmethod
        def jvp(ctx, dx):
            return mg.tensor(dx.numpy() * 2)

    f = mg.function(Peeking.apply)

    assert mg.func.grad(lambda x: f(x).sum())(X).tolist() == [2, 2]
    with pytest.raises(NoGradientError, match=r"Peeking\.jvp, while a graph was built: "):
        mg.func.jvp(f, (X,), (DX,))


def test_a_function_without_a_jvp_is_refused_only_where_something_moves():
    f = mg.function(lambda x, y: x + Doubled.apply(y))

    with pytest.raises(NoGradientError, match="Doubled has a hand-written backward and no jvp"):
        mg.func.jvp(f, (X, X), (DX, DX))
    assert mg.func.jvp(lambda x: f(x, X), (X,), (DX,))[1].tolist() == DX.tolist()
