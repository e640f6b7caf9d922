"""The effects of a run and their order: control dependencies, print, probe, py_func."""

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
    """A block whose ops run after control_inputs; None cancels the blocks around it.

    In a traced function, a branch or a loop, effects keep their order without such a block. If a block inside a branch
    or a loop names an op outside, in the session's graph, the whole branch or loop waits for that op.
    """
    xs = None if control_inputs is None else list(control_inputs)
    return builder_or_default(xs or ()).control_dependencies(xs)


def group(*inputs: Any, name: str | None = None) -> Tracer:
    """An op that completes when all inputs have completed. Fetching it returns None."""
    builder = builder_or_default(inputs)
    with builder.building():
        nodes = tuple(builder.lift(x).node for x in inputs if x is not None)
    waits = builder.waiting.waits if isinstance(builder, StaticGraph) and builder.waiting else ()
    return Tracer(builder.node(ops.Group(), (*nodes, *waits), Specs(()), "group" if name is None else name), builder)


def no_op(name: str | None = None) -> Tracer:
    """An op that does nothing. It runs after the ops that the enclosing block waits for."""
    return group(name="no_op" if name is None else name)


def identity(input: Any, name: str | None = None) -> Tracer:
    """A copy of the node under a new name. It runs after the ops that the enclosing block waits for."""
    builder = builder_or_default([input])
    with builder.building():
        x = builder.lift(input)
        (x,) = builder.after_waits([x]) if isinstance(builder, StaticGraph) else (x,)
        return Tracer(builder.node(ops.ControlDep(), (x.node,), name="Identity" if name is None else name), builder)


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Any] = ()) -> list[Any]:
    """The same tensors, each available only after all of them are computed. None stays None."""
    builder = builder_or_default(tensors)
    with builder.building():
        waits = [builder.lift(x).node for x in (*tensors, *control_inputs) if x is not None]
        called = "tuple" if name is None else name

        def wait(x: Any) -> Tracer:
            return Tracer(builder.node(ops.ControlDep(), (builder.lift(x).node, *waits), name=called), builder)

        return [None if x is None else wait(x) for x in tensors]


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The same value, through which no gradient passes."""
    builder = builder_or_default([input])
    with builder.building():
        y = builder.apply(ops.StopGradient(), (input,))
        return y if name is None else identity(y, name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """The sum of the inputs."""
    builder = builder_or_default(inputs)
    with builder.building():
        first, *others = [builder.lift(x) for x in inputs]
        total = sum(others, first)
        return identity(total, name) if name is not None or not others else total


def print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None) -> Any:
    """Print the values: now, or, for tensors of a graph, at every run. In a session's graph it adds an op, to be run.

    Returns the first tensor among the values, unchanged: `x = mg.print(x, "is x")` prints whenever x is needed.
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
        y.may_be(builder.lift(tensors[0]).memory)  # as in eager mode, where y is the tensor itself
        return y


class Probe:
    """The values of one tensor of a graph, at every run that computed it.

    values    a NumPy array for each run
    name      the name of the tensor, or the one passed to probe()
    """

    def __init__(self, name: str):
        self.name = name
        self.values: list[Any] = []

    @property
    def value(self) -> Any:
        """The value at the last run; None before the first."""
        return self.values[-1] if self.values else None

    def clear(self) -> None:
        """Forget the values."""
        self.values.clear()

    def __repr__(self) -> str:
        seen = "not computed yet" if self.value is None else f"{len(self.values)} values, the last of shape "
        return f"<Probe of {self.name}: {seen}{'' if self.value is None else self.value.shape}>"


def probe(x: Any, name: str | None = None) -> Probe:
    """Record the value of x at every run that computes it, for as long as the returned probe lives."""
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
    """Call a Python function of NumPy arrays at every run of the graph. No gradient passes through it.

    Tout    the type of its result: a spec (anything with a shape and a dtype), or a dtype (with the shape of the first
            input), or a list of these for a function with several results. By default the spec of the first input.
    """
    builder = builder_or_default(inp)
    with builder.building():
        xs = [builder.lift(x) for x in inp]
        several = isinstance(Tout, list | tuple)
        specs = tuple(declared_spec(T, xs) for T in (Tout if several else [Tout]))
        f = func if isinstance(func, Hashable) else partial(func)
        f = f if xs else update_wrapper(lambda *waits: func(), f)
        y = builder.effect(ops.PyFunc(f, specs, several), *xs)
        results = [y.apply(ops.TupleGet(i)) for i in range(len(specs))] if several else [y]
        named = results if name is None else [identity(r, name) for r in results]
    return named if several else named[0]


def declared_spec(said: Any, xs: Sequence[Any]) -> Spec:
    """The spec of a result that Tout declares."""
    if said is not None and not isinstance(said, type | str | np.dtype):
        return Spec(tuple(said.shape), said.dtype)
    like: Spec = xs[0].spec if xs else Spec((), float)
    return like if said is None else like.with_dtype(said)
