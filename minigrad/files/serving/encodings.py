"""Arrays in the bodies of requests and answers: JSON, NumPy's npy, and safetensors. Nothing of a body is believed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ...engine.base.errors import MinigradError
from ..saving.container import decoded, encoded, once, short
from .model import Arrays, Constant, Model, Refusal

LENGTH = "Inference-Header-Content-Length"  # of the JSON, where elements stand behind it
Body = bytes | bytearray
LONGEST_HEADER = 1 << 16  # of a file of safetensors, which is parsed in the event loop
JSON, NPY, SAFETENSORS = "application/json", "application/x-npy", "application/x-safetensors"


def parse_table(body: Body) -> dict[str, Any]:
    """A table in JSON, no name said twice; NaN, Infinity and -Infinity are numbers, as in TensorFlow Serving."""
    try:
        found = json.loads(body, object_pairs_hook=once, parse_constant=Constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"a table in JSON is wanted, and this is none: {short(error)}") from None
    if not isinstance(found, dict):
        raise Refusal(f"a table in JSON is wanted, {{…}}, and {short(found)} came")
    return found


def sent_type(headers: Mapping[str, str]) -> str:
    """The type of a body: one of NumPy's or safetensors'; else it is taken for JSON."""
    sent = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    return sent if sent in BINARY else JSON


def length_of_json(body: Body, headers: Mapping[str, str]) -> int:
    """How much of a body is to be parsed as JSON."""
    length = headers.get(LENGTH, "")
    if sent_type(headers) != JSON:
        return 0
    return min(int(length), len(body)) if length.isdecimal() and len(length) <= 18 else len(body)


def read_json(
    inputs: Callable[[Any, Model], Mapping[str, Any]],
    wishes: Callable[[Any], dict[str, Any]],
    body: Body,
    length: str | None,
    model: Model,
) -> tuple[dict[str, Any], Arrays]:
    """What the JSON of a body says of its answer, and the inputs in it."""
    said = with_elements(body, length)
    arrays = model.fitting(inputs(said, model))  # first, for wishes() counts rows that are known to be a list
    return wishes(said), arrays


def with_elements(body: Body, length: str | None) -> dict[str, Any]:
    """A table in JSON; the `data` of inputs whose elements stand behind it, as v2 has it, are those bytes.

    length    of the JSON, where a header says it
    """
    if length is None:
        return parse_table(body)
    if not length.isdecimal() or len(length) > 18 or int(length) > len(body):
        raise Refusal(f"{LENGTH} is that of the JSON in {len(body)} bytes, and is {short(length)}")
    said, end = parse_table(body[: int(length)]), int(length)
    tensors = said.get("inputs")
    for each in tensors if isinstance(tensors, list) else ():
        size = parameter(each, "binary_data_size", int, -1) if isinstance(each, dict) else -1
        if size >= 0 and "data" not in each:
            each["data"], end = bytes(body[end : end + size]), end + size
    if end != len(body):
        raise Refusal(f"the JSON and what it says of binary_data_size take {end} bytes, and {len(body)} came")
    return said


def parameter(said: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """One of the parameters of a request, or of a tensor in one."""
    parameters = said.get("parameters", {})
    value = parameters.get(name, default) if isinstance(parameters, dict) else None
    if type(value) is not kind:
        raise Refusal(f"the parameter {name} is wanted as {kind.__name__}, and this came: {short(parameters)}")
    return value


def in_json(x: Any) -> bytes:
    return in_json_and_bytes(x)[0]


def write_json(answer: Callable[..., Any], *arguments: Any) -> tuple[bytes, bytes]:
    """The answer of a protocol as JSON, and the elements behind it."""
    return in_json_and_bytes(answer(*arguments))


def in_json_and_bytes(x: Any) -> tuple[bytes, bytes]:
    """JSON, in which bytes stand as their number; and those bytes, one after another."""
    pieces: list[bytes] = []

    def number(piece: bytes) -> int:
        pieces.append(piece)
        return len(piece)

    text = json.dumps(x, separators=(",", ":"), ensure_ascii=False, default=number)
    return text.encode(errors="backslashreplace"), b"".join(pieces)  # half a pair of UTF-16, as JSON writes it


def from_npy(body: Body, model: Model) -> Arrays:
    """The only input of a model, out of an npy file."""
    if len(model.inputs) != 1:
        raise Refusal(f"npy holds one array, and the inputs {[*model.inputs]} are wanted: send {SAFETENSORS}, or JSON")
    file = BytesIO(body)
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, by_columns, dtype = read(file)
    except Exception as error:  # NumPy evaluates a literal and tokenizes it, which can fail in every way
        raise Refusal(f"a file of npy is wanted, version 1 or 2, and this is none: {short(error)}") from None
    data = body[file.tell() :]
    bits = np.frombuffer(data, np.uint8)
    is_bool_or_number = dtype.kind in "iuf" or (dtype.kind == "b" and not (bits > 1).any())
    if is_bool_or_number and min(shape, default=0) >= 0 and prod(shape) * dtype.itemsize == len(data):
        with suppress(ValueError, OverflowError):  # more axes, or longer ones, than NumPy has
            array = bits.view(dtype).reshape(shape, order="F" if by_columns else "C")
            return {next(iter(model.inputs)): array.astype(dtype.newbyteorder("="), copy=False)}
    raise Refusal(
        f"npy says {dtype} of shape {short([*shape])}, and {len(data)} bytes follow: that is no array of numbers"
    )


def to_npy(arrays: Arrays) -> bytes:
    if len(arrays) != 1:
        raise Refusal(f"npy holds one array, and there are {[*arrays]}: say Accept: {SAFETENSORS}, or {JSON}", 406)
    file = BytesIO()
    (array,) = arrays.values()
    npy.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def from_safetensors(body: Body, model: Model) -> Arrays:
    if LONGEST_HEADER < int.from_bytes(body[:8], "little") <= len(body):
        raise Refusal(f"a file of safetensors is wanted, with a header of at most {LONGEST_HEADER} bytes")
    try:
        return decoded(BytesIO(body), len(body))[0]
    except MinigradError as error:
        raise Refusal(f"a file of safetensors is wanted, and this is none: {error}") from None


def to_safetensors(arrays: Arrays) -> bytes:
    head, data = encoded(arrays, {})
    return b"".join([*head, *data])


BINARY: dict[str, tuple[Callable[[Body, Model], Arrays], Callable[[Arrays], bytes]]] = {
    NPY: (from_npy, to_npy),
    SAFETENSORS: (from_safetensors, to_safetensors),
}


def wanted_type(accept: str, sent: str) -> str:
    """The type of the answer: the first that is asked for and known, else that of the request."""
    asked: Iterable[str] = (each.partition(";")[0].strip().lower() for each in accept.split(","))
    return next((each for each in asked if each in (JSON, *BINARY)), sent)
