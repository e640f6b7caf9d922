"""Graphs of PyTorch that exist before we look: autograd's, exported ones, torch.fx's and those of torch.compile.

Autograd keeps no forward graph, only what backward will do. So an operation has the name of its backward, such as
MulBackward0, and a tensor that requires no gradient is missing unless a Node of autograd saved it.
torch.compile hands each graph to a backend. Ours records the graph and runs it. Between graphs, ordinary Python runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any, cast

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from ...engine.base.pytree import leaves
from ...engine.core.node import Place
from ..listing import Entry, Listing, Scope
from ..listing_readers import line_of, output_title
from ..nested import NamedGraph, NamedOp, OpEntries
from ..words import pluralize, shorten
from . import name_of, refuse_missing_arguments
from .pytorch_aten import op_name, options_of
from .pytorch_calls import LIBRARY, CallRecorder, listing_of_call, preserve
from .pytorch_run import replay_of as replay_of
from .pytorch_tensors import entry_of, facts_of, fill_values, names_of, node_of, nodes_before, saved_by, tensors_in

FREED = "backward() has freed the saved tensors: run forward again, or use backward(retain_graph=True) to keep them."
NO_GRAPH = (
    "it is an input, or detach() cut it off, or it was computed from tensors that require no gradient, under no_grad() "
    "or inference_mode(). Draw the function instead, draw(f, x), or compute it from a tensor with requires_grad=True"
)
LEAF_OPS = "placeholder", "get_attr"
OUTSIDE = "A result was computed after these graphs, by ordinary Python, which torch.compile did not compile."


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
        what = entry_of(alone[:1], name=names.get(alone[0], "a tensor"), thing=alone[0])
        raise TypeError(f"{what.headline}, has no graph: {NO_GRAPH}")
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


# -- graphs that are built before they run ----------------------------------------------------------------------------


def listing_of_program(x: Any) -> Listing:
    """The nodes of an exported program, or of a GraphModule of torch.fx."""
    is_module, given = isinstance(x, fx.GraphModule), getattr(x, "graph_signature", x)
    names = {} if is_module else {**given.inputs_to_parameters, **given.inputs_to_buffers}
    found = OpEntries()
    found.read(FxReader(names).graph(x if is_module else x.graph_module))
    return Listing("a graph of torch.fx" if is_module else "an exported program", found.entries)


def listing_of_compiled(f: Any, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The graphs that torch.compile makes of f for these arguments, in the order in which they run, and its breaks.

    This compiles f again, and does not change the user's compiled code.
    """
    from torch._dynamo.utils import counters, graph_break_reasons

    name, earlier, refused = name_of(f), len(graph_break_reasons), counters["unimplemented"].copy()
    apart: Any = {"isolate_recompiles": True} if "isolate_recompiles" in signature(torch.compile).parameters else {}
    with preserve(f, args) as reach:
        runs = CompiledRuns(CallRecorder(reach, f, args, namespace))
        ys = [*tensors_in(torch.compile(f, backend=runs.backend, **apart)(*args))]  # type: ignore[no-untyped-call]
    reasons: dict[str, Any] = {str(each.user_stack[-1]): each for each in reversed(graph_break_reasons[earlier:])}
    del graph_break_reasons[earlier:]
    found = pluralize(runs.count, "graph", "graphs"), pluralize(len(reasons), "graph break", "graph breaks")
    notes = [f"torch.compile made {found[0]} of {name}, with {found[1]}."]
    for at, reason in [(each.user_stack[-1], each.reason) for each in reversed(reasons.values())]:
        why = reason.partition("\n")[0].replace("generic_jump TensorVariable()", "Python branches on a tensor")
        function = re.sub(r"^torch_dynamo_resume_in_(\w+)_at_\d+$", r"\1", at.name)  # its name behind a break
        notes.append(f"Graph break at {line_of(Place(at.filename, at.lineno, function))} – {why}.")
    for why in counters["unimplemented"] - refused if not reasons else ():
        notes.append(f"torch.compile gave up: {shorten(' – '.join(map(str.strip, why.splitlines())), 200)}")
    notes += [OUTSIDE] * any(id(y) not in runs.made for y in ys)
    return Listing(f"what torch.compile made of {name}", runs.found.entries, notes)


class FxReader:
    """Describes the nodes of graphs of torch.fx.

    names    name of an input → the name of the parameter or buffer that it stands for
    """

    def __init__(self, names: Mapping[str, str]):
        self.names = names

    def graph(self, owner: Any, operands: Sequence[Any] = (), scope: Scope | None = None) -> NamedGraph:
        """Describe a GraphModule."""
        inputs = [node for node in owner.graph.nodes if node.op == "placeholder"]
        outputs = [y if isinstance(y, fx.Node) else "" for y in tree_leaves(owner.graph.output_node().args)]
        return NamedGraph(self.ops(owner), outputs, dict(zip(inputs, operands)), scope=scope)

    def ops(self, owner: Any) -> Iterator[NamedOp]:
        scopes, inner = dict[Any, Scope](), dict[fx.Node, fx.GraphModule]()
        for node in owner.graph.nodes:
            value = attrgetter(node.target)(owner) if node.op in ("get_attr", "call_module") else None
            if node.op == "get_attr" and isinstance(value, fx.GraphModule):  # a branch, or the body of a loop
                inner[node] = value
            elif node.op in LEAF_OPS:
                yield NamedOp(self.entry(node, value), outputs=[node])
            elif node.op != "output":
                operands, parts = [x for x in node.all_input_nodes if x not in inner], list[NamedGraph]()
                for at in [i for i, x in enumerate(node.args) if isinstance(x, fx.Node) and x in inner]:
                    part, given = cast(fx.Node, node.args[at]), tree_leaves(node.args[at + 1 :])
                    scope = Scope("scope", str(part.target), "a graph inside", inner[part])
                    parts.append(self.graph(inner[part], [x for x in given if x in operands], scope))
                yield NamedOp(self.entry(node, value), operands, [node], (), scopes_of(node, scopes), parts)

    def entry(self, node: fx.Node, value: Any) -> Entry:
        target: Any = node.target
        meta = node.meta.get("tensor_meta")  # of ShapeProp
        results = [*tensors_in(node.meta.get("val", node.meta.get("example_value", value)))]
        results = results or [meta] * hasattr(meta, "dtype")
        if node.op in LEAF_OPS:
            own = target if node.op == "get_attr" else self.names.get(node.name, "")
            return entry_of(results, name=own or node.name, thing=node, path=None if own else ())
        op = type(value).__name__ if node.op == "call_module" else op_name(target)
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda x: x.meta.get("example_value", x))
        facts = tuple(options_of(target, args, kwargs))
        name = target if node.op == "call_module" else "" if node.name.startswith(op.strip("_")) else node.name
        at = re.findall(r'File "(.+)", line (\d+), in (.+)', node.stack_trace or "")
        places = [Place(file, int(n), where) for file, n, where in at if not file.startswith((*LIBRARY, "<eval"))]
        line = line_of(places[-1] if places else None)
        return entry_of(results, op, name=name, thing=node, line=line, facts=facts)


def scopes_of(node: fx.Node, known: dict[Any, Scope]) -> list[Scope]:
    """The module calls that a node belongs to. PyTorch gives each call of a module its own key."""
    found: list[Scope] = []
    for key, (at, kind) in (node.meta.get("nn_module_stack") or {}).items():
        label = re.sub(r"^(L\['(self|fn)'\]\.?|[LG]\['(?=\w+'\]))|'\]", "", at)
        of = (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
        is_own = node.op == "call_module" and label == node.target
        if label and not is_own and not label.startswith("_empty_nn_module_stack"):
            found.append(known.setdefault((*found, key), Scope("module", label, of, None)))
    return found


class CompiledRuns(FxReader):
    """A backend of torch.compile that records each graph when it runs.

    made    id of a tensor → the tensor, kept alive, and its entry
    """

    def __init__(self, call: CallRecorder):
        super().__init__({})
        self.call, self.count, self.found = call, 0, OpEntries()
        self.made: dict[int, tuple[Tensor, Entry | None]] = {}

    def backend(self, module: fx.GraphModule, examples: Any) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            results = module.forward(*given)
            self.count += 1
            inputs = [self.input_entry(x) if isinstance(x, Tensor) else "" for x in given]
            scope = Scope("scope", f"graph {self.count}", "torch.compile", module)
            entries = self.found.read(self.graph(module, inputs), path=(scope,))
            self.made |= {id(x): (x, entry) for x, entry in zip(results, entries) if entry is not None}
            return results

        return run

    def input_entry(self, x: Tensor) -> Entry | None:
        """The entry of a graph's input: the entry of the op that made it, or else a leaf."""
        if id(x) not in self.made:
            path, name = None if id(x) in self.call.own else (), self.call.names.get(id(x), "")
            self.made[id(x)] = x, entry_of([x], name=name, thing=x, path=path)
        return self.made[id(x)][1]
