"""The distributions of random numbers, against their own definitions.

Keys are fixed, so a test passes always or never. Each bound is one that a true sample exceeds about once in 10⁵.
"""

import math
from statistics import NormalDist

import numpy as np
import pytest

import minigrad as mg
from minigrad import random
from minigrad.engine.ops.special import quantile
from tests.support.table import table

N = 100_000
CHI_SQUARED_99 = 170.0  # of 99 degrees of freedom
KS = 2.5 / math.sqrt(N)  # of sup |F − Fₙ|: 2 exp(−2 · 2.5²)


def kolmogorov_smirnov(sample, cdf):
    """sup |F − Fₙ|"""
    x = np.sort(sample)
    F = np.array([cdf(v) for v in x])
    steps = np.arange(len(x) + 1) / len(x)
    return max((steps[1:] - F).max(), (F - steps[:-1]).max())


def chi_squared(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


CONTINUOUS = {
    "uniform f8": (random.uniform(random.key(1), N), lambda x: x),
    "uniform f4": (random.uniform(random.key(2), N, "f4"), lambda x: x),
    "uniform 2 to 5": (random.uniform(random.key(3), N, minval=2, maxval=5), lambda x: (x - 2) / 3),
    "normal f8": (random.normal(random.key(4), N), NormalDist().cdf),
    "normal f4": (random.normal(random.key(5), N, "f4"), NormalDist().cdf),
    "truncated":
        (random.truncated_normal(random.key(6), -0.5, 2, N),
         lambda x: (NormalDist().cdf(x) - NormalDist().cdf(-0.5)) / (NormalDist().cdf(2) - NormalDist().cdf(-0.5))),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_sample_has_its_distribution(name):
    x, cdf = CONTINUOUS[name]

    assert kolmogorov_smirnov(x.numpy().astype("f8"), cdf) < KS


def test_uniform_numbers_lie_below_one_and_pairs_of_them_fill_the_square():
    for dtype in ("f2", "f4", "f8"):
        u = random.uniform(random.key(7), N, dtype).numpy()
        assert u.dtype == dtype
        assert 0 <= u.min() <= u.max() < 1
    u = random.uniform(random.key(8), (N, 2)).numpy()
    cells = np.bincount((u[:, 0] * 10).astype(int) * 10 + (u[:, 1] * 10).astype(int), minlength=100)

    assert chi_squared(cells, N / 100) < CHI_SQUARED_99


def test_a_normal_number_is_box_and_mullers_function_of_its_bits():
    """By hand from the words of the generator: whatever the platform, all but the last digits."""
    for dtype, width, digits, rtol in (("f8", 64, 53, 1e-12), ("f4", 32, 32, 1e-5)):
        first, second = (int(n) for n in random.bits(random.key(20), (2,), f"u{width // 8}").numpy())
        u = ((first >> (width - digits)) + 1) / 2**digits
        angle = 2 * math.pi * second / 2**width

        z = random.normal(random.key(20), (2,), dtype).numpy()

        radius = math.sqrt(-2 * math.log(u))
        np.testing.assert_allclose(z, [radius * math.cos(angle), radius * math.sin(angle)], rtol=rtol)


def test_a_normal_sample_has_the_moments_of_one_and_the_two_of_a_pair_do_not_know_each_other():
    z = random.normal(random.key(9), N).numpy()

    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(variance / N)
    assert abs(np.corrcoef(z[::2], z[1::2])[0, 1]) < 5 / math.sqrt(N / 2)
    assert abs(np.corrcoef(z[::2] ** 2, z[1::2] ** 2)[0, 1]) < 5 / math.sqrt(N / 2)


def test_each_bit_of_a_word_is_set_half_the_time():
    bits = np.unpackbits(random.bits(random.key(10), (N,)).numpy().view(np.uint8)).reshape(N, 32)

    assert (np.abs(bits.mean(0) - 0.5) < 5 * 0.5 / math.sqrt(N)).all()


@table("p", [0.0, 1e-4, 0.3, 0.5, 0.9999, 1.0])
def test_bernoulli_is_true_with_its_probability(p):
    hits = int(random.bernoulli(random.key(11), p, (N,)).numpy().sum())

    assert abs(hits - N * p) <= 5 * math.sqrt(N * p * (1 - p))


def test_bernoulli_of_probabilities_is_true_with_each():
    hits = random.bernoulli(random.key(12), mg.tensor([0.0, 0.25, 1.0]), (N, 3)).numpy().mean(0)

    assert hits[0] == 0
    assert hits[2] == 1
    assert abs(hits[1] - 0.25) < 5 * math.sqrt(0.1875 / N)


def test_integers_fill_their_range_evenly():
    y = random.randint(random.key(13), (N,), -50, 50).numpy()

    assert (y.min(), y.max()) == (-50, 49)
    assert chi_squared(np.bincount(y + 50, minlength=100), N / 100) < CHI_SQUARED_99


@table(
    "low, high, dtype",
    [(-(2**63), 2**63, "i8"), (0, 2**64, "u8"), (-128, 128, "i1"), (-(2**63), -(2**63) + 3, "i8"), (7, 8, "u1")],
)
def test_a_range_may_be_as_wide_as_its_dtype(low, high, dtype):
    y = random.randint(random.key(14), (5000,), low, high, dtype).numpy()

    assert y.dtype == dtype
    assert low <= y.min()
    assert y.max() < high
    assert int(y.max()) - int(y.min()) > 0.9 * (high - low - 1) - 1


def test_every_order_of_four_is_as_likely():
    orders = [tuple(random.permutation(k, 4).numpy()) for k in random.split(random.key(15), 2400)]
    counts = np.unique(np.array(orders), axis=0, return_counts=True)[1]

    assert len(counts) == 24
    assert chi_squared(counts, 100) < 60  # 23 degrees of freedom: exceeded once in 3 · 10⁴


def test_a_permutation_has_each_number_once_and_moves_rows():
    x = mg.tensor(np.arange(20.0).reshape(10, 2))
    order = random.permutation(random.key(16), 10).numpy()

    assert sorted(order) == list(range(10))
    np.testing.assert_array_equal(random.permutation(random.key(16), x).numpy(), x.numpy()[order])


def test_indices_are_chosen_in_proportion_to_their_weights():
    drawn = random.choice(random.key(17), mg.tensor([1.0, 0.0, 2.0, 5.0]), N, replacement=True).numpy()

    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    assert chi_squared(counts[[0, 2, 3]], N * np.array([1, 2, 5]) / 8) < 23  # 2 degrees of freedom: once in 10⁵


def test_without_replacement_none_comes_twice_and_a_weight_of_0_never():
    drawn = random.choice(random.key(18), mg.tensor(np.tile([1.0, 0.0, 2.0, 5.0], (2000, 1))), 3).numpy()

    assert all(sorted(row) == [0, 2, 3] for row in drawn)
    assert abs((drawn[:, 0] == 3).mean() - 5 / 8) < 5 * math.sqrt(15 / 64 / 2000)


def test_the_quantile_is_that_of_the_standard_library():
    """statistics.NormalDist.inv_cdf is another writing of the same algorithm."""
    p = np.concatenate([10.0 ** -np.arange(1, 300, 7), np.linspace(0.001, 0.999, 200), 1 - 10.0 ** -np.arange(1, 16)])

    np.testing.assert_allclose(quantile(np, p), [NormalDist().inv_cdf(v) for v in p], rtol=1e-13, atol=1e-15)


@table("low, high", [(-2, 2), (5, 6), (-9, -8), (9, math.inf), (-math.inf, -3)])
def test_a_truncated_normal_stays_between_its_bounds_even_far_out(low, high):
    y = random.truncated_normal(random.key(19), low, high, 20_000).numpy()
    Phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731  (exact far out, where NormalDist().cdf is not)
    sign = -1 if low > 0 else 1  # by symmetry, where 1 − Φ would have lost its digits
    below, above = sorted((sign * low, sign * high))
    cdf = lambda x: (Phi(x) - Phi(below)) / (Phi(above) - Phi(below))  # noqa: E731

    assert low <= y.min()
    assert y.max() <= high
    assert kolmogorov_smirnov(sign * y, cdf) < 2.5 / math.sqrt(len(y))
