"""24 Out of Python: the same network leaves PyTorch as the same ops, and what it refuses is refused there, too."""

import io
import pickle
from collections import Counter

import pytest
import torch
from torch import nn

NAMES = {"add": "Add", "linear": "Affine", "mul": "Mul", "sub": "Sub", "tanh": "Tanh"}


class Recogniser(nn.Module):
    def __init__(self, turns=2):
        super().__init__()
        self.read, self.think, self.answer = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)
        self.drop, self.turns = nn.Dropout(0.2), turns

    def forward(self, x):
        h = self.read(x * 2 - 1).tanh()
        for _ in range(self.turns):
            h = h + self.drop(self.think(h)).tanh()
        return self.answer(h)


class HerRecogniser(Recogniser):
    def forward(self, x):
        return self.answer(self.think(self.read(x).relu()).relu())


def lines():
    net, x = Recogniser().eval(), torch.randn(3, 64)
    for name, array in net.state_dict().items():
        yield f"{name:14} {tuple(array.shape)}"
    yield f"{sum(p.nbytes for p in net.parameters()):,} bytes of weights"
    yield str(HerRecogniser().load_state_dict(net.state_dict()))

    program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    called = Counter(node.target.__name__.split(".")[0] for node in program.graph.nodes if node.op == "call_function")
    made = {NAMES[name.strip("_")]: n for name, n in called.items() if name.strip("_") in NAMES}
    counts = made | {"Const": 2, "Input": len(net.state_dict()) + 1}  # there numbers are arguments, and inputs no calls
    yield ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    again = torch.export.load(written(lambda file: torch.export.save(program, file))).module()
    yield f"the same bytes come out: {again(x[:2]).numpy(force=True).tobytes() == plain(net, x[:2]).tobytes()}"

    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(written(lambda file: torch.save(net, file)))


def plain(net, x):
    return net(x).numpy(force=True)


def written(save):
    """A file in memory that has been written, to be read from its beginning."""
    file = io.BytesIO()
    save(file)
    file.seek(0)
    return file
