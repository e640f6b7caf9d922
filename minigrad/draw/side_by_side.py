"""`compare`: the same function in minigrad and in PyTorch, side by side, with the differences marked."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..engine.base.table import Table
from ..engine.random import fork_rng
from ..engine.tensor.tensor import Tensor, tensor
from ..nn import Module
from .picture import GraphRun
from .readers import load_reader, reader_of
from .tensors import TensorGraph, format_array
from .words import number, pluralize

ROOM = 100  # rounding errors by which two numbers may differ and still count as the same
SAME = {"addmm": "affine"}  # an op of PyTorch → minigrad's name for it
HEAD = {"": "", "minigrad": "<", "PyTorch": "<", "values differ by": "", "gradients by": ""}


class RunStep(NamedTuple):
    """A leaf or an op of a graph.

    key      the name of the leaf, or the symbol of the op
    scale    the largest gradient of the graph
    """

    kind: str
    key: str
    formula: str
    value: Any
    gradient: Any
    scale: float


class Pair(NamedTuple):
    """A step of both graphs; None for a graph that does not have it."""

    left: RunStep | None
    right: RunStep | None

    @property
    def gaps(self) -> list[float]:
        """The largest differences: of values, relative to the largest value; of gradients, to the graph's largest."""
        if not (self.left and self.right):
            return []
        return [gap(self.left.value, self.right.value), gap(self.left.gradient, self.right.gradient, self.left.scale)]

    @property
    def is_same(self) -> bool:
        errors = [np.finfo(x.value.dtype).eps for x in self if x]
        return bool(self.gaps) and max(self.gaps) <= ROOM * max(errors)

    @property
    def cells(self) -> tuple[str, ...]:
        texts = [f"{x.formula} = {format_array(x.value)}" if x else "—" for x in self]
        return ("" if self.is_same else "≠", *texts, *([number(x, 2) for x in self.gaps] or ["", ""]))


@dataclass(frozen=True, repr=False)
class SideBySide(Table):
    """Two graphs, step by step: leaves by name, then ops in order. The note says in one sentence how they compare.

    ok    whether the results, and the gradients of all leaves, are the same up to rounding
    """

    pairs: tuple[Pair, ...] = ()
    ok: bool = False

    text = property(Table.__str__)

    @property
    def same_graph(self) -> bool:
        """Whether both graphs have the same leaves, and the same ops in the same order."""
        return all(pair.gaps for pair in self.pairs)


def compare(f_minigrad: Callable[..., Any], f_torch: Callable[..., Any], *xs: Any) -> SideBySide:
    """Run the same function or module of both frameworks on copies of the same arguments, and align their graphs.

    xs    numbers, arrays, or tensors of either framework

    Backward starts at the sum of the result. Parameters of two modules are paired by name.
    """
    if reader_of(f_minigrad) is not None or isinstance(f_torch, Module):
        raise TypeError("expected minigrad's function or module first, and PyTorch's second")
    arrays = [np.array(x.detach().cpu() if hasattr(x, "detach") else x) for x in xs]
    names = ["x"] if len(xs) == 1 else [f"x{i}" for i in range(1, len(xs) + 1)]
    ours, theirs = (
        {name: make(x, requires_grad=x.dtype.kind == "f") for name, x in zip(names, arrays, strict=True)}
        for make in (tensor, import_module("torch").tensor)
    )
    left = steps(run_of(f_minigrad, ours))
    right = steps(load_reader("pytorch").replay_of(f_torch, [*theirs.values()], theirs, is_sum=True))
    pairs, results = align(left, right), Pair(left[-1], right[-1])
    leaves = [pair for pair in pairs if any(x and x.kind == "leaf" for x in pair)]
    return table_of(pairs, ok=all(pair.is_same for pair in (*leaves, results)))


def run_of(f: Callable[..., Any], xs: dict[str, Tensor]) -> GraphRun:
    """minigrad's run, forward and backward from the sum of the result."""
    f = deepcopy(f)  # because a call may change the buffers of a module
    with fork_rng():
        y = f(*xs.values())
    if not isinstance(y, Tensor) or not y.requires_grad:
        raise TypeError(f"expected functions that return one tensor with a gradient; minigrad's returned {y!r}")
    parameters = dict(f.named_parameters()) if isinstance(f, Module) else {}
    return TensorGraph([y], {**xs, **parameters}).replay(np.ones_like(y.numpy()))


def table_of(pairs: list[Pair], ok: bool) -> SideBySide:
    alone = sum(not pair.gaps for pair in pairs)
    graphs = f"{pluralize(alone, 'step is', 'steps are')} in only one graph" if alone else "the graphs are the same"
    note = f"Results and gradients {'are the same up to rounding' if ok else 'differ'}; {graphs}."
    return SideBySide(HEAD, [pair.cells for pair in pairs], note, tuple(pairs), ok)


def steps(run: GraphRun) -> list[RunStep]:
    """The leaves of a run by name, then its ops in order; only those that have a gradient."""
    scale = max(float(np.max(np.abs(gradient), initial=0.0)) for _, gradient in run.arrays.values())
    boxes = [box for box in run.picture.boxes if box.id in run.arrays]
    boxes.sort(key=lambda box: (box.kind == "op", "" if box.kind == "op" else box.name))
    keys = [SAME.get(box.op, box.op) or box.name or box.spec for box in boxes]
    formula, arrays = run.picture.formula, run.arrays
    return [RunStep(box.kind, key, formula(box), *arrays[box.id], scale) for box, key in zip(boxes, keys, strict=True)]


def align(left: list[RunStep], right: list[RunStep]) -> list[Pair]:
    """Pairs of steps with the same key, in order. A step without a partner is alone in its pair."""
    pairs: list[Pair] = []
    match = SequenceMatcher(None, [x[:2] for x in left], [x[:2] for x in right], autojunk=False)
    for kind, a, b, c, d in match.get_opcodes():
        if kind == "equal":
            pairs += map(Pair, left[a:b], right[c:d])
        else:
            pairs += [*(Pair(x, None) for x in left[a:b]), *(Pair(None, x) for x in right[c:d])]
    return pairs


def gap(a: Any, b: Any, least: float = 0.0) -> float:
    """The largest difference relative to the largest number, or to `least`; infinity if shapes or NaN differ."""
    if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    a, b = (np.nan_to_num(x.astype(float)) for x in (a, b))
    largest = max(np.max(np.abs(x), initial=least) for x in (a, b))
    return float(np.max(np.abs(a - b), initial=0.0) / (largest or 1.0))
