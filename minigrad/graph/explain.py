"""What happened to a traced function, in words: why it was traced, what it captured, what became of its graph."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.pipeline import steps
from ..nn.module import Module
from ..spec import spec_of
from ..tensor import Tensor

if TYPE_CHECKING:
    from .trace import Trace

Arguments = list[tuple[str, str]]


def said(x: Any) -> str:
    """An argument, as far as it tells one call from another."""
    if isinstance(x, Tensor):
        return f"{x.spec}{', which requires a gradient' if x.tracked else ''}"
    if isinstance(x, np.ndarray):
        return str(spec_of(x))
    if isinstance(x, Module) or " object at 0x" in repr(x):
        return f"a {type(x).__name__} at {id(x):#x}"
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "…"


def why(arguments: Arguments, before: Sequence[Trace]) -> str:
    """Why there is a trace for these arguments, when there were those before."""
    if not before:
        return "it is the first call"
    old, new = dict(before[-1].arguments), dict(arguments)
    changes = [f"{name} was {old[name]} and is {new[name]}" for name in new if name in old and old[name] != new[name]]
    changes += [f"{name} is new" for name in new if name not in old]
    changes += [f"{name} is no longer there" for name in old if name not in new]
    if not changes:
        same = next((t for t in reversed(before) if t.arguments == arguments), before[-1])
        changes = same.broken() or ["an argument is another object"]
    return "; ".join(changes)


def names_of(f: Any, arguments: Sequence[tuple[str, Any]]) -> dict[int, str]:
    """id of a tensor that the function may reach → what the function calls it."""
    f = getattr(f, "forward", f)
    found = list(arguments)
    owner = getattr(f, "__self__", None) or getattr(f, "instance", lambda: None)()
    if owner is not None:
        found.append(("self" if not isinstance(owner, Module) else "", owner))
    function = inspect.unwrap(getattr(f, "f", getattr(f, "__func__", f)))
    if inspect.isfunction(function):
        reached = inspect.getclosurevars(function)
        found += [*reached.nonlocals.items(), *reached.globals.items()]
    named: dict[int, str] = {}
    for name, x in found:
        if isinstance(x, Tensor):
            named.setdefault(id(x), name)
        elif isinstance(x, Module):
            for path, part in (*x.named_parameters(name), *x.named_buffers(name)):
                named.setdefault(id(part), path)
        elif hasattr(x, "__dict__") and not inspect.ismodule(x) and not inspect.isclass(x):
            found += [(f"{name}.{attribute}", part) for attribute, part in vars(x).items() if is_state(part)]
    return named


def is_state(x: Any) -> bool:
    """Whether an attribute is looked into for tensors."""
    return isinstance(x, Tensor | Module)


def explained(name: str, traces: Sequence[Trace], count: int) -> str:
    """The whole story of a traced function."""
    head = f"{name}: traced {count} time{'s' * (count != 1)}"
    if not traces:
        return f"{head}. Call it, and it will be"
    return "\n\n".join(
        [head, *(f"trace {i}: {about(trace)}" for i, trace in enumerate(traces, count - len(traces) + 1))]
    )


def about(trace: Trace) -> str:
    """One trace."""
    given, captured = trace.names[: trace.given], trace.names[trace.given :]
    lines = [f"because {trace.reason}"]
    lines += [f"  arguments   {listed(given, trace.graph.inputs)}"] if given else []
    lines += [f"  captured    {listed(captured, trace.graph.inputs[trace.given :])}"] if captured else []
    lines += [f"  changes     {', '.join(trace.changed())}"] if trace.changed() else []
    effects = [str(node.op) for node in trace.graph.nodes if node.op.effect]
    lines += [f"  effects     {', '.join(effects)}"] if effects else []
    table = repr(steps(trace.graph)).replace("\n", "\n    ")
    return "\n".join([*lines, "  passes", f"    {table}"])


def listed(names: Sequence[str], nodes: Any) -> str:
    """Names with their specs."""
    return ", ".join(f"{name} {node.spec}" for name, node in zip(names, nodes))
