"""Sequences of different lengths in one array: padded to the longest, or packed.

padded    (T, N, …), or (N, T, …) with batch_first; padding follows the end of each sequence
packed    (ΣT, …): the first elements of all sequences, then the second ones, …, longest sequence first
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...api.functions.movement import pad, stack
from ...engine.base.errors import ShapeError
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor


class PackedSequence(NamedTuple):
    """Sequences without padding.

    data                (ΣT, …)
    batch_sizes         the number of sequences that have an element t, for each t
    sorted_indices      for each packed sequence, its index in the batch
    unsorted_indices    for each sequence of the batch, its index among the packed ones
    """

    data: Any
    batch_sizes: list[int]
    sorted_indices: np.ndarray
    unsorted_indices: np.ndarray


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch.

    lengths           the length of each sequence without padding, at least 1
    enforce_sorted    whether to raise ValueError unless the sequences are sorted, longest first
    """
    x = operand(input)
    x = x.swapaxes(0, 1) if batch_first else x
    T, N = x.shape[:2]  # time, batch
    lengths = np.asarray(lengths)
    if lengths.shape != (N,) or lengths.dtype.kind not in "iu":
        raise ShapeError(f"lengths must be {N} integers, one for each sequence of {x.spec}, got {lengths!r}")
    if N == 0 or not 1 <= lengths.min() <= lengths.max() <= T:
        raise ValueError(f"lengths must be 1 to {T} for {x.spec}, got {lengths.tolist()}")
    if enforce_sorted and (np.diff(lengths) > 0).any():
        raise ValueError(f"the longest sequence must come first, got {lengths.tolist()}: pass enforce_sorted=False")
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    present = np.arange(int(lengths.max()))[:, None] < lengths[order]
    times, places = np.nonzero(present)
    return PackedSequence(x[times, order[places]], present.sum(1).tolist(), order, np.argsort(order))


def packed_lengths(sequence: PackedSequence) -> Any:
    """The lengths of the packed sequences, the longest first."""
    sizes = np.array(sequence.batch_sizes)
    return (sizes[:, None] > np.arange(sizes[0])).sum(0)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Tensor]:
    """Pad a packed batch. Returns the padded batch, in its original order, and the lengths, an integer tensor (N,)."""
    x = operand(sequence.data)
    sizes, order = np.array(sequence.batch_sizes), sequence.unsorted_indices
    lengths = packed_lengths(sequence)[order]
    T = len(sizes) if total_length is None else total_length
    if len(sizes) > T:
        raise ValueError(f"the longest sequence has {len(sizes)} elements, and total_length is {total_length}")
    first = np.cumsum(sizes) - sizes
    present = np.arange(T)[:, None] < lengths
    places = np.zeros((T, len(order)), np.int64)
    places[: len(sizes)] = first[:, None] + order
    y = x[np.where(present, places, 0)]
    y = y.where(present.reshape(*present.shape, *(1,) * (x.ndim - 1)), padding_value)
    return y.swapaxes(0, 1) if batch_first else y, Tensor(lengths)


def pad_sequence(
    sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Sequences (T₁, …), (T₂, …), … as one batch, padded at the end, or with padding_side='left' at the start."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be left or right, got {padding_side!r}")
    xs = [operand(x) for x in sequences]
    T = max(len(x) for x in xs)
    widths = [(0, T - len(x)) if padding_side == "right" else (T - len(x), 0) for x in xs]
    padded = [pad(x, (0, 0) * (x.ndim - 1) + width, value=padding_value) for x, width in zip(xs, widths)]
    return stack(padded, 0 if batch_first else 1)


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (T₁, …), (T₂, …), …"""
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], False, enforce_sorted)
