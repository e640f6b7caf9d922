"""Every op of the table, held to every law."""

import numpy as np
import pytest

from minigrad import laws, ops
from minigrad.engine.core import formula
from minigrad.engine.tensor.tensor import Tensor
from tests.examples import CASES, DIFFERENTIABLE, EXAMPLES, title
from tests.support.table import table

TIED = Tensor(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]))


def test_every_op_has_an_example():
    assert set(ops.TABLE) == set(EXAMPLES)


@pytest.mark.parametrize("law", [laws.infer_foretells_forward, laws.only_a_view_shares_memory])
@table("case", CASES, ids=title)
def test_every_op_obeys(law, case):
    law(*case)


@pytest.mark.parametrize("law", laws.ALL[1:])
@table("case", DIFFERENTIABLE, ids=title)
def test_every_differentiable_op_obeys(law, case):
    law(*case)


@table("case", DIFFERENTIABLE, ids=title)
def test_float32_stays_float32_forwards_and_backwards(case):
    op, *xs = case
    xs = [Tensor(x.numpy().astype("f4"), requires_grad=True) if x.spec.is_float else x for x in xs]
    y = xs[0].apply(op, *xs[1:])

    y.backward(np.ones(y.shape, y.dtype))

    assert y.dtype == (np.float64 if isinstance(op, ops.Cast) else np.float32)
    assert {x.grad.numpy().dtype for x in xs if x.grad is not None} <= {np.dtype("f4")}


@table("case", CASES, ids=title)
def test_every_op_says_what_it_costs(case):
    op, *xs = case

    assert op.flops(op.infer(*(x.spec for x in xs)), *(x.spec for x in xs)) >= 0


@table("case", [c for c in CASES if c[0].inline], ids=title)
def test_the_written_formula_computes_what_forward_computes(case):
    op, *xs = case
    names = [f"x{i}" for i in range(len(xs))]
    scope = {"xp": np, "dtype": np.dtype} | {n: x.numpy() for n, x in zip(names, xs)}

    np.testing.assert_array_equal(
        eval(formula.write(op.forward, *names), scope), op.forward(np, *(x.numpy() for x in xs))
    )


def test_equal_ops_are_one_op():
    assert ops.Sum((0,)) is ops.Sum((0,))
    assert ops.Sum((0,)) is not ops.Sum((1,))
    assert ops.const(0.0) != ops.const(-0.0)


def test_the_laws_catch_a_wrong_derivative():
    class SineWithItsOwnSlope(ops.Sin):
        def partials(self, y, x):
            return (x.sin(),)

    with pytest.raises(AssertionError, match="nudging"):
        laws.check(SineWithItsOwnSlope(), (3,))


def test_the_laws_catch_a_result_that_is_the_operand_itself():
    class Same(ops.Neg):
        def forward(self, xp, x):
            return x

    with pytest.raises(AssertionError, match="is_view"):
        laws.check(Same(), (3,))


def test_the_laws_catch_a_wrong_adjoint():
    class Shifted(ops.Transpose):
        def adjoint(self, gy, x):
            return gy.transpose(*self.axes)

    with pytest.raises(AssertionError, match="⟨gy, J dx⟩"):
        laws.check(Shifted((1, 2, 0)), (3, 3, 3))
    with pytest.raises(AssertionError, match="the gradient of operand 0 is"):
        laws.check(Shifted((1, 2, 0)), (2, 3, 4))


def test_ties_share_the_gradient_of_a_maximum():
    x = Tensor(TIED.numpy(), requires_grad=True)
    x.max(axis=1).sum().backward()

    assert x.grad.numpy().tolist() == [[0, 0.5, 0.5], [0.5, 0.5, 0]]
