"""One or more calls of each op that multiplies, solves or takes apart matrices: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import signed


def invertible(*shape):
    """Random matrices, far from having no inverse."""
    return Tensor(signed(*shape).numpy() + 3 * np.eye(shape[-1]))


def definite(*shape):
    """Random symmetric matrices with eigenvalues of 1 and more, far apart."""
    x = signed(*shape).numpy() * 0.2
    return Tensor(x + x.swapaxes(-1, -2) + np.diag(np.arange(1.0, 1 + shape[-1]) * 2))


EXAMPLES = {
    ops.MatMul: [(ops.MatMul(), signed(2, 3), signed(3, 4)), (ops.MatMul(), signed(5, 2, 3), signed(3, 4)),
                 (ops.MatMul(), signed(2, 3), signed(5, 3, 4)), (ops.MatMul(), signed(4, 1, 2, 3), signed(5, 3, 4))],
    ops.Affine: [(ops.Affine(), signed(2, 3), signed(3, 4), signed(4)), (ops.Affine(), signed(5, 2, 3), signed(3, 4)),
                 (ops.Affine(True), signed(5, 2, 3), signed(4, 3), signed(4)),
                 (ops.Affine(True), signed(3), signed(4, 3))],
    ops.Contract: [(ops.Contract("ij", "jk", "ki"), signed(2, 3), signed(3, 4)),
                   (ops.Contract("bi", "jb", "bij"), signed(2, 3), signed(4, 2)),
                   (ops.Contract("ijk", "kj", "i"), signed(2, 3, 4), signed(4, 3)),
                   (ops.Contract("bchq", "bkhc", "hbqk"), signed(2, 3, 2, 4), signed(2, 5, 2, 3)),
                   (ops.Contract("i", "i", ""), signed(3), signed(3)),
                   (ops.Contract("", "i", "i"), signed(), signed(3))],
    ops.Inverse: [(ops.Inverse(), invertible(3, 3)), (ops.Inverse(), invertible(2, 2, 2))],
    ops.Solve: [(ops.Solve(), invertible(3, 3), signed(3, 2)), (ops.Solve(), invertible(2, 3, 3), signed(3, 1)),
                (ops.Solve(), invertible(3, 3), signed(2, 3, 1))],
    ops.Det: [(ops.Det(), signed(3, 3)), (ops.Det(), signed(2, 2, 2))],
    ops.Cofactors: [(ops.Cofactors(), invertible(3, 3)), (ops.Cofactors(), invertible(2, 2, 2))],
    ops.LogAbsDet: [(ops.LogAbsDet(), invertible(3, 3)), (ops.LogAbsDet(), invertible(2, 2, 2))],
    ops.SignDet: [(ops.SignDet(), invertible(2, 3, 3))],
    ops.Cholesky: [(ops.Cholesky(), definite(3, 3)), (ops.Cholesky(), definite(2, 3, 3))],
    ops.Eigenvalues: [(ops.Eigenvalues(), definite(3, 3)), (ops.Eigenvalues(), definite(2, 2, 2))],
    ops.Eigenvectors: [(ops.Eigenvectors(), definite(3, 3)), (ops.Eigenvectors(), definite(2, 2, 2))],
    ops.Svd: [(ops.Svd(), signed(*shape)) for shape in ((3, 3), (2, 4, 3), (3, 4))],
    ops.Orthonormal: [(ops.Orthonormal(), invertible(3, 3)), (ops.Orthonormal(), signed(2, 4, 2)),
                      (ops.Orthonormal(True), invertible(3, 3))],
    ops.MatrixExp: [(ops.MatrixExp(), signed(3, 3)), (ops.MatrixExp(), signed(2, 2, 2) * 3)],
    ops.Pivots: [(ops.Pivots(), signed(*shape)) for shape in ((3, 3), (2, 4, 3), (3, 4))],
    ops.Exchanged: [(ops.Exchanged(4), Tensor(np.array([[4, 2, 3], [2, 4, 3]], "i4")))],
    ops.Lu: [(ops.Lu(), invertible(3, 3)), (ops.Lu(), definite(2, 3, 3))],
    ops.PseudoInverse: [(ops.PseudoInverse(1e-15), signed(*shape)) for shape in ((3, 3), (2, 4, 2), (2, 4))],
}  # fmt: skip
