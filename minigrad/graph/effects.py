"""What a run does beside computing values, and in which order: wait, print what passes, keep it, show it to Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial, update_wrapper
from typing import Any
from weakref import ref

import numpy as np

from ..engine import ops
from ..engine.base.spec import Spec, Specs
from ..engine.core.modes import current
from ..engine.methods import Operand
from ..tracing.builder import Tracer
from .graph import StaticGraph, builder_or_default


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[Any]:
    """A block whose ops run after these; None forgets the blocks around it.

    In a traced function, a branch or a loop, effects keep their order without such a block. If a block inside a branch
    or a loop names an op of the session's graph outside, the whole branch or loop waits for that op.
    """
    xs = None if control_inputs is None else list(control_inputs)
    return builder_or_default(xs or ()).control_dependencies(xs)


def group(*inputs: Any, name: str | None = None) -> Tracer:
    """An op that is done when all of these are; fetched, it gives None."""
    builder = builder_or_default(inputs)
    with builder.building():
        nodes = tuple(builder.lift(x).node for x in inputs if x is not None)
    waits = builder.waiting.waits if isinstance(builder, StaticGraph) and builder.waiting else ()
    return Tracer(builder.node(ops.Group(), (*nodes, *waits), Specs(()), "group" if name is None else name), builder)


def no_op(name: str | None = None) -> Tracer:
    """An op that does nothing, after what the block around it waits for."""
    return group(name="no_op" if name is None else name)


def identity(input: Any, name: str | None = None) -> Tracer:
    """The same value under a name of its own, after what the block around it waits for."""
    builder = builder_or_default([input])
    with builder.building():
        x = builder.lift(input)
        (x,) = builder.after_waits([x]) if isinstance(builder, StaticGraph) else (x,)
        return Tracer(builder.node(ops.ControlDep(), (x.node,), name="Identity" if name is None else name), builder)


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Any] = ()) -> list[Any]:
    """The same values, each of them once all have been computed; None stays None."""
    builder = builder_or_default(tensors)
    with builder.building():
        waits = [builder.lift(x).node for x in (*tensors, *control_inputs) if x is not None]
        called = "tuple" if name is None else name
        return [
            None
            if x is None
            else Tracer(builder.node(ops.ControlDep(), (builder.lift(x).node, *waits), name=called), builder)
            for x in tensors
        ]


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The same value, through which no gradient passes."""
    builder = builder_or_default([input])
    with builder.building():
        y = builder.apply(ops.StopGradient(), (input,))
        return y if name is None else identity(y, name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """Their sum."""
    builder = builder_or_default(inputs)
    with builder.building():
        first, *others = [builder.lift(x) for x in inputs]
        total = sum(others, first)
        return identity(total, name) if name is not None or not others else total


def print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None) -> Any:
    """Print: now, or, of tensors of a graph, whenever it runs. In a session's graph it is an op to be run.

    It gives the first tensor among the values, as it is: `x = mg.print(x, "is x")` prints whenever x is needed.
    """
    tensors = [v for v in values if isinstance(v, Operand)]
    words = tuple(None if isinstance(v, Operand) else str(v) for v in values)
    op = ops.Print(words, sep, end, file)
    if current.mode.builder is None and not any(isinstance(x, Tracer) for x in tensors):
        op.forward(np, *(x.numpy() for x in tensors))  # type: ignore[attr-defined, no-untyped-call]
        return tensors[0] if tensors else None
    builder = builder_or_default(tensors)
    with builder.building():
        if not tensors:
            return group(builder.effect(op))
        y = builder.apply(op, tuple(tensors))
        y.may_be(builder.lift(tensors[0]).memory)  # in eager mode y is the tensor itself
        return y


class Probe:
    """What one tensor of a graph was, at every run that computed it.

    values    a NumPy array for each run
    name      the tensor's, or the one it was given
    """

    def __init__(self, name: str):
        self.name = name
        self.values: list[Any] = []

    @property
    def value(self) -> Any:
        """What it was at the last run; None before the first."""
        return self.values[-1] if self.values else None

    def clear(self) -> None:
        """Forget the values."""
        self.values.clear()

    def __repr__(self) -> str:
        seen = "not computed yet" if self.value is None else f"{len(self.values)} values, the last of shape "
        return f"<Probe of {self.name}: {seen}{'' if self.value is None else self.value.shape}>"


def probe(x: Any, name: str | None = None) -> Probe:
    """Keep the value of x at every run that computes it, as long as somebody holds the probe."""
    found = Probe(getattr(x, "name", "x") if name is None else name)
    op = ops.Keep(ref(found))
    if current.mode.builder is None and not isinstance(x, Tracer):
        found.values.append(x.numpy().copy())
        return found
    builder = builder_or_default([x])
    with builder.building():
        kept = builder.apply(op, (x,))
        if isinstance(builder, StaticGraph):
            builder.probes.append(kept.node)
    return found


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """The results of a Python function of NumPy arrays, called whenever the graph runs. No gradient passes.

    Tout    what it gives: a spec, which is anything with a shape and a dtype; or a dtype, of the shape of the first
            input; or a list of these, for a function that gives several. Left out: the spec of the first input.
    """
    builder = builder_or_default(inp)
    with builder.building():
        xs = [builder.lift(x) for x in inp]
        several = isinstance(Tout, list | tuple)
        specs = tuple(promised(T, xs) for T in (Tout if several else [Tout]))
        f = func if isinstance(func, Hashable) else partial(func)
        f = f if xs else update_wrapper(lambda *waits: func(), f)
        y = builder.effect(ops.PyFunc(f, specs, several), *xs)
        results = [y.apply(ops.TupleGet(i)) for i in range(len(specs))] if several else [y]
        named = results if name is None else [identity(r, name) for r in results]
    return named if several else named[0]


def promised(said: Any, xs: Sequence[Any]) -> Spec:
    """What was said of a result, as a spec."""
    if said is not None and not isinstance(said, type | str | np.dtype):
        return Spec(tuple(said.shape), said.dtype)
    like: Spec = xs[0].spec if xs else Spec((), float)
    return like if said is None else like.with_dtype(said)
