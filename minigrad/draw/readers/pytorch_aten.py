"""The nodes that autograd recorded: the values between them, and the call of an aten op that made each.

A node knows the name of its op, its edges and what it saved, but not the call. Of the aten ops with the node's
name, we take the first whose arguments have room for all its edges and saved values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import isfunction, signature
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._jit_internal import boolean_dispatched
from torch.autograd.graph import get_gradient_edge

from ...engine.base.errors import NoGradientError
from ...engine.base.pytree import leaves
from ..words import shorten

ALIKE = {"rsub": "sub", "mm": "matmul", "mv": "matmul", "bmm": "matmul", "dot": "matmul", "unsafe_view": "view"}
MINOR = "dtype", "half_to_float", "implicit"  # arguments that are left out of formulas


parameters_of = cache(lambda f: [*signature(f).parameters])


class Edge(NamedTuple):
    """A value with a gradient: output nr of a node of autograd. If node is None, the value was not kept."""

    node: Any
    nr: int


# type of an argument in PyTorch's schemas → placeholder for a tensor that was not kept
TENSOR = {"Tensor": Edge(None, 0), "Optional[Tensor]": None}


class AtenCall(NamedTuple):
    """What a node computed: an aten op (None if unknown) and its arguments. A tensor with a gradient is an Edge."""

    name: str
    op: Any
    args: dict[str, Any]

    @property
    def operands(self) -> list[Any]:
        found = [x for arg in self.args.values() for x in operands_in(arg)]
        return found[::-1] if self.name == "rsub" else found  # rsub(x, 1) is 1 − x


def call_of(node: Any, saved: Mapping[str, Any], op: Any, recorded: Mapping[str, Any]) -> AtenCall:
    """The call that made a node: of the recorded op, or of the first op that fits its edges and saved values."""
    stem = re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])
    known = [] if hasattr(node, "apply") else ops_for(stem.lower())
    is_same = any(op and op._schema.name.rstrip("_") == each._schema.name for each in known)  # also mul_ for mul
    for each in [op] if op in known else known:
        args = bind(each, node, {**saved, **recorded} if is_same else saved)
        if args is not None:
            return AtenCall(each._schema.name.partition("::")[2].strip("_"), each, args)
    return AtenCall(stem, None, {"edges": edges_of(node)})


@cache
def ops_for(stem: str) -> list[Any]:
    """The aten ops that may have made a node, from its name without Backward, such as nativelayernorm."""
    names = (full.removeprefix("aten::").partition(".") for full in sorted(torch._C._dispatch_get_all_op_names()))
    return [
        getattr(getattr(torch.ops.aten, name), overload or "default")
        for name, _, overload in names
        if re.sub("_forward$|_(?!$)", "", name) == stem and not re.search("imname|names|out$", overload)
    ]


def bind(op: Any, node: Any, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of an op from a node's edges and from known values; None if they do not fit."""
    schema, out = op._schema, node._input_metadata[0]
    names = [x.name for x in schema.arguments]
    own = (*names, *(x.name for x in schema.returns if x.name), "result")
    tensors = bind_tensors(schema.arguments, [Edge(*x) for x in node.next_functions], known)
    if tensors is None or not all(name.startswith(own) for name in known):
        return None
    defaults = {x.name: x.default_value for x in schema.arguments if x.has_default_value()}
    found = {**defaults, "size": out.shape, "dtype": out.dtype, **known, **tensors}
    if any(x not in found or (isinstance(found[x], Tensor) and x not in tensors) for x in names):
        return None
    args = {x: found[x] for x in names}
    return args | {x: torch.tensor(args[x]) for x in ("self", "other") if type(args.get(x)) in (int, float)}


def bind_tensors(arguments: Sequence[Any], edges: list[Edge], known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tensors among the arguments, in order: edges where there are gradients, and known values elsewhere."""
    args: dict[str, Any] = {}
    more = sum(str(x.type) in TENSOR for x in arguments) - len(edges)  # tensors that never have an edge, as indices
    for x in (x for x in arguments if str(x.type) in (*TENSOR, "List[Tensor]")):
        value = known.get(x.name)
        if str(x.type) == "List[Tensor]":
            pairs = zip_longest(edges, value or ())
            args[x.name], edges = [edge if edge.node or t is None else t for edge, t in pairs], []
        elif more > 0 and (not edges or (isinstance(value, Tensor) and not value.is_floating_point())):
            more -= 1
            args[x.name] = value
        else:
            edge, lost = edges.pop(0) if edges else Edge(None, 0), TENSOR[str(x.type)]
            args[x.name] = edge if edge.node else lost if value is None else torch.as_tensor(value)
    required = [args[x.name] for x in arguments if str(x.type) == "Tensor"]
    return None if edges or not all(map(operands_in, required)) else args


def op_name(func: Any) -> str:
    """The name of a function of PyTorch, or of the attribute that it reads, such as T."""
    function = getattr(func, "overloadpacket", func)
    name = function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)
    return str(func.__self__.__name__ if name == "__get__" else name)


def options_of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The arguments of a call that are not tensors, as a fact: with dim=1, keepdim=True."""
    names = argument_names(func, args, kwargs)[: len(args)]
    pairs = [*zip_longest(names, args, fillvalue=""), *kwargs.items()]
    tensors, kinds = Tensor | torch.fx.Node, int | float | str | tuple | list
    plain = [(k, x) for k, x in pairs if isinstance(x, kinds) and not any(isinstance(y, tensors) for y in leaves(x))]
    text = ", ".join(f"{k}={x}" if k not in ("", "other") else str(x) for k, x in plain)  # for x * 2: "with 2"
    return [f"with {shorten(text, 60)}"] * bool(plain)


def argument_names(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[str]:
    """The names of the positional arguments of a function of PyTorch; () if they are unknown."""
    try:
        if isfunction(func):  # max_pool2d(*args) chooses one of two functions with named arguments
            return parameters_of(boolean_dispatched.get(func, {}).get("if_false", func))
        if not isinstance(func, torch._ops.OpOverload):
            name = re.sub(r"^__(\w+)__$", r"\1", func.__name__)
            overload = torch._C._jit_resolve_packet(f"aten::{name}", *args, **kwargs)
            func = getattr(getattr(torch.ops.aten, name), overload)
        return [x.name for x in func._schema.arguments]
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return ()


def saved_by(node: Any) -> dict[str, Any]:
    """The values that a node saved, by name. Raises NoGradientError if one was freed or changed in place."""
    try:
        if hasattr(node, "saved_tensors"):  # the node of a torch.autograd.Function
            return {str(i): x for i, x in enumerate(node.saved_tensors)}
        names = [name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")]
        return {name: to_signed(getattr(node, f"_saved_{name}")) for name in names}
    except RuntimeError as error:
        raise NoGradientError(f"what {node.name()} saved is gone, so run the forward pass again. {error}") from None


def to_signed(value: Any) -> Any:
    """Undo the wrap-around of a saved negative integer, which autograd returns as an unsigned one."""
    if isinstance(value, tuple):
        return [to_signed(x) for x in value]
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value


def method_like(call: AtenCall, x: Any, *xs: Any) -> Any:
    """The result of minigrad's method for the same op. Raises an error of any kind if there is none."""
    defaults = {x.name: x.default_value for x in call.op._schema.arguments if x.has_default_value()}
    others = {k: x for k, x in call.args.items() if k not in MINOR and not operands_in(x)}
    options = {k: given for k in defaults if k in others and (given := others.pop(k)) != defaults[k]}
    return getattr(x, ALIKE.get(call.name, call.name))(*xs, *others.values(), **options)


def edge_of(x: Tensor) -> Edge:
    return Edge(*get_gradient_edge(x)[:2])


def results_of(node: Any) -> list[Edge]:
    return [Edge(node, nr) for nr in range(len(node._input_metadata))]


def edges_of(node: Any) -> list[Edge]:
    return [Edge(x, nr) for x, nr in node.next_functions if x is not None]


def operands_in(arg: Any) -> list[Any]:
    return [x for x in (arg if type(arg) is list else [arg]) if isinstance(x, Edge | Tensor)]
