"""gradcheck and gradgradcheck, on trial: what is wrong is refused, what is right is passed, whatever it is made of."""

import numpy as np
import pytest
from test_custom_function import written

import minigrad as mg
from minigrad import ops
from minigrad.engine.base import errors
from minigrad.engine.core.op import Elementwise
from tests.support.table import table

X = mg.tensor([0.5, 1.0, 1.5])


class SineOffByALittle(ops.Sin):
    """The slope is wrong by a tenth at one place."""

    def partials(self, y, x):
        return (x.cos() + (x > 1.2) * 0.1,)


class Stop(mg.Function):
    """x², whose gradient is right and does not depend on x, as far as the engine knows."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * gy


class Softish(Elementwise):
    """log(1 + eˣ), with a slope that overflows into NaN for large x"""

    def forward(self, xp, x):
        return xp.logaddexp(x, 0)

    def partials(self, y, x):
        return (x.exp() / (1 + x.exp()),)


WRONG = {
    "a wrong slope in one place": lambda x: x.apply(SineOffByALittle()),
    "a factor that was forgotten": written(lambda ctx, x: 2 * x, lambda ctx, g: g),
    "a sign": written(lambda ctx, x: -x, lambda ctx, g: g),
    "a gradient that is not there": written(lambda ctx, x: x * 1, lambda ctx, g: None),
    "elements exchanged": written(lambda ctx, x: x.flip(0) * 1, lambda ctx, g: g),
    "a connection that was cut": lambda x: x.detach() * x, "a result that was cut off": lambda x: x.detach() * 1,
    "the second result": lambda x: (x * 1, x.apply(SineOffByALittle())),
}  # fmt: skip
RIGHT = {
    "an op": lambda x: x.sin(), "a number": lambda x: x.sum(), "several results": lambda x: (x.sum(), x * x, [x][0]),
    "a result of integers beside one": lambda x: (x * x, (x > 1).astype("i8")),
    "edits in place": lambda x: (x * 1).mul_(x).exp_(),
    "a checkpoint": lambda x: mg.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x),
    "a gradient": mg.func.grad(lambda x: (x.sin() * x).sum()), "nothing that moves": lambda x: (x + 0.2).floor(),
    "a constant": lambda x: mg.tensor([1.0, 2.0]), "an unrecorded part": lambda x: x * x.numpy().size,
}  # fmt: skip


@table("case", WRONG)
def test_what_is_wrong_is_refused(case):
    """A result cut off from its input broke gradcheck itself, in place of being refused."""
    with pytest.raises(errors.GradcheckError, match=r"backward says .*, finite differences say "):
        mg.gradcheck(WRONG[case], X)
    assert mg.gradcheck(WRONG[case], X, raise_exception=False) is False


@table("case", RIGHT)
def test_what_is_right_is_passed_twice(case):
    assert mg.gradcheck(RIGHT[case], X)
    assert mg.gradgradcheck(RIGHT[case], X)


def test_gradgradcheck_refuses_what_gradcheck_cannot_see():
    assert mg.gradcheck(Stop.apply, X)
    with pytest.raises(errors.GradcheckError):
        mg.gradgradcheck(Stop.apply, X)
    assert not mg.gradgradcheck(Stop.apply, X, raise_exception=False)


def test_the_place_that_is_most_wrong_is_named():
    with pytest.raises(errors.GradcheckError, match=r"∂output\[2\]/∂input 0\[2\]: backward says 0\.17.*say 0\.07"):
        mg.gradcheck(lambda x: x.apply(SineOffByALittle()), X)
    with pytest.raises(errors.GradcheckError, match=r"∂output 1\[2\]/∂input 0\[2\]"):
        mg.gradcheck(WRONG["the second result"], X)
    with pytest.raises(errors.GradcheckError, match=r"∂output/∂input 2:"):
        mg.gradcheck(lambda x, i, w: x[i] * w.detach(), [X, 1, mg.tensor(2.0)])


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_nan_agrees_with_nothing():
    assert mg.gradcheck(lambda x: x.apply(Softish()), X)
    with pytest.raises(errors.GradcheckError, match="backward says nan"):
        mg.gradcheck(lambda x: x.apply(Softish()), mg.tensor([1000.0]))
    with pytest.raises(errors.GradcheckError, match="finite differences say nan"):
        mg.gradcheck(lambda x: x.sqrt(), mg.tensor([-1.0]))


def test_inputs_are_nudged_if_they_can_be_and_passed_on_if_not():
    rows = mg.tensor(np.arange(6.0).reshape(3, 2))

    assert mg.gradcheck(lambda x, index, n: x[index] * n, [rows, mg.tensor([0, 2]), 3.0])
    assert mg.gradgradcheck(lambda x, index, n: x[index] ** n, [rows + 1, mg.tensor([0, 2]), 3])
    assert mg.gradcheck(lambda x, mask: mg.where(mask, x, 2 * x), [X, mg.tensor([True, False, True])])


def test_half_precision_is_no_ground_for_nudging():
    with pytest.raises(errors.DTypeError, match="float64"):
        mg.gradcheck(lambda x: x, mg.tensor([1.0], dtype="f4"))
    with pytest.raises(errors.DTypeError, match="float64"):
        mg.gradcheck(lambda x: x, mg.tensor([1, 2]))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_arrays_of_no_axis_or_no_element_pass(shape):
    x = mg.tensor(np.ones(shape))

    assert mg.gradcheck(lambda x: x.sin(), x)
    assert mg.gradgradcheck(lambda x: x.sin(), x)
    assert mg.gradcheck(lambda x: x.sum(), x)


def test_the_inputs_are_left_as_they_were():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    mg.gradcheck(lambda x: x.sin(), x)
    mg.gradgradcheck(lambda x: x.sin(), x)

    assert x.tolist() == [1, 2]
    assert x.grad is None
    assert x._version == 0


def test_it_works_where_nothing_is_recorded():
    for mode in (mg.no_grad, mg.inference_mode):
        with mode():
            assert mg.gradcheck(lambda x: x.sin(), X)
            assert mg.gradgradcheck(lambda x: x.sin(), X)


def test_what_arrives_at_the_outputs_may_be_given():
    assert mg.gradgradcheck(lambda x: x.sin(), X, grad_outputs=mg.tensor([1.0, 2.0, 3.0]))
    assert mg.gradgradcheck(lambda x: (x.sin(), x.sum()), X, grad_outputs=(mg.tensor([1.0, 2.0, 3.0]), mg.tensor(2.0)))
