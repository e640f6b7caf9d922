"""Bugs that outside reviewers found in minigrad itself: aliases, numbers and masks."""

import numpy as np

import minigrad as mg
from tests.reports.report import COMPILED, MODES, report

WAYS = {"eager": lambda f: f, **{name: mg.function(**options) for name, options in COMPILED.items()}}


# -- aliases ----------------------------------------------------------------------------------------------


@report("minigrad", [3, 1], value=[13], modes=["eager", *COMPILED], refused="memory|view")
def test_pythons_max_returns_one_of_the_two(x):
    a, b = x[:1] * 1, x[1:] * 1
    c = max(a, b)
    a.add_(10)
    return c * 1


@report("minigrad", [2], [2], value=[2], gradients=[[1], [0]], modes=["eager", *COMPILED])
def test_pythons_max_of_equal_numbers(x, y):
    return max(x, y)


@report("minigrad", [0, 1, 2], [2], value=[2, 3, 4], modes=["eager", *COMPILED])
def test_a_loop_in_a_branch_edits_what_comes_from_outside(x, n):
    """The edit was lost where the loop stood in a branch."""
    y = x * 1
    if n.sum() > 0:
        i = n * 0
        while i < n:
            y += 1
            i = i + 1
    return y


# -- numbers ----------------------------------------------------------------------------------------------


@report(
    "minigrad", np.array([-18, -20, -50, -80], "f4"), value=[-18, -20, -50, -80], gradients=[np.ones(4)],
    modes=["eager", *COMPILED], rtol=1e-6,
)  # fmt: skip
def test_the_logarithm_of_a_small_sigmoid(x):
    return x.sigmoid().log()


def test_the_mean_of_large_integers():
    """3 · 2**62 is more than an int64 holds."""
    x = mg.tensor([2**62] * 3)
    for way in WAYS.values():
        try:
            found = way(lambda x: x.mean())(x)
        except mg.base.errors.MinigradError:
            continue
        assert float(found) == 2.0**62


@report("minigrad", [1, 2, 3], value=[1, 2, 3], gradients=[[1, 1, 1]], modes=MODES)
def test_extremes_of_slices_that_are_single_numbers(x):
    return mg.func.vmap(lambda x: x.amax())(x) if x.ndim == 1 else x.amax()


@report("minigrad", np.ones((5, 3, 4)), value=None, modes=["eager", "function"], raises="mask|axis|shape|index")
def test_a_mask_behind_a_mask_of_two_axes_meets_its_own_axis(x):
    return x[mg.ones(5, 3, dtype=bool), mg.ones(3, dtype=bool)]


@report("minigrad", np.arange(12.0).reshape(2, 2, 3), value=[[0, 5], [6, 11]], modes=["eager", "function"])
def test_a_mask_of_two_axes_at_the_end(x):
    return x[..., mg.tensor([[True, False, False], [False, False, True]])]
