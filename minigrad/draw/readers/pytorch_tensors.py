"""Tensors of PyTorch in words: names, specs, values, and what autograd saved of them; and the Nodes behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from math import inf
from typing import Any

from torch import Tensor
from torch.autograd.graph import get_gradient_edge
from torch.nn import Parameter

from ..listing import Entry
from ..listing_readers import trouble
from ..names import names_in
from ..nested import bytes_of
from ..static_run import SIGNS
from ..tensors import format_array

LARGE = 1_000  # numbers; the value of a larger tensor is not shown


def tensors_in(x: Any) -> Iterator[Any]:
    """The tensors in nested lists, tuples, mappings and dataclasses."""
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, list | tuple | Mapping):
        for each in x.values() if isinstance(x, Mapping) else x:
            yield from tensors_in(each)
    elif is_dataclass(x) and not isinstance(x, type):
        yield from tensors_in([getattr(x, field.name) for field in fields(x)])


def names_of(namespace: Mapping[str, object]) -> dict[Tensor, str]:
    """The names of tensors in the calling code. A parameter of a module is named model.0.weight."""
    return names_in(namespace, lambda x: x if isinstance(x, Tensor) else None)


def spec_of(x: Any) -> str:
    """Dtype and shape of a tensor, or of anything that has both: f32[3, 4]."""
    dtype = re.sub(r"^torch\.((bf|[fuic])[a-z]*(?=\d))?", r"\2", str(x.dtype))
    lengths = (x.size(0), *["?"] * (x.dim() - 1)) if getattr(x, "is_nested", False) else x.shape
    return f"{dtype}[{', '.join(map(str, lengths))}]"


def entry_of(results: Sequence[Any], op: str = "", **rest: Any) -> Entry:
    """The entry of an operation with these results; if `op` is "", of a leaf."""
    spec = " ".join(map(spec_of, results))
    sign = SIGNS.get(op.strip("_"), op.strip("_") if op.startswith("__") else op)
    return Entry("op" if op else "leaf", sign, spec=spec, nbytes=bytes_of(spec), **rest)


def version_of(x: Tensor) -> int:
    """How often the memory of a tensor was changed in place; 0 for inference tensors, which do not count it."""
    return 0 if x.is_inference() else x._version


def memory_of(x: Tensor) -> int:
    """A key of a tensor's memory; its views have the same key."""
    try:
        return x.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # a sparse tensor, or one inside vmap
        return id(x)


def facts_of(x: Tensor) -> list[str]:
    """Where a tensor is, how its memory is used, and what happens to its gradient."""
    return [
        *[f"on {x.device}"] * (x.device.type != "cpu"),
        *["a view"] * x._is_view(),
        *[f"changed in place, version {version_of(x)}"] * (version_of(x) > 0 and not isinstance(x, Parameter)),
        *["retain_grad() keeps its gradient"] * x.retains_grad,
        *[f"has a hook: {name}" for name in hook_names(x)],
    ]


def hook_names(x: Tensor) -> list[str]:
    """The names of the hooks that backward() runs when it has the gradient of a tensor."""
    kinds = x._backward_hooks, getattr(x, "_post_accumulate_grad_hooks", None)
    return [name_of(hook) for hooks in kinds for hook in (hooks or {}).values()]


def node_hook_names(node: Any) -> list[str]:
    """The names of the hooks of a Node. PyTorch shows them only when another hook is registered."""
    handles = node.register_hook(print), node.register_prehook(print)
    hooks = [hook for handle in handles for hook in handle.hooks_dict_ref().values() if hook is not print]
    for handle in handles:
        handle.remove()
    return [*map(name_of, hooks)]


def name_of(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def fill_values(entries: Sequence[Entry], tensors: Mapping[int, Tensor]) -> None:
    """Write each tensor's values into the entry with its number; a large result's only if it has NaN or inf."""
    for i, x in tensors.items():
        try:
            if x.numel() <= LARGE or not (isinstance(x, Parameter) or x.detach().sum().isfinite()):
                array = (x.double() if x.is_floating_point() else x).detach().cpu().numpy()
                entries[i].value = format_array(array)
                entries[i].trouble = trouble(array[array != -inf])  # masks are filled with −inf
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            pass  # on the meta device, sparse, inside vmap, complex or empty: no numbers to show


@cache
def slots_of(cls: Any) -> list[str]:
    """The names under which Nodes of this type save tensors."""
    return [name.removeprefix("_raw_saved_") for name in dir(cls) if name.startswith("_raw_saved_")]


def saved_by(node: Any) -> Iterator[tuple[str, Any]]:
    """What a Node of autograd saved: a description, and the tensor if it can be read.

    A tensor that a hook packed is not unpacked, because that could run a checkpoint again.
    """
    for slot in slots_of(node.__class__):
        try:
            raws = getattr(node, f"_raw_saved_{slot}")
            hooks = [raw.unpack_hook for raw in (raws if isinstance(raws, tuple) else [raws])]
            if makers := [hook.__qualname__.partition(".")[0] for hook in hooks if hook is not None]:
                what = f"computes {slot} again" if "checkpoint" in makers[0] else f"{slot} is packed by {makers[0]}"
                yield what, None
                continue
            for x in tensors_in(getattr(node, "saved_tensors" if slot == "tensors" else f"_saved_{slot}")):
                yield f"saves {slot} {spec_of(x)}, {x.nbytes:,} bytes", x
        except RuntimeError as error:
            versions = re.findall(r"version (\d+)", str(error))
            changed = f"saved {slot} at version {versions[-1]}; it was changed in place since" if versions else ""
            yield changed or f"has freed {slot}", None


def node_of(x: Tensor) -> Any:
    """The Node that makes the gradient of a tensor; for a leaf, the Node that adds it to .grad."""
    return x.grad_fn or get_gradient_edge(x).node


def nodes_before(ends: Sequence[Any]) -> dict[Any, list[Any]]:
    """Every Node of a graph → the Nodes that made its operands. Operands come before their users."""
    order: dict[Any, list[Any]] = {}
    read: dict[Any, list[Any]] = {}
    stack = [*reversed(ends)]
    while stack:
        node = stack[-1]
        if node not in read:
            read[node] = [x for x, _ in node.next_functions if x is not None]
            stack += [x for x in reversed(read[node]) if x not in read]
        elif stack.pop() not in order:
            order[node] = read[node]
    return order
