"""What functions and sessions are fed that is nearly an array of numbers: matrices, masked arrays, large integers."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import DTypeError

LARGE = np.array([2**63 + 5, 1], np.uint64)


def by_session(f, x, dtype=None):
    with mg.Graph().as_default() as graph:
        place = mg.placeholder(x.dtype if dtype is None else dtype, x.shape)
        y = f(place)
    with mg.Session(graph) as session:
        return session.run(y, {place: x})


WAYS = {
    "tensor": lambda f, x: f(mg.tensor(x)), "operand": lambda f, x: f(mg.zeros(x.shape, dtype=x.dtype) + x),
    "function": lambda f, x: mg.function(f)(x), "jit": lambda f, x: mg.function(f, jit_compile=True)(x),
    "signature": lambda f, x: mg.function(f, input_signature=[mg.TensorSpec((None,) * x.ndim, x.dtype)])(x),
    "session": by_session,
}  # fmt: skip
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
def test_a_matrix_is_an_array_of_two_axes(way):
    """Of a traced function it was no array: 'zip() argument 2 is shorter than argument 1'."""
    y = way(lambda x: x * x, np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix))

    np.testing.assert_array_equal(y, [[1, 4], [9, 16]])


@ways
def test_masked_numbers_are_refused(way):
    """They were taken for numbers, whatever stood behind the mask: (1, 2, 3) of (1, –, 3) summed to 6."""
    with pytest.raises(DTypeError, match=r"1 of these 3 are masked: fill them"):
        way(lambda x: x.sum(), np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]))
    with pytest.raises(DTypeError, match="masked"):
        mg.tensor([np.ma.masked_array([1.0], [True])])
    assert way(lambda x: x.sum(), np.ma.masked_array([1.0, 2.0], [False, False])) == 3


@ways
def test_unsigned_integers_above_the_signed_ones_sum_to_what_they_are(way):
    """They were summed as signed ones: −9223372036854775802."""
    for f in (lambda x: x.sum(), lambda x: x.cumsum(0)[-1], lambda x: x.prod() + 1):
        assert int(way(f, LARGE)) == 2**63 + 6


def test_what_a_placeholder_or_a_signature_does_not_hold_is_refused():
    """2⁶³ + 5 came into an int64 as −9223372036854775803, 300 into a uint8 as 44, and 1.7 into a signature as 1."""
    for x, dtype in ((LARGE, "int64"), (np.array([300]), "uint8"), (np.array([-1]), "uint64")):
        announced = mg.function(lambda x: x + 1, input_signature=[mg.TensorSpec((None,), dtype)])
        for refused in (lambda: by_session(lambda x: x + 1, x, dtype), lambda: announced(x)):  # noqa: B023
            with pytest.raises(DTypeError, match=f"was fed {x[0]}, which {dtype} does not hold"):
                refused()
        assert announced(np.array([3])) == 4
        with pytest.raises(DTypeError, match="would lose digits"):
            announced(np.array([1.7]))
