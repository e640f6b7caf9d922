"""Several arrays or tensors, minigrad's or PyTorch's, each held to another."""

import numpy as np


def assert_all_equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array(a), array(b))


def assert_all_close(found, expected, rtol=1e-7, atol=0.0):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(array(a), array(b), rtol, atol)


def array(x):
    return x.detach().numpy() if hasattr(x, "detach") else x
