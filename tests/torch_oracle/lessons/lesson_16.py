"""16 Where the bytes go: what belongs to the network and what its operations keep is the same in PyTorch."""

import torch
from torch import nn


def lines():
    net = network()
    weights = bytes_of(net.parameters())
    yield f"{weights:,} bytes of weights; at the peak"
    adam = torch.optim.Adam(net.parameters())
    x = torch.zeros(64, 1, 8, 8)
    net(x).sum().backward()
    adam.step()
    state = sum(bytes_of(v for k, v in s.items() if k != "step") for s in adam.state.values())
    yield f"{state:,} bytes more: {state / weights:g} times the weights"
    conv = (bytes_of(net[2].parameters()), bytes_of([net[:3](torch.zeros(32, 1, 28, 28))]))
    yield f"on paper {conv}  measured {conv}"

    thousand = torch.linspace(0, 1, 1000, requires_grad=True)
    kept = kept_by(lambda: eight(thousand))
    yield f"keepers: it is {sum(size == 4000 for size in kept.values())}."

    convs, pictures = [nn.Conv2d(16, 16, 3, padding=1) for _ in range(3)], torch.ones(64, 16, 8, 8)
    given = {t.untyped_storage().data_ptr() for t in (pictures, *(p for conv in convs for p in conv.parameters()))}
    kept = [kept_by(lambda skips=skips: three_layers(convs, pictures, skips)) for skips in (False, True)]
    yield f"saved for backward {[sum(size for at, size in each.items() if at not in given) for each in kept]}"

    matrices = [torch.randn(32, 32, requires_grad=True) for _ in range(3)]
    tokens = torch.ones(8, 128, 32)
    largest = max(kept_by(lambda: attention(tokens, *matrices)).values())
    yield f"softmax      its result  f32[8, 128, 128]                    1  {largest:,}"


def network():
    conv = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*conv, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def kept_by(run):
    """Storage → bytes of each that the run keeps for backward."""
    kept = {}

    def note(t):
        kept[t.untyped_storage().data_ptr()] = t.numel() * t.element_size()
        return t

    with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        y = run()
    del y
    return kept


def eight(x):
    d = ((x + 1).exp() * 2).sin()
    e = d.reshape(10, 100)
    return (e.tanh() * e).sum()


def three_layers(convs, x, skips):
    x = early = convs[0](x).relu()
    for conv in convs[1:]:
        x = conv(x).relu()
    return x + early if skips else x


def attention(t, Wq, Wk, Wv):
    q, k, v = t @ Wq, t @ Wk, t @ Wv
    return (q @ k.mT / 32**0.5).softmax(-1) @ v
