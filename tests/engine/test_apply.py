"""The one door, and what makes it quick: written out for few operands, on interned specs, straight to the ufunc."""

import gc
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import minigrad as mg
from minigrad import ops
from minigrad.engine.base import spec
from minigrad.engine.base.device import CPU
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.op import ufunc_of
from minigrad.engine.tensor.tensor import Tensor
from minigrad.engine.tensor.unroll import unroll_operands
from tests.support.table import table

X = np.array([[0.5, -1.0], [2.0, 0.25]])
CALLS = {
    "one operand": (ops.Tanh(), 1), "two": (ops.Mul(), 2), "two, of a method": (ops.MatMul(), 2),
    "three": (ops.Where(), 3), "four": (ops.Concatenate(1), 4), "five": (ops.Stack(0), 5),
}  # fmt: skip


@table("name", CALLS)
def test_the_door_written_out_is_the_door(name):
    op, count = CALLS[name]

    def called(apply):
        xs = [mg.tensor(X + i, requires_grad=i % 2 == 0) for i in range(count)]
        given = [xs[0] > 0, *xs[1:]] if op == ops.Where() else xs
        y = apply(given[0], op, *given[1:])
        if y.requires_grad:
            y.backward(np.ones(y.shape))
        return y.numpy(), y.grad_fn, [None if x.grad is None else x.grad.numpy() for x in xs]

    (y, fn, gxs), (z, gn, gzs) = called(Tensor.apply), called(Tensor.apply.__wrapped__)

    np.testing.assert_array_equal(y, z)
    assert repr(fn) == repr(gn)
    for gx, gz in zip(gxs, gzs):
        np.testing.assert_array_equal(gx, gz)


@table("other", [2, 2.0, True, [2.0, 3.0], np.array([2.0, 3.0]), np.float64(2)], ids=repr)
def test_what_is_no_tensor_becomes_one_on_its_way_in(other):
    x = mg.tensor([1.0, 4.0], requires_grad=True)

    y = x * other
    y.sum().backward()

    np.testing.assert_array_equal(y.numpy(), np.array([1.0, 4.0]) * np.asarray(other))
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(np.asarray(other, float), 2))


def test_an_error_inside_shows_the_line_that_was_written():
    try:
        mg.tensor([1.0, 2.0]) + mg.tensor([1.0, 2.0, 3.0])
    except mg.errors.ShapeError as error:
        shown = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name == "apply"]

    assert shown[0].filename.endswith("tensor.py")
    assert "op.plans.get(specs" in shown[0].line


def test_loops_that_are_not_over_the_operands_stay_loops():
    @unroll_operands
    def apply(self, op, *others):
        xs = (self, *others)
        return [x + 1 for x in xs], [i + x for x, i in zip(xs, range(op))], tuple([o * 2 for o in others])

    for others in ((), (2,), (2, 3), (2, 3, 4)):
        assert apply(1, 2, *others) == apply.__wrapped__(1, 2, *others)


def test_equal_specs_are_one_object():
    a, b = Spec((2, 3), np.float32), mg.tensor(np.zeros((2, 3), "f4")).spec

    assert a is b is Spec((2, 3), "f4", CPU)
    assert a is not Spec((3, 2), "f4")
    assert a.with_dtype("f8") is Spec((2, 3), float)


def test_specs_that_nobody_holds_are_forgotten():
    Spec((123, 456), float)
    gc.collect()

    assert ((123, 456), np.dtype(float), CPU) not in spec._known


def test_threads_that_make_a_spec_at_once_make_one():
    gate = threading.Barrier(8)

    def make(n):
        gate.wait()
        return Spec((n, 7, 11, 13), float)

    with ThreadPoolExecutor(8) as pool:
        for n in range(50):
            made = [*pool.map(make, [n] * 8)]
            assert len({*map(id, made)}) == 1


def test_a_thread_that_comes_second_to_make_a_spec_takes_the_firsts():
    """Both have looked, and neither has found: what the lock is for, without waiting for it to happen."""
    first = Spec._intern((5, 3, 17), np.dtype(float), CPU)

    assert Spec._intern((5, 3, 17), np.dtype(float), CPU) is first


@table("op, found", [
    (ops.Add(), np.add), (ops.Mul(), np.multiply), (ops.Tanh(), np.tanh), (ops.Neg(), np.negative),
    (ops.Greater(), np.greater),
    (ops.Relu(), None),  # maximum(x, 0): more than its operands
    (ops.Pow(2), None),
    (ops.MatMul(), None),  # `infer` decides its shapes, not broadcasting
    (ops.Sum((0,)), None),
], ids=str)  # fmt: skip
def test_an_op_that_is_one_ufunc_is_found_out(op, found):
    assert ufunc_of(op, 2 if op in (ops.Add(), ops.Mul(), ops.Greater(), ops.MatMul()) else 1) is found


def test_operands_in_another_order_or_with_options_are_no_ufunc():
    class Rounded(ops.Sub):
        def forward(self, xp, x, y):
            return xp.subtract(x, y, dtype="f4")

    class Behind(ops.Sub):
        def forward(self, xp, x, y):
            return y - x

    assert ufunc_of(Behind(), 2) is None
    assert ufunc_of(Rounded(), 2) is None
    assert (mg.tensor([5.0]).apply(Behind(), mg.tensor([2.0]))).item() == -3


def test_a_result_without_axes_is_an_array_of_its_own():
    x = mg.tensor(2.0)

    for y in (x * x, x.exp(), x + 1, mg.tensor([1.0, 2.0]).sum(), mg.tensor([1.0, 2.0])[0]):
        assert isinstance(y.value, np.ndarray)
        assert y.value.shape == ()


def test_importing_everything_leaves_pythons_own_names_alone():
    scope = {}
    exec("from minigrad import *", scope)

    assert {"tensor", "exp", "nn", "Value"} <= set(scope)
    assert not {"float", "int", "sum", "max", "abs", "all"} & set(scope)


def test_a_layer_of_few_long_rows_has_its_numbers_and_lies_in_order():
    x, w, b = np.ones((3, 128), "f4"), np.arange(1024, dtype="f4").reshape(8, 128), np.ones(8, "f4")
    for bias in ((), (b,)):
        y = ops.Affine(True).forward(np, x, w, *bias)
        assert (y.flags.c_contiguous, y.tolist()) == (True, (x @ w.T + sum(bias)).tolist())
