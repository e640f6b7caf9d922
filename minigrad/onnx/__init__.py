"""Graphs for other engines: `mg.onnx.export` writes the file that ONNX Runtime, Netron and many others read.

The onnx package, which it needs, is loaded when it is first used.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "export":
        raise AttributeError(f"mg.onnx has export, and no {name}")
    try:
        from .export import export as found
    except ModuleNotFoundError as missing:
        if missing.name != "onnx":
            raise
        raise ImportError("mg.onnx needs the onnx package: pip install 'minigrad[onnx]'") from missing
    globals()[name] = found
    return found
