"""`compare`: the same function in minigrad and in PyTorch, side by side, with the differences marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..engine.random import fork_rng
from ..engine.tensor.tensor import Tensor, tensor
from .names import HasParameters
from .picture import GraphRun
from .readers import load_reader
from .tensors import TensorGraph, format_array
from .words import number, pluralize

ROOM = 100  # numbers are the same if they differ by up to so many rounding errors
SAME = {"addmm": "affine"}  # symbols of the same op
HEAD = ("", "minigrad", "PyTorch", "values differ by", "gradients by")


class Step(NamedTuple):
    """A leaf or an op of a graph. Its key is the name of the leaf, or the symbol of the op."""

    is_leaf: bool
    key: str
    formula: str
    value: Any
    gradient: Any


class Pair(NamedTuple):
    """A step of both graphs; None for a graph that has no such step."""

    left: Step | None
    right: Step | None

    @property
    def gaps(self) -> list[float]:
        """The largest difference of the values, and of the gradients, relative to the largest number."""
        if self.left is None or self.right is None:
            return []
        return [gap(self.left.value, self.right.value), gap(self.left.gradient, self.right.gradient)]

    @property
    def is_same(self) -> bool:
        errors = [np.finfo(x.value.dtype).eps for x in self if x is not None]
        return bool(self.gaps) and max(self.gaps) <= ROOM * max(errors)

    @property
    def cells(self) -> list[str]:
        texts = ["—" if x is None else f"{x.formula} = {format_array(x.value)}" for x in self]
        return ["" if self.is_same else "≠", *texts, *([number(x, 2) for x in self.gaps] or ["", ""])]


@dataclass(frozen=True)
class Comparison:
    """Two graphs, step by step.

    leaves, ops    leaves by name, ops in order
    ok             whether the results, and the gradients of all leaves, are the same up to rounding
    same_graph     whether both graphs have the same leaves, and the same ops in the same order
    """

    leaves: tuple[Pair, ...]
    ops: tuple[Pair, ...]
    results: Pair

    @property
    def ok(self) -> bool:
        return all(pair.is_same for pair in (*self.leaves, self.results))

    @property
    def same_graph(self) -> bool:
        return all(pair.gaps for pair in (*self.leaves, *self.ops))

    @property
    def rows(self) -> list[list[str]]:
        return [pair.cells for pair in (*self.leaves, *self.ops)]

    @property
    def digest(self) -> str:
        """The comparison in one sentence."""
        alone = sum(not pair.gaps for pair in (*self.leaves, *self.ops))
        graphs = f"{pluralize(alone, 'step is', 'steps are')} in only one graph" if alone else "the graphs are the same"
        return f"Results and gradients {'are the same up to rounding' if self.ok else 'differ'}; {graphs}."

    @property
    def text(self) -> str:
        rows = [[*HEAD], *self.rows]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.digest, *lines])

    __repr__ = text.fget  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        head, *rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in [HEAD, *self.rows])
        marks = ["<tr style='background: #fbe3d2; color: #111'>" if row[0] else "<tr>" for row in self.rows]
        body = "".join(mark + row for mark, row in zip(marks, rows, strict=True))
        return f"<p>{escape(self.digest)}</p><table><thead><tr>{head}</thead>{body}</table>"


def compare(f_minigrad: Callable[..., Any], f_torch: Callable[..., Any], *xs: Any) -> Comparison:
    """Run the same function or module of both frameworks on the same numbers, and align their graphs.

    xs    the arguments: numbers, arrays, tensors of either framework; both functions get copies

    Backward starts at the sum of the result. Parameters of two modules are paired by name.
    """
    reader = load_reader("pytorch")
    arrays = [plain(x) for x in xs]
    names = ["x"] if len(xs) == 1 else [f"x{i}" for i in range(1, len(xs) + 1)]
    ours = [tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    theirs = [import_module("torch").tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    with fork_rng():
        y = f_minigrad(*ours)
    graph = TensorGraph([y], {**dict(zip(names, ours, strict=True)), **parameters(f_minigrad)})
    left = steps(graph.replay(np.ones_like(y.numpy())))
    right = steps(reader.replay_of(f_torch, theirs, dict(zip(names, theirs, strict=True)), is_sum=True))
    leaves = [sorted((x for x in side if x.is_leaf), key=lambda x: x.key) for side in (left, right)]
    ops = [[x for x in side if not x.is_leaf] for side in (left, right)]
    return Comparison(align(*leaves), align(*ops), Pair(left[-1], right[-1]))


def plain(x: Any) -> Any:
    """A copy of an argument as an array."""
    if hasattr(x, "detach") and not isinstance(x, Tensor):  # of PyTorch
        return x.detach().cpu().numpy().copy()
    return np.array(x if isinstance(x, np.ndarray) else (x if isinstance(x, Tensor) else tensor(x)).numpy())


def parameters(f: object) -> dict[str, object]:
    return dict(f.named_parameters()) if isinstance(f, HasParameters) else {}


def align(left: list[Step], right: list[Step]) -> tuple[Pair, ...]:
    """Pairs of the steps with the same key, in order; the others alone."""
    pairs: list[Pair] = []
    match = SequenceMatcher(None, [x.key for x in left], [x.key for x in right], autojunk=False)
    for kind, a, b, c, d in match.get_opcodes():
        if kind == "equal":
            pairs += map(Pair, left[a:b], right[c:d])
        else:
            pairs += [*(Pair(step, None) for step in left[a:b]), *(Pair(None, step) for step in right[c:d])]
    return tuple(pairs)


def steps(run: GraphRun) -> list[Step]:
    """The steps of a run that have a gradient."""
    boxes = [box for box in run.picture.boxes if box.id in run.arrays]
    keys = [SAME.get(box.op, box.op) or box.name or box.spec for box in boxes]
    facts = [(key, run.picture.formula(box), *run.arrays[box.id]) for key, box in zip(keys, boxes, strict=True)]
    return [Step(box.kind == "leaf", *fact) for box, fact in zip(boxes, facts, strict=True)]


def gap(a: Any, b: Any) -> float:
    """The largest difference relative to the largest number; infinity if the shapes differ, or only one has NaN."""
    if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    a, b = (np.nan_to_num(x.astype(float)) for x in (a, b))
    largest = max(np.max(np.abs(x), initial=0.0) for x in (a, b))
    return float(np.max(np.abs(a - b), initial=0.0) / (largest or 1.0))
