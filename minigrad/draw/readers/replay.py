"""Forward and backward over a graph of another framework: values in boxes, shares of gradients on arrows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...engine.base.spec import Spec
from ...engine.core.op import Elementwise
from ...engine.tensor.symbol import placeholder
from ..heat import Heat, heat_of
from ..picture import UNKNOWN, Arrow, Box, GraphRun, PictureBuilder, Share
from ..rules import Rule, rules_like
from ..tensors import format_array, make_share
from ..words import join_names


class OpRun(NamedTuple):
    """An op that ran.

    results         the keys of its results
    operands        its operands that have gradients: each key, its arrow and its derivative
    pull            maps the gradients of its results to those of its operands; None stands for no gradient
    is_pointwise    whether it works element by element, so that a local derivative is an array
    """

    results: Sequence[Any]
    operands: Sequence[tuple[Any, Arrow, Rule]]
    pull: Callable[[Sequence[Any]], Sequence[Any]]
    is_pointwise: bool


class GraphReplay(PictureBuilder):
    """A graph that ran, and its backward pass. Each of its values has a key, such as a variable of a jaxpr.

    spec_of, array_of, ones_like    functions of a value: its dtype and shape as text, its elements as a NumPy array
    ops                             in the order in which they ran
    active                          the keys of values that will have gradients, if known before the backward pass
    """

    def __init__(self, spec_of: Callable[[Any], str], array_of: Callable[[Any], Any], ones_like: Callable[[Any], Any]):
        super().__init__()
        self.spec_of, self.array_of, self.ones_like = spec_of, array_of, ones_like
        self.values: dict[Any, Any] = {}
        self.gradients: dict[Any, Any] = {}
        self.ops: list[OpRun] = []
        self.active: set[Any] = set()

    def add(self, kind: str, name: str, sign: str, values: Mapping[Any, Any], tails: Sequence[str] = ()) -> list[Arrow]:
        """Add a box with values (key → value; None if unknown). Returns the arrows into it."""
        known = {key: x for key, x in values.items() if x is not None}
        self.values |= known
        text, heat = content(map(self.array_of, known.values()))
        spec = "" if kind == "constant" else " ".join(map(self.spec_of, known.values()))
        grad = UNKNOWN if self.active.intersection(values) else ""
        return self.add_op(Box("", kind, name, sign, spec, text or "?", grad, value_heat=heat), values, tails)

    @np.errstate(all="ignore")
    def replay(self, end: Any, reads: dict[str, tuple[str, ...]], note: str = "") -> GraphRun:
        """Run backpropagation from the value `end`, and record each share of it."""
        self.gradients[end] = seed = self.ones_like(self.values[end])
        shares = tuple(share for op in reversed(self.ops) for share in self.shares_of(op))
        sizes = defaultdict[str, int](int)
        grads = defaultdict[str, list[Any]](list)
        for key, id in self.box_of.items():
            sizes[id] += self.values[key].nbytes if key in self.values else 0
            grads[id] += [self.array_of(self.gradients[key])] if key in self.gradients else []
        for id in grads:
            text, heat = content(grads[id])
            self.boxes[id] = replace(self.boxes[id], grad=text or self.boxes[id].grad, grad_heat=heat)
        arrays = {self.box_of[x]: (self.array_of(self.values[x]), self.array_of(g)) for x, g in self.gradients.items()}
        start, picture = content([self.array_of(seed)])[0], self.picture([self.box_of[end]])
        return GraphRun(picture, start, shares, reads, frees=True, sizes=sizes, arrays=arrays, note=note)

    def shares_of(self, op: OpRun) -> Iterator[Share]:
        """The shares that an op passes back to its operands. Also adds them to `gradients`."""
        gys = [*map(self.gradients.get, op.results)]
        gy = next((gy for gy in gys if gy is not None), None)
        if gy is None:
            return
        slopes = op.pull([self.ones_like(gy)]) if op.is_pointwise else []
        for (x, arrow, rule), gx, slope in zip_longest(op.operands, op.pull(gys), slopes):
            if gx is not None:
                before = self.gradients.get(x)
                self.gradients[x] = after = gx if before is None else before + gx
                slope = slope if slope is not None and slope.shape == gy.shape else None
                arrays = [None if y is None else self.array_of(y) for y in (slope, gy, gx, after, before)]
                if re.fullmatch(r"\S+ᵀ @ g|g @ \S+ᵀ", rule.text):
                    arrays[0] = self.other_factor(arrow)
                yield make_share(arrow.id, rule, *arrays)

    def other_factor(self, arrow: Arrow) -> Any:
        """The other operand of a product of matrices, transposed; None if it is no matrix."""
        tails = {each.tail for each in self.arrows if each.head == arrow.head and each != arrow}
        found = [self.array_of(self.values[y]) for y, id in self.box_of.items() if id in tails and y in self.values]
        return next((x.T for x in found if x.ndim == 2), None)


def content(arrays: Iterable[Any]) -> tuple[str, Heat | None]:
    """Some arrays as text; a single array also as a heat map."""
    arrays = [*arrays]
    return join_names([*map(format_array, arrays)]), heat_of(arrays[0]) if len(arrays) == 1 else None


def own_derivatives(
    method: Callable[..., Any], operands: Sequence[Any], names: list[str], shape: Sequence[int], otherwise: Rule
) -> tuple[str, list[Rule], bool]:
    """The symbol and the derivatives of minigrad's op for these operands, and whether it works element by element.

    If minigrad has no such op, or only one without derivatives or for other operands: "" and `otherwise`.

    operands    each a number, or a shape and a dtype
    names       the names of the result and of each operand
    shape       the shape of the result
    """
    try:
        xs = [placeholder("", Spec(*x)) if isinstance(x, tuple) else x for x in operands]
        node, sign, rules = rules_like(method, xs, names, shape)
        return sign, rules, isinstance(node.op, Elementwise)
    except Exception:  # of any kind, since the method was written for other operands
        return "", [otherwise] * len(operands), False
