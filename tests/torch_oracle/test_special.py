"""Functions that an integral or a series defines, against PyTorch: and at their poles."""

import numpy as np
import pytest

import minigrad as mg

from .oracle import agree_twice, attribute, torch

LINE = np.concatenate([np.linspace(-9.7, 40, 301), [-0.5, -1e-9, 1e-9, 1 + 1e-9, 1.5, 2.5, 7.0, 1e3, 1e9]])
RIGHT = LINE[LINE > 0]
EVEN = np.concatenate([-RIGHT, RIGHT])
UNIT = np.concatenate([np.linspace(-0.9999, 0.9999, 101), [1e-12, -1e-300, 1 - 1e-12]])
CALLS = {
    "lgamma": (LINE,), "digamma": (LINE,), "mvlgamma": (RIGHT[RIGHT > 1.01], 3), "erfinv": (UNIT,),
    "i0": (EVEN[abs(EVEN) < 700],), "special.i0e": (EVEN,), "special.i1": (EVEN[abs(EVEN) < 700],),
    "special.i1e": (EVEN,),
}  # fmt: skip


def agree(ours, theirs, x, rtol=2e-12):
    agree_twice(ours, theirs, [x], (rtol, 1e-14), (2e-9, 1e-20), (2e-9, 1e-7))  # PyTorch's trigamma is no better


@pytest.mark.parametrize("name", CALLS)
def test_special_functions_and_their_slopes_are_pytorchs(name):
    x, *numbers = CALLS[name]
    ours, theirs = (lambda x, lib=lib: attribute(lib, name)(x, *numbers) for lib in (mg, torch))
    agree(ours, theirs, x)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_derivatives_of_digamma_are_pytorchs(n):
    agree(lambda x: mg.polygamma(n, x), lambda t: torch.polygamma(n, t), LINE[abs(LINE) > 1e-3], rtol=2e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [*(CALLS.keys() - {"mvlgamma"}), "polygamma"])
def test_poles_and_infinities_are_pytorchs(name, dtype):
    """lgamma of 1 and 2 is 0 itself, and not what rounding leaves of it."""
    corners = np.array([0.0, -0.0, 1, -1, 2, -3, 0.5, np.inf, -np.inf, np.nan, 1e-10], dtype)
    n = () if name != "polygamma" else (1,)

    y = attribute(mg, name)(*n, mg.tensor(corners)).numpy()
    u = attribute(torch, name)(*n, torch.tensor(corners).double()).numpy()

    assert y.dtype == dtype
    y, u = (np.where(abs(z) > 1e30, np.copysign(np.inf, z), z) for z in (y, u))  # PyTorch's is 6e32 at a pole
    np.testing.assert_allclose(y, u, rtol=1e-6 if dtype == "f4" or n else 1e-13)
