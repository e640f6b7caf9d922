"""python -m benchmarks.quantized: a network for digits in floats and in int8, here and in ONNX Runtime, in one table.

The int8 network is converted after training, and exported as QDQ. For ONNX Runtime, bytes are those of the file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad import quantization as mq
from minigrad.data.datasets import digits

EPOCHS, BATCH = 12, 32


class InRuntime(nn.Module):
    """An ONNX file, run by ONNX Runtime with one thread. Copies are the same object."""

    def __init__(self, path: Path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.register_buffer("file", mg.tensor(np.frombuffer(path.read_bytes(), np.uint8)))

    def forward(self, x: Any) -> Any:
        return mg.tensor(self.session.run(None, {"input": x.numpy()})[0])

    def __deepcopy__(self, memo: Any) -> InRuntime:
        return self


def trained(x: np.ndarray, y: np.ndarray) -> nn.Module:
    mg.manual_seed(0)
    net = nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10)),
    ).float()
    optimizer = mg.optim.Adam(net.parameters(), lr=1e-3)
    for rows in np.random.default_rng(0).permuted(np.tile(np.arange(len(y)), (EPOCHS, 1)), axis=1):
        for i in range(0, len(rows), BATCH):
            optimizer.zero_grad()
            mg.functional.cross_entropy(net(mg.tensor(x[rows[i : i + BATCH]])), y[rows[i : i + BATCH]]).backward()
            optimizer.step()
    return net.eval()


def main() -> None:
    data = digits()
    train, test = (x.reshape(-1, 1, 8, 8).astype(np.float32) for x in (data.train_x, data.test_x))
    net = trained(train, data.train_y)
    prepared = mq.prepare(net)
    prepared(mg.tensor(train))
    models = {"float32": net, "int8": mq.convert(prepared)}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in [*models.items()]:
            path = Path(folder, f"{name}.onnx")
            mg.onnx.export(model, mg.tensor(test), path, ["input"], dynamic_axes={"input": [0]})
            models[f"{name}, ONNX Runtime"] = InRuntime(path)
        print(mq.compare(models, (test, data.test_y), rounds=20))


if __name__ == "__main__":
    main()
