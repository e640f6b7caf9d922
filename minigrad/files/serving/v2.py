"""The Open Inference Protocol, version 2, which Triton, KServe and others speak.

https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md

Elements may follow the JSON, little-endian and without a gap, in the order of the tensors that have "binary_data_size";
a header gives the length of the JSON. Outputs are sent like this if "binary_data" or "binary_data_output" is true.
https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

from minigrad import __version__

from ...graph.placeholder import TensorSpec
from ..saving.container import DTYPES, elements, short
from .encodings import parameter
from .model import Arrays, Model, Refusal, array_from_lists
from .repository import Key, Repository

TYPES = {str(dtype): str(dtype).upper() for dtype in DTYPES.values()}
TYPES |= {"float64": "FP64", "float32": "FP32", "float16": "FP16", "bfloat16": "BF16"}


def inputs(said: Mapping[str, Any], model: Model) -> Arrays:
    """The inputs by name."""
    tensors = said.get("inputs")
    if not isinstance(tensors, list):
        raise Refusal('expected {"inputs": [{"name", "shape", "datatype", "data"}, …]}, got no list of inputs')
    found = dict(tensor(each, model) for each in tensors)
    if len(found) != len(tensors):
        raise Refusal(f"an input occurs twice: {[each['name'] for each in tensors]}")
    return found


def wishes(said: Mapping[str, Any]) -> dict[str, Any]:
    """The request's options for the answer. Raises Refusal for a value of the wrong type."""
    for name, wanted in (("id", str), ("outputs", list), ("parameters", dict)):
        if not isinstance(said.get(name, wanted()), wanted):
            raise Refusal(f"{name} must be of type {wanted.__name__}, got {short(said[name])}")
    return {name: said[name] for name in ("id", "outputs", "parameters") if name in said}


def tensor(said: Any, model: Model) -> tuple[str, np.ndarray]:
    """One input; its data is a flat list, nested lists of its shape, or bytes."""
    match said:
        case {"name": str(name), "shape": list(shape), "datatype": str(datatype), "data": data}:
            spec = model.inputs.get(name)
            if spec is None:
                raise Refusal(f"expected the inputs {[*model.inputs]}, got {name}")
            if datatype != TYPES[str(spec.dtype)]:
                raise Refusal(f"{name} must be {TYPES[str(spec.dtype)]}, got {datatype}")
            read: Any = of_bytes if isinstance(data, bytes) else array_from_lists
            array: np.ndarray = read(name, data, spec.dtype)
            whole = all(type(n) is int and n >= 0 for n in shape)
            if whole and prod(shape) == array.size and array.shape in ((array.size,), tuple(shape)):
                with suppress(ValueError, OverflowError):  # more or longer axes than NumPy supports
                    return name, array.reshape(shape)
            raise Refusal(f"{name} has shape {short(shape)}, but its data has shape {[*array.shape]}")
    raise Refusal(f"an input needs name, shape, datatype and data, got {ascii(said)[:200]}")


def of_bytes(name: str, data: bytes, dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return elements(BytesIO(data), 0, name, dtype, (len(data) // dtype.itemsize,), 0, len(data))
    except ValueError as error:
        raise Refusal(f"{name} must be {dtype}, got {len(data)} bytes: {error}") from None


def answer(said: Mapping[str, Any], key: Key, outputs: Arrays) -> dict[str, Any]:
    """The requested outputs, by default all of them."""
    wanted = said.get("outputs") or [{"name": name} for name in outputs]
    if not isinstance(wanted, list) or any(not isinstance(y, dict) or y.get("name") not in outputs for y in wanted):
        raise Refusal(f"the outputs are {[*outputs]}, but the request asks for {ascii(wanted)[:200]}")
    found = {"model_name": key.name, "model_version": str(key.number)}
    found |= {"id": said["id"]} if "id" in said else {}
    default = parameter(said, "binary_data_output", bool, False)
    as_bytes = [parameter(y, "binary_data", bool, default) for y in wanted]
    return {**found, "outputs": [output(y["name"], outputs[y["name"]], b) for y, b in zip(wanted, as_bytes)]}


def output(name: str, y: np.ndarray, as_bytes: bool) -> dict[str, Any]:
    said = {"name": name, "shape": [*y.shape], "datatype": TYPES[str(y.dtype)]}
    if as_bytes:
        return said | {"parameters": {"binary_data_size": y.astype(y.dtype.newbyteorder("<")).tobytes()}}
    return said | {"data": y.reshape(-1).tolist()}


def server(_: Repository) -> dict[str, Any]:
    """The server's name and version."""
    return {"name": "minigrad", "version": __version__, "extensions": ["binary_tensor_data"]}


def live(_: Repository) -> dict[str, Any]:
    """Whether the server answers."""
    return {"live": True}


def metadata(repository: Repository, name: str, number: str | None = None) -> dict[str, Any]:
    """The inputs and outputs of a model."""
    model = repository.version(name, number).batcher.model
    versions = [str(key.number) for key in sorted(repository.table) if key.name == name]
    inputs, outputs = ([tensor_metadata(*each) for each in specs.items()] for specs in (model.inputs, model.outputs))
    return {"name": name, "versions": versions, "platform": "minigrad", "inputs": inputs, "outputs": outputs}


def ready(repository: Repository, name: str, number: str | None = None) -> dict[str, Any]:
    """Whether a model answers."""
    repository.version(name, number)  # raises Refusal if there is none
    return {"name": name, "ready": True}


def all_ready(repository: Repository) -> dict[str, Any]:
    """Whether any model answers."""
    if not repository.table:
        raise Refusal("no model is loaded", 503)
    return {"ready": True}


def names(repository: Repository) -> dict[str, Any]:
    """The names of the models."""
    return {"models": sorted({key.name for key in repository.table})}


def tensor_metadata(name: str, spec: TensorSpec) -> dict[str, Any]:
    return {"name": name, "datatype": TYPES[str(spec.dtype)], "shape": [-1 if n is None else n for n in spec.shape]}


INFER, EXAMPLE = "/infer", ', with a body such as {"inputs": [{"name", "shape", "datatype", "data"}, …]}'
MODEL = {"/ready": ready, "": metadata}  # paths after /v2/models/NAME, or after one of its versions
SERVER = {"/v2": server, "/v2/health/live": live, "/v2/health/ready": all_ready, "/v2/models": names}
