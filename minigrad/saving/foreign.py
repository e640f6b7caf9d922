"""Files of other libraries, recognised by their first bytes: an error names the library, and the way from there."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path

TORCH = (
    'PyTorch wrote it. With PyTorch: safetensors.torch.save_file(model.state_dict(), "net.safetensors"), which mg.load '
    "reads, or torch.onnx.export, for mg.onnx.load"
)
TENSORFLOW = (
    "TensorFlow or Keras wrote it. With these: np.savez(path, *model.get_weights()), or python -m tf2onnx.convert, for "
    "mg.onnx.load"
)
IN_ARCHIVES = {
    "data.pkl": TORCH,
    "model.weights.h5": TENSORFLOW,
    ".npy": "it is NumPy's .npz: {name: mg.tensor(array) for name, array in np.load(path).items()}",
    "": "it is a zip archive: unpack it, and load what is inside",
}
PICKLE = "it is a Python pickle, and reading one runs code: pickle.load it where it was made, and save it with mg.save"
STARTS = {
    b"\x80\x02\x8a\x0al\xfc\x9cF\xf9": TORCH,
    b"\x93NUMPY": "it is NumPy's .npy: mg.tensor(np.load(path))",
    b"\x89HDF": f"it is HDF5: h5py.File(path)[name][()] is an array. If {TENSORFLOW}",
    b"\x08\x01\x12": TENSORFLOW,
    b"GGUF": "it is llama.cpp's .gguf: gguf.GGUFReader(path).tensors, of the package gguf, are its arrays",
    b"version https://git-lfs": "it is a pointer of Git LFS, and not the file: git lfs pull brings the file",
    b"<": "it is a web page: the download brought no model",
    **{bytes((0x80, version)): PICKLE for version in range(2, 6)},
}
SUFFIXES = {".onnx": "it is an ONNX model: mg.onnx.load(path)", ".pb": TENSORFLOW, ".pt": TORCH, ".pth": TORCH}


def origin(path: str | os.PathLike[str]) -> str:
    """Which library wrote the file, and how to come from there; empty where that is unknown."""
    with suppress(zipfile.BadZipFile, NotImplementedError, ValueError, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return next(text for end, text in IN_ARCHIVES.items() if any(name.endswith(end) for name in [*names, ""]))
    with Path(path).open("rb") as file:
        start = file.read(32)
    begins = (text for first, text in STARTS.items() if start.startswith(first))
    return next(begins, SUFFIXES.get(Path(path).suffix.lower(), "") if start else "")
