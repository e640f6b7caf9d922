"""The protocol of TensorFlow Serving's REST API.

https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...graph.placeholder import TensorSpec
from ..saving.container import DTYPES
from .model import Arrays, Model, Refusal
from .repository import Key, Repository

SIGNATURE = "serving_default"
TYPES = {str(dtype): f"DT_{str(dtype).upper()}" for dtype in DTYPES.values()}
TYPES |= {"float64": "DT_DOUBLE", "float32": "DT_FLOAT", "float16": "DT_HALF"}


def inputs(said: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """The inputs by name, from rows in `instances` or columns in `inputs`."""
    if said.get("signature_name", SIGNATURE) not in ("", SIGNATURE):
        raise Refusal(f"there is only the signature {SIGNATURE}, not {said['signature_name']}")
    match said:
        case {"instances": _, "inputs": _}:
            raise Refusal("send either instances or inputs, not both")
        case {"instances": [{}, *_] as rows}:
            names = [*rows[0]]
            if any(not isinstance(row, dict) or row.keys() != {*names} for row in rows):
                raise Refusal(f"every instance must have the keys {names}, as the first one has")
            return {name: [row[name] for row in rows] for name in names}
        case {"instances": [_, *_] as rows}:
            return by_input_name(rows, model)
        case {"inputs": dict(columns)}:
            return columns
        case {"inputs": column}:
            return by_input_name(column, model)
    raise Refusal('expected {"instances": [row, …]}, with at least one row, or {"inputs": …}')


def wishes(said: Mapping[str, Any]) -> dict[str, Any]:
    """The request's options for the answer: the number of rows, if the request has rows."""
    return {"instances": len(said["instances"])} if "instances" in said else {}


def by_input_name(value: Any, model: Model) -> dict[str, Any]:
    if len(model.inputs) != 1:
        raise Refusal(f"name the inputs {[*model.inputs]}: the request has values without names")
    return {next(iter(model.inputs)): value}


def answer(said: Mapping[str, Any], _: Key, outputs: Arrays) -> dict[str, Any]:
    """The outputs, as rows if the request had rows."""
    if "instances" not in said:
        columns = {name: y.tolist() for name, y in outputs.items()}
        return {"outputs": columns if len(columns) != 1 else next(iter(columns.values()))}
    if {y.shape[:1] for y in outputs.values()} != {(said["instances"],)}:
        raise Refusal("the outputs of this model are not rows: send columns, in inputs, instead of instances")
    columns = {name: y.tolist() for name, y in outputs.items()}
    if len(columns) == 1:
        return {"predictions": next(iter(columns.values()))}
    return {"predictions": [dict(zip(columns, row)) for row in zip(*columns.values())]}


def status(repository: Repository, name: str, number: str | None = None) -> dict[str, Any]:
    """Whether each version answers, and if not, why."""
    there = repository.reasons(name)
    if number is not None:
        there = {key: reason for key, reason in there.items() if str(key.number) == number}
    if not there:
        repository.version(name, number)  # raises Refusal that lists the versions
    return {"model_version_status": [state(repository, key, there[key]) for key in sorted(there, reverse=True)]}


def state(repository: Repository, key: Key, reason: str) -> dict[str, Any]:
    """The state of a version. AVAILABLE with a reason: one file is served; a newer or second file is not."""
    told = {"error_code": "UNKNOWN" if reason else "OK", "error_message": reason}
    return {"version": str(key.number), "state": "AVAILABLE" if key in repository.table else "END", "status": told}


def metadata(repository: Repository, name: str, number: str | None = None) -> dict[str, Any]:
    """The inputs and outputs of a model."""
    version = repository.version(name, number)
    model = version.batcher.model
    signature = {
        "inputs": {name: tensor(name, spec) for name, spec in model.inputs.items()},
        "outputs": {name: tensor(name, spec) for name, spec in model.outputs.items()},
        "method_name": "tensorflow/serving/predict",
    }
    return {
        "model_spec": {"name": name, "signature_name": "", "version": str(version.key.number)},
        "metadata": {"signature_def": {"signature_def": {SIGNATURE: signature}}},
    }


def tensor(name: str, spec: TensorSpec) -> dict[str, Any]:
    lengths = [{"size": str(-1 if n is None else n), "name": ""} for n in spec.shape]
    return {"name": name, "dtype": TYPES[str(spec.dtype)], "tensor_shape": {"dim": lengths, "unknown_rank": False}}


INFER, EXAMPLE = ":predict", ', with a body such as {"instances": [row, …]}'
MODEL = {"/metadata": metadata, "": status}  # paths after /v1/models/NAME, or after one of its versions
