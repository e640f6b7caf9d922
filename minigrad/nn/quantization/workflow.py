"""Three ways to quantise a trained model: after training, in training, or while it runs; and a comparison of models.

    prepare(model, qconfig), data, convert(model)        ranges from data, weights as they are
    prepare_qat(model, qconfig), training, convert       weights trained with the rounding
    quantize_dynamic(model)                              no data: each input is quantised with its own range
    compare({"float": model, …}, data)                   accuracy, size and time on the same data

An attribute `qconfig` of a module applies to the module and its submodules; None leaves them in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from math import inf
from time import process_time
from typing import Any

import numpy as np

from ...engine.base.errors import DTypeError, ShapeError, StateError
from ...engine.base.table import Table
from ...engine.core.modes import no_grad
from ...engine.tensor.lift import operand
from ..linear import Conv2d, Linear
from ..module import Module
from ..tree import dotted_name
from . import layers
from .layers import QConfig

HEAD = {"model": "", "right": ".1%", "bytes": ",", "share of bytes": ".2f", "time": ".1f"}
NOTE = (
    "Bytes are those of parameters and buffers. Time is CPU time relative to the first, the best of {}. int8 is not "
    "faster here: NumPy has no fast product of integers, so they become floats; and zeros are multiplied too."
)


def prepare(model: Module, qconfig: QConfig | None = layers.default_qconfig, inplace: bool = False) -> Any:
    """The model with observed Linear and Conv2d layers: call it on representative data, then convert."""
    return prepare_layers(model, layers.OBSERVED, qconfig, inplace)


def prepare_qat(model: Module, qconfig: QConfig | None = layers.default_qat_qconfig, inplace: bool = False) -> Any:
    """The model with Linear and Conv2d layers that round as quantisation does. Gradients skip the rounding."""
    return prepare_layers(model, layers.ROUNDED, qconfig, inplace)


def prepare_layers(model: Module, kinds: Mapping[type, Any], qconfig: QConfig | None, inplace: bool) -> Any:
    if any(isinstance(part, layers.ObservedLayer | layers.QuantizedLayer) for part in model.modules()):
        raise StateError("the model is already prepared or converted: prepare the one that computes in floats")

    def change(path: str, layer: Any, config: Any) -> Any:
        return kinds[type(layer)].from_float(layer, config) if type(layer) in kinds and config else layer

    return replace_modules(model, change, qconfig, inplace, "has no Linear or Conv2d with a qconfig")


def convert(model: Module, inplace: bool = False) -> Any:
    """The prepared model in integers. Raises StateError if it is not prepared, or a layer has seen no data."""

    def change(path: str, layer: Any, config: Any) -> Any:
        if not isinstance(layer, layers.ObservedLayer):
            return layer
        kind: Any = layers.QUANTIZED[Conv2d if isinstance(layer, Conv2d) else Linear]
        return kind.from_float(layer, layer.qconfig, layer.activation)

    missing = "was not prepared: prepare(model), or prepare_qat(model), comes first"
    return replace_modules(model, change, None, inplace, missing)


SPEC = "the QConfig in qconfig_spec"


def quantize_dynamic(
    model: Module, qconfig_spec: Iterable[type] | Mapping[type, QConfig] = frozenset({Linear}), dtype: Any = np.int8,
    inplace: bool = False,
) -> Any:  # fmt: skip
    """The model with its Linear layers in integers: weights quantised once, each input with its own range.

    qconfig_spec    classes of layers to quantise; or a mapping from each to its QConfig
    """
    spec = dict.fromkeys(qconfig_spec, layers.default_dynamic_qconfig)
    if isinstance(qconfig_spec, Mapping):
        spec.update(qconfig_spec)
    if np.dtype(dtype) != np.int8 or spec.keys() - layers.QUANTIZED.keys():
        asked = f"{', '.join(kind.__name__ for kind in spec)} in {np.dtype(dtype)}"
        raise DTypeError(f"quantize_dynamic supports Linear and Conv2d in int8, not {asked}")

    def change(path: str, layer: Any, config: Any) -> Any:
        if type(layer) not in spec or config is None:
            return layer
        kind: Any = layers.QUANTIZED[type(layer)]
        return kind.from_float(layer, spec[type(layer)] if config is SPEC else config)

    return replace_modules(model, change, SPEC, inplace, "has no layer of these kinds")


def replace_modules(model: Module, change: Callable[..., Any], qconfig: Any, inplace: bool, otherwise: str) -> Any:
    """The model, or a copy, with each module replaced by change(…). A module with several names is changed once."""
    made: dict[int, tuple[Any, Any]] = {}  # keeps the old modules alive, so that Python does not reuse their ids

    def visit(path: str, module: Any, config: Any) -> Any:
        if id(module) not in made:
            config = vars(module).get("qconfig", config)
            try:
                made[id(module)] = module, change(path, module, config)
            except (StateError, ValueError) as reason:  # a weight that has no scale
                raise type(reason)(f"layer {path!r} cannot be converted: {reason}") from reason
            for name, part in list(module._modules()) if made[id(module)][1] is module else ():
                if (new := visit(dotted_name(path, name), part, config)) is not part:
                    setattr(module, name, new)
        return made[id(module)][1]

    whole = visit("", model if inplace else deepcopy(model), qconfig)
    if all(old is new for old, new in made.values()):
        raise StateError(f"{type(model).__name__} {otherwise}")
    return whole


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
