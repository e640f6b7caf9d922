"""Tracing in JAX's words: jit, eval_shape, custom_vjp, custom_jvp."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import NoGradientError
from minigrad.graph.custom import custom_jvp, custom_vjp
from minigrad.graph.function import function
from minigrad.graph.jit import eval_shape, jit
from minigrad.graph.placeholder import TensorSpec

X = np.linspace(0.1, 0.9, 5)


def test_numbers_are_tensors_to_jit_and_need_no_new_trace():
    f = jit(lambda x, n: x * n)

    assert f(mg.tensor(X), 2.0).tolist() == (X * 2).tolist()
    assert f(mg.tensor(X), 3.0).tolist() == (X * 3).tolist()
    assert f.trace_count == 1


@pytest.mark.parametrize("how", [{"static_argnums": 1}, {"static_argnums": -1}, {"static_argnames": "n"}])
def test_static_arguments_are_python_values_and_tell_by_them(how):
    @jit(**how)
    def power(x, n):
        return x if n == 1 else x * power.python_function(x, n - 1)

    for n in (1, 3, 3):
        np.testing.assert_allclose(power(mg.tensor(X), n).numpy(), X**n)
    np.testing.assert_allclose(power(mg.tensor(X), n=3).numpy(), X**3)
    assert power.trace_count == 2


def test_a_static_argument_can_be_hashed():
    with pytest.raises(TypeError, match=r"argument 1 of .* is static, so it .* by value, but a list is not hashable"):
        jit(lambda x, shape: x.reshape(shape), static_argnums=1)(mg.tensor(X), [5, 1])


def test_jit_composes_with_grad_both_ways():
    f = lambda x: (x.sin() * x).sum()  # noqa: E731
    expected = mg.func.grad(f)(mg.tensor(X)).numpy()

    np.testing.assert_allclose(jit(mg.func.grad(f))(mg.tensor(X)).numpy(), expected, 1e-14)
    np.testing.assert_allclose(mg.func.grad(jit(f))(mg.tensor(X)).numpy(), expected, 1e-14)


def test_eval_shape_says_what_would_come_and_computes_nothing():
    found = eval_shape(lambda x, y: {"z": x @ y, "n": (x > 0, 3)}, TensorSpec((2, 3), "f4"), np.ones((3, 4), "f4"))

    assert (found["z"].shape, found["z"].dtype) == ((2, 4), np.float32)
    assert (found["n"][0].shape, found["n"][0].dtype, found["n"][1]) == ((2, 3), np.bool_, 3)
    assert eval_shape(lambda x: x @ x, TensorSpec((10**6, 10**6))).shape == (10**6, 10**6)


def with_vjp():
    @custom_vjp
    def f(x, y):
        return x.sin() * y

    f.defvjp(
        lambda x, y: (f(x, y), (x.cos(), x.sin(), y)), lambda kept, gy: (10 * gy * kept[0] * kept[2], gy * kept[1])
    )
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, function, jit], ids=["op by op", "function", "jit"])
def test_a_custom_vjp_is_the_gradient_inside_and_outside_a_trace(wrap):
    f = wrap(with_vjp())
    x, y = mg.tensor(X, requires_grad=True), mg.tensor(X + 1, requires_grad=True)
    f(x, y).sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), 10 * np.cos(X) * (X + 1), 1e-14)
    np.testing.assert_allclose(y.grad.numpy(), np.sin(X), 1e-14)
    (gx,) = mg.autograd.grad(f(x, y).sum(), x, create_graph=True)
    (second,) = mg.autograd.grad(gx.sum(), x)
    np.testing.assert_allclose(second.numpy(), -10 * np.sin(X) * (X + 1), 1e-14)


def test_a_custom_vjp_takes_structures_and_arguments_apart():
    f = custom_vjp(lambda n, parts: {"y": parts["a"] ** n + parts["b"][0]}, nondiff_argnums=(0,))
    f.defvjp(lambda n, parts: (f.fun(n, parts), parts), lambda n, kept, gy: ({"a": gy["y"] * n, "b": [None]},))
    a, b = mg.tensor(X, requires_grad=True), mg.tensor(X, requires_grad=True)
    f(3, {"a": a, "b": [b]})["y"].sum().backward()

    assert a.grad.tolist() == [3.0] * 5
    assert b.grad is None


def with_jvp():
    @custom_jvp
    def f(x, n):
        return x**n

    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0] * primals[0] ** (primals[1] - 1)))
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, function], ids=["op by op", "function"])
def test_a_custom_jvp_is_the_derivative_forwards_and_backwards(wrap):
    f = wrap(with_jvp())
    x = mg.tensor(X, requires_grad=True)
    f(x, 3).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 * X**2, 1e-14)

    if wrap is not function:
        _, dy = mg.func.jvp(lambda x: f(x, 3), (mg.tensor(X),), (mg.tensor(X + 1),))
        np.testing.assert_allclose(dy.numpy(), 10 * X**2 * (X + 1), 1e-14)
        (gx,) = mg.autograd.grad(f(x, 3).sum(), x, create_graph=True)
        (second,) = mg.autograd.grad(gx.sum(), x)
        np.testing.assert_allclose(second.numpy(), 20 * X, 1e-14)


def test_one_map_for_each_argument_will_do():
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda dx, z, x, y: 2 * dx * y, None)
    x, y = mg.tensor(X, requires_grad=True), mg.tensor(X, requires_grad=True)
    f(x, y).sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    assert y.grad is None or not y.grad.numpy().any()


def test_maps_are_counted_and_without_any_the_result_stands_still():
    f = custom_jvp(lambda x, y: x * y)
    x, y = mg.tensor(X, requires_grad=True), mg.tensor(X)
    f.defjvps(None, None)
    (f(x, y) + x).sum().backward()

    np.testing.assert_array_equal(x.grad.numpy(), 1)
    f.defjvps(None)
    with pytest.raises(NoGradientError, match="got 1 for 2 arguments"):
        f(x, y).sum().backward()


@pytest.mark.parametrize("kind", [custom_vjp, custom_jvp])
def test_a_custom_derivative_without_a_rule_says_so(kind):
    with pytest.raises(NoGradientError, match="without a rule: call"):
        kind(lambda x: x)(mg.tensor(X))
