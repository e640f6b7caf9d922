"""autograd.functional: PyTorch's older spelling of derivatives at a point, of one input or of several."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import functional
from minigrad.engine.base import errors
from tests.support.table import mistakes

H = 1e-6
X, W = mg.tensor([0.5, -1.0, 1.5]), mg.tensor([[2.0, 0.5, 1.0], [1.0, -1.0, 0.3]])


def near(found, expected, rtol=1e-7):
    np.testing.assert_allclose(found.numpy(), np.asarray(expected), rtol, 1e-8)


def layer(x, w):
    return (w @ x).tanh(), x.sum() * w[0]


def number(x, w):
    return ((w @ x).sin()).prod() * x[0]


def slopes(f, xs, i):
    """∂f/∂xs[i] of a single output, by nudging: of shape (*f.shape, *xs[i].shape)."""
    columns = []
    for at in np.ndindex(*xs[i].shape):
        sides = []
        for step in (H, -H):
            arrays = [x.numpy().copy() for x in xs]
            arrays[i][at] += step
            sides.append(f(*map(mg.tensor, arrays)).numpy())
        columns.append((sides[0] - sides[1]) / (2 * H))
    return np.stack(columns, -1).reshape(columns[0].shape + xs[i].shape)


def test_jacobians_are_the_slopes_of_each_output_by_each_input():
    J = functional.jacobian(layer, (X, W))

    assert isinstance(J, tuple)
    assert [len(row) for row in J] == [2, 2]
    for out in (0, 1):
        for into in (0, 1):
            near(J[out][into], slopes(lambda *xs, out=out: layer(*xs)[out], (X, W), into), 1e-6)


def test_one_input_and_one_output_are_no_tuples():
    assert functional.jacobian(lambda x: x * x.sum(), X).shape == (3, 3)
    assert isinstance(functional.jacobian(lambda x: (x, x), X), tuple)
    assert isinstance(functional.jacobian(lambda x: x, (X,)), tuple)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_jacobians_of_arrays_of_no_axis_or_no_element(shape):
    x = mg.tensor(np.ones(shape))

    assert functional.jacobian(lambda x: x * 2, x).shape == shape + shape
    assert functional.jacobian(lambda x: x.sum(), x).shape == shape


def test_a_hessian_is_the_slope_of_the_gradient_block_by_block_and_symmetric():
    blocks = functional.hessian(number, (X, W))
    for i in (0, 1):
        for j in (0, 1):
            near(blocks[i][j], slopes(lambda *xs, i=i: functional.vjp(number, xs)[1][i], (X, W), j), 1e-6)
    flat = blocks[0][1].numpy().reshape(3, 6)
    np.testing.assert_allclose(flat, blocks[1][0].numpy().reshape(6, 3).T, rtol=1e-12)


def test_a_hessian_of_one_number_in_a_list_is_that_of_the_number():
    f = lambda x: (x**3).sum()  # noqa: E731
    near(functional.hessian(lambda x: f(x).reshape(1), X), functional.hessian(f, X).numpy())


def test_products_are_those_with_the_whole_jacobian_and_hessian():
    v, dw = mg.tensor([1.0, -2.0, 0.5]), mg.tensor(np.arange(6.0).reshape(2, 3))
    J, curvature = functional.jacobian(layer, (X, W)), functional.hessian(number, (X, W))
    gys = (mg.tensor([1.0, 2.0]), v)

    (y, _), gxs = functional.vjp(layer, (X, W), gys)
    near(y, layer(X, W)[0].numpy())
    for i, gx in enumerate(gxs):
        near(gx, sum(np.tensordot(g.numpy(), J[k][i].numpy(), 1) for k, g in enumerate(gys)), 1e-12)
    _, dys = functional.jvp(layer, (X, W), (v, dw))
    for k, dy in enumerate(dys):
        near(dy, np.tensordot(J[k][0].numpy(), v.numpy(), 1) + np.tensordot(J[k][1].numpy(), dw.numpy(), 2), 1e-12)
    for product in (functional.hvp, functional.vhp):
        value, (hx, hw) = product(number, (X, W), (v, dw))
        near(value, number(X, W).numpy())
        for h, rows in ((hx, curvature[0]), (hw, curvature[1])):
            near(h, np.tensordot(rows[0].numpy(), v.numpy(), 1) + np.tensordot(rows[1].numpy(), dw.numpy(), 2), 1e-10)


# -- histories -------------------------------------------------------------------------------------


ALL = {
    "vjp": functional.vjp, "jvp": lambda f, x, **o: functional.jvp(f, x, x * 1, **o),
    "jacobian": lambda f, x, **o: (functional.jacobian(f, x, **o),),
    "hessian": lambda f, x, **o: (functional.hessian(f, x, **o),),
    "hvp": lambda f, x, **o: functional.hvp(f, x, x * 1, **o),
    "vhp": lambda f, x, **o: functional.vhp(f, x, x * 1, **o),
}  # fmt: skip
each = pytest.mark.parametrize("derivative", ALL.values(), ids=ALL)


@each
def test_without_create_graph_nothing_has_a_history(derivative):
    """jvp's results had that of whatever required a gradient around them."""
    w, x = mg.tensor(2.0, requires_grad=True), mg.tensor([1.0, 2.0], requires_grad=True)
    for result in derivative(lambda x: (x**3).sum() * w, x):
        assert not result.requires_grad


@each
def test_with_create_graph_results_can_be_differentiated_by_the_inputs_and_by_what_is_around(derivative):
    w, x = mg.tensor(2.0, requires_grad=True), mg.tensor([1.0, 2.0], requires_grad=True)
    result = derivative(lambda x: (x**3).sum() * w, x, create_graph=True)[-1]
    gw, gx = mg.grad((result**2).sum(), [w, x])

    def total(x, w):
        return (derivative(lambda x: (x**3).sum() * w, x)[-1] ** 2).sum()

    near(gw, slopes(total, (x.detach(), w.detach()), 1), 1e-6)
    near(gx, slopes(total, (x.detach(), w.detach()), 0), 1e-6)


@each
def test_grad_of_the_inputs_is_left_alone(derivative):
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    derivative(lambda x: (x**3).sum(), x)

    assert x.grad is None


@each
def test_they_work_where_nothing_is_recorded(derivative):
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.no_grad():
        found = derivative(lambda x: (x**3).sum(), x)
    for a, b in zip(found, derivative(lambda x: (x**3).sum(), x)):
        near(a, b.numpy())


@each
def test_a_gradient_taken_inside_the_function_is_seen_through(derivative):
    x = mg.tensor([0.5, 1.5])
    inside = derivative(lambda x: mg.func.grad(lambda x: (x**4).sum())(x).sum(), x)
    for a, b in zip(inside, derivative(lambda x: (4 * x**3).sum(), x)):
        near(a, b.numpy(), 1e-10)


# -- strict ----------------------------------------------------------------------------------------


@each
def test_independence_is_zero_or_with_strict_an_error(derivative):
    f = lambda x: mg.tensor(3.0)  # noqa: E731

    assert not derivative(f, mg.tensor([1.0, 2.0]))[-1].numpy().any()
    with pytest.raises(errors.NoGradientError, match="does not depend on inputs"):
        derivative(f, mg.tensor([1.0, 2.0]), strict=True)


@pytest.mark.parametrize("name", ["hessian", "hvp", "vhp"])
def test_strict_looks_at_the_second_derivative_too(name):
    f = lambda x: x.sum()  # noqa: E731

    assert not ALL[name](f, mg.tensor([1.0, 2.0]))[-1].numpy().any()
    with pytest.raises(errors.NoGradientError, match="does not depend on inputs"):
        ALL[name](f, mg.tensor([1.0, 2.0]), strict=True)


# -- mistakes --------------------------------------------------------------------------------------


def test_without_v_there_must_be_one_number():
    """jvp took ones for every input, in silence."""
    assert functional.vjp(lambda x: x.sum(), X)[1].tolist() == [1, 1, 1]
    assert functional.jvp(lambda x: x * 3, mg.tensor([2.0]))[1].tolist() == [3]
    for derivative, f, kind in ((functional.jvp, lambda x: x, "input"), (functional.vjp, lambda x: x, "output")):
        with pytest.raises(errors.ShapeError, match=f"one {kind}, a single number"):
            derivative(f, X)
    with pytest.raises(errors.ShapeError, match="one input, a single number"):
        functional.hvp(lambda x: x.sum(), X)


MISTAKES = {
    "v too few": (lambda: functional.vjp(layer, (X, W), X), errors.ShapeError, "it has 1"),
    "v of another shape": (lambda: functional.jvp(lambda x: x, X, W), errors.ShapeError, r"f64\[3\].*f64\[2, 3\]"),
    "a hessian of many": (lambda: functional.hessian(lambda x: x, X), errors.NoGradientError, "hessian needs a"),
    "a product of many": (lambda: functional.hvp(lambda x: x, X, X), errors.NoGradientError, "one number"),
    "a function of no tensor": (lambda: functional.jacobian(lambda x: 3.0, X), TypeError, "returned 3.0"),
    "integers": (lambda: functional.jacobian(lambda x: x, mg.tensor([1])), errors.DTypeError, "nudge"),
}


test_a_clear_sentence_answers = mistakes(MISTAKES)
