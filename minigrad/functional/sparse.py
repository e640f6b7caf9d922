"""Tables and the indices into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BoundsError, DTypeError, ShapeError
from ..functions.face import operand
from ..operand import Operand
from .within import within


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """Row input[i…] of the table at each place: y[i…, :] = W[input[i…], :].

    input          integers of any shape, 0 to num_embeddings − 1
    weight         W (num_embeddings, embedding_dim)
    padding_idx    a row that receives no gradient
    """
    W = operand(weight)
    index = input if isinstance(input, Operand) else W.lift(np.asarray(input))
    if W.ndim != 2:
        raise ShapeError(f"embedding reads rows of a table (num_embeddings, embedding_dim), and got {W.spec}")
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding is indexed by integers, and got {index.spec}: use .astype(int)")
    within(index, 0, len(W) - 1, BoundsError, f"the indices of embedding are 0 to {len(W) - 1}")
    y = W[index]
    if padding_idx is None:
        return y
    row = padding_idx % len(W) if -len(W) <= padding_idx < len(W) else len(W)
    if row == len(W):
        raise BoundsError(f"padding_idx is one of the {len(W)} rows, and got {padding_idx}")
    return y.where((index != row).reshape(*index.shape, 1), y.detach())
