"""A model as it is served: named arrays in, named arrays out; a Refusal explains what is wrong with a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.base.dimension import is_unknown
from ...engine.base.dtypes import finfo, kind
from ...engine.base.errors import MinigradError, SavedFileError
from ...engine.base.pytree import leaves
from ...engine.base.spec import Spec
from ...engine.core.modes import no_grad
from ...engine.tensor.tensor import Tensor
from ...graph.placeholder import TensorSpec
from .. import onnx
from ..saving.container import short
from ..saving.files import function_of, load
from ..saving.functions import ResultPart, SavedFunction, SavedGraph, names_in, tensor_spec_of

Arrays = dict[str, np.ndarray]
MOST_ROWS = 1024  # in one run
TRIED = 8  # rows, to test whether the answer to a row depends on the others


class Refusal(Exception):
    """Why a request is refused, and the HTTP status of the response."""

    def __init__(self, why: str, status: int = 400):
        super().__init__(why)
        self.status = status


class NonFiniteConstant(float):
    """NaN, Infinity or -Infinity written in JSON, as opposed to a number such as 1e400 that overflows to infinity."""


@dataclass(frozen=True, eq=False)
class Model:
    """A function of named arrays, and the specs of its inputs and outputs.

    inputs, outputs    name → dtype and shape, where None means any length
    run                arrays by name → arrays by name
    by_rows            the first axis counts rows, and each row's answer does not depend on the others
    """

    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    run: Callable[[Arrays], Arrays]
    by_rows: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "run": None}  # for the process that parses JSON, which does not run the model

    def fitting(self, given: Mapping[str, Any]) -> Arrays:
        """The inputs as arrays, converted from lists if needed. Raises Refusal, which names the wrong input."""
        if given.keys() != self.inputs.keys():
            raise Refusal(f"expected the inputs {[*self.inputs]}, got {[*given]}")
        arrays = {name: array_of_spec(name, given[name], spec) for name, spec in self.inputs.items()}
        rows = {name: len(array) for name, array in arrays.items() if array.ndim}
        if 0 in rows.values() or (self.by_rows and len({*rows.values()}) > 1):
            raise Refusal(f"each input must have the same number of rows, at least one; got {rows}")
        return arrays


def array_of_spec(name: str, x: Any, spec: TensorSpec) -> np.ndarray:
    """x as an array of the spec. Arrays must have its dtype; lists from JSON are converted if they fit."""
    array = x if isinstance(x, np.ndarray) else array_from_lists(name, x, spec.dtype)
    wanted = f"{name} must be {spec.dtype} of shape {[*spec.shape]} (None: any length)"
    if array.dtype != spec.dtype:
        raise Refusal(f"{wanted}, got {array.dtype}")
    if len(array.shape) != len(spec.shape) or any(n not in (None, m) for n, m in zip(spec.shape, array.shape)):
        raise Refusal(f"{wanted}, got shape {[*array.shape]}")
    return array


def array_from_lists(name: str, x: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert nested lists to an array. Raises Refusal for other types, or numbers out of range; floats are rounded."""
    array = np.array(x, object)  # as objects: true must not become 1, and integers beyond 2⁶³ must keep their digits
    flat = array.ravel()  # flat, because some of NumPy's functions fail for many axes
    others = {*map(type, flat)} - WANTED[kind(dtype)]
    if others:
        came = " and ".join(sorted({KINDS.get(other, "other values") for other in others}))
        raise Refusal(f"{name} must be {dtype}, got {came}")
    try:
        with np.errstate(over="ignore"):
            found = flat.astype(dtype)
        lost = [n for n in flat[np.isinf(found)] if not isinstance(n, NonFiniteConstant)] if kind(dtype) == "f" else []
    except (OverflowError, TypeError):  # bfloat16 raises TypeError
        limits = finfo(dtype) if kind(dtype) == "f" else np.iinfo(dtype)
        lost = [n for n in flat if type(n) is int and not int(limits.min) <= n <= int(limits.max)]
    if lost:
        raise Refusal(f"{name} must be {dtype}, into which {too_large(lost[0])} does not fit")
    return found.reshape(array.shape)


def too_large(n: Any) -> str:
    return "a number beyond 1.8e308" if isinstance(n, float) and isinf(n) else short(n)


WANTED: dict[str, set[type]] = {"f": {int, float, NonFiniteConstant}, "i": {int}, "u": {int}, "b": {bool}}
KINDS: dict[type, str] = {
    float: "numbers with a point", NonFiniteConstant: "NaN or Infinity", int: "integers", bool: "true or false",
    str: "strings",
    list: "lists of different lengths",
}  # fmt: skip


# -- from a file ----------------------------------------------------------------------------------


def load_model(path: Path) -> Model:
    """Load the model in a file. Raises MinigradError if there is none."""
    if path.suffix == ".onnx":
        net = onnx.load(path)
        traced = function_of(net, tuple(TensorSpec(shape, dtype) for dtype, shape in net.inputs.values()))
        assert traced is not None  # function_of returns None for values only
        return of_function(traced, [*net.inputs], net.outputs)
    found = load(path)
    if not isinstance(found, SavedFunction):
        raise SavedFileError(f"{path} holds values but no graph: save it with mg.save(path, model, inputs)")
    return of_function(found)


def of_function(
    function: SavedFunction, arguments: Sequence[str] | None = None, results: Sequence[str] | None = None
) -> Model:
    """A model that runs a saved function's last graph, under the function's names or the given ones."""
    part = function.parts[-1]
    places = zip(results or names_in(part.result), leaves(part.result))
    returned = {name: returned_spec(x, part) for name, x in places if isinstance(x, ResultPart)}
    inputs = dict(zip(arguments or part.arguments, (x.spec for x in part.graph.inputs)))

    def run(arrays: Arrays) -> Arrays:
        with no_grad(), np.errstate(all="ignore"):
            result = function(*[Tensor(arrays[name]) for name in inputs])
        return dict(zip(returned, (y.numpy() for y in leaves(result) if isinstance(y, Tensor))))

    lengths = {spec.shape[0] if spec.shape else 1 for spec in (*inputs.values(), *returned.values())}
    one_length = len(lengths) == 1 and all(map(is_unknown, lengths))
    given, outputs = ({name: tensor_spec_of(x) for name, x in xs.items()} for xs in (inputs, returned))
    model = Model(given, outputs, run)
    if not one_length or part.edits or not rows_are_apart(model):
        return model
    return replace(model, run=partial(in_slices, run), by_rows=True)


def returned_spec(x: ResultPart, part: SavedGraph) -> Spec:
    if x.kind == "view":
        assert x.look is not None  # every view has a look
        return x.look.infer(returned_spec(x.of, part))
    node = (part.graph.outputs if x.kind == "output" else part.graph.inputs)[x.number]
    assert node is not None  # the decoder has checked this
    return node.spec


def in_slices(run: Callable[[Arrays], Arrays], arrays: Arrays) -> Arrays:
    """Split a run of many rows into several, which limits what one run allocates."""
    starts = range(0, len(next(iter(arrays.values()))), MOST_ROWS)
    found = [run_padded(run, {name: x[i : i + MOST_ROWS] for name, x in arrays.items()}) for i in starts]
    return found[0] if len(found) == 1 else {name: np.concatenate([y[name] for y in found]) for name in found[0]}


def run_padded(run: Callable[[Arrays], Arrays], arrays: Arrays) -> Arrays:
    """Pad a run to a power of two of rows by repeating the last row, so that few lengths need to be compiled."""
    rows = len(next(iter(arrays.values())))
    more = (1 << (rows - 1).bit_length()) - rows
    if more:
        arrays = {name: np.concatenate([x, np.repeat(x[-1:], more, 0)]) for name, x in arrays.items()}
    return {name: y[:rows] for name, y in run(arrays).items()}


def rows_are_apart(model: Model) -> bool:
    """Whether rows of noise give the same results together as alone. Batch norm and random numbers prevent that."""
    rows = noise(model, TRIED)
    try:
        together = model.run(rows)
        alone = [model.run({name: x[i : i + 1] for name, x in rows.items()}) for i in range(TRIED)]
    except (MinigradError, ValueError, IndexError):  # the model does not accept noise
        return False
    return all(close(y, np.concatenate([each[name] for each in alone])) for name, y in together.items())


def noise(model: Model, rows: int) -> Arrays:
    """Random inputs of the right specs: normal numbers, or integers 0 and 1. Unknown lengths become 2."""
    rng = np.random.default_rng(0)
    found = {}
    for name, spec in model.inputs.items():
        shape = [n if n is not None else 2 if axis else rows for axis, n in enumerate(spec.shape)]
        x: np.ndarray = rng.normal(size=shape) if kind(spec.dtype) == "f" else rng.integers(0, 2, shape)
        found[name] = x.astype(spec.dtype)
    return found


def close(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether x and y are equal up to rounding: a batch may sum products in another order than a single row."""
    if x.shape != y.shape or kind(x.dtype) != "f":
        return np.array_equal(x, y)
    error = float(finfo(x.dtype).eps) ** 0.5
    return np.allclose(x.astype(np.float64), y.astype(np.float64), rtol=error, atol=error, equal_nan=True)


def warm_up(model: Model, most_rows: int) -> Model:
    """Run the model on every padded batch length, so that each is compiled before it is needed; return the model."""
    if model.by_rows and all(n is not None for spec in model.inputs.values() for n in spec.shape[1:]):
        for power in range((most_rows - 1).bit_length() + 1):
            model.run(noise(model, 1 << power))
    return model
