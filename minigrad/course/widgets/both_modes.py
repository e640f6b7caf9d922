"""A function's Jacobian twice: by column in forward mode and by row in reverse mode, with every intermediate value.

The function runs once and its ops are recorded. The recorded ops then form one function from the inputs to every
intermediate value. `func.jvp` of that function computes the tangent of every value for one input; `autograd.grad`
computes the gradient of one output with respect to every value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...api.func import jvp
from ...autograd import grad
from ...autograd.gradient import basis
from ...draw.graphs import place_boxes
from ...draw.heat import heat_of
from ...draw.picture import Picture
from ...draw.tensors import format_array
from ...draw.words import number
from ...engine.base.dtypes import kind
from ...engine.base.pytree import leaves
from ...engine.base.spec import Spec
from ...engine.core.node import Node, Source, toposort
from ...engine.ops import Const
from ...engine.tensor.grad import origin
from ...engine.tensor.tensor import Tensor
from ...graph.function import TracedFunction
from . import own_runs
from .film import refuse_large
from .recording import record_run

LARGEST = 24  # the most boxes: the graph is drawn twice, one above the other
MOST = 6  # the most elements of all inputs together, and of all outputs together: each costs one pass


@dataclass(frozen=True)
class Pass:
    """One pass through the whole graph.

    of       the input element that is nudged, or the output element that is differentiated
    moved    box → its tangent or its cotangent, as text
    seed     the box of that element; "" for an input that nothing reads
    """

    of: str
    moved: dict[str, str]
    seed: str


class BothModes:
    """The Jacobian of f at these inputs, computed by each mode.

    picture             the graph, with its values
    columns, rows       the names of the input elements, and of the output elements
    pushed, pulled      the passes of forward mode, one for each column, and of reverse mode, one for each row
    slopes              arrow → the local slope of its op, where all numbers are single
    forward, reverse    the Jacobian as each mode computes it, of shape (rows, columns)
    """

    @np.errstate(all="ignore")  # the widget shows NaN and infinity
    def __init__(self, f: Callable[..., Any], inputs: Sequence[Any]):
        f = f.python_function if isinstance(f, TracedFunction) else f
        if not inspect.isfunction(f):
            raise TypeError(f"ForwardAndReverse expects a Python function of tensors, got {f!r}")
        self.xs = [floating(x) for x in inputs]
        recording = record_run(f, self.xs, own_runs)
        if recording.error is not None:
            error = recording.error
            raise ValueError(f"{f.__name__} did not finish: {type(error).__name__}: {error}") from error
        self.ys = [check_output(f, y) for y in leaves(recording.result)]
        self.refuse_too_many(f)
        names = dict(zip(self.xs, parameters(f, len(self.xs))))
        self.columns = [entry for x in self.xs for entry in entries(names[x], x)]
        outputs = [recording.names.get(id(y), "") for y in self.ys]
        letter = min({"y", "z"} - {*recording.names.values()}, default="out")
        outputs = [name or letter + str(i) * (len(outputs) > 1) for i, name in enumerate(outputs, 1)]
        self.rows = [entry for name, y in zip(outputs, self.ys) for entry in entries(name, y)]
        kept = {y: recording.names.get(id(y), "") for y in recording.made}
        self.draw(names | kept | dict(zip(self.ys, outputs)))
        self.pushed, self.forward = self.push()
        self.pulled, self.reverse = self.pull()

    def refuse_too_many(self, f: Callable[..., Any]) -> None:
        for tensors, what, way in ((self.xs, "input", "inputs"), (self.ys, "output", "outputs")):
            if not 1 <= (n := sum(prod(x.shape) for x in tensors)) <= MOST:
                raise ValueError(
                    f"each {what} number costs a pass, so 1 to {MOST} can be shown, but {f.__name__} has {n}: "
                    f"take fewer or smaller {way}"
                )

    def draw(self, names: dict[Tensor, str]) -> None:
        """Set `picture`, with the learner's names, and `place`, which maps nodes to boxes."""
        self.ends = [origin(y) for y in self.ys]
        self.order = toposort(*self.ends)
        picture, place = place_boxes(self.ends, {})
        self.place = {node: id for node, id in place.items() if not isinstance(node.op, Const)}
        refuse_large("ForwardAndReverse", picture, LARGEST)
        called = {self.place[x.node]: name for x, name in names.items() if name and x.node in self.place}
        values = dict(zip(self.place, self.replay_ops(*self.xs)))
        boxes = {box.id: replace(box, name=called.get(box.id, box.name)) for box in picture.boxes}
        for node, id in self.place.items():
            boxes[id] = replace(boxes[id], value=format_array(values[node].value))
        ends = tuple(dict.fromkeys(self.place[y] for y in self.ends))
        self.picture = Picture(tuple(boxes.values()), picture.arrows, ends)
        self.slopes = self.local_slopes(values)

    def local_slopes(self, values: dict[Node, Tensor]) -> dict[str, str]:
        """Arrow → the local slope of its op, of ops on single numbers."""
        slopes: dict[str, str] = {}
        for node, id in self.place.items():
            arrows, specs = self.picture.arrows_into[id], [x.spec for x in (node, *node.inputs)]
            if all(isinstance(s, Spec) and s.is_float and not s.shape for s in specs):
                xs = [floating(x.op.value if isinstance(x.op, Const) else values[x]) for x in node.inputs]
                if xs and (y := xs[0].apply(node.op, *xs[1:])).requires_grad:
                    found = grad(y, xs, materialize_grads=True)
                    slopes |= {arrow.id: number(g.item()) for arrow, g in zip(arrows, found, strict=True)}
        return slopes

    def replay_ops(self, *xs: Tensor) -> tuple[Tensor, ...]:
        """Run the recorded ops on other inputs. Returns every intermediate value, in the order of `place`."""
        values: dict[Node, Any] = {origin(x): given for x, given in zip(self.xs, xs)}
        for node in self.order:
            if isinstance(node.op, Const):
                values[node] = Tensor(node.spec.device.array(node.op.value, node.spec.dtype))
            elif node.inputs:
                first, *others = (values[x] for x in node.inputs)
                values[node] = first.apply(node.op, *others)
            elif node not in values:
                assert isinstance(node, Source)
                values[node] = node.tensor()  # a tensor that f captured: it is constant here
        return tuple(values[node] for node in self.place)

    def push(self) -> tuple[list[Pass], np.ndarray]:
        """Forward mode: one pass for each input element."""
        passes: list[Pass] = []
        columns = []
        for k, x in enumerate(self.xs):
            for unit in basis(x):
                dxs = tuple(unit if i == k else still.new_zeros(still.shape) for i, still in enumerate(self.xs))
                moved = dict(zip(self.place, jvp(self.replay_ops, tuple(self.xs), dxs)[1]))
                columns.append(np.concatenate([moved[y].numpy().ravel() for y in self.ends]))
                passes.append(self.make_pass(self.columns[len(passes)], moved, origin(x)))
        return passes, np.stack(columns, axis=1)

    def pull(self) -> tuple[list[Pass], np.ndarray]:
        """Reverse mode: one pass for each output element."""
        values = dict(zip(self.place, self.replay_ops(*self.xs)))
        movable = {node: value for node, value in values.items() if value.requires_grad}
        passes: list[Pass] = []
        rows = []
        for y, end in zip(self.ys, self.ends):
            for unit in basis(y):
                gs = grad(movable[end], [*movable.values()], unit, retain_graph=True, materialize_grads=True)
                moved = dict(zip(movable, gs))
                shares = (moved.get(origin(x), x.new_zeros(x.shape)) for x in self.xs)  # 0 for an unused input
                rows.append(np.concatenate([share.numpy().ravel() for share in shares]))
                passes.append(self.make_pass(self.rows[len(passes)], moved, end))
        return passes, np.stack(rows)

    def make_pass(self, of: str, moved: dict[Node, Any], seed: Node) -> Pass:
        texts = {self.place[node]: format_entries(each.value) for node, each in moved.items()}
        return Pass(of, texts, self.place.get(seed, ""))


def format_entries(array: Any) -> str:
    """All elements of a small array, as each is an entry of the Jacobian; a summary of a larger array."""
    heat = heat_of(array)
    return heat.text if heat is not None and array.size <= MOST else format_array(array)


def floating(x: Any) -> Tensor:
    """A fresh input that requires a gradient. Raises TypeError for anything but real numbers."""
    array = np.array(x.numpy() if isinstance(x, Tensor) else x)
    if kind(array.dtype) not in "fiu" or (isinstance(x, Tensor) and not x.spec.is_float):
        raise TypeError(f"inputs are numbers or floating-point tensors, because others cannot be nudged; got {x!r}")
    return Tensor(array if kind(array.dtype) == "f" else array.astype(float), requires_grad=True)


def check_output(f: Callable[..., Any], y: Any) -> Tensor:
    """The output y. Raises TypeError if it cannot be differentiated."""
    if not isinstance(y, Tensor) or not y.requires_grad:
        got = y.spec if isinstance(y, Tensor) else repr(y)
        raise TypeError(f"{f.__name__} must return tensors computed from its inputs; {got} depends on none of them")
    return y


def parameters(f: Callable[..., Any], n: int) -> list[str]:
    """The names of f's first n arguments."""
    found = [p.name for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return [*found, *(f"x{i}" for i in range(len(found) + 1, n + 1))][:n]


def entries(name: str, x: Tensor) -> list[str]:
    """The names of the elements of x: "x" if it has no axes, else "x[0]", "x[1]", …"""
    if not x.shape:
        return [name]
    return [f"{name}[{', '.join(map(str, at))}]" for at in np.ndindex(*x.shape)]
