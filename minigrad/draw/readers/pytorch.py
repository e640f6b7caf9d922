"""Graphs that PyTorch's autograd recorded. Other graphs of PyTorch are read in pytorch_calls.py and pytorch_export.py.

Autograd keeps no forward graph, only what backward will do. So an operation has the name of its backward, such as
MulBackward0, and a tensor that requires no gradient is missing unless a Node of autograd saved it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...engine.base.pytree import leaves
from ..listing import Entry, Listing
from ..listing_readers import output_title
from ..words import shorten
from . import refuse_missing_arguments
from .pytorch_calls import listing_of_call
from .pytorch_export import listing_of_compiled, listing_of_program
from .pytorch_run import replay_of as replay_of
from .pytorch_tensors import entry_of, facts_of, fill_values, names_of, node_of, nodes_before, saved_by, spec_of

FREED = "backward() has freed the saved tensors: run forward again, or use backward(retain_graph=True) to keep them."
NO_GRAPH = (
    "it is an input, or detach() cut it off, or it was computed from tensors that require no gradient, under no_grad() "
    "or inference_mode(). Draw the function instead, draw(f, x), or compute it from a tensor with requires_grad=True"
)


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of x. Several tensors may come as arguments, or in a list or a dictionary."""
    kind = type(x).__name__
    if kind == "ExportedProgram" or (isinstance(x, torch.fx.GraphModule) and not args):
        return listing_of_program(x)
    if isinstance(x, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise TypeError(f"a {kind} hides its operations: draw the module or the function that it was made from")
    if callable(x) and not isinstance(x, Tensor):
        refuse_missing_arguments(x, args)
        f = x.func if isinstance(x, partial) else x
        original = getattr(f, "_orig_mod", getattr(f, "_torchdynamo_orig_callable", None))
        if getattr(f, "_compiled_call_impl", None) is not None:  # by model.compile()
            original = f
        if original is None:
            return listing_of_call(x, args, names)
        return listing_of_compiled(original if f is x else partial(original, *x.args, **x.keywords), args, names)
    tensors = leaves([x, *args])
    for y in tensors:
        if not isinstance(y, Tensor):
            got = f"{shorten(repr(y), 80)} of type {type(y).__name__}"
            raise TypeError(f"expected tensors of PyTorch, or a module or a function with its arguments; got {got}")
    return listing_of_tensors(tensors, names)


def listing_of_tensors(ys: Sequence[Tensor], namespace: Mapping[str, object]) -> Listing:
    """The graph behind some tensors. Raises TypeError for a tensor that has none."""
    names = names_of(namespace)
    if alone := [y for y in ys if not y.requires_grad]:
        raise TypeError(f"{names.get(alone[0], 'a tensor')}, {spec_of(alone[0])}, has no graph: {NO_GRAPH}")
    inputs = nodes_before([node_of(y) for y in ys])
    place = {node: i for i, node in enumerate(inputs)}
    tensors = {node: node.variable for node in inputs if hasattr(node, "variable")}  # a Node → its tensor
    entries, kept = list[Entry](), set[Any]()
    tensors |= {node_of(x): x for x in [*names, *ys] if x.requires_grad and x.output_nr == 0}
    for node, before in inputs.items():
        found, saved = entry_of_node(node, tensors.get(node))
        found.name, found.inputs = names.get(found.thing, ""), tuple(place[each] for each in before)
        kept |= {node_of(each) for each in saved if each.requires_grad}
        entries.append(found)
    for node in kept & inputs.keys():
        entries[place[node]].kept = True
    fill_values(entries, {place[node]: x for node, x in tensors.items() if node in place})
    return Listing(output_title(entries, [tensors.get(node_of(y)) for y in ys]), entries, notes_on(entries))


def entry_of_node(node: Any, x: Tensor | None) -> tuple[Entry, list[Tensor]]:
    """The entry of a Node, and the tensors that the Node saved. x: the Node's tensor, if it is known."""
    saved = [*saved_by(node)]
    facts = (*(() if x is None else facts_of(x)), *(words for words, _ in saved))
    is_leaf = hasattr(node, "variable")
    op, path, results = ("", None, [x]) if is_leaf else (node.name(), (), node._input_metadata)
    entry = entry_of(results, op, name="", thing=node if x is None else x, facts=facts, path=path)
    return entry, [each for _, each in saved if each is not None]


def notes_on(entries: Sequence[Entry]) -> list[str]:
    facts = [(entry.sign, fact) for entry in entries for fact in entry.facts]
    wrong = [f"backward() will fail: {sign} {fact}." for sign, fact in facts if "changed in place since" in fact]
    return [FREED] * any("has freed" in fact for _, fact in facts) + wrong[:3]
