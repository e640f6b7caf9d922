"""Lookups in a table of vectors, by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.functions.creation import arange, ones, zeros
from ...api.functions.indexing import searchsorted, within
from ...api.functions.movement import pad
from ...engine.base.dimension import require_known
from ...engine.base.errors import BoundsError, DTypeError, ShapeError
from ...engine.core.modes import no_grad
from ...engine.methods import Operand
from ...engine.tensor.lift import operand


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """Rows of a table: y[i…, :] = W[input[i…], :].

    input                 integers of any shape, 0 to num_embeddings − 1
    weight                W (num_embeddings, embedding_dim)
    padding_idx           a row that receives no gradient
    max_norm              a looked-up row with a larger norm (of order norm_type) is first scaled down, in place
    scale_grad_by_freq    whether to divide the gradient of a row by the number of times it was looked up
    """
    W = operand(weight)
    index = input if isinstance(input, Operand) else W.lift(np.asarray(input))
    if W.ndim != 2:
        raise ShapeError(f"embedding reads rows of a table (num_embeddings, embedding_dim), and got {W.spec}")
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding is indexed by integers, and got {index.spec}: use .astype(int)")
    rows = W.shape[0]
    index = within(index, 0, rows - 1, f"the indices of embedding are 0 to {rows - 1}")
    if max_norm is not None:
        with no_grad():
            lengths = W[index].norm(norm_type, -1, keepdims=True)
            W[index] = W[index] * (max_norm / (lengths + 1e-7)).where(lengths > max_norm, 1.0)
    y = W[index]
    if scale_grad_by_freq:
        where: Any = {"dtype": np.float64, "device": W.spec.device}
        seen = zeros(rows, **where).index_add(0, index.reshape(-1), ones(index.size, **where))[index].unsqueeze(-1)
        y = y.detach() + (y - y.detach()) / seen.astype(y.dtype)
    if padding_idx is None:
        return y
    return y.where((index != row_of(W, padding_idx)).unsqueeze(-1), y.detach())


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The 'mean', 'sum', or 'max' of the rows of each bag, (B, embedding_dim); zeros for an empty bag.

    input                  bags (B, n); or concatenated bags (n,), with the start of each in `offsets` (B,)
    per_sample_weights     the weight of each row in a sum
    include_last_offset    whether offsets have n as an additional last entry
    padding_idx            a row that is left out of every bag
    """
    W = operand(weight)
    index = W.lift(input if isinstance(input, Operand) else np.asarray(input))
    if mode not in ("mean", "sum", "max") or (per_sample_weights is not None and mode != "sum"):
        raise ValueError(f"embedding_bag's mode is mean, max or sum, and only sum takes weights; got {mode!r}")
    n_bags, bag = bags_of(W, index, offsets, include_last_offset)
    index, where = index.reshape(-1), {"device": W.spec.device}
    rows = embedding(index, W, None, max_norm, norm_type, scale_grad_by_freq)
    counts = index == index if padding_idx is None else index != row_of(W, padding_idx)
    if mode == "max":
        return bag_maxima(rows, (bag == arange(n_bags, **where).unsqueeze(1)) & counts)
    if per_sample_weights is not None:
        rows = rows * W.lift(per_sample_weights).reshape(-1, 1)
    rows = rows.where(counts.unsqueeze(1), 0.0)
    rows = rows.real_valued() if mode == "mean" else rows
    total = zeros(n_bags, W.shape[1], dtype=rows.dtype, **where).index_add(0, bag, rows)
    if mode == "sum":
        return total
    sizes = zeros(n_bags, dtype=np.float64, **where).index_add(0, bag, counts.astype(float)).clamp(min=1)
    return total / sizes.unsqueeze(1).astype(rows.dtype)


def bag_maxima(rows: Any, inside: Any) -> Any:
    """The elementwise maxima of the rows of each bag; zeros for an empty bag.

    inside    whether bag b holds row i, (B, n)
    """
    padded = pad(rows.where(inside.unsqueeze(2), -np.inf), (0, 0, 0, 1), value=-np.inf)  # in case there are no rows
    return padded.max(1)[0].where(inside.any(1, keepdims=True), 0.0)


def bags_of(W: Any, index: Any, offsets: Any, include_last_offset: bool) -> tuple[Any, Any]:
    """The number of bags, and the bag of each index. Raises ShapeError if index and offsets do not fit together."""
    if index.ndim not in (1, 2) or (index.ndim == 1) != (offsets is not None):
        raise ShapeError(f"embedding_bag needs bags (B, n), or (n,) with offsets, and got {index.spec} and {offsets}")
    if index.ndim == 2:
        bags = arange(index.shape[0], device=W.spec.device)
        return index.shape[0], bags.unsqueeze(1).broadcast_to(index.shape).reshape(-1)
    starts = W.lift(offsets if isinstance(offsets, Operand) else np.asarray(offsets))
    starts = starts[:-1] if include_last_offset else starts
    return starts.shape[0], searchsorted(starts, arange(index.size, device=W.spec.device), right=True) - 1


def row_of(W: Any, padding_idx: int) -> int:
    """padding_idx as a row number. It counts from the end if it is negative."""
    rows = W.spec.shape[0]
    require_known("padding_idx of an embedding, to find its row,", rows)
    if not -rows <= padding_idx < rows:
        raise BoundsError(f"padding_idx must be one of the {rows} rows, and got {padding_idx}")
    return int(padding_idx % rows)
