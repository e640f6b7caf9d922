"""`listing_of`: the listing of anything that has a graph. Modules and traced functions are called to get one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import getclosurevars
from typing import Any

from ..engine.base.pytree import leaves
from ..engine.core.graph import Graph
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from ..graph.function import TracedFunction
from ..nn.module import Module
from ..scalar.value import Value
from .calls import Calls
from .drawing import is_session_graph, is_traced, only_trace
from .listing import Listing
from .listing_readers import listing_of_nodes, listing_of_session_graph, listing_of_tensors, listing_of_value


def listing_of(x: object, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The listing of anything that has a graph."""
    if isinstance(x, Module):
        return listing_of_module(x, args, namespace)
    if is_traced(x):
        return listing_of_traced(x, args, namespace)
    if args:
        raise TypeError(f"example arguments are for a traced function or a Module, but {type(x).__name__} is neither")
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
    raise TypeError(f"expected a Tensor, a Value, a Graph, symbols of a Graph, a traced function or a Module; {got}")


def listing_of_module(module: Module, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The graph that a call of the module records. Raises TypeError without arguments, or if no tensor is returned."""
    if not args:
        raise TypeError(f"a module has a graph when it is called: GraphView({type(module).__name__.lower()}, x)")
    calls = Calls({"": module})
    with calls.watch():
        y = module(*args)
    ys: list[Tensor] = [each for each in leaves(y) if isinstance(each, Tensor)]
    if not ys:
        raise TypeError(f"{type(module).__name__} returned {y!r}, which contains no tensor")
    given = [each for each in leaves(args) if isinstance(each, Tensor)]
    inputs = {"input" if len(given) == 1 else f"input {n}": x for n, x in enumerate(given, 1)}
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    listing = listing_of_tensors(ys, {**own, **namespace, **inputs}, calls, given)
    listing.output = f"a call of {type(module).__name__}"
    return listing


def listing_of_traced(f: TracedFunction, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The graph of a traced function; with arguments, by tracing it again while watching the modules it uses."""
    if not args:
        listing = listing_of_nodes([y for y in only_trace(f).graph.outputs if y is not None], namespace)
    else:
        calls = Calls(modules_of(f.python_function))
        with calls.watch():
            trace = TracedFunction(f.python_function, f.input_signature, f.autograph).trace_for(*args)
        outputs = [y for y in trace.graph.outputs if y is not None]
        own = dict(zip(trace.graph.inputs, trace.names, strict=True))
        listing = listing_of_nodes(outputs, namespace, calls, trace.graph.inputs[: trace.given], own)
    listing.output = f.__name__
    return listing


def modules_of(f: Callable[..., Any]) -> dict[str, Module]:
    """The modules that a function uses: its globals, the variables of its closure, and its self."""
    if isinstance(f, Module):
        return {"": f}
    inner = getattr(f, "__func__", f)
    found = getclosurevars(inner) if hasattr(inner, "__code__") else None
    reached = {} if found is None else {**found.globals, **found.nonlocals}
    return {name: x for name, x in {**reached, "self": getattr(f, "__self__", None)}.items() if isinstance(x, Module)}
