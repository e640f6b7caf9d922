"""Values as JSON and arrays: numbers, texts, None, lists, tuples and dictionaries with tensors in them.

    1, 2.5, "text", true, null, [ … ]         as in JSON
    {"float": "nan"}                          inf, -inf and nan, which JSON lacks
    {"tuple": [ … ]}  {"dict": [[k, v], …]}   a tuple; a dictionary, whose keys need not be strings
    {"tensor": "net.weight"}                  a Tensor with the array of this name
    {"array": "0.exp_avg"}  {"scalar": "t"}   a NumPy array, or a NumPy scalar

An array's name is its path in the saved value.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from math import isfinite
from types import NoneType
from typing import Any

import numpy as np

from ...engine.base.errors import SavedFileError, StateError
from ...engine.tensor.tensor import Tensor
from .container import parse_json, read, short, write_arrays

VERSION = 1  # of the format
DEEPEST = 100  # levels of nesting
WHOLE = range(-(1 << 63), 1 << 64)


class Encoder:
    """Encodes values for a file.

    arrays    path in the value → array, for each tensor and each array
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def value(self, x: Any, path: tuple[str, ...] = ()) -> Any:
        """Encode x as JSON. Raises StateError for values that a file cannot hold."""
        if len(path) > DEEPEST:
            raise StateError(f"{'.'.join(path[:3])}… is nested more than {DEEPEST} deep, or holds itself")
        kind = type(x)
        if kind in (NoneType, bool, str) or (kind is int and x in WHOLE) or (kind is float and isfinite(x)):
            return x
        if kind is float:
            return {"float": str(x)}
        if kind is list or kind is tuple:
            values = [self.value(each, (*path, str(i))) for i, each in enumerate(x)]
            return values if kind is list else {"tuple": values}
        if kind is dict or kind is OrderedDict:
            pairs = ((self.value(k, (*path, "key")), self.value(v, (*path, str(k)))) for k, v in x.items())
            return {"dict": [[*pair] for pair in pairs]}
        return self.special(x, path)

    def special(self, x: Any, path: tuple[str, ...]) -> Any:
        """Encode x of a type that JSON lacks. Raises StateError for values that a file cannot hold."""
        if isinstance(x, Tensor):
            return {"tensor": self.array(x.spec.device.read(x.value), ".".join(path))}
        if isinstance(x, np.ndarray | np.generic) and x.dtype.kind != "O":
            return {"array" if isinstance(x, np.ndarray) else "scalar": self.array(np.asarray(x), ".".join(path))}
        raise StateError(
            f"{'.'.join(path) or 'this'} is {short(x)}, a {type(x).__name__}, which a saved file cannot hold: it "
            "holds tensors, arrays, 64-bit numbers, strings and None, in lists, tuples and dictionaries. Save what "
            "it is made from, such as its state_dict()"
        )

    def array(self, array: np.ndarray, name: str) -> str:
        """Store an array; return the name it has in the file."""
        name = name.encode(errors="replace").decode() or "value"
        unique, n = name, 1
        while unique in self.arrays or unique == "__metadata__":
            unique, n = f"{name}_{n}", n + 1
        self.arrays[unique] = array
        return unique


class Decoder:
    """Decodes values of a file. Raises SavedFileError for anything that Encoder does not write."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays

    def value(self, said: Any) -> Any:
        """Decode a value from JSON."""
        if said is None or type(said) in (bool, str, float) or (type(said) is int and said in WHOLE):
            return said
        if isinstance(said, list):
            return [self.value(each) for each in said]
        if isinstance(said, dict) and len(said) == 1:
            ((kind, what),) = said.items()
            return self.special(kind, what)
        raise SavedFileError(f"{short(said)} is not a value")

    def special(self, kind: str, what: Any) -> Any:
        """Decode a value of a type that JSON lacks."""
        match kind, what:
            case "float", "inf" | "-inf" | "nan":
                return float(what)
            case "tuple", list():
                return tuple(self.value(each) for each in what)
            case "dict", list() if all(isinstance(pair, list) and len(pair) == 2 for pair in what):
                return self.table(what)
            case "tensor", str():
                return Tensor(self.array(what))
            case "array", str():
                return self.array(what)
            case "scalar", str() if self.array(what).shape == ():
                return self.array(what)[()]
        raise SavedFileError(f"{short({kind: what})} is not a value")

    def table(self, pairs: list[Any]) -> dict[Any, Any]:
        """A dictionary from its pairs of keys and values."""
        try:
            found = {self.value(key): self.value(value) for key, value in pairs}
        except TypeError:
            raise SavedFileError(f"a key among {short(pairs)} is a list, or a tensor") from None
        if len(found) != len(pairs):
            raise SavedFileError(f"a key occurs twice among {short([*found])}")
        return found

    def array(self, name: str) -> np.ndarray:
        """The array with this name. Raises SavedFileError if the file lacks it."""
        if name not in self.arrays:
            raise SavedFileError(f"the array {short(name)} is not in the file")
        return self.arrays[name]


def save_values(path: Any, values: Any) -> None:
    """Write values to a file, as mg.save does, but without loading the compiler, which mg.save needs for functions."""
    encoder = Encoder()
    text = in_json({"version": VERSION, "kind": "state", "value": encoder.value(values)})
    write_arrays(path, encoder.arrays, text)


def load_values(path: Any) -> Any:
    """Read a file that save_values wrote. Raises SavedFileError for any other file."""
    arrays, text = read(path)
    table = parse_json(text or "{}")
    if "value" not in table:
        raise SavedFileError(f"{path} does not hold values, but {short(table.get('kind', 'no description'))}")
    return Decoder(arrays).value(table["value"])


def in_json(said: dict[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":"), allow_nan=False)
