"""PyTorch as an oracle of linear algebra: values, first and second gradients, in float64."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import DTypeError, NoGradientError, ShapeError
from tests.support.table import table

from .oracle import agree_twice, attribute, torch

rng = np.random.default_rng(12)


def normal(*shape):
    return rng.normal(size=shape)


def invertible(*shape):
    return normal(*shape) + 3 * np.eye(shape[-1])


def definite(*shape):
    x = normal(*shape)
    return x @ x.swapaxes(-1, -2) + np.diag(np.arange(1.0, 1 + shape[-1]))


def agrees(f, arrays, rtol=1e-9, theirs=None):
    """f(library, *tensors) has PyTorch's value and two gradients; `theirs` where PyTorch has another name for it."""
    agree_twice(partial(f, mg), theirs or partial(f, torch), arrays, (rtol, 1e-12), (rtol, 1e-10), (1e-7, 1e-10))


EQUATIONS = {
    "ij,jk->ik": ((2, 3), (3, 4)), "ij,jk": ((2, 3), (3, 4)), "ba,cb": ((2, 3), (4, 2)), "ij->ji": ((2, 3),),
    "ij->": ((2, 3),), "ij->j": ((2, 3),), "ii": ((3, 3),), "ii->i": ((3, 3),), "iji->j": ((3, 2, 3),),
    "iii->i": ((3, 3, 3),), "i,i": ((3,), (3,)), "i,i->i": ((3,), (3,)), "i,j->ij": ((3,), (4,)),
    "i,j->ji": ((3,), (4,)), "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)), "bhqd,bkhd->bqhk": ((2, 3, 4, 5), (2, 6, 3, 5)),
    "bi,ij,bj->b": ((2, 3), (3, 4), (2, 4)), "ab,bc,cd,de->ae": ((2, 3), (3, 4), (4, 2), (2, 5)),
    "ij,kj->i": ((2, 3), (4, 3)), "ij,k->j": ((2, 3), (4,)), "...ij,...jk->...ik": ((2, 3, 4), (4, 5)),
    "...i,i": ((2, 3, 4), (4,)), "...,...->...": ((2, 3), (3,)), "i...,i...->...": ((2, 3, 4), (2, 1, 4)),
    "...ii->...i": ((2, 3, 3),), "...i->i...": ((2, 3, 4),), "ij,ij->ij": ((2, 3), (2, 1)), "i,ij": ((1,), (2, 3)),
    " i j , j -> i ": ((2, 3), (3,)), "bn,anm,bm->ba": ((2, 3), (5, 3, 4), (2, 4)), ",i->i": ((), (3,)),
}  # fmt: skip


@table("equation", EQUATIONS)
def test_einsum_is_pytorchs(equation):
    arrays = [normal(*shape) for shape in EQUATIONS[equation]]
    agrees(lambda m, *xs: m.einsum(equation, *xs), arrays)


# Name → the function, what draws its matrix, and PyTorch's function where it is another.
SQUARE = {
    "inverse": (lambda m, x: m.inverse(x), invertible), "inv": (lambda m, x: m.linalg.inv(x), invertible),
    "det": (lambda m, x: m.det(x), invertible), "logdet": (lambda m, x: m.logdet(x), definite),
    "slogdet": (lambda m, x: m.slogdet(x)[1], invertible),
    "cholesky": (lambda m, x: m.cholesky(x), definite, torch.linalg.cholesky),
    "cholesky, upper":
        (lambda m, x: x.cholesky(upper=True), definite, lambda t: torch.linalg.cholesky(t, upper=True)),
    "eigenvalues": (lambda m, x: m.linalg.eigvalsh(x), definite, lambda t: torch.linalg.eigvalsh((t + t.mT) / 2)),
    "eigenvectors":  # each is there up to its sign
        (lambda m, x: m.linalg.eigh(x)[1].abs(), definite, lambda t: torch.linalg.eigh((t + t.mT) / 2)[1].abs()),
    "the singular value decomposition, up to its signs":
        (lambda m, x: m.linalg.svd(x[..., :-1, :], False).U.abs() @ m.linalg.svd(x[..., :-1, :])[2][..., :2, :].abs(),
         invertible,
         lambda t: torch.svd(t[..., :-1, :])[0].abs() @ torch.linalg.svd(t[..., :-1, :])[2][..., :2, :].abs()),
    "Q": (lambda m, x: m.linalg.qr(x[..., :2])[0], invertible),
    "R": (lambda m, x: m.linalg.qr(x[..., :2, :], "r").R, invertible, lambda t: torch.linalg.qr(t[..., :2, :])[1]),
    "Q, square": (lambda m, x: m.linalg.qr(x, "complete").Q, invertible, lambda t: torch.linalg.qr(t).Q),
    "pseudo-inverse": (lambda m, x: m.linalg.pinv(x[..., :2]), invertible),
    "pseudo-inverse of rank 1": (lambda m, x: m.linalg.pinv(x[..., :1] @ x[..., :1, :]), invertible),
    "exp": (lambda m, x: m.matrix_exp(x), normal), "L": (lambda m, x: m.linalg.lu(x)[1], normal),
    "U": (lambda m, x: m.linalg.lu(x).U, normal), "LU, tall": (lambda m, x: m.linalg.lu_factor(x[..., :2]).LU, normal),
    "LU, wide": (lambda m, x: m.linalg.lu_factor(x[..., :2, :]).LU, normal),
    "powers": (lambda m, x: m.linalg.vander(x, 4), invertible, lambda t: torch.linalg.vander(t, N=4)),
    "singular values": (lambda m, x: m.linalg.svdvals(x), lambda *shape: normal(*shape)[..., :-1, :]),
    **{f"to the power {n}": (lambda m, x, n=n: x.matrix_power(n), invertible) for n in (1, 2, 3, 5, -1, -3)},
}  # fmt: skip


@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "batch"])
@table("name", SQUARE)
def test_functions_of_a_square_matrix_are_pytorchs(name, batch):
    f, draw, *theirs = SQUARE[name]
    agrees(f, [draw(*batch, 3, 3)], 1e-8, *theirs)


SEVERAL = {
    "solve": ("linalg.solve", [invertible(3, 3), normal(3, 2)], {}),
    "solve for a vector": ("linalg.solve", [invertible(3, 3), normal(3)], {}),
    "solve for vectors": ("linalg.solve", [invertible(4, 3, 3), normal(4, 3)], {}),
    "solve, broadcast": ("linalg.solve", [invertible(3, 3), normal(4, 3, 1)], {}),
    "solve from the right": ("linalg.solve", [invertible(3, 3), normal(2, 3)], {"left": False}),
    "a lower triangle": ("linalg.solve_triangular", [invertible(3, 3), normal(3, 2)], {"upper": False}),
    "an upper triangle": ("linalg.solve_triangular", [invertible(2, 3, 3), normal(2, 3, 2)], {"upper": True}),
    "from the right": ("linalg.solve_triangular", [invertible(3, 3), normal(2, 3)], {"upper": True, "left": False}),
    "ones on the diagonal":
        ("linalg.solve_triangular", [invertible(3, 3), normal(3, 2)], {"upper": False, "unitriangular": True}),
    "mm": ("mm", [normal(2, 3), normal(3, 4)], {}), "bmm": ("bmm", [normal(5, 2, 3), normal(5, 3, 4)], {}),
    "mv": ("mv", [normal(2, 3), normal(3)], {}), "dot": ("dot", [normal(3), normal(3)], {}),
    "outer": ("outer", [normal(3), normal(4)], {}), "inner": ("inner", [normal(2, 3), normal(4, 5, 3)], {}),
    "inner of numbers": ("inner", [normal(), normal(2, 3)], {}),
    "addmm": ("addmm", [normal(4), normal(2, 3), normal(3, 4)], {}),
    "addmm, broadcast": ("addmm", [normal(2, 1), normal(2, 3), normal(3, 4)], {}),
    "tensordot": ("tensordot", [normal(2, 3, 4), normal(3, 4, 5)], {}),
    "tensordot of no axes": ("tensordot", [normal(2, 3), normal(4)], {"dims": 0}),
    "tensordot of named axes": ("tensordot", [normal(2, 3, 4), normal(4, 5, 2)], {"dims": ([0, -1], [2, 0])}),
    "vecdot": ("linalg.vecdot", [normal(2, 3), normal(2, 3)], {}),
    "matmul of batches": ("matmul", [normal(4, 1, 2, 3), normal(5, 3, 4)], {}),
    "matmul by one matrix": ("matmul", [normal(4, 5, 2, 3), normal(3, 4)], {}),
    "matmul of one matrix": ("matmul", [normal(2, 3), normal(5, 3, 4)], {}),
    "a vector by matrices": ("matmul", [normal(3), normal(5, 3, 4)], {}),
    "matrices by a vector": ("matmul", [normal(5, 4, 3), normal(3)], {}),
    "matmul of nothing": ("matmul", [normal(2, 0), normal(0, 3)], {}),
    "matmul of no batch": ("matmul", [normal(0, 2, 3), normal(3, 4)], {}),
    "linear": ("nn.functional.linear", [normal(5, 2, 3), normal(4, 3), normal(4)], {}),
    "linear without bias": ("nn.functional.linear", [normal(2, 3), normal(4, 3)], {}),
    "linear of a vector": ("nn.functional.linear", [normal(3), normal(4, 3), normal(4)], {}),
    "linear of no batch": ("nn.functional.linear", [normal(0, 3), normal(4, 3), normal(4)], {}),
    "linear of no features": ("nn.functional.linear", [normal(2, 0), normal(4, 0), normal(4)], {}),
}  # fmt: skip


@table("case", SEVERAL)
def test_functions_of_several_operands_are_pytorchs(case):
    name, arrays, options = SEVERAL[case]
    agrees(lambda m, *xs: attribute(m, name)(*xs, **options), arrays)


def test_a_chain_of_products_is_pytorchs():
    matrices = [normal(2, 9), normal(9, 3), normal(3, 8), normal(8)]
    agrees(lambda m, *xs: m.linalg.multi_dot(xs), matrices)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms_of_matrices_are_pytorchs(ord, keepdim):
    agrees(lambda m, x: m.linalg.matrix_norm(x, ord, (0, 2), keepdim), [normal(3, 2, 4)], rtol=1e-8)


@pytest.mark.parametrize("axes", [(1, 2), (0, 2)])
def test_the_sum_of_singular_values_is_a_norm_too(axes):
    agrees(lambda m, x: x.norm("nuc", axes), [normal(3, 2, 4)], rtol=1e-8)


@pytest.mark.parametrize("ord", [2, 1, 3, np.inf, -np.inf, 0.5])
def test_norms_of_vectors_are_pytorchs(ord):
    agrees(lambda m, x: m.linalg.vector_norm(x, ord, 1), [normal(3, 4)])
    np.testing.assert_allclose(mg.linalg.norm(mg.tensor([[3.0, 4.0]])).numpy(), 5)


def test_a_determinant_of_0_has_a_gradient():
    """det is a polynomial, and smooth everywhere; det(x) x⁻¹ is not there to say so."""
    for x in ([[1.0, 2.0], [2.0, 4.0]], np.zeros((2, 2)), np.diag([1.0, 2.0, 0.0])):
        x = mg.tensor(x, requires_grad=True)

        (g,) = mg.grad(x.det(), [x])

        h = 1e-6
        for i in np.ndindex(*x.shape):
            nudge = np.zeros(x.shape)
            nudge[i] = h
            slope = (np.linalg.det(x.numpy() + nudge) - np.linalg.det(x.numpy() - nudge)) / (2 * h)
            np.testing.assert_allclose(g.numpy()[i], slope, atol=1e-9)


def test_signs_of_determinants_are_flat():
    x = mg.tensor(invertible(3, 3), requires_grad=True)
    sign, _ = mg.slogdet(-x)
    sign.backward()

    assert sign.item() == -1
    assert not x.grad.numpy().any()
    assert np.isnan(mg.logdet(-x).item())


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 4, 3), (0, 3), (3, 0)])
def test_what_completes_an_orthonormal_basis_is_orthonormal_and_has_no_gradient(shape):
    x = mg.tensor(normal(*shape), requires_grad=True)
    U, S, Vh = mg.linalg.svd(x)

    np.testing.assert_allclose((U[..., : S.shape[-1]] * S.unsqueeze(-2) @ Vh[..., : S.shape[-1], :]).numpy(), x.numpy())
    for Q in (U, Vh, mg.linalg.qr(x.detach(), "complete").Q):
        np.testing.assert_allclose((Q @ Q.mT).numpy(), np.broadcast_to(np.eye(Q.shape[-1]), Q.shape), atol=1e-14)
    if shape[-2] > shape[-1] > 0:
        with pytest.raises(NoGradientError, match="complete Q"):
            mg.linalg.qr(x, "complete").R.sum().backward()


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 5), (2, 1, 6, 6), (0, 3), (3, 0), (0, 3, 3)])
def test_factors_by_elimination_and_their_pivots_are_pytorchs(shape):
    x = normal(*shape)
    x[..., 2:3, :2] = 0  # one element of each column below is exact 0
    t = torch.tensor(x)

    for ours, theirs in (
        (mg.linalg.lu(x), torch.linalg.lu(t)),
        (mg.linalg.lu_factor_ex(x), torch.linalg.lu_factor_ex(t)),
        (mg.linalg.lu_unpack(*mg.linalg.lu_factor(x)), torch.lu_unpack(*torch.linalg.lu_factor(t))),
    ):
        for y, u in zip(ours, theirs, strict=True):
            assert (y.shape, str(y.dtype)) == (tuple(u.shape), str(u.dtype)[6:])
            np.testing.assert_allclose(y.numpy(), u.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_what_factors_solve_is_what_pytorchs_solve(left, adjoint):
    B = normal(2, 3, 4) if left else normal(2, 4, 3)
    options = {"left": left, "adjoint": adjoint}
    agrees(lambda m, a, b: m.linalg.lu_solve(*m.linalg.lu_factor(a), b, **options), [normal(2, 3, 3), B], 1e-8)


def test_tensors_are_inverted_and_solved_as_pytorchs():
    A, B = normal(2, 3, 6), normal(2, 3)
    agrees(lambda m, a: m.linalg.tensorinv(a), [A], 1e-8)
    agrees(lambda m, a: m.linalg.tensorinv(a, 1), [A.reshape(6, 3, 2)], 1e-8)
    agrees(lambda m, a, b: m.linalg.tensorsolve(a, b), [A, B], 1e-8)
    agrees(lambda m, a, b: m.linalg.tensorsolve(a, b, (1,)), [A.reshape(2, 6, 3), B], 1e-8)


@pytest.mark.parametrize("name", ["trapezoid", "trapz", "cumulative_trapezoid"])
def test_integrals_by_trapezoids_are_pytorchs(name):
    y = normal(3, 4)
    agrees(lambda m, y: getattr(m, name)(y, dx=0.5, dim=0), [y])
    for x, dim in ((normal(4), -1), (normal(4), 1), (normal(3), 0), (normal(3, 4), 0), (normal(1, 4), 1)):
        agrees(lambda m, y, x, dim=dim: getattr(m, name)(y, x, dim=dim), [y, x])


def test_what_of_fft_is_real_is_pytorchs_and_the_rest_is_refused_by_name():
    x = normal(3, 4)
    cases = [("fftshift", x), ("ifftshift", x, 0), ("fftshift", x, (1,)), ("fftfreq", 5, 0.5), ("rfftfreq", 6)]
    for name, *args in cases:
        u = getattr(torch.fft, name)(*[torch.tensor(a) if a is x else a for a in args])
        np.testing.assert_allclose(getattr(mg.fft, name)(*args).numpy(), u.numpy(), rtol=1e-6)
    for name in ("fft", "rfft", "irfft2"):
        with pytest.raises(AttributeError, match=f"no {name}: a spectrum is complex"):
            getattr(mg.fft, name)(x)


def test_a_matrix_without_an_inverse_has_factors():
    x = np.ones((3, 3))
    for y, u in zip(mg.linalg.lu(x), torch.linalg.lu(torch.tensor(x))):
        np.testing.assert_array_equal(y.numpy(), u.numpy())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3, 4.0, 20.0])
def test_exp_of_a_matrix_is_pytorchs_at_any_size(size, dtype):
    x = (np.random.default_rng(0).normal(size=(2, 5, 5)) * size).astype(dtype)
    y, u = mg.matrix_exp(x), torch.matrix_exp(torch.tensor(x).double())
    assert y.dtype == dtype
    largest = u.abs().max() * np.finfo(dtype).eps * 500
    np.testing.assert_allclose(y.numpy(), u.numpy().astype(dtype), rtol=0, atol=largest)


def test_the_gradient_of_exp_of_a_matrix_keeps_its_digits_where_another_gradient_is_large():
    """Beside a large dx a small x lost its digits: 4e-4 of a second gradient (and PyTorch's loses 4e-7 of it)."""
    x, dx = normal(3, 3) + 3 * np.eye(3), normal(3, 3)

    y, slope = mg.func.jvp(lambda x: x.matrix_exp(), (mg.tensor(x),), (mg.tensor(dx * 1e10),))

    np.testing.assert_allclose(y.numpy(), torch.matrix_exp(torch.tensor(x)).numpy(), rtol=1e-12)
    plain = mg.func.jvp(lambda x: x.matrix_exp(), (mg.tensor(x),), (mg.tensor(dx * 1e-10),))[1]
    np.testing.assert_allclose(slope.numpy(), plain.numpy() * 1e20, rtol=1e-12)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelss", "gelsd"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3), (3, 3)])
def test_least_squares_say_what_pytorchs_say(driver, shape):
    A, B = normal(*shape), normal(shape[0], 2)
    ours = mg.linalg.lstsq(mg.tensor(A), mg.tensor(B), driver=driver)
    for y, t in zip(ours, torch.linalg.lstsq(torch.tensor(A), torch.tensor(B), driver=driver)):
        assert y.shape == tuple(t.shape)
        np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=1e-10)
    if driver is None:
        theirs = partial(torch.linalg.lstsq, driver="gels")
        agrees(lambda m, a, b: m.linalg.lstsq(a, b)[0], [A, B], 1e-8, lambda a, b: theirs(a, b)[0])


@pytest.mark.parametrize("p", [None, 2, -2, "fro", "nuc", 1, -1, np.inf, -np.inf])
def test_condition_numbers_are_pytorchs(p):
    A = invertible(2, 3, 3)
    np.testing.assert_allclose(mg.linalg.cond(mg.tensor(A), p).numpy(), torch.linalg.cond(torch.tensor(A), p).numpy())


@pytest.mark.parametrize("options", [{}, {"atol": 2.0}, {"rtol": 0.3}, {"atol": 0.5, "rtol": 0.1}, {"hermitian": True}])
def test_ranks_are_pytorchs(options):
    A = definite(4, 3, 3) * [[1, 1, 0]] * [[1], [1], [0]]
    ours, theirs = mg.linalg.matrix_rank(mg.tensor(A), **options), torch.linalg.matrix_rank(torch.tensor(A), **options)
    assert ours.numpy().tolist() == theirs.tolist()


@pytest.mark.parametrize("names", [["atol"], ["rtol"], ["atol", "rtol"]])
def test_ranks_under_a_bound_for_each_matrix_are_pytorchs(names):
    A, bounds = definite(4, 3, 3), {name: np.array([0.0, 0.3, 1.0, 9.0]) for name in names}
    bounded = lambda m: {name: m.tensor(b) for name, b in bounds.items()}  # noqa: E731
    ours, theirs = (m.linalg.matrix_rank(m.tensor(A), **bounded(m)) for m in (mg, torch))
    assert ours.numpy().tolist() == theirs.tolist()


@pytest.mark.parametrize("upper", [False, True])
def test_what_cholesky_factors_solve_is_pytorchs(upper):
    """One triangle is read. PyTorch's gradient is not 0 in the other: it is taken of the triangle here."""
    L, B = invertible(2, 3, 3), normal(2, 3, 2)
    half = (lambda x: x.triu()) if upper else (lambda x: x.tril())
    agrees(lambda m, x: half(x).cholesky_inverse(upper), [L], 1e-8)
    agrees(lambda m, b, x: b.cholesky_solve(half(x), upper), [B, L], 1e-8)
    whole = mg.tensor(B).cholesky_solve(mg.tensor(L), upper)
    np.testing.assert_allclose(whole.numpy(), torch.tensor(B).cholesky_solve(torch.tensor(L), upper).numpy())


@pytest.mark.parametrize("name", ["inv_ex", "cholesky_ex", "solve_ex"])
def test_what_ends_in_ex_says_that_all_went_well_or_refuses(name):
    A = [definite(2, 3, 3)] + [normal(2, 3, 1)] * (name == "solve_ex")
    y, t = getattr(mg.linalg, name)(*map(mg.tensor, A)), getattr(torch.linalg, name)(*map(torch.tensor, A))

    np.testing.assert_allclose(y[0].numpy(), t[0].numpy(), rtol=1e-10)
    assert (y.info.shape, y.info.dtype, y.info.numpy().any()) == ((2,), np.int32, False)
    with pytest.raises(mg.errors.SingularError):
        getattr(mg.linalg, name)(*(mg.tensor(a * 0) for a in A))


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((3, 2)), np.outer([1.0, 2, 3], [1, 1])])
def test_equal_singular_values_have_gradients_and_their_vectors_none(x):
    """0 is no answer there: of U diag(S) Vᵀ it would make a wrong number."""
    x = mg.tensor(x, requires_grad=True)
    U, S, Vh = mg.linalg.svd(x, False)

    (g,) = mg.grad((S * S).sum(), [x], retain_graph=True)
    np.testing.assert_allclose(g.numpy(), 2 * x.numpy(), atol=1e-12)
    if x.shape == (3, 3):
        with np.errstate(all="ignore"):
            (g,) = mg.grad((U * S @ Vh)[0, 1], [x])
        assert np.isnan(g.numpy()).any()


def test_equal_eigenvalues_have_gradients_though_their_vectors_have_none():
    x = mg.tensor(np.eye(3), requires_grad=True)
    mg.linalg.eigvalsh(x).sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)


def test_float32_and_integers_keep_their_dtype():
    x = mg.tensor(invertible(3, 3).astype("f4"))
    i = mg.tensor(np.arange(6).reshape(2, 3))

    for y in (x.inv(), x.det(), x.solve(x), x @ x, mg.einsum("ij,jk,kl->il", x, x, x), mg.linalg.eigvalsh(x)):
        assert y.dtype == np.float32
    assert mg.einsum("ij,kj", i, i).numpy().tolist() == [[5, 14], [14, 50]]
    assert i.linear(i).dtype == np.int64


MISTAKES = {
    "mm": (ShapeError, "mm needs operands of 2 and 2 axes", lambda x: mg.mm(x[0], x)),
    "bmm": (ShapeError, "the first of equal length", lambda x: mg.bmm(np.ones((2, 1, 1)), np.ones((3, 1, 1)))),
    "outer": (ShapeError, "two vectors", lambda x: mg.outer(x, x)),
    "tensordot": (ShapeError, "equal length", lambda x: mg.tensordot(x, x, 1)),
    "linear": (ShapeError, "W \\(n, k\\)", lambda x: x.linear(np.ones((4, 2)))),
    "linear's bias": (ShapeError, "4 outputs", lambda x: x.linear(np.ones((4, 3)), np.ones(3))),
    "inverse": (ShapeError, "square", lambda x: x.inv()),
    "of integers": (DTypeError, "astype", lambda x: mg.inverse(np.eye(2, dtype=int))),
    "qr": (ValueError, "'complete'", lambda x: mg.linalg.qr(x, "full")),
    "svd of a vector": (ShapeError, "needs matrices", lambda x: mg.linalg.svd(x[0])),
    "eigenvalues": (DTypeError, "eigh", lambda x: mg.linalg.eigvals(x @ x.mT)),
    "solve": (ShapeError, "solve needs", lambda x: mg.linalg.solve(np.eye(3), x)),
    "terms": (ShapeError, "1 terms, and 2 operands", lambda x: mg.einsum("ij", x, x)),
    "axes": (ShapeError, "does not name 2 axes", lambda x: mg.einsum("ijk", x)),
    "lengths": (ShapeError, "j is 3 long, and 2 in", lambda x: mg.einsum("ij,jk", x, x)),
    "a diagonal": (ShapeError, "diagonal ii", lambda x: mg.einsum("ii", x[:1])),
    "a letter from nowhere": (ShapeError, "'k'", lambda x: mg.einsum("ij->k", x)),
    "no letter": (ShapeError, "letters a to z", lambda x: mg.einsum("i1", x)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_does_not_fit_is_said(mistake):
    error, says, call = MISTAKES[mistake]
    with pytest.raises(error, match=says):
        call(mg.tensor(normal(2, 3)))
