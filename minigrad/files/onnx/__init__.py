"""ONNX files: `mg.onnx.export` writes a file that ONNX Runtime, Netron and many others read; `mg.onnx.load` returns a
function that runs such a file.

Both need the onnx package, which is imported on first use.
"""

from importlib import import_module
from typing import Any

NAMES = {"export": "export", "load": "function"}  # name → the module that defines it


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"mg.onnx has no {name}, only {' and '.join(NAMES)}")
    try:
        module = import_module(f".{NAMES[name]}", __name__)
    except ModuleNotFoundError as missing:
        if missing.name != "onnx":
            raise
        advice = "python3 start.py add onnx, or pip install 'minigrad-course[onnx]'"
        raise ImportError(f"mg.onnx needs the onnx package: {advice}") from missing
    globals()[name] = found = getattr(module, name)
    return found
