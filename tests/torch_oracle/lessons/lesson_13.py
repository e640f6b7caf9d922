"""13 Optimising a graph."""

import torch

RULES = {
    "x + 0 → x": (lambda x: x + 0.0, lambda x: x), "x · 1 → x": (lambda x: x * 1.0, lambda x: x),
    "x · 0 → 0": (lambda x: x * 0.0, torch.zeros_like), "x − x → 0": (lambda x: x - x, torch.zeros_like),
    "x / x → 1": (lambda x: x / x, torch.ones_like), "−(−x) → x": (lambda x: torch.neg(-x), lambda x: x),
    "x / 4 → x · ¼": (lambda x: x / 4.0, lambda x: x * 0.25),
    "x / 3 → x · ⅓": (lambda x: x / 3.0, lambda x: x * (1 / 3)),
    "x + 1 + −1 → x": (lambda x: x + 1.0 + -1.0, lambda x: x),
}  # fmt: skip


def lines():
    floats = torch.tensor([0.0, -0.0, 0.1, 7.0, 1e300, torch.inf, torch.nan], dtype=torch.float64)
    for rule, (written, done) in RULES.items():
        a, b = written(floats), done(floats)
        same = (a == b) & (a.signbit() == b.signbit()) | a.isnan() & b.isnan()
        fails = ", ".join(map(str, floats[~same].tolist()))
        yield f"{rule:16} {'fails at ' + fails if fails else 'holds'}\n"

    numbers = torch.arange(1.0, 1001.0, dtype=torch.float64)
    yield f"by FAST: {int((numbers + 0.1 + 0.2 != numbers + (0.1 + 0.2)).sum())}\n"

    big = 1.5 * 2**52
    fractions = torch.tensor([0.3, 1.7, 2.5], dtype=torch.float64)
    yield f"eager    {((fractions + big) + -big).tolist()}"
    yield f"FAST     {(fractions + (big + -big)).tolist()}"
