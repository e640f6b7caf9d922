"""Values and first gradients of a call, PyTorch's and minigrad's, and the verdict of their comparison."""

import re
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

import minigrad as mg
from minigrad.engine.base.errors import MinigradError
from tests.support.fuzz_programs import silence

from .convert import Apart, array, flat

# The worst first: an entry is as good as its worst sample.
VERDICTS = ["wrong", "crash", "refused", "absent", "otherwise", "whole", "apart"]
SIGNATURE = re.compile(r"unexpected keyword|positional argument|required keyword|multiple values|No minigrad attribute")
HERE = str(Path(mg.__file__).parent)


@dataclass
class Entry:
    """What was found of one name: the verdict of each sample, and what to say of those that are not whole."""

    name: str
    found: list = field(default_factory=list)

    @property
    def verdict(self):
        return next(v for v in VERDICTS if v == "apart" or any(v == found for found, _ in self.found))

    @property
    def why(self):
        return next((text for verdict, text in self.found if verdict == self.verdict and text), "")

    @property
    def share(self):
        asked = [v for v, _ in self.found if v != "apart"]
        return f"{asked.count('whole')}/{len(asked)}"


class Wrong(Exception):
    """A number that is not PyTorch's."""


def judged(comparison):
    """The verdict of a comparison that is run, and a line about it."""
    try:
        with silence():
            comparison()
    except Wrong as e:
        return "wrong", str(e)
    except Apart as e:
        return "apart", str(e)
    except (MinigradError, NotImplementedError) as e:
        return "refused", said(e)
    except Exception as e:
        return ("refused" if is_said_on_purpose(e) else "crash"), said(e)
    return "whole", ""


def is_said_on_purpose(e):
    """Raised by a statement of minigrad's, or by a call that the signature does not allow."""
    if isinstance(e, (TypeError, AttributeError)) and SIGNATURE.search(str(e)):
        return True
    last = traceback.extract_tb(e.__traceback__)[-1]
    return last.filename.startswith(HERE) and last.line.startswith("raise ")


def said(e):
    return f"{type(e).__name__}: {' '.join(str(e).split())[:160]}"


def same(theirs, ours, what):
    """Shapes, kinds of dtype and numbers agree, or Wrong says where they do not."""
    theirs, ours = flat(theirs), flat(ours)
    if len(theirs) != len(ours):
        raise Wrong(f"{what}: {len(ours)} results for {len(theirs)}")
    for i, (t, y) in enumerate(zip(theirs, ours)):
        equal(t, y, what if len(ours) == 1 else f"{what} {i}")


def equal(t, y, what):
    if t is None or isinstance(t, (str, torch.dtype, torch.layout)):
        if t is None and y is not None:
            raise Wrong(f"{what}: {y} for None")
        return
    a = array(t) if isinstance(t, torch.Tensor) else np.asarray(t)
    b = y.detach().numpy() if isinstance(y, mg.Tensor) else np.asarray(y)
    if a.shape != b.shape:
        raise Wrong(f"{what}: shape {b.shape} for {a.shape}")
    if isinstance(t, torch.Tensor) and a.dtype.kind.replace("u", "i") != b.dtype.kind.replace("u", "i"):
        raise Wrong(f"{what}: dtype {b.dtype} for {a.dtype}")
    width = min(a.dtype.itemsize, b.dtype.itemsize) if a.dtype.kind == b.dtype.kind == "f" else 8
    rtol, atol = {2: (1e-2, 1e-3), 4: (1e-4, 1e-5)}.get(width, (1e-6, 1e-8))
    if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        off = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        raise Wrong(f"{what}: {b[off].ravel()[0]} for {a[off].ravel()[0]}, {off.sum()} of {off.size}")


def same_gradients(theirs, ours, leaves):
    """The gradients of both results, weighted by the same random numbers, with respect to the pairs of leaves."""
    pairs = [(t, y) for t, y in zip(flat(theirs), flat(ours)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not pairs or not leaves:
        return
    rng = np.random.default_rng(3)
    weights = [rng.normal(size=tuple(t.shape)) for t, _ in pairs]
    loss = sum((t * torch.tensor(w, dtype=t.dtype)).sum() for (t, _), w in zip(pairs, weights))
    try:
        wanted = torch.autograd.grad(loss, [t for t, _ in leaves], allow_unused=True, retain_graph=True)
    except (RuntimeError, NotImplementedError):  # PyTorch has no derivative of it
        return
    if any(g is not None and g.is_complex() for g in wanted):
        raise Apart("complex")
    if not any(y.requires_grad for _, y in pairs):
        if all(g is None or not g.any() for g in wanted):
            return
        raise Wrong("gradient: none for PyTorch's")
    mine = sum((y * mg.tensor(w.astype(y.dtype))).sum() for (_, y), w in zip(pairs, weights) if y.requires_grad)
    found = mg.grad(mine, [x for _, x in leaves], allow_unused=True)
    for i, ((t, _), h, g) in enumerate(zip(leaves, wanted, found)):
        h = torch.zeros_like(t) if h is None else h
        equal(h, mg.zeros(tuple(h.shape)) if g is None else g, f"gradient {i}")
