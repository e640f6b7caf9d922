"""A tensor filled in place: with random numbers, and along its diagonal."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors
from tests.support.table import table

PLACES = ["cpu", "simulated"]
FILLED = {
    "uniform": lambda x, **source: x.uniform_(-1, 3, **source),
    "normal": lambda x, **source: x.normal_(2.0, 0.5, **source),
    "log_normal": lambda x, **source: x.log_normal_(1.0, 0.25, **source),
    "exponential": lambda x, **source: x.exponential_(4.0, **source),
    "geometric": lambda x, **source: x.geometric_(0.25, **source),
    "bernoulli": lambda x, **source: x.bernoulli_(0.25, **source),
}
MOMENTS = {
    "log_normal": (np.exp(1 + 1 / 32), np.exp(1 + 1 / 32) * np.sqrt(np.exp(1 / 16) - 1)), "exponential": (0.25, 0.25),
    "geometric": (4, np.sqrt(12)), "uniform": (1, 4 / np.sqrt(12)), "normal": (2, 0.5),
    "bernoulli": (0.25, np.sqrt(3) / 4),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", FILLED)
def test_it_takes_random_numbers_in_its_own_memory(name, place):
    mg.manual_seed(0)
    x = mg.zeros(100, 100, dtype="f4", device=place)
    memory, row, version = x.value, x[3], x._version

    given = FILLED[name](x)

    mean, deviation = MOMENTS[name]
    assert given is x
    assert x.value is memory
    assert x.dtype == np.float32
    assert x._version > version
    assert x.mean().item() == pytest.approx(mean, abs=4 * deviation / 100)  # four times what is usual for 10⁴ numbers
    assert x.std().item() == pytest.approx(deviation, rel=0.05)
    np.testing.assert_array_equal(row.numpy(), x.numpy()[3])


@table("name", FILLED)
def test_the_numbers_are_those_of_the_seed_or_of_the_generator(name):
    def drawn(**source):
        return FILLED[name](mg.zeros(50), **source).numpy().tolist()

    mg.manual_seed(1)
    first, next_one = drawn(), drawn()
    mg.manual_seed(1)

    assert drawn() == first != next_one
    assert drawn(generator=mg.Generator(1)) == first
    assert drawn() == next_one


def test_random_numbers_have_no_history_and_a_recorded_leaf_does_not_take_them():
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    x = w * 2

    x.normal_()

    assert not x.requires_grad
    with pytest.raises(errors.EditedError, match="a leaf"):
        w.normal_()
    with mg.no_grad():
        w.normal_()
    assert w.requires_grad


def test_integers_do_not_take_random_numbers_between_them():
    with pytest.raises(errors.DTypeError, match="int64"):
        mg.tensor([1, 2]).uniform_()


@pytest.mark.parametrize("place", PLACES)
def test_a_diagonal_is_where_all_indices_are_equal(place):
    wide, cube = mg.zeros(2, 3, device=place), mg.zeros(2, 2, 2, device=place)

    wide.fill_diagonal_(7)
    cube.fill_diagonal_(1)

    assert wide.tolist() == [[7, 0, 0], [0, 7, 0]]
    assert cube.tolist() == [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]
    for x in (mg.zeros(3), mg.zeros(2, 2, 3)):
        with pytest.raises(errors.ShapeError, match="diagonal"):
            x.fill_diagonal_(1)


def test_half_of_cauchys_numbers_are_within_sigma_of_the_median_and_a_quarter_on_each_side():
    x = mg.zeros(10000).cauchy_(3.0, 2.0, generator=mg.Generator(0))
    np.testing.assert_allclose(np.quantile(x.numpy(), [0.25, 0.5, 0.75]), [1, 3, 5], atol=0.15)


def test_attempts_are_integers_also_in_an_integer_tensor():
    x = mg.zeros(10000, dtype="i8").geometric_(0.5, generator=mg.Generator(0))
    np.testing.assert_allclose(np.bincount(x.numpy(), minlength=5)[:4] / 10000, [0, 0.5, 0.25, 0.125], atol=0.02)


@pytest.mark.parametrize(
    "call",
    [lambda x: x.exponential_(0), lambda x: x.cauchy_(0, -1), lambda x: x.geometric_(1), lambda x: x.geometric_(0.0)],
)
def test_a_rate_or_a_probability_that_is_none_is_refused(call):
    with pytest.raises(ValueError, match="more than 0"):
        call(mg.zeros(3))
