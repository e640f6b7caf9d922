"""Graphs for other engines, and from them: `mg.onnx.export` writes the files that ONNX Runtime, Netron and many others
read, and `mg.onnx.load` makes a function of such a file.

The onnx package, which they need, is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

NAMES = {"export": "export", "load": "function"}  # name → the module that has it


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"mg.onnx has {' and '.join(NAMES)}, and no {name}")
    try:
        module = import_module(f".{NAMES[name]}", __name__)
    except ModuleNotFoundError as missing:
        if missing.name != "onnx":
            raise
        raise ImportError("mg.onnx needs the onnx package: pip install 'minigrad-course[onnx]'") from missing
    globals()[name] = found = getattr(module, name)
    return found
