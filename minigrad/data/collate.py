"""Collating: many samples become one batch, by stacking what is alike in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DTypeError, ShapeError
from ..tensor import Tensor


def default_collate(samples: Sequence[Any]) -> Any:
    """A batch of samples of one kind.

    tensors, arrays    stacked along a new first axis, as a Tensor
    numbers            a Tensor of one axis
    texts, bytes       a list
    dictionaries       a dictionary of batches; tuples and lists: one batch for each place

    Raises ShapeError on arrays of different shapes, or samples with different places; DTypeError on another kind.
    """
    first = samples[0]
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: default_collate([s[key] for s in samples]) for key in first}
    if isinstance(first, tuple | list):
        return places(samples)
    if isinstance(first, Tensor | float | int) or hasattr(first, "__array__"):
        return stacked([Tensor(s).value for s in samples])
    raise DTypeError(
        "a batch is made of tensors, arrays, numbers and texts, in tuples and dictionaries, and a sample is "
        f"{first!r}: pass collate_fn, which makes a batch of a list of samples"
    )


def places(samples: Sequence[Any]) -> Any:
    """Tuples (lists) of one length, as a tuple (a list) of batches."""
    first = samples[0]
    for i, sample in enumerate(samples):
        if len(sample) != len(first):
            raise ShapeError(
                f"samples of a batch have one length, and number 0 has {len(first)}, number {i} {len(sample)}"
            )
    batches = [default_collate(place) for place in zip(*samples)]
    if isinstance(first, list):
        return batches
    return type(first)(*batches) if hasattr(first, "_fields") else tuple(batches)


def stacked(arrays: list[Any]) -> Tensor:
    """Arrays of one shape as a Tensor with a first axis for their number."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise ShapeError(
                f"the samples of a batch are stacked, and number 0 has shape {arrays[0].shape}, number {i} "
                f"{array.shape}: make them alike in the data set, or pass collate_fn, which may pad them"
            )
    xp = Tensor(arrays[0]).spec.device.xp
    return Tensor(xp.stack(arrays))
