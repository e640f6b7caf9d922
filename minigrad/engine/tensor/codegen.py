"""Code generation: turn a Graph into readable Python source, then into a function.

    def pull(gy, x0, x1):
        t0 = gy * x1                            # f64[3]
        t1 = gy * x0                            # f64[3]
        return t0, t1

Each line is an op's own `forward`, written as a formula. An op that is not a single expression becomes a call. An
array that the function made itself is overwritten at its last read: `t1 = xp.subtract(c0, t0, out=t0)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

from ..base.device import META, Device
from ..base.dtypes import bfloat16
from ..core import formula
from ..core.graph import Graph
from ..core.node import Node
from ..core.op import ufunc_of
from ..ops import Const, Input


def names(graph: Graph) -> dict[Node, str]:
    """Node → its variable in the code: inputs keep their names, constants are c0, c1…, the rest t0, t1…"""
    constants = [n for n in graph.nodes if isinstance(n.op, Const)]
    computed = [n for n in graph.nodes if n.inputs]
    return (
        {n: n.op.name for n in graph.inputs if isinstance(n.op, Input)}
        | {n: f"c{i}" for i, n in enumerate(constants)}
        | {n: f"t{i}" for i, n in enumerate(computed)}
    )


def source(graph: Graph, name: str, into: tuple[int, ...] = ()) -> str:
    """A Python function of the graph's inputs, and of arrays for the outputs `into`, which it does not return."""
    called, over = names(graph), written_over(graph)
    done = nodes_to_free(graph)
    outs = {x: called[o] for x, o in over.items()} | {graph.outputs[i]: f"out{i}" for i in into}
    lines = [f"def {name}({', '.join([*(called[x] for x in graph.inputs), *map('out{}'.format, into)])}):"]
    for node in graph.nodes:
        if node.inputs:
            args = [called[x] for x in node.inputs]
            right = expression(node, called[node], args)
            if out := outs.get(node):
                ufunc = name_of_ufunc(node)
                right = f"xp.{ufunc}({', '.join(args)}, out={out})" if ufunc else f"{out}[...] = {right}"
            lines.append(f"    {f'{called[node]} = {right}':<44}# {node.spec}")
            if node in done:
                lines.append(f"    del {', '.join(called[x] for x in done[node])}")
    returned = ", ".join("None" if y is None or i in into else called[y] for i, y in enumerate(graph.outputs))
    return "\n".join([*lines, f"    return {returned},"])


def expression(node: Node, name: str, args: list[str]) -> str:
    """The right-hand side of a node's line."""
    if node.op.inline:
        return formula.write(node.op.forward, *args)
    return f"{function_name(node, name)}(xp, {', '.join(args)})"


def written_over(graph: Graph) -> dict[Node, Node]:
    """Node → the operand that its result overwrites: made by this code, of the same spec, and not read after this node.

    An op that is not a view makes a new array. If no reader of it is a view either, nothing else shares its memory.
    """
    kept = set(graph.outputs)
    over: dict[Node, Node] = {}
    for x in dict.fromkeys(x for node in graph.nodes for x in node.inputs):
        *_, last = users = graph.readers[x]
        is_ours = bool(x.inputs and x.spec.shape) and not x.op.is_view and x not in kept
        fits = last.spec == x.spec and not any(user.op.is_view for user in users)
        if is_ours and fits and last not in over and name_of_ufunc(last):
            over[last] = x
    return over


def nodes_to_free(graph: Graph) -> dict[Node, list[Node]]:
    """Node → the large arrays made here that this node reads last. Freeing them lets the next array reuse their memory.

    If a node overwrites an operand's array, the operand's name is deleted, so the memory is freed with the result.
    """
    last = {x: node for node in graph.nodes for x in node.inputs}
    done: dict[Node, list[Node]] = {}
    for x, node in last.items():
        if x.inputs and x.spec.nbytes >= LARGE and x not in graph.outputs:
            done.setdefault(node, []).append(x)
    return done


LARGE = 1 << 16  # bytes: for smaller arrays the extra line costs more than it saves


def name_of_ufunc(node: Node) -> str | None:
    """NumPy's name of the ufunc that this op calls; None if the op is more than a single ufunc."""
    ufunc = ufunc_of(node.op, len(node.inputs))
    return None if ufunc is None else ufunc.__name__


def function_name(node: Node, name: str) -> str:
    """The name that the code uses for the `forward` of an op that is not inlined."""
    return f"{type(node.op).__name__.lower()}_{name}"


def function(graph: Graph, name: str, device: Device, into: tuple[int, ...] = ()) -> Callable[..., tuple[Any, ...]]:
    """The graph as a function on arrays of one device, as in `source`; its text is in the attribute `source`."""
    called, text = names(graph), source(graph, name, into)
    scope: dict[str, Any] = {"xp": device.xp, "dtype": device.xp.dtype, "inf": float("inf"), "bfloat16": bfloat16}
    for node in graph.nodes:
        if isinstance(node.op, Const):  # as a 0-d array: for NumPy twice as fast as a Python number
            scope[called[node]] = device.array(node.op.value, node.spec.dtype)
        elif node.inputs and not node.op.inline:
            scope[function_name(node, called[node])] = node.op.forward
    exec(code(re.sub(" *# .*", "", text)), scope)
    made: Callable[..., tuple[Any, ...]] = scope[name]
    if device is META:
        made = lambda *xs: tuple(y and META.xp.empty(y.spec.shape, y.spec.dtype) for y in graph.outputs)  # noqa: E731
    made.source = text  # type: ignore[attr-defined]
    return made


@lru_cache(maxsize=4096)
def code(text: str) -> CodeType:
    """Compile the text. Without comments many texts are equal: x[0], x[1], … call different ops by the same name."""
    return compile(text, "<minigrad>", "exec")
