"""NaN wins: extrema, orders and scans of rows with NaN in them, in every mode and in all float dtypes."""

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

F = mg.nn.functional
DTYPES = ["float64", "float32", "float16", "bfloat16"]
WAYS = {
    "eagerly": lambda f: f, "traced": mg.function, "compiled": mg.function(jit_compile=True),
    "in C++": mg.function(jit_compile="native"), "batched": lambda f: lambda x: mg.vmap(f)(x[None])[0],
}  # fmt: skip
ROWS = np.array([[1.0, np.nan, -2.0, 3.0], [np.nan] * 4, [0.0, 5.0, np.inf, -1.0], [-np.inf, 2.0, -np.nan, np.nan]])
IN_ORDER = np.sort(ROWS, 1)
PAIRS = np.stack([ROWS[:, :-1], ROWS[:, 1:]])

# name → our function of the rows, and NumPy's, in which NaN wins
EXTREMA = {
    "max": (lambda x: x.max(), np.nan),
    "min": (lambda x: x.min(), np.nan),
    "max of rows": (lambda x: x.max(1)[0], ROWS.max(1)),
    "its places": (lambda x: x.max(1)[1], ROWS.argmax(1)),
    "min of rows": (lambda x: x.min(1)[0], ROWS.min(1)),
    "its places, of min": (lambda x: x.min(1)[1], ROWS.argmin(1)),
    "amax": (lambda x: x.amax(0), ROWS.max(0)),
    "amin": (lambda x: x.amin(0), ROWS.min(0)),
    "argmax": (lambda x: x.argmax(1), ROWS.argmax(1)),
    "argmin": (lambda x: x.argmin(1), ROWS.argmin(1)),
    "sort": (lambda x: x.sort(1)[0], IN_ORDER),
    "sort, descending": (lambda x: mg.sort(x, dim=1, descending=True)[0], IN_ORDER[:, ::-1]),
    "topk": (lambda x: x.topk(2, 1)[0], IN_ORDER[:, :-3:-1]),
    "topk, smallest": (lambda x: x.topk(2, 1, largest=False)[0], IN_ORDER[:, :2]),
    "kthvalue": (lambda x: x.kthvalue(4, 1)[0], IN_ORDER[:, 3]),
    "median": (lambda x: x.median(1)[0], np.where(np.isnan(ROWS).any(1), np.nan, 0.0)),
    "clamp": (lambda x: x.clamp(-1.0, 2.0), ROWS.clip(-1, 2)),
    "maximum": (lambda x: mg.maximum(x, x.flip(0)), np.maximum(ROWS, ROWS[::-1])),
    "minimum": (lambda x: mg.minimum(x, x.flip(0)), np.minimum(ROWS, ROWS[::-1])),
    "relu": (F.relu, np.maximum(ROWS, 0)),
    "hardtanh": (F.hardtanh, ROWS.clip(-1, 1)),
    "max_pool1d": (lambda x: F.max_pool1d(x[None], 2, 1)[0], PAIRS.max(0)),
    "max_pool2d": (lambda x: F.max_pool2d(x[None, None], (1, 2), 1)[0, 0], PAIRS.max(0)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x[None], 2)[0], PAIRS[:, :, ::2].max(0)),
    "cummax": (lambda x: x.cummax(1)[0], np.maximum.accumulate(ROWS, 1)),
    "cummin": (lambda x: x.cummin(1)[0], np.minimum.accumulate(ROWS, 1)),
    "the largest size": (lambda x: mg.linalg.vector_norm(x, float("inf"), 1), abs(ROWS).max(1)),
    "the smallest size": (lambda x: mg.linalg.vector_norm(x, -float("inf"), 1), abs(ROWS).min(1)),
}


@pytest.mark.share(5)
@pytest.mark.parametrize("way", WAYS)
@table("name", EXTREMA, groups=4)
def test_the_extremum_of_numbers_with_nan_is_nan(name, way):
    ours, wanted = EXTREMA[name]
    for dtype in DTYPES:
        y = WAYS[way](ours)(mg.tensor(ROWS).astype(getattr(mg, dtype)))

        np.testing.assert_array_equal(y.numpy().astype(float), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_and_isin_sort_nan_behind_all_numbers(dtype):
    """bfloat16 does not order NaN: unique() repeated numbers, and isin() found none of them."""
    x = mg.tensor(ROWS).astype(getattr(mg, dtype))
    different, counts = mg.unique(x, return_counts=True)

    np.testing.assert_array_equal(different.numpy().astype(float), np.unique(ROWS))
    assert different.dtype == x.dtype
    assert counts.tolist() == np.unique(ROWS, return_counts=True)[1].tolist()
    np.testing.assert_array_equal(mg.isin(x, x[2:]).numpy(), np.isin(ROWS, ROWS[2:]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_infinity_becomes_the_largest_number_of_the_dtype(dtype, way):
    """float16 is computed in float32, whose largest number is ∞ in float16."""
    x = mg.tensor([np.inf, -np.inf, np.nan]).astype(getattr(mg, dtype))
    largest = float(mg.finfo(x.dtype).max)

    assert WAYS[way](mg.nan_to_num)(x).tolist() == [largest, -largest, 0.0]


# -- integers that wrap ------------------------------------------------------------------------------

MEANS = {
    "mean": lambda x: x.mean(), "mean of rows": lambda x: x.mean(1), "var": lambda x: x.var(),
    "std": lambda x: x.std(1), "var_mean": lambda x: x.var_mean()[1], "std_mean": lambda x: x.std_mean()[1],
    "nanmean": lambda x: x.nanmean(1), "trapezoid": mg.trapezoid, "cumulative_trapezoid": mg.cumulative_trapezoid,
    "embedding_bag": lambda x: F.embedding_bag(mg.tensor([[0, 1]]), x, mode="mean"),
}  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("way", ["eagerly", "traced", "compiled", "in C++"])
@table("name", MEANS, groups=2)
def test_the_mean_of_integers_is_computed_in_float64(name, way):
    """The mean of (2**62,) * 3 was -1.5e18: the sum wrapped in int64."""
    for dtype in ("int64", "int32", "int8", "uint8"):
        x = np.full((2, 3), np.iinfo(dtype).max // 2 + 1, dtype)
        x[1, 2] -= 9
        y, wanted = (WAYS[way](MEANS[name])(mg.tensor(a)) for a in (x, x.astype(float)))

        np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=1e-12)
