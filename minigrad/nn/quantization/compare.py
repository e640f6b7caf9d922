"""Compares models on the same data: accuracy, size and time."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from math import inf
from time import process_time
from typing import Any

import numpy as np

from ...engine.base.errors import ShapeError
from ...engine.base.table import Table
from ...engine.core.modes import no_grad
from ...engine.tensor.lift import operand
from ..module import Module

HEAD = {"model": "", "right": ".1%", "bytes": ",", "share of bytes": ".2f", "time": ".1f"}
NOTE = (
    "Bytes are those of parameters and buffers. Time is CPU time relative to the first, the best of {}. int8 is not "
    "faster here: NumPy has no fast product of integers, so they become floats; and zeros are multiplied too."
)


def compare(models: Mapping[str, Module], data: tuple[Any, Any], rounds: int = 5) -> Table:
    """A table of models by name. A copy of each runs in evaluation mode; for the timing, the models take turns.

    data    x, and the class of each of its rows
    """
    x, y = operand(data[0]), np.asarray(data[1])
    if not models or not y.size or y.shape != x.shape[:1]:
        got = f"got {[*models]}, {x.spec} and {y.shape}"
        raise ShapeError(f"compare needs a model, and a class for each row of x: {got}")
    if rounds < 1:
        raise ValueError(f"compare needs at least 1 round, got rounds={rounds}")
    copies = {name: deepcopy(model).eval() for name, model in models.items()}
    seconds = dict.fromkeys(models, inf)
    with no_grad():
        right = {name: float((model(x).numpy().argmax(1) == y).mean()) for name, model in copies.items()}
        for name, model in [*copies.items()] * rounds:
            start = process_time()
            model(x)
            seconds[name] = min(seconds[name], process_time() - start)
    sizes = {name: nbytes(model) for name, model in models.items()}
    first = next(iter(models))
    beside = {name: (sizes[name] / sizes[first], seconds[name] / seconds[first]) for name in models}
    return Table(HEAD, [(name, right[name], sizes[name], *beside[name]) for name in models], NOTE.format(rounds))


def nbytes(model: Module) -> int:
    """The bytes of the tensors in state_dict; a tensor with several names counts once."""
    return sum(x.spec.nbytes for x in {id(x): x for _, x in model._named_state()}.values())
