"""06 The dynamic graph."""

import torch


def lines():
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    z = x * y
    yield f"x: is_leaf={x.is_leaf!s:5}  requires_grad={x.requires_grad!s:5}  grad_fn={x.grad_fn}"
    yield f"z: is_leaf={z.is_leaf!s:5}  requires_grad={z.requires_grad!s:5}  grad_fn=<{name(z)}>"

    x = torch.tensor(3.0, requires_grad=True)
    for words in ("after the first run:  ", "after the second run: "):
        h = run(x)
        yield f"{words}x.grad = {x.grad!s}  h.grad = {h.grad!s}"
    torch.optim.SGD([x], lr=0.1).zero_grad()
    yield f"after zero_grad: x.grad = {x.grad!s}  h.grad = {h.grad!s}"
    (x**2).backward()
    (5 * x).backward()
    yield f"two losses, a pass each: {x.grad!s}"

    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    total = x + y
    total.backward()
    total.backward()
    yield f"no error; x.grad = {x.grad!s}"

    x = torch.tensor(3.0, requires_grad=True)
    h = x * x
    h.retain_grad()
    for _ in range(2):
        x.grad = None
        (2 * h).backward(retain_graph=True)
    yield f"x.grad = {x.grad!s}  h.grad = {h.grad!s}"

    sizes = []
    x = h = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    for _ in range(6):
        h = h.sigmoid()
        h.register_hook(lambda gy: sizes.append(gy.item()))
    h.backward()
    yield "arriving, from the last sigmoid back: " + " ".join(f"{size:.4f}" for size in sizes)
    yield f"arriving at x: {x.grad.item():.6f}"

    x = torch.tensor([1.0, 10.0], requires_grad=True)
    h = x**2
    h.register_hook(lambda gy: gy.clamp(-5, 5))
    (h**2).sum().backward()
    yield f"limited at h: {x.grad!s}"

    x = torch.tensor(3.0, requires_grad=True)
    (x * x.detach()).backward()
    yield f"x * x.detach(): it is {x.grad:g}."

    refused = 0
    for operation in (torch.exp, torch.sin, lambda x: 2 * x, torch.tanh):
        h = operation(torch.tensor(0.0, requires_grad=True))
        before = h._version
        h.add_(1)
        try:
            h.backward()
        except RuntimeError:
            refused += 1
            yield f"edits when it was saved: {before}; edits now: {h._version}"
    yield f"refused edits: it is {refused}"

    x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    h = x.sigmoid()
    h.detach().numpy()[0] = 5
    h.sum().backward()
    yield f"edited through NumPy: {str(x.grad).replace(', dtype=torch.float64', '')}"


def run(x):
    h = x * x
    h.retain_grad()
    (2 * h).backward()
    return h


def name(z):
    """MulBackward; PyTorch's has a number behind it, that of the overload."""
    return z.grad_fn.name().rstrip("0123456789")
