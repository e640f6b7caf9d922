"""Recognise files of other libraries by their first bytes, so that errors say which library, and how to convert."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path

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
