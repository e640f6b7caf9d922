"""19 Smaller: bytes, and a grid of integers with one large weight on it, as PyTorch writes them."""

from torch import nn
from torch.nn.utils import prune


def lines():
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    yield f"{sum(p.numel() for p in net.parameters()):,} parameters, right"
    yield f"float32 {sum(p.nbytes for p in net.parameters()):,} bytes, right"
    for layer in net[::2]:
        prune.l1_unstructured(layer, "weight", 0.9)
    yield f"weights that are not 0: {sum(int((layer.weight != 0).sum()) for layer in net[::2]):,}"
    half = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    yield f"{sum(p.numel() for p in half.parameters()):,} parameters, "
