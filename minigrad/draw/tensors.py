"""Pictures and replays of the tensor engine's graphs.

A recorded node keeps only values that backward reads. So values are recomputed by running the recorded ops again, and
gradients by running the engine's backward loop and compiled rules on them. The graph, its saved values and every .grad
stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..engine.base.dtypes import kind
from ..engine.base.errors import NoGradientError
from ..engine.core.backward import pullback
from ..engine.core.interpret import value
from ..engine.core.node import Node, Record, Source, toposort
from ..engine.core.op import Elementwise, Op
from ..engine.ops import Const
from ..engine.tensor.grad import origin
from ..engine.tensor.tensor import Tensor
from .graphs import arrange, is_constant, kind_of, own_name
from .heat import heat_of
from .names import names_in
from .picture import UNKNOWN, Box, GradientEntry, GraphRun, Picture, Share
from .rules import Rule, rules_of, sign_of
from .words import number

FEW = 4  # elements; arrays of up to this size are shown in full
BRIEF = 10  # characters on an arrow
NEAR = 12  # characters of a rule that stand beside a heat map


def replay_of_tensor(y: Tensor, namespace: Mapping[str, object]) -> GraphRun:
    """The forward and backward pass over the graph recorded behind y. Raises NoGradientError if backward() does."""
    if not y.requires_grad:
        raise NoGradientError(f"no backward to step through: {y.spec} depends on no tensor with requires_grad=True")
    return TensorGraph([y], namespace).replay(y.seed_gradient(None).value)


class TensorGraph:
    """A recorded graph, its recomputed values and its picture, with the box of each node.

    In the picture, gradients are known at leaves with .grad.
    """

    @np.errstate(all="ignore")  # NumPy warned of these numbers when the graph ran first
    def __init__(self, ys: Sequence[Tensor], namespace: Mapping[str, object]):
        ends = [origin(y) for y in ys]
        self.output = ends[-1]
        self.order = toposort(*ends)
        self.values = values_of(self.order, ys)
        self.names = names_in(namespace, lambda x: x.node if isinstance(x, Tensor) else None)
        self.kept = {x for node in self.order for x in read_by(node) if node.saved is not None}
        self.picture, place = arrange(self.order, self.box, ends)
        self.box_of = {node: self.picture.box[id] for node, id in place.items()}

    def box(self, node: Node) -> Box:
        value = self.values.get(node)
        return Box(
            id="", kind=kind_of(node), name=self.names.get(node, own_name(node)),
            op=sign_of(node.op) if node.inputs else "", spec="" if is_constant(node) else str(node.spec),
            value=UNKNOWN if value is None else format_array(value),
            grad=grad_of(node) if node.needs_grad else "", kept=node in self.kept,
        )  # fmt: skip

    @np.errstate(all="ignore")
    def replay(self, seed: Any) -> GraphRun:
        """Run backpropagation and record each share of it."""
        missing = [box.display_name for node, box in self.box_of.items() if node not in self.values]
        if missing:
            raise ValueError(f"the value of {missing[0]} is gone, so the graph cannot run again: redo the forward pass")
        shares: list[Share] = []
        collected = {self.output: seed}
        pull = partial(self.pull_shares, collected, shares)
        pullback([node for node in self.order if node.needs_grad and node.inputs], {self.output: seed}, pull)
        boxes = {box.id: box for box in self.picture.boxes}
        for node, box in self.box_of.items():
            gx = collected.get(node)
            grad, gx_heat = (box.grad, None) if gx is None else (format_array(gx), heat_of(gx))
            boxes[box.id] = replace(box, grad=grad, value_heat=heat_of(self.values[node]), grad_heat=gx_heat)
        reads = {
            box.id: tuple(self.box_of[x].id for x in read_by(node)) for node, box in self.box_of.items() if node.inputs
        }
        picture = Picture(tuple(boxes.values()), self.picture.arrows)
        sizes = {box.id: self.values[node].nbytes for node, box in self.box_of.items()}
        arrays = {self.box_of[node].id: (self.values[node], gx) for node, gx in collected.items()}
        return GraphRun(picture, format_array(seed), tuple(shares), reads, frees=True, sizes=sizes, arrays=arrays)

    def pull_shares(self, collected: dict[Node, Any], shares: list[Share], node: Node, gy: Any) -> tuple[Any, ...]:
        """The gradients of a node's operands by its compiled rule. Adds them to `collected`, and their shares."""
        assert node.rule is not None
        kept = node.rule.keep(self.values[node], *(self.values[x] for x in node.inputs))
        gxs = node.rule.pull(gy, *kept)
        rules = rules_of(node, [self.box_of[node].display_name, *(self.operand_name(x) for x in node.inputs)])
        arrows = self.picture.arrows_into[self.box_of[node].id]
        uses = zip(arrows, node.inputs, gxs, rules, self.partials(node, gy, kept), strict=True)
        for arrow, x, gx, rule, slope in uses:
            if gx is None:
                continue
            before = collected.get(x)
            collected[x] = gx if before is None else before + gx
            shares.append(make_share(arrow.id, rule, slope, gy, gx, collected[x], before))
        return gxs

    def partials(self, node: Node, gy: Any, kept: tuple[Any, ...]) -> list[Any]:
        """Each local derivative of an elementwise op, or other factor of a matrix product; None for other operands."""
        if node.op.label == "@" and all(x.spec.ndim == 2 for x in node.inputs):
            return [self.values[x].T for x in reversed(node.inputs)]
        if not isinstance(node.op, Elementwise):
            return [None] * len(node.inputs)
        assert node.rule is not None
        partials = node.rule.pull(node.spec.device.xp.ones_like(gy), *kept)
        alike = [x.spec.shape == node.spec.shape for x in node.inputs]
        return [p if same else None for p, same in zip(partials, alike, strict=True)]

    def operand_name(self, x: Node) -> str:
        return format_array(self.values[x]) if isinstance(x.op, Const) else self.box_of[x].display_name


def make_share(arrow: str, rule: Rule, partial: Any, gy: Any, gx: Any, after: Any, before: Any) -> Share:
    """The share of a gradient that an arrow passes back.

    partial          the local derivative as an array, or the other factor of a matrix product; None if there is none
    gy, gx           the gradient that arrives, and what the arrow adds to the gradient of its tail
    after, before    the tail's gradient after this share and before it; before is None for the first share
    """
    local = f"× {rule.text if partial is None else brief(partial, spread(partial, 2))}"
    around = around_g(rule.text if rule.is_whole else f"g {local}")
    is_factor = rule.is_whole and "@" in "".join(around)
    is_constant = partial is None or (
        not is_factor and (rule.is_whole or ("…" not in spread(partial) and np.isfinite(partial).all()))
    )
    return Share(
        arrow=arrow, incoming=format_array(gy), rule=rule.text, is_whole=rule.is_whole,
        slope="" if partial is None or rule.is_whole or partial.size > FEW else format_array(partial),
        outgoing=format_array(gx), before="" if before is None else format_array(before),
        after=format_array(after), entry=entry_of(before, gx, after),
        heat=heat_of(after), size=norm(gx),
        lines=("g: " * rule.is_whole + brief(gy), rule.text if rule.is_whole else local, f"= {brief(gx)}"),
        maps=(heat_of(gy), None if is_constant else heat_of(partial), heat_of(gx)),
        around=around,
    )  # fmt: skip


def around_g(rule: str) -> tuple[str, str]:
    """The rule before and after g; "Σ" for a sum over it, and "f(" and ")" for what is too long."""
    if rule.startswith("sum of g"):
        return "Σ", ""
    before, *after = re.split(r"\bg\b", rule)
    return (before.strip(), after[0].strip()) if len(after) == 1 and len(rule) <= NEAR else ("f(", ")")


def entry_of(before: Any, gx: Any, after: Any) -> GradientEntry | None:
    """The entry to show: a number itself, or the second entry of an array with a heat map; None for a larger array."""
    if after.size != 1 and heat_of(after) is None:
        return None
    at = tuple(int(i) for i in np.unravel_index(int(after.size > 1), after.shape))
    where = f"[{', '.join(map(str, at))}]" if after.size > 1 else ""
    return GradientEntry(where, None if before is None else float(before[at]), float(gx[at]), float(after[at]))


def spread(array: Any, digits: int = 4) -> str:
    """The range of an array: its minimum … its maximum; only one of them, with four digits, if they look the same."""
    if not array.size:
        return "[]"
    low, high = float(array.min()), float(array.max())
    ends = number(low, digits), number(high, digits)
    return number(low) if ends[0] == ends[1] else " … ".join(ends)


def norm(array: Any) -> float:
    return float((array.astype(float) ** 2).sum() ** 0.5)


def brief(array: Any, instead: str = "") -> str:
    """The array in up to ten characters: as elsewhere if that is short, else `instead`, or its norm."""
    text = format_array(array)
    return text if len(text) <= BRIEF and "norm" not in text else instead or f"norm {number(norm(array), 3)}"


def read_by(node: Node) -> list[Node]:
    """The nodes whose values the derivative of `node` reads, so that forward saves them. Constants need no saving."""
    if node.rule is None:
        return []
    slots = (node, *node.inputs)
    read = dict.fromkeys(slots[i] for i in node.rule.reads if i is not None)
    return [x for x in read if not isinstance(x.op, Const)]


def grad_of(node: Node) -> str:
    """The gradient that backward() stored in a leaf, as text."""
    leaf = node.tensor() if isinstance(node, Source) else None
    return UNKNOWN if leaf is None or leaf.grad is None else format_array(leaf.grad.value)


def values_of(order: Sequence[Node], ys: Iterable[Tensor]) -> dict[Node, Any]:
    """The values of the results ys, and of every node whose leaves are alive, or were saved for backward."""
    values = saved_leaves(order)
    for node in order:
        if isinstance(node.op, Const):
            values[node] = node.spec.device.array(node.op.value, node.spec.dtype)
        elif node.inputs:
            if all(x in values for x in node.inputs) and type(node.op).forward is not Op.forward:
                values[node] = value(node, *(values[x] for x in node.inputs))
        elif isinstance(node, Source) and node.tensor() is not None:
            values[node] = node.tensor().value
        elif node.saved:
            (values[node],) = node.saved
    return {origin(y): y.value for y in ys} | values


def saved_leaves(order: Iterable[Node]) -> dict[Node, Any]:
    records = [node for node in order if isinstance(node, Record)]
    slots = [((x, *x.inputs)[i or 0], array) for x in records for i, array in zip(x.rule.reads, x.saved or ())]
    return {x: array for x, array in slots if array is not None and not x.inputs}


def format_array(array: Any) -> str:
    """An array in a few characters: its elements if there are few, else its range for integers or its norm."""
    if array.dtype.kind == "b" and array.size == 1:
        return str(array.reshape(())[()]).lower()
    if array.size == 1:
        return number(float(array.reshape(())[()]))
    if array.size <= FEW:
        return format_nested(array.tolist())
    if kind(array.dtype) != "f":
        return f"{number(int(array.min()))} … {number(int(array.max()))}"
    return f"norm {number(norm(array))}"


def format_nested(numbers: Any) -> str:
    """Nested lists of numbers: [1, 2.5]."""
    return f"[{', '.join(map(format_nested, numbers))}]" if isinstance(numbers, list) else number(numbers)
