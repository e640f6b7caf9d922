"""mg.load of files that other libraries wrote: the error names the library, and says how to convert the file."""

import io
import pickle
import zipfile

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import SavedFileError
from tests.support.table import table


def zipped(*names):
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, b"")
        return file.getvalue()


def by_numpy(save, *args, **arrays):
    with io.BytesIO() as file:
        save(file, *args, **arrays)
        return file.getvalue()


FOREIGN = {  # (a name, the bytes, what the error says)
    "model.pt": (zipped("model/data.pkl", "model/data/0"), "PyTorch.*state_dict.*torch.onnx.export"),
    "old.pth": (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "PyTorch.*state_dict"),
    "odd.pt": (b"nothing that is known", "PyTorch"),
    "w.npz": (by_numpy(np.savez, w=np.ones(3)), r"np\.load\(path\)\.items"),
    "w.npy": (by_numpy(np.save, np.ones(3)), r"mg\.tensor\(np\.load\(path\)\)"),
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(90), r"HDF5: h5py\.File.*get_weights"),
    "net.keras": (zipped("config.json", "model.weights.h5"), "Keras.*get_weights"),
    "saved_model.pb": (b"\x08\x01\x12\x99", "TensorFlow.*tf2onnx"),
    "frozen.pb": (b"\x0a\x33\x0a\x01x", "TensorFlow.*tf2onnx"),
    "net.onnx": (b"\x08\x0a\x12\x08minigrad", r"mg\.onnx\.load\(path\)"),
    "state.pkl": (pickle.dumps({"w": [1.0]}), "pickle.*runs code.*mg.save"),
    "state.bin": (pickle.dumps({"w": [1.0]}, 2), "pickle"),
    "net.gguf": (b"GGUF\x03\0\0\0", "GGUFReader"),
    "all.zip": (zipped("a/net.safetensors"), "zip archive"),
    "net.safetensors": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
    "page.safetensors": (b"<!DOCTYPE html><html>", "web page"),
    "empty.pt": (b"", "header would be 0 bytes"),
}


@table("name", FOREIGN)
def test_the_error_names_the_library_of_a_file_and_how_to_convert_it(name, tmp_path):
    data, words = FOREIGN[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SavedFileError, match=f"(?s){name} is no whole safetensors file: .*{words}"):
        mg.load(tmp_path / name)


def test_the_way_that_the_error_names_for_pytorch_works(tmp_path):
    """A file by torch.save is refused, and its state_dict, saved as the error says, is loaded."""
    torch = pytest.importorskip("torch")
    to_safetensors = pytest.importorskip("safetensors.torch").save_file
    net = torch.nn.Linear(2, 3)
    for i, zipped in enumerate((True, False)):
        torch.save(net.state_dict(), tmp_path / f"{i}.bin", _use_new_zipfile_serialization=zipped)
        with pytest.raises(SavedFileError, match="PyTorch wrote it"):
            mg.load(tmp_path / f"{i}.bin")

    to_safetensors(net.state_dict(), tmp_path / "net.safetensors")

    assert {name: x.shape for name, x in mg.load(tmp_path / "net.safetensors").items()} == {
        "weight": (3, 2), "bias": (3,)
    }  # fmt: skip
