"""The graph that PyTorch's autograd recorded behind some tensors, exactly as it is: an entry for each Node.

Autograd keeps no forward graph, only what backward will do. So an operation has the name of its backward, such as
MulBackward0, and a tensor that requires no gradient is missing, unless a Node saved it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.autograd.graph import get_gradient_edge

from ..listing import Entry, Listing
from ..listing_readers import output_title
from .pytorch_tensors import entry_of, facts_of, fill_values, ids_of, saved_by, spec_of, tensors_in

FREED = (
    "A backward() has been through this graph and has freed what it had saved. For another one, run the forward pass "
    "again, or call backward(retain_graph=True)."
)
INFERENCE = "it was made under torch.inference_mode()"
NO_GRAPH = (
    "requires_grad is False. It was given, or computed from tensors that require no gradient or under torch.no_grad(), "
    "or cut off by detach()"
)
WAYS = "Draw the function or module and its arguments, draw(f, x), or compute it from a tensor that requires a gradient"


def listing_of_tensors(ys: Sequence[Tensor], namespace: Mapping[str, object]) -> Listing:
    """The graph behind some tensors. Raises TypeError for a tensor that has none."""
    names = ids_of(namespace)
    for y in ys:
        if not y.requires_grad:
            why = INFERENCE if y.is_inference() else NO_GRAPH
            raise TypeError(f"{names.get(id(y), 'a tensor')}, {spec_of(y)}, has no graph: {why}. {WAYS}")
    inputs = nodes_before([node_of(y) for y in ys])
    tensors: dict[Any, Tensor] = {}  # of Nodes, as far as we can reach them
    for x in [*ys, *tensors_in([*namespace.values()]), *(node.variable for node in inputs if is_leaf(node))]:
        if x.requires_grad and x.output_nr == 0:
            tensors.setdefault(node_of(x), x)
    place = {node: i for i, node in enumerate(inputs)}
    entries, kept = list[Entry](), set[Any]()
    for node, before in inputs.items():
        saved, x = [*saved_by(node)], tensors.get(node)
        kept |= {node_of(t) for _, t in saved if t is not None and t.requires_grad}
        facts = (*(facts_of(x) + hooks_of(x) if x is not None else ()), *(words for words, _ in saved))
        op, path, results = ("", None, [x]) if is_leaf(node) else (node.name(), (), node._input_metadata)
        name, reads = names.get(id(x), ""), tuple(place[each] for each in before)
        thing = node if x is None else x
        entries.append(entry_of(results, op, name=name, thing=thing, facts=facts, path=path, inputs=reads))
    for node in kept & inputs.keys():
        entries[place[node]].kept = True
    notes = [FREED] * any("has freed" in fact for entry in entries for fact in entry.facts)
    notes += [f"backward() will fail: {e.sign} {fact}." for e in entries for fact in e.facts if "since" in fact][:3]
    notes += fill_values(entries, {place[node]: x for node, x in tensors.items() if node in place})
    return Listing(output_title(entries, [tensors.get(node_of(y)) for y in ys]), entries, notes)


def is_leaf(node: Any) -> bool:
    return hasattr(node, "variable")


def node_of(x: Tensor) -> Any:
    """The Node that makes the gradient of a tensor; for a leaf, the Node that adds it to .grad."""
    return x.grad_fn or get_gradient_edge(x).node


def nodes_before(ends: Sequence[Any]) -> dict[Any, list[Any]]:
    """Every Node of a graph → the Nodes of what it was computed from; inputs before users."""
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


def hooks_of(x: Tensor) -> list[str]:
    """The hooks on the gradient of a tensor."""
    hooks = [*(x._backward_hooks or {}).values(), *(getattr(x, "_post_accumulate_grad_hooks", None) or {}).values()]
    kept = ["keeps its gradient: retain_grad()"] * (not x.is_leaf and x.retains_grad)
    return kept + [f"has a hook: {getattr(hook, '__name__', type(hook).__name__)}" for hook in hooks]
