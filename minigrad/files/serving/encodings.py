"""Arrays in the bodies of requests and answers: JSON, NumPy's npy, and safetensors. Bodies are not trusted.

Long JSON is parsed and written in another process: `json` holds the GIL while it works, so even in a thread it would
block the event loop.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from math import prod
from typing import Any, TypeVar

import numpy as np
from anyio import BrokenWorkerProcess, CapacityLimiter, to_process
from numpy.lib import format as npy

from ...engine.base.errors import MinigradError
from ..saving.container import decode_arrays, encode_arrays, reject_duplicates, short
from .model import Arrays, Model, NonFiniteConstant, Refusal

LENGTH = "Inference-Header-Content-Length"  # the header with the length of the JSON, if binary elements follow it
Body = bytes | bytearray
T = TypeVar("T")
LONG = 1 << 16  # bytes of JSON
LONGEST_HEADER = 1 << 16  # bytes of a safetensors header, which the event loop parses
JSON, NPY, SAFETENSORS = "application/json", "application/x-npy", "application/x-safetensors"


def parse_table(body: Body) -> dict[str, Any]:
    """Parse a JSON object without repeated keys. It may contain NaN and ±Infinity, as in TensorFlow Serving."""
    try:
        found = json.loads(body, object_pairs_hook=reject_duplicates, parse_constant=NonFiniteConstant)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"expected a JSON object: {short(error)}") from None
    if not isinstance(found, dict):
        raise Refusal(f"expected a JSON object, {{…}}, got {short(found)}")
    return found


def sent_type(headers: Mapping[str, str]) -> str:
    """The type of a body: npy, safetensors, or else JSON."""
    sent = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    return sent if sent in BINARY else JSON


def length_of_json(body: Body, headers: Mapping[str, str]) -> int:
    """How many bytes of a body are JSON."""
    length = headers.get(LENGTH, "")
    if sent_type(headers) != JSON:
        return 0
    return min(int(length), len(body)) if length.isdecimal() and len(length) <= 18 else len(body)


def read_json(
    inputs: Callable[[Any, Model], Mapping[str, Any]],
    wishes: Callable[[Any], dict[str, Any]], body: Body, length: str | None, model: Model,
) -> tuple[dict[str, Any], Arrays]:  # fmt: skip
    """The request's options for the answer, and its inputs."""
    said = with_elements(body, length)
    arrays = model.fitting(inputs(said, model))  # first, since wishes() relies on rows being a list
    return wishes(said), arrays


def with_elements(body: Body, length: str | None) -> dict[str, Any]:
    """The JSON object in a body; for inputs of v2 whose elements follow the JSON, `data` is set to those bytes.

    length    length of the JSON, if a header specifies it
    """
    if length is None:
        return parse_table(body)
    if not length.isdecimal() or len(length) > 18 or int(length) > len(body):
        raise Refusal(f"{LENGTH} must be the length of the JSON in a body of {len(body)} bytes, got {short(length)}")
    said, end = parse_table(body[: int(length)]), int(length)
    tensors = said.get("inputs")
    for each in tensors if isinstance(tensors, list) else ():
        size = parameter(each, "binary_data_size", int, -1) if isinstance(each, dict) else -1
        if size >= 0 and "data" not in each:
            each["data"], end = bytes(body[end : end + size]), end + size
    if end != len(body):
        raise Refusal(f"the JSON and its binary_data_size add up to {end} bytes, but the body has {len(body)}")
    return said


def parameter(said: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """A parameter of a request, or of a tensor in it. Raises Refusal if it has the wrong type."""
    parameters = said.get("parameters", {})
    value = parameters.get(name, default) if isinstance(parameters, dict) else None
    if type(value) is not kind:
        raise Refusal(f"the parameter {name} must be of type {kind.__name__}, got {short(parameters)}")
    return value


def in_json(x: Any) -> bytes:
    return in_json_and_bytes(x)[0]


def write_json(answer: Callable[..., Any], *arguments: Any) -> tuple[bytes, bytes]:
    """The answer of a protocol as JSON, and the bytes that follow it."""
    return in_json_and_bytes(answer(*arguments))


def in_json_and_bytes(x: Any) -> tuple[bytes, bytes]:
    """x as JSON, in which each bytes object is replaced by its length, and the joined bytes of these objects."""
    pieces: list[bytes] = []

    def number(piece: bytes) -> int:
        pieces.append(piece)
        return len(piece)

    text = json.dumps(x, separators=(",", ":"), ensure_ascii=False, default=number)
    return text.encode(errors="backslashreplace"), b"".join(pieces)  # JSON can contain lone surrogates


def from_npy(body: Body, model: Model) -> Arrays:
    """The input of a model with one input, from an npy file."""
    if len(model.inputs) != 1:
        raise Refusal(f"npy holds one array, but the inputs are {[*model.inputs]}: send {SAFETENSORS}, or JSON")
    file = BytesIO(body)
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, by_columns, dtype = read(file)
    except Exception as error:  # NumPy evaluates a literal, which can fail in any way
        raise Refusal(f"expected an npy file, version 1 or 2: {short(error)}") from None
    data = body[file.tell() :]
    bits = np.frombuffer(data, np.uint8)
    is_bool_or_number = dtype.kind in "iuf" or (dtype.kind == "b" and not (bits > 1).any())
    if is_bool_or_number and min(shape, default=0) >= 0 and prod(shape) * dtype.itemsize == len(data):
        with suppress(ValueError, OverflowError):  # more or longer axes than NumPy supports
            array = bits.view(dtype).reshape(shape, order="F" if by_columns else "C")
            return {next(iter(model.inputs)): array.astype(dtype.newbyteorder("="), copy=False)}
    why = "this is no array of numbers"
    raise Refusal(f"npy says {dtype} of shape {short([*shape])}, but {len(data)} bytes follow: {why}")


def to_npy(arrays: Arrays) -> bytes:
    if len(arrays) != 1:
        raise Refusal(f"npy holds one array, but the outputs are {[*arrays]}: accept {SAFETENSORS}, or {JSON}", 406)
    file = BytesIO()
    (array,) = arrays.values()
    npy.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def from_safetensors(body: Body, model: Model) -> Arrays:
    if LONGEST_HEADER < int.from_bytes(body[:8], "little") <= len(body):
        raise Refusal(f"a safetensors file may have a header of at most {LONGEST_HEADER} bytes")
    try:
        return decode_arrays(BytesIO(body), len(body))[0]
    except MinigradError as error:
        raise Refusal(f"expected a safetensors file: {error}") from None


def to_safetensors(arrays: Arrays) -> bytes:
    head, data = encode_arrays(arrays, {})
    return b"".join([*head, *data])


BINARY: dict[str, tuple[Callable[[Body, Model], Arrays], Callable[[Arrays], bytes]]] = {
    NPY: (from_npy, to_npy),
    SAFETENSORS: (from_safetensors, to_safetensors),
}


def wanted_type(accept: str, sent: str) -> str:
    """The type of the answer: the first known type that the client accepts, else the request's type."""
    asked: Iterable[str] = (each.partition(";")[0].strip().lower() for each in accept.split(","))
    return next((each for each in asked if each in (JSON, *BINARY)), sent)


class ParserProcess:
    """One process, so that only one long text at a time takes memory. It starts when needed, and ends with the loop."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(1)

    async def run(self, length: int, function: Callable[..., T], *arguments: Any) -> T:
        """Run the function; short texts run in this process. Cancelling kills the worker; the next call restarts it."""
        if length <= LONG:
            return function(*arguments)
        try:
            return await to_process.run_sync(
                run_ignoring_signals, function, *arguments, cancellable=True, limiter=self.turns
            )
        except BrokenWorkerProcess:
            raise Refusal(f"the process that reads and writes long JSON failed at {length} bytes", 500) from None


def run_ignoring_signals(function: Callable[..., T], *arguments: Any) -> T:
    """Ignore Ctrl-C and SIGTERM, which reach all processes of a terminal or service: the server ends the worker."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return function(*arguments)
