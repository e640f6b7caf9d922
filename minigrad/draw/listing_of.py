"""`listing_of`: the listing of anything that has a graph. Modules and functions are called to get one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isfunction, ismethod
from itertools import chain
from typing import Any

from ..engine.base.pytree import leaves
from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..engine.tensor.grad import origin
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from ..graph.function import TracedFunction
from ..nn.module import Module
from ..scalar.value import Value
from .drawing import is_session_graph, is_traced, only_trace
from .graphs import is_constant
from .listing import Listing
from .listing_readers import Calls, listing_of_nodes, listing_of_session_graph, listing_of_tensors, listing_of_value
from .readers import held_by, reader_of

Kinds = type | tuple[type, ...]
DEEPEST = 3  # steps from a function to a module


def listing_of(x: object, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The listing of anything that has a graph."""
    if isinstance(x, Listing):
        return x
    if (reader := reader_of(x, args)) is not None:
        found: Listing = reader.listing_of(x, args, namespace)
        return found
    if isinstance(x, Module) or isfunction(x) or ismethod(x):
        return listing_of_call(x, args, namespace)
    if is_traced(x):
        return listing_of_traced(x, args, namespace)
    if args:
        raise TypeError(f"example arguments are for a function or a Module, but {type(x).__name__} is neither")
    if isinstance(x, Value):
        return listing_of_value(x, namespace)
    if is_session_graph(x):
        if not x.order:
            raise TypeError(f"{x!r} has nothing to view: it is still empty")
        return listing_of_session_graph(x, namespace)
    if isinstance(x, Graph):
        return listing_of_nodes([y for y in x.outputs if y is not None], namespace, given=x.inputs)
    return listing_of_several(list(x) if isinstance(x, list | tuple) else [x], x, namespace)


def listing_of_several(xs: list[Any], given: object, namespace: Mapping[str, object]) -> Listing:
    """The listing of Tensors, or of symbols, that are drawn together. `given` is what the user passed."""
    if xs and all(isinstance(y, Tensor) for y in xs):
        return listing_of_tensors(xs, namespace)
    if xs and all(isinstance(y, Symbol) for y in xs):
        return listing_of_nodes([y.node for y in xs], namespace)
    got = f"{given!r} of type {type(given).__name__} has no graph"
    raise TypeError(f"expected a Tensor, a Value, a Graph, symbols of a Graph, a function or a Module; {got}")


def listing_of_call(f: Any, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The graph that a call of a module or of a function records, with the calls of the modules in it.

    Raises TypeError for a module without arguments, or if no tensor is returned.
    """
    is_module = isinstance(f, Module)
    name = type(f).__name__ if is_module else f.__name__
    if is_module and not args:
        raise TypeError(f"a module has a graph when it is called: GraphView({name.lower()}, x)")
    modules = modules_of(f, Module, args)
    if len(modules) == 1:  # its submodules are the outermost groups: blocks.0, not net.blocks.0
        modules = {"": next(iter(modules.values()))}
    calls = Calls(modules)
    with calls.watch():
        y = f(*args)
    ys, given = tensors_in(y), tensors_in(args)
    if not ys:
        raise TypeError(f"{name} returned {y!r}, which contains no tensor")
    inputs = {"input" if len(given) == 1 else f"input {n}": x for n, x in enumerate(given, 1)}
    held = [each for at, part in modules.items() for each in (part.named_parameters(at), part.named_buffers(at))]
    own = dict(chain(*held))
    outside = [x.node for x in given] if is_module else leaves_except(ys, own.values())
    listing = listing_of_tensors(ys, {**own, **namespace, **inputs}, calls, outside)
    listing.output = "a call of a lambda" if name == "<lambda>" else f"a call of {name}"
    return listing


def tensors_in(x: object) -> list[Tensor]:
    return [each for each in leaves(x) if isinstance(each, Tensor)]


def leaves_except(ys: Sequence[Tensor], own: Iterable[Tensor]) -> list[Node]:
    """The leaves of a graph outside all modules: arguments of a function, and tensors that it made."""
    inside = {x.node for x in own}
    nodes = toposort(*map(origin, ys))
    return [node for node in nodes if not (node.inputs or node in inside or is_constant(node))]


def listing_of_traced(f: TracedFunction, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The graph of a traced function; with arguments, by tracing it again while watching the modules it uses."""
    calls = Calls(modules_of(f.python_function)) if args else None
    if calls is None:
        trace = only_trace(f)
    else:
        with calls.watch():
            trace = TracedFunction(f.python_function, f.input_signature, f.autograph).trace_for(*args)
    outputs = [y for y in trace.graph.outputs if y is not None]
    own = dict(zip(trace.graph.inputs, trace.names, strict=True))
    listing = listing_of_nodes(outputs, namespace, calls, trace.graph.inputs[: trace.given] if args else (), own)
    listing.output = f.__name__
    return listing


def modules_of(f: Callable[..., Any], kind: Kinds = Module, args: Sequence[Any] = ()) -> dict[str, Any]:
    """Name → object of this kind that a call f(*args) can reach: through globals, closures, attributes, containers."""
    if isinstance(f, kind):
        return {"": f}
    found, seen, layer = dict[str, Any](), set[int](), [("", f), ("args", args)]
    for _ in range(1 + DEEPEST):
        inside = list[tuple[Any, Any]]()
        for name, x in layer:
            if id(x) not in seen and isinstance(x, kind):
                found[f"{name} {len(found)}" if name in found else str(name)] = x
            elif id(x) not in seen:
                inside += [(f"{name}.{key}".removeprefix(".").removeprefix("self."), y) for key, y in held_by(x)]
            seen.add(id(x))
        layer = inside
    return found
