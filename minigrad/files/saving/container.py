"""A file of named arrays and one text: safetensors, which other libraries read.

    8 bytes     the length of the header, little-endian
    header      {"__metadata__": {"minigrad": "…"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
    elements    little-endian, one array after another without a gap

https://github.com/huggingface/safetensors#format

Files are not trusted: each number in a header is checked against the file's size before memory is allocated.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.base.dtypes import bfloat16
from ...engine.base.errors import DTypeError, SavedFileError
from ...engine.base.whole_file import replace_file

LONGEST_HEADER = 1 << 25  # bytes; only a file of about a million arrays needs more
MOST_DIGITS = 20  # digits of the largest 64-bit integer
METADATA, OURS = "__metadata__", "minigrad"
CODES = {
    "F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
    "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
DTYPES = {code: np.dtype(name) for code, name in CODES.items()} | {"BF16": bfloat16}


# -- writing ------------------------------------------------------------------------------------


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], text: str) -> None:
    """Write arrays and a text. Raises DTypeError for a dtype that the format lacks, OSError if writing fails."""
    replace_file(path, chain(*encode_arrays(arrays, {METADATA: {OURS: text}})))


def encode_arrays(arrays: Mapping[str, np.ndarray], header: dict[str, Any]) -> tuple[list[bytes], Iterable[Any]]:
    """The bytes of a file: its header, then the arrays. Raises DTypeError for a dtype that the format lacks.

    header    further entries; the entries of the arrays are added to it
    """
    codes = {dtype: code for code, dtype in DTYPES.items()}
    for name, array in arrays.items():
        if array.dtype.newbyteorder("=") not in codes:
            raise DTypeError(f"{name} holds {array.dtype}, but this file can only hold {', '.join(map(str, codes))}")
        header[name] = {"dtype": codes[array.dtype.newbyteorder("=")], "shape": array.shape, "data_offsets": (0, 0)}
    start = 0
    pieces = sorted(arrays, key=lambda name: -arrays[name].itemsize)  # so that each is aligned to its itemsize
    for name in pieces:
        header[name]["data_offsets"] = start, start + arrays[name].nbytes
        start += arrays[name].nbytes
    said = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    said += b" " * (-len(said) % 8)
    little = (np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for a in map(arrays.__getitem__, pieces))
    return [struct.pack("<Q", len(said)), said], (a.reshape(-1).view(np.uint8).data for a in little if a.size)


# -- reading ------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], str | None]:
    """Read a file: the arrays, in the header's order, and the text, or None if minigrad did not write the file.

    Raises SavedFileError if the file is damaged or is not a safetensors file.
    """
    with Path(path).open("rb") as file:
        try:
            return decode_arrays(file, os.fstat(file.fileno()).st_size)
        except SavedFileError as error:
            raise SavedFileError(f"{path} is no whole safetensors file: {origin(path) or error}") from None


def decode_arrays(file: Any, size: int) -> tuple[dict[str, np.ndarray], str | None]:
    """The arrays and the text of an open file of `size` bytes."""
    first, size = file.read(8), size - 8
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 2 <= length <= min(size, LONGEST_HEADER):
        raise SavedFileError(f"its header would be {length} bytes long, but {max(size, 0)} follow")
    header = parse_json(file.read(length))
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise SavedFileError(f"its {METADATA} must be an object of strings, got {short(metadata)}")
    return load_arrays(file, 8 + length, size - length, header), metadata.get(OURS)


def load_arrays(file: Any, start: int, size: int, header: dict[str, Any]) -> dict[str, np.ndarray]:
    """Load the arrays after checking that they fill the file without gaps."""
    places = {name: place(name, said) for name, said in header.items()}
    end = 0
    in_order = sorted(places, key=lambda name: places[name][2:])
    for name in in_order:
        if places[name][2] != end:
            raise SavedFileError(f"{short(name)} begins at byte {places[name][2]}, but the one before it ends at {end}")
        end = places[name][3]
    if end != size:
        raise SavedFileError(f"its arrays take {end} bytes, and {size} are there")
    arrays = {name: elements(file, start, name, *places[name]) for name in in_order}
    return {name: arrays[name] for name in header}


def place(name: str, said: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """An array's dtype, shape, first byte and end, from its entry in the header."""
    match said:
        case {"dtype": str(code), "shape": list(shape), "data_offsets": [first, end]} if len(said) == 3:
            dtype = DTYPES.get(code)
            if dtype is None:
                raise SavedFileError(f"{short(name)} holds {short(code)}, but only {', '.join(DTYPES)} are known")
            whole = all(type(n) is int and n >= 0 for n in (*shape, first, end))
            if whole and len(shape) <= 64 and end - first == prod(shape) * dtype.itemsize:
                return dtype, tuple(shape), first, end
    raise SavedFileError(f"the header describes {short(name)} by {short(said)}, whose numbers do not fit")


def elements(
    file: Any, start: int, name: str, dtype: np.dtype, shape: tuple[int, ...], first: int, end: int
) -> np.ndarray:
    """Read one array from its bytes in the file."""
    file.seek(start + first)
    bits = np.empty(end - first, np.uint8)
    if file.readinto(bits.data) != end - first:
        raise SavedFileError(f"the file ends inside {short(name)}")
    if dtype.kind == "b" and (bits > 1).any():
        raise SavedFileError(f"{short(name)} is boolean but holds the byte {int(bits.max())}")
    with_order = bits.view(dtype.newbyteorder("<")) if bits.size else np.empty(0, dtype)
    try:
        return with_order.astype(dtype, copy=False).reshape(shape)
    except ValueError:  # an empty array, whose other lengths exceed NumPy's limit
        raise SavedFileError(f"{short(name)} has the shape {short(shape)}, which is too long") from None


# -- files of other libraries, recognised by their first bytes -----------------------------------

TORCH = (
    "PyTorch wrote it. In PyTorch, save it for mg.load with safetensors.torch.save_file(model.state_dict(), "
    '"net.safetensors"), or export it for mg.onnx.load with torch.onnx.export'
)
TENSORFLOW = (
    "TensorFlow or Keras wrote it. Save its weights by np.savez(path, *model.get_weights()), or convert the model for "
    "mg.onnx.load by python -m tf2onnx.convert"
)
IN_ARCHIVES = {
    "data.pkl": TORCH,
    "model.weights.h5": TENSORFLOW,
    ".npy": "it is NumPy's .npz; load it with {name: mg.tensor(array) for name, array in np.load(path).items()}",
    "": "it is a zip archive: unpack it, and load the file inside",
}
PICKLE = "it is a Python pickle, and reading one runs code: unpickle it where you made it, and save it with mg.save"
STARTS = {
    b"\x80\x02\x8a\x0al\xfc\x9cF\xf9": TORCH,
    b"\x93NUMPY": "it is NumPy's .npy; load it with mg.tensor(np.load(path))",
    b"\x89HDF": f"it is HDF5: h5py.File(path)[name][()] is an array. Perhaps {TENSORFLOW}",
    b"\x08\x01\x12": TENSORFLOW,
    b"GGUF": "it is llama.cpp's .gguf; the package gguf reads its arrays: gguf.GGUFReader(path).tensors",
    b"version https://git-lfs": "it is a Git LFS pointer, not the file itself: run git lfs pull",
    b"<": "it is a web page: the download failed",
    **{bytes((0x80, version)): PICKLE for version in range(2, 6)},
}
SUFFIXES = {
    ".onnx": "it is an ONNX model; load it with mg.onnx.load(path)", ".pb": TENSORFLOW, ".pt": TORCH, ".pth": TORCH,
}  # fmt: skip


def origin(path: str | os.PathLike[str]) -> str:
    """Which library wrote the file, and how to convert it; empty if unknown."""
    with suppress(zipfile.BadZipFile, NotImplementedError, ValueError, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return next(text for end, text in IN_ARCHIVES.items() if any(name.endswith(end) for name in [*names, ""]))
    with Path(path).open("rb") as file:
        start = file.read(32)
    begins = (text for first, text in STARTS.items() if start.startswith(first))
    return next(begins, SUFFIXES.get(Path(path).suffix.lower(), "") if start else "")


# -- untrusted JSON ----------------------------------------------------------------------------


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises SavedFileError for other text, a repeated key, NaN, infinity, or a long integer."""
    try:
        found = json.loads(text, object_pairs_hook=reject_duplicates, parse_constant=no_number, parse_int=whole_number)
    except SavedFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise SavedFileError(f"it holds no valid JSON ({short(error)})") from None
    if not isinstance(found, dict):
        raise SavedFileError(f"expected a JSON object, got {short(found)}")
    return found


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise SavedFileError(f"a name occurs twice among {short([*table])}")
    return table


def no_number(word: str) -> Any:
    raise SavedFileError(f"JSON has no number {word}")


def whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise SavedFileError(f"a number of {len(digits)} digits is too long")
    return int(digits)


def short(x: object) -> str:
    """x in ASCII, shortened to fit in an error message."""
    text = ascii(x)
    return text if len(text) <= 80 else f"{text[:77]}…"
