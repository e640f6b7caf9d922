"""20 Sixteen bits: what the formats hold, what autocast casts, and where a weight stands still, by PyTorch."""

import torch

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def lines():
    yield f"largest: it is {torch.finfo(torch.float16).max:.0f}."
    for value in (1e-30, 1e-8, 1e-5, 0.1, 2049.0, 70_000.0, 1e30):
        stored = (f"{name} {torch.tensor(value, dtype=dtype).item():<12.6g}" for name, dtype in FORMATS.items())
        yield f"{value:8g}: {'  '.join(stored)}"
    for name, dtype in FORMATS.items():
        weight = torch.tensor(1.0, dtype=dtype)
        for _ in range(1000):
            weight = weight - 1e-4
        yield f"{name:8} {weight.item():.4f}"
    yield from casts()


def casts():
    """Products, and what is on no list; the list for float32 is that of PyTorch on GPUs."""
    a = torch.ones(4, 4)
    with torch.autocast("cpu", torch.float16):
        h = a @ a
        for said, result in {"a @ a": h, "h.relu()": h.relu(), "h + h": h + h, "h + a": h + a}.items():
            yield f"{said:14} {str(result.dtype).removeprefix('torch.')}"
