"""Graphs of PyTorch: of autograd (pytorch_autograd), of calls (pytorch_calls), built in advance (pytorch_export)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...engine.base.pytree import leaves
from ..listing import Listing
from ..words import shorten
from .pytorch_autograd import listing_of_tensors
from .pytorch_calls import listing_of_call
from .pytorch_export import listing_of_compiled, listing_of_program
from .pytorch_run import replay_of as replay_of


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of x. Several tensors may come as arguments, or in a list or a dictionary."""
    kind = type(x).__name__
    if kind == "ExportedProgram" or (isinstance(x, torch.fx.GraphModule) and not args):
        return listing_of_program(x)
    if isinstance(x, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise TypeError(f"a {kind} hides its operations: draw the module or the function that it was made of")
    if callable(x) and not isinstance(x, torch.Tensor):
        if not args:
            raise TypeError(f"a {kind} has a graph when it is called: draw(f, x), where x is an example input")
        original = getattr(x, "_orig_mod", getattr(x, "_torchdynamo_orig_callable", None))
        is_compiled = getattr(x, "_compiled_call_impl", None) is not None  # by model.compile()
        if original is not None or is_compiled:
            return listing_of_compiled(x if is_compiled else original, args, names)
        return listing_of_call(x, args, names)
    tensors = leaves([x, *args])
    for y in tensors:
        if not isinstance(y, torch.Tensor):
            got = f"{shorten(repr(y), 80)} of type {type(y).__name__}"
            raise TypeError(f"expected tensors of PyTorch, or a module or a function with its arguments; got {got}")
    return listing_of_tensors(tensors, names)
