"""The report of a traced function: why it was traced, what it captured, what the passes did to its graph."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.base.spec import spec_of
from ..engine.core.graph import Graph
from ..engine.core.node import Node
from ..engine.core.stateful import ModuleLike
from ..engine.tensor.tensor import Tensor
from .compiler.passes.pipeline import steps
from .compiler.passes.purify import graphs_of
from .signature import unwrap

if TYPE_CHECKING:
    from .trace import Trace


Arguments = list[tuple[str, str]]
WIDTH = 120  # of a line
TIE = "\N{NO-BREAK SPACE}"  # between a name and its spec
STATE = Tensor, ModuleLike  # where names_of() searches for tensors


def describe_argument(x: Any) -> str:
    """An argument in words, in as much detail as the signature compares."""
    if isinstance(x, Tensor):
        return f"{x.spec}{', which requires a gradient' if x.tracked else ''}"
    if isinstance(x, np.ndarray):
        return str(spec_of(x))
    if isinstance(x, ModuleLike) or " object at 0x" in repr(x):
        return f"a {type(x).__name__} at {id(x):#x}"
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "…"


def why(arguments: Arguments, before: Sequence[Trace]) -> str:
    """Why these arguments needed a new trace: how they differ from the most similar earlier trace."""
    if not before:
        return "it is the first call"
    nearest = min(reversed(before), key=lambda trace: len(differences(trace.arguments, arguments)))
    changes = differences(nearest.arguments, arguments)
    return "; ".join(changes or [*nearest.guards.describe_changes()] or ["an argument is another object"])


def differences(before: Arguments, now: Arguments) -> list[str]:
    """The differences between the arguments of two calls, in words."""
    old, new = dict(before), dict(now)
    changes = [f"{name} was {old[name]} and is {new[name]}" for name in new if name in old and old[name] != new[name]]
    changes += [f"{name} is new" for name in new if name not in old]
    return changes + [f"{name} is no longer there" for name in old if name not in new]


def names_of(f: Any, arguments: Sequence[tuple[str, Any]]) -> dict[int, str]:
    """id of each tensor that the function can reach → the name that the function has for it."""
    f = unwrap(f)
    found = list(arguments)
    owner = getattr(f, "__self__", None)
    if owner is not None:
        found.append(("self" if not isinstance(owner, ModuleLike) else "", owner))
    function = inspect.unwrap(getattr(f, "__func__", f))
    if inspect.isfunction(function):
        reached = inspect.getclosurevars(function)
        found += [*reached.nonlocals.items(), *reached.globals.items()]
    named: dict[int, str] = {}
    for name, x in found:
        if isinstance(x, Tensor):
            named.setdefault(id(x), name)
        elif isinstance(x, ModuleLike):
            for path, part in (*x.named_parameters(name), *x.named_buffers(name)):
                named.setdefault(id(part), path)
        elif isinstance(x, list | tuple):
            found += [(f"{name}[{i}]", part) for i, part in enumerate(x) if isinstance(part, STATE)]
        elif hasattr(x, "__dict__") and not inspect.ismodule(x) and not inspect.isclass(x):
            found += [(f"{name}.{attribute}", part) for attribute, part in vars(x).items() if isinstance(part, STATE)]
    return named


def explain_traces(name: str, traces: Sequence[Trace], count: int) -> str:
    """The report on a traced function and all its traces."""
    head = f"{name}: traced {count} time{'s' * (count != 1)}"
    if not traces:
        return f"{head}. Call it to trace it"
    if count > 1:
        head += (
            ". Calls share a trace whose tensors have the same shapes and dtypes, and whose Python values are the "
            "same, as long as nothing has changed that the trace relied on"
        )
    first = count - len(traces) + 1
    return "\n\n".join(["\n".join(wrap(head, WIDTH)), *(about(trace, i) for i, trace in enumerate(traces, first))])


def about(trace: Trace, number: int) -> str:
    """The report on one trace."""
    given, captured = trace.names[: trace.given], trace.names[trace.given :]
    inside = [f"{node.op} at line {line(node)}" for node in trace.graph.nodes if graphs_of(node.op)]
    effects = [f"{node.op.kind} at line {line(node)}" for node in every(trace.graph) if node.op.effect]
    parts = {
        "arguments": format_specs(given, trace.graph.inputs),
        "captured": format_specs(captured, trace.graph.inputs[trace.given :]),
        "constants": [*dict.fromkeys(trace.guards.reached.constants())],
        "changes": trace.list_changes(), "effects": effects, "control": inside,
    }  # fmt: skip
    lines = [f"trace {number}: {'traced' if number == 1 else 'retraced'} because {trace.reason}"]
    for name, found in parts.items():
        if found:
            whole = ", ".join(each.replace(" ", TIE) for each in found)
            lines += wrap(f"  {name:<11} {whole}", WIDTH, subsequent_indent=" " * 14)
    for variant in trace.run.variants.values():
        for name, run in [("runs", variant.run), *(("backward", y.latest) for y in variant.pulls.values())]:
            lines += wrap(f"  {name:<11} {run.tiers}", WIDTH, subsequent_indent=" " * 14) if run.tiers else []
    table = repr(steps(trace.graph, trace.run.compile_options.passes)).replace("\n", "\n    ")
    return "\n".join([*lines, "  passes", f"    {table}"]).replace(TIE, " ")


def format_specs(names: Sequence[str], nodes: Any) -> list[str]:
    """Names with their specs."""
    return [f"{name} {node.spec}" for name, node in zip(names, nodes)]


def every(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph; for a branch or a loop, the nodes in it."""
    for node in graph.nodes:
        parts = graphs_of(node.op).values()
        yield from chain(*map(every, parts)) if parts else (node,)


def line(node: Node) -> str:
    """The number of the user's line that built the node."""
    place = getattr(node, "place", None)
    return "?" if place is None else str(place.line)
