"""What linear algebra, scattering, special functions give by run, they give traced, compiled and in a session."""

import numpy as np
import pytest

import minigrad as mg
from tests.support.all_close import assert_all_close

A = np.random.default_rng(0).normal(size=(4, 3))
PLACES = np.array([[0, 0, 1], [3, 0, 1]])
CALLS = {
    "svd": lambda x: mg.linalg.svd(x).S,
    "its vectors": lambda x: mg.linalg.svd(x)[0][:, :3] @ mg.linalg.svd(x, False).Vh, "qr": lambda x: mg.linalg.qr(x).R,
    "lu": lambda x: mg.linalg.lu(x)[1] @ mg.linalg.lu_solve(*mg.linalg.lu_factor(x[:3]), x.mT),
    "matrix_exp": lambda x: x[:3].matrix_exp(), "pinv": mg.linalg.pinv,
    "lstsq": lambda x: mg.linalg.lstsq(x, x[:, :1] * 2)[0], "inv_ex": lambda x: mg.linalg.inv_ex(x[:3]).result,
    "cond": lambda x: mg.linalg.cond(x[:3], 1), "cholesky_inverse": lambda x: x[:3].tril().cholesky_inverse(),
    "scatter_reduce": lambda x: x.scatter_reduce(0, mg.tensor(PLACES), x[:2] * 2, "prod"),
    "index_reduce": lambda x: x.index_reduce(0, mg.tensor([0, 0, 2]), x[1:], "mean", include_self=False),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x.flip(0)),
    "put": lambda x: x.put(mg.tensor([1, 2]), x[0, :2], accumulate=True),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x[0]),
    "Γ": lambda x: x.lgamma() + x.digamma() + mg.polygamma(2, x) + (x.abs() + 2).mvlgamma(2),
    "erfinv": lambda x: (x / 10).erfinv(),
    "of two": lambda x: x.copysign(x.flip(0)) + x.fmax(x.flip(1)) + x.logaddexp2(x * 2) + x.sinc(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_the_same_in_all_worlds(name):
    called = CALLS[name]
    x = mg.tensor(A, requires_grad=True)
    y = called(x)
    (g,) = mg.grad((y * y).sum(), [x])

    for compiled in (False, True):
        z = mg.function(called, autograph=False, jit_compile=compiled)(x)
        (h,) = mg.grad((z * z).sum(), [x])
        np.testing.assert_allclose(z.numpy(), y.numpy(), rtol=1e-12)
        np.testing.assert_allclose(h.numpy(), g.numpy(), rtol=1e-10)
    with mg.Graph().as_default(), mg.Session() as session:
        p = mg.placeholder(np.float64, A.shape)
        z = called(p)
        values = session.run([z, *mg.gradients((z * z).sum(), [p])], {p: A})
    assert_all_close(values, (y, g), rtol=1e-10)
    mg.func.jvp(called, (mg.tensor(A),), (mg.tensor(A),))
