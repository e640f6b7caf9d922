"""Two watchers: one that puts elsewhere what backward will read, one that says where a NaN was born."""

import inspect
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import detect_anomaly, set_detect_anomaly
from minigrad.autograd.graph import save_on_cpu, saved_tensors_hooks
from minigrad.engine.base import errors
from minigrad.engine.core import modes


def leaf(*numbers):
    return mg.tensor(list(numbers), requires_grad=True)


class Ledger:
    """Packs tensors into numbers, and gives them back."""

    def __init__(self):
        self.packed, self.read = [], []

    def pack(self, x):
        self.packed.append(x)
        return len(self.packed) - 1

    def unpack(self, number):
        self.read.append(number)
        return self.packed[number]

    def block(self):
        return saved_tensors_hooks(self.pack, self.unpack)


# -- saved tensors ---------------------------------------------------------------------------------


def test_what_is_kept_is_packed_in_the_block_and_unpacked_in_backward():
    ledger, x = Ledger(), leaf(1.0, 2.0)
    with ledger.block():
        y = (x.exp() * x).sum()
    z = (x * x).sum()  # outside
    assert [p.tolist() for p in ledger.packed] == [y.tolist() for y in (x.exp(), x.exp(), x)]
    assert ledger.read == []

    (y + z).backward()
    assert sorted(ledger.read) == [0, 1, 2]
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * [2, 3] + [2, 4])


def test_what_is_packed_has_no_history_and_is_packed_unwatched():
    ledger, x = Ledger(), leaf(1.0)
    with ledger.block():
        (x + 2).exp()

    assert [p.requires_grad for p in ledger.packed] == [False]


def test_what_unpack_gives_is_what_backward_reads():
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = x * x
    y.sum().backward()

    assert x.grad.tolist() == [20, 40]


def test_of_nested_blocks_the_innermost_counts():
    outer, inner, x = Ledger(), Ledger(), leaf(1.0)
    with outer.block():
        y = x.exp()
        with inner.block():
            y = y.exp()
        y = y.sin()
    y.sum().backward()

    assert len(outer.packed) == 2
    assert len(inner.packed) == 1


def test_a_function_of_ones_own_is_packed_too_whatever_it_gives():
    """Its record was made behind the watchers' backs."""

    class Split(mg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return (g + 2 * h) * x

    ledger, x = Ledger(), leaf(3.0)
    with ledger.block():
        y, z = Split.apply(x)
    (y + z).sum().backward()

    assert [p.tolist() for p in ledger.packed] == [[3]]
    assert x.grad.tolist() == [9]


def test_an_edit_in_place_does_not_change_what_was_packed_of_the_old_value():
    """The array was handed to pack, and written over a moment later: the gradient was wrong without a word."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * 1
        y.mul_(w)
        y.sin_()
    y.sum().backward()

    np.testing.assert_allclose(w.grad.numpy(), np.cos([3, 8]) * [1, 2])
    np.testing.assert_allclose(x.grad.numpy(), np.cos([3, 8]) * [3, 4])


def test_second_derivatives_read_what_was_packed():
    x = leaf(0.5, 1.0)
    with Ledger().block():
        y = (x**3).sum()
    (g,) = mg.grad(y, x, create_graph=True)

    assert mg.grad(g.sum(), x)[0].tolist() == [3, 6]


def test_a_graph_of_packed_values_is_freed_once_and_can_be_retained():
    dropped, x = [], leaf(1.0)

    class Box:
        def __init__(self, t):
            self.t = t
            weakref.finalize(self, dropped.append, "box")

    with saved_tensors_hooks(Box, lambda box: box.t):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    assert dropped == []
    y.backward()
    assert dropped == ["box"]
    with pytest.raises(errors.FreedError):
        y.backward()


def test_unpack_gives_a_tensor_or_says_what_it_gave():
    with saved_tensors_hooks(lambda t: 3, lambda n: n):
        y = leaf(1.0).exp().sum()

    with pytest.raises(TypeError, match="unpack must return a tensor; for 3 it returned 3"):
        y.backward()


def test_an_exception_in_pack_comes_through_and_closes_the_block():
    def pack(t):
        raise KeyError("mine")

    with pytest.raises(KeyError), saved_tensors_hooks(pack, lambda t: t):
        leaf(1.0).exp()

    assert modes.current.mode.watchers == ()


def test_an_inner_derivative_works_inside_the_block():
    """The alias of its argument is a leaf, and of a leaf there is nothing to pack: it broke there."""
    with Ledger().block():
        assert mg.func.grad(lambda x: (x**3).sum())(mg.tensor([2.0])).tolist() == [12]


def test_saving_on_the_cpu_changes_nothing_there():
    x = leaf(1.0, 2.0)
    with save_on_cpu():
        y = (x * x.exp()).sum()
    y.backward()

    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * [2, 3])


# -- anomalies -------------------------------------------------------------------------------------


def here():
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_the_first_nan_is_named_with_its_op_and_its_line():
    with detect_anomaly():
        y = leaf(0.5, 4.0) * 2
        z, line = (y - 1).abs().log(), here()
        with pytest.raises(errors.AnomalyError) as refused:
            (z * 0).sum().backward()

    said = str(refused.value)
    assert "Log" in said
    assert f'{__file__}", line {line}' in said
    assert "z, line = (y - 1).abs().log(), here()" in said
    assert "from [0. 0.]" in said


def test_a_nan_that_came_from_elsewhere_is_told_from_one_that_was_made():
    with detect_anomaly():
        y = leaf(1.0) * 2
        with pytest.raises(errors.AnomalyError, match="from a NaN that arrived"):
            y.backward(np.array([np.nan]))


def test_without_it_a_nan_is_a_number_like_any_other():
    x = leaf(-1.0)
    with np.errstate(invalid="ignore"):
        x.sqrt().sum().backward()

    assert np.isnan(x.grad.item())


def test_lines_are_noted_where_checking_for_nan_is_switched_off():
    with detect_anomaly(check_nan=False):
        x = leaf(-1.0)
        with np.errstate(invalid="ignore"):
            x.sqrt().sum().backward()

    assert np.isnan(x.grad.item())


def test_what_ran_before_the_block_has_no_line_and_that_is_said():
    with np.errstate(invalid="ignore"):
        y = leaf(-1.0).sqrt().sum()
    with detect_anomaly(), pytest.raises(errors.AnomalyError, match="outside detect_anomaly"):
        y.backward()


@pytest.mark.filterwarnings("ignore:invalid value")
def test_as_a_statement_it_holds_until_it_is_taken_back():
    """It was a block only: as a statement it did nothing, and said nothing."""
    set_detect_anomaly(True)
    try:
        y = leaf(-1.0).sqrt().sum()
        with pytest.raises(errors.AnomalyError):
            y.backward()
        with set_detect_anomaly(False):
            leaf(-1.0).sqrt().sum().backward()
        with pytest.raises(errors.AnomalyError):
            leaf(-1.0).sqrt().sum().backward()
    finally:
        set_detect_anomaly(False)
    leaf(-1.0).sqrt().sum().backward()
    assert modes.current.mode.watchers == ()


def test_a_function_of_several_results_passes_and_has_a_line():
    """The gradients of several results travel in one parcel, which was searched for NaN as if it were an array."""

    class Both(mg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    class Broken(Both):
        @staticmethod
        def backward(ctx, g, h):
            return g * float("nan")

    with detect_anomaly():
        x = leaf(1.0)
        sum(Both.apply(x)).sum().backward()
        assert x.grad.tolist() == [3]
        with pytest.raises(errors.AnomalyError, match="from a NaN that arrived"):
            Both.apply(x)[1].backward(mg.tensor([np.nan]))

        (y, z), line = Broken.apply(x), here()
        with pytest.raises(errors.AnomalyError, match=rf"Broken(.|\n)*line {line}"):
            (y + z).sum().backward()


def test_anomalies_are_found_under_create_graph_too():
    x = leaf(-1.0)
    with detect_anomaly(), np.errstate(invalid="ignore"), pytest.raises(errors.AnomalyError, match="Sqrt"):
        mg.grad(x.sqrt().sum(), x, create_graph=True)
