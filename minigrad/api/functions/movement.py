"""Joining, stacking, broadcasting and padding tensors."""

from __future__ import annotations

from itertools import combinations as ways
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from ...engine import ops
from ...engine.base.dimension import is_unknown, unwrap_dimension
from ...engine.base.dtypes import result_type
from ...engine.base.errors import ShapeError
from ...engine.base.spec import broadcast_shape
from ...engine.methods import Operand
from ...engine.methods.arguments import accept_dim
from ...engine.tensor.lift import operand, operands


def of_shape(x: Any, shape: tuple[int, ...], rule: str) -> Any:
    """x, checked to have this shape. Each run checks the lengths that are unknown when the graph is built."""
    op: Any = ops.OfShape(tuple(map(unwrap_dimension, shape)), rule)
    op.infer(x.spec)
    return x if x.spec.shape == op.shape else x.apply(op)


# -- joining --------------------------------------------------------------------------------------


@accept_dim
def cat(tensors: Any, axis: int = 0) -> Any:
    """Concatenate along an existing axis. As in PyTorch, empty vectors are ignored next to tensors with more axes."""
    xs = operands(tensors, "cat")
    dtype = result_type(*(x.dtype for x in xs))
    if any(x.ndim != 1 for x in xs):
        xs = [x for x in xs if x.ndim != 1 or x.shape != (0,)] or xs[:1]
    return xs[0].apply(ops.Concatenate(xs[0].axis(axis)), *xs[1:]).astype(dtype)


concat = concatenate = cat


@accept_dim
def stack(tensors: Any, axis: int = 0) -> Any:
    """Join tensors of one shape along a new axis."""
    x, *others = operands(tensors, "stack")
    return x.apply(ops.Stack(x._new_axis(axis)), *others)


def atleast(x: Any, n: int) -> Any:
    """x with at least n axes. A vector becomes a row, and for n = 3 a matrix (a, b) becomes (a, b, 1)."""
    shape = {0: (1,) * n, 1: (1, *x.shape)}.get(x.ndim, x.shape)
    return x if x.ndim >= n else x.reshape(shape if n < 3 or len(shape) > 2 else (*shape, 1))


def each_atleast(n: int, tensors: tuple[Any, ...]) -> Any:
    """The tensor with at least n axes; a tuple for several tensors, or for a list of them."""
    first = tensors[0]
    is_list = isinstance(first, list | tuple) and any(isinstance(x, Operand) for x in first)
    if len(tensors) == 1 and not is_list:
        return atleast(operand(first), n)
    return tuple(atleast(operand(x), n) for x in (first if is_list else tensors))


def atleast_1d(*tensors: Any) -> Any:
    """x with at least one axis; a tuple for several tensors, or for a list of them."""
    return each_atleast(1, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """x with at least two axes; a vector becomes a row. A tuple for several tensors."""
    return each_atleast(2, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """x with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1). A tuple for several tensors."""
    return each_atleast(3, tensors)


def hstack(tensors: Any) -> Any:
    """Concatenate along the second axis; concatenate vectors along their only axis."""
    xs = [atleast(x, 1) for x in operands(tensors, "hstack")]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Any:
    """Concatenate along the first axis; a vector counts as a row."""
    return cat([atleast(x, 2) for x in operands(tensors, "vstack")])


def dstack(tensors: Any) -> Any:
    """Concatenate along the third axis."""
    return cat([atleast(x, 3) for x in operands(tensors, "dstack")], 2)


def column_stack(tensors: Any) -> Any:
    """Concatenate along the second axis; a vector counts as a column."""
    return cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in operands(tensors, "column_stack")], 1)


row_stack = vstack


def block_diag(*tensors: Any) -> Any:
    """A block-diagonal matrix of the given matrices; a vector counts as a row."""
    xs = [atleast(x, 2) for x in operands(tensors, "block_diag")]
    width, rows, before = sum(x.shape[1] for x in xs), [], 0
    for x in xs:
        rows.append(pad(x, (before, width - before - x.shape[1])))
        before += x.shape[1]
    return cat(rows)


# -- broadcasting and combining -------------------------------------------------------------------


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which these shapes broadcast. Raises ShapeError if they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"broadcast_shapes needs shapes that broadcast, and got {shapes}") from None


def broadcast_tensors(*tensors: Any) -> list[Any]:
    """All tensors, broadcast to their common shape."""
    xs = operands(tensors, "broadcast_tensors")
    shape = broadcast_shape(*(x.spec.shape for x in xs))
    if shape is None:
        came = ", ".join(str(x.spec) for x in xs)
        raise ShapeError(f"broadcast_tensors needs shapes that broadcast, and got {came}")
    return [x if x.spec.shape == shape else x.broadcast_to(shape) for x in xs]


def meshgrid(*tensors: Any, indexing: str = "ij") -> list[Any]:
    """Coordinate arrays of a grid, one from each vector: array i varies along axis i.

    indexing    'ij', or 'xy', which swaps the first two axes, as for plots
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    xs = [atleast(x, 1) for x in operands(given, "meshgrid")]
    if any(x.ndim > 1 for x in xs) or indexing not in ("ij", "xy"):
        came = ", ".join(str(x.spec) for x in xs)
        raise ShapeError(f"meshgrid needs vectors, and indexing='ij' or 'xy'; got {came} with {indexing!r}")
    n = len(xs)
    grids = broadcast_tensors(*(x.reshape((1,) * i + x.shape + (1,) * (n - 1 - i)) for i, x in enumerate(xs)))
    return [g.swapaxes(0, 1) for g in grids] if indexing == "xy" and n > 1 else grids


def cartesian_prod(*tensors: Any) -> Any:
    """The Cartesian product of vectors: a row for every choice of one element from each."""
    grids = meshgrid(*tensors)
    return grids[0].ravel() if len(grids) == 1 else stack([g.ravel() for g in grids], 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """A row for every choice of r elements of a vector, in order. An element can repeat only if with_replacement."""
    x = operand(input)
    chosen = combinations_with_replacement if with_replacement else ways
    return x[np.array([*chosen(range(len(x)), r)], np.int64).reshape(-1, r)]


def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: each element of input is replaced by its product with all of other."""
    x, y = operands((input, other), "kron")
    n = max(x.ndim, y.ndim)
    p, q = ((1,) * (n - z.ndim) + z.shape for z in (x, y))
    blocks = x.reshape(tuple(k for a in p for k in (a, 1))) * y.reshape(tuple(k for b in q for k in (1, b)))
    return blocks.reshape(tuple(a * b for a, b in zip(p, q)))


# -- padding --------------------------------------------------------------------------------------


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """x with padding; negative widths crop.

    pad     widths before and after, starting with the last axis: (left, right, top, bottom, …)
    mode    'constant': `value`, or 0 · 'reflect': mirrored without repeating the edge ·
            'replicate': the edge repeated · 'circular': the elements from the other end
    """
    x = operand(input)
    widths = tuple(pad)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(f"pad needs two widths for each of the last axes of {x.spec}, and got {widths}")
    pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    margins = [(max(0, before), max(0, after)) for before, after in pairs]
    if mode not in ("constant", *MARGINS) or (value is not None and mode != "constant"):
        modes = "'constant', with a value, 'reflect', 'replicate' or 'circular'"
        raise ShapeError(f"pad has the modes {modes}; got {mode!r} with value={value}")
    if not any(map(any, margins)):
        return without_edges(x, pairs).clone()
    if mode in ("constant", "circular"):  # crop first; 'reflect' mirrors cropped elements too, so it crops last
        x, pairs = without_edges(x, pairs), margins
    if mode == "constant":
        return x.apply(ops.Pad(tuple(margins), 0.0 if value is None else value + 0))  # + 0 turns True into 1
    for axis, (before, after) in enumerate(margins):
        if before or after:
            x = with_margin(x, axis, before, after, mode)
    return without_edges(x, pairs)


def without_edges(x: Any, pairs: list[tuple[int, int]]) -> Any:
    """x cropped by the negative widths of each axis."""
    for axis, (n, (before, after)) in enumerate(zip(x.shape, pairs)):
        if min(before, after) < 0:
            cut = max(0, -before), n - max(0, -before) - max(0, -after)
            if cut[1] < 0:
                raise ShapeError(f"pad by {before} and {after} leaves less than nothing of axis {axis} of {x.spec}")
            x = x.narrow(axis, *cut)
    return x


Margin = tuple[Any, Any, int | None, str]
MARGINS: dict[str, Margin] = {  # mode → (indices of the margin before, after; largest width − length; limit in words)
    "reflect": (lambda n: range(n, 0, -1), lambda n: range(-2, -2 - n, -1), -1, "less than the length"),
    "circular": (lambda n: range(-n, 0), range, 0, "at most the length"),
    "replicate": (lambda n: [0] * n, lambda n: [-1] * n, None, "0 or more, of a length that is not 0"),
}


def with_margin(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """x padded at both ends of an axis with elements of x. If the length is unknown, each run checks the widths."""
    n = x.spec.shape[axis]
    left, right, less, wanted = MARGINS[mode]
    short = not is_unknown(n) and (n == 0 or (less is not None and max(before, after) > n + less))
    if short or min(before, after) < 0:
        raise ShapeError(
            f"pad with mode {mode!r} of axis {axis} of {x.spec} needs widths {wanted}, not {before}, {after}"
        )
    ends = (x.index_select(axis, np.array([*places], np.int64)) for places in (left(before), right(after)))
    return cat([next(ends), x, next(ends)], axis)
