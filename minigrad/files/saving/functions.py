"""A saved function: graphs with names for their inputs and outputs, and the variables that they read.

It works like the traced function, without its Python code: it can be called, differentiated, trained further, traced
into other functions, compiled, drawn, and saved again. It is a Module; its variables are its parameters and buffers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...engine.base.dimension import fits, is_unknown
from ...engine.base.errors import SavedFileError, ShapeError, StateError
from ...engine.base.pytree import leaves, paths, unflatten_like
from ...engine.base.spec import Spec, Specs
from ...engine.core.graph import Graph
from ...engine.core.interpret import apply_graph
from ...engine.core.modes import current, in_mode, no_grad
from ...engine.core.node import Node
from ...engine.core.op import Op
from ...engine.methods import Operand
from ...engine.ops import Input
from ...engine.ops.pattern import Slice
from ...engine.tensor.tensor import Tensor
from ...graph.compiled_graph import CompiledGraph, CompileOptions
from ...graph.compiler.passes.specialise import lengths_in, with_lengths
from ...graph.function import TracedFunction
from ...graph.graph import name_of
from ...graph.placeholder import TensorSpec
from ...graph.pruning import PrunedGraph, prune_graph
from ...graph.session import Session, SessionCallable
from ...graph.signature import WeakMethod
from ...graph.trace import Trace, retake_view
from ...graph.variable import GraphVariable
from ...nn.module import Module
from ...tracing.builder import Tracer
from .container import short
from .graphs import GraphDecoder, GraphEncoder, item_at, plain

CONSTANT = re.compile(r"captured(_\d+)?")  # a trace's name for a captured tensor that has no name


@dataclass(frozen=True)
class ResultPart:
    """A part of a function's return value: the output or input with this number, or a view, `look`, of part `of`."""

    kind: str
    number: int
    of: Any = None
    look: Op | None = None


class SavedGraph(NamedTuple):
    """One of the function's graphs.

    arguments    names of the first inputs
    reads        names of the variables, which are the remaining inputs
    edits        (input, output): a run sets the variable at this input to the value of this output
    result       the structure of the return value
    grads        None if the graph does not call backward(). Else, for each variable whose .grad a run sets: (input,
                 the output with the new .grad or None, whether its .grad must be None before the run)
    """

    graph: Graph
    arguments: list[str]
    reads: list[str]
    edits: list[tuple[int, int]]
    result: Any
    grads: list[tuple[int, int | None, bool]] | None = None


class Signature(NamedTuple):
    """inputs    name → dtype and shape, where None means any length; outputs    their names"""

    inputs: dict[str, TensorSpec]
    outputs: list[str]


class SavedFunction(Module):
    """A function or a model as mg.load returns it.

    variables    name → tensor: those that require a gradient are parameters, the others buffers
    constants    names of the variables that are not in state_dict, such as captured tensors without a name
    """

    def __init__(self, name: str, parts: list[SavedGraph], variables: dict[str, Tensor], constants: set[str]):
        self.name, self.parts, self.variables = name, parts, variables
        self._buffers |= dict.fromkeys(constants, False)
        self.learned = {n: x.requires_grad for n, x in variables.items()}
        self.runs = [CompiledGraph(part.graph, name, {}, CompileOptions()) for part in parts]

    constants = property(lambda self: {name for name, stays in self._buffers.items() if not stays})

    def _own_parameters(self) -> Any:
        return ((name, x) for name, x in self.variables.items() if x.requires_grad)

    def _own_buffers(self) -> Any:
        return ((name, x) for name, x in self.variables.items() if not x.requires_grad)

    graph = property(lambda self: self.parts[-1].graph, doc="The function's graph; if it has several, the last.")

    @property
    def signatures(self) -> list[Signature]:
        """The inputs and outputs of each graph."""
        return [
            Signature(
                {name: tensor_spec_of(x.spec) for name, x in zip(part.arguments, part.graph.inputs)},
                names_in(part.result),
            )
            for part in self.parts
        ]

    signature = property(lambda self: self.signatures[-1], doc="The inputs and outputs of `graph`.")

    def forward(self, *xs: Any, **named: Any) -> Any:
        part, run, given = self.fitting(xs, named)
        inputs = [*given, *map(self.variables.__getitem__, part.reads)]
        if part.grads is not None:
            self.hold(part, inputs)
        with in_mode(recording=current.mode.recording and part.grads is None):
            ys = run(inputs) if current.mode.builder is None else inline_graph(part.graph, inputs)
        result = [resolve_result(x, part, inputs, ys) for x in leaves(part.result)]
        with no_grad():
            for i, y in part.edits:
                inputs[i].copy_(ys[y])
        for i, g, _ in part.grads or ():
            inputs[i].grad = None if g is None else ys[g]
        return unflatten_like(part.result, iter(result))

    def hold(self, part: SavedGraph, inputs: Sequence[Any]) -> None:
        """Raises StateError if the backward() inside the graph would now act differently from when it was traced."""
        names = [*part.arguments, *part.reads]
        other = {name for name in part.reads if self.variables[name].requires_grad != self.learned[name]}
        other |= {names[i] for i, _, is_none in part.grads or () if is_none and inputs[i].grad is not None}
        if other:
            raise StateError(
                f"{self.name} calls backward() inside, and whether {', '.join(sorted(other))} requires a gradient, or "
                "has a .grad to add to, has changed since it was saved: call zero_grad(), or save it as it is now"
            )

    def fitting(self, xs: Sequence[Any], named: dict[str, Any]) -> tuple[SavedGraph, CompiledGraph, list[Any]]:
        """The graph that fits these arguments, and its inputs. Raises ShapeError if none fits."""
        came = leaves([xs, named])
        for part, run in zip(self.parts, self.runs):
            every = by_name(part.arguments, xs, named)
            if every.keys() == {*part.arguments} and len(came) == len(every):
                given = [x if isinstance(x, Operand) else Tensor(x) for x in map(every.__getitem__, part.arguments)]
                wanted = [x.spec for x in part.graph.inputs[: len(given)]]
                if all(x.dtype == w.dtype and fits(x.spec.shape, w.shape) for x, w in zip(given, wanted)):
                    return part, run, given
        wants = " or ".join(
            "(" + ", ".join(f"{n}: {x.spec}" for n, x in zip(p.arguments, p.graph.inputs)) + ")" for p in self.parts
        )
        shown = [getattr(x, "spec", type(x).__name__) for x in came]
        raise ShapeError(f"{self.name} was saved for {wants}, but was called with {shown}{[*named] or ''}")

    def extra_repr(self) -> str:
        return self.name


def by_name(arguments: list[str], xs: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Name → tensor, for a call that passes its tensors one by one or in the original containers."""
    whole = any(isinstance(x, tuple | list | dict) for x in xs)
    places = dict.fromkeys(name.partition("[")[0] if whole else name for name in arguments)
    given = [*zip(places, xs), *named.items()]
    return {path: leaf for name, x in given for path, leaf in zip(paths(x, name), leaves(x))}


def names_in(result: Any) -> list[str]:
    """The names of a result's parts; from its keys, if it is a dictionary with string keys."""
    if isinstance(result, dict) and all(isinstance(key, str) for key in result):
        names = [path for key, x in result.items() for path in paths(x, key)]
        if len({*names}) == len(names):
            return names
    return paths(result, "output")


def tensor_spec_of(spec: Any) -> TensorSpec:
    """The TensorSpec of a spec, with None for a length that is not known."""
    return TensorSpec(tuple(None if is_unknown(n) else n for n in spec.shape), spec.dtype)


def inline_graph(graph: Graph, xs: Sequence[Any]) -> Sequence[Any]:
    """Add the graph's nodes to the graph that is being built; return its results."""
    builder: Any = current.mode.builder
    specs = [x.spec for x in xs]
    graph = with_lengths(graph, lengths_in(graph.inputs, specs), specs)
    with in_mode(autocast=None):  # keep the dtypes that were saved
        return apply_graph(graph, xs, lambda node: Tracer(builder.node(node.op, (), node.spec), builder))


def resolve_result(x: Any, part: SavedGraph, inputs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """The value of one part of the result."""
    if not isinstance(x, ResultPart):
        return x
    if x.kind == "view":
        specs = [each.spec for each in inputs]
        return retake_view(resolve_result(x.of, part, inputs, ys), x.look, True, lengths_in(part.graph.inputs, specs))
    return (ys if x.kind == "output" else inputs)[x.number]


# -- into a file ----------------------------------------------------------------------------------


def part_of(trace: Trace, name: str) -> SavedGraph:
    """The SavedGraph of a trace. Raises StateError for side effects that a graph cannot repeat."""
    before = {id(of()): value for of, attribute, value in trace.guards.watched if attribute == "grad"}
    after = {id(leaf): g for leaf, g in trace.grads}
    strange = any(isinstance(g, Tensor) for g in after.values()) or bool(after) > trace.is_flat
    if strange or any(before.values()) or not before.keys() <= after.keys():
        raise StateError(
            f"{name} adds to an existing .grad, or sets one other than by backward(), and cannot be saved: call "
            "zero_grad() before it or in it; or save the function that returns the loss, and call backward() on that"
        )
    edited = [trace.names[edit.input] for edit in trace.edits if edit.input < trace.given]
    if edited:
        raise StateError(f"{name} edits its argument {edited[0]} in place, so it cannot be saved: edit a copy")
    if trace.state():
        raise StateError(
            f"{name} assigns {trace.state()[0]}, which its next run reads, and such a function cannot be saved: edit a "
            "buffer in place, as in self.h.copy_(h)"
        )
    captured = {id(x): trace.given + i for i, x in enumerate(trace.captured)}

    def place(at: tuple[str, Any]) -> Any:
        kind, what = at
        if kind == "view":
            if what[3] is not None:
                raise StateError(f"{name} edits y = x.detach() and returns it, so it cannot be saved: return y.clone()")
            return ResultPart("view", 0, place(what[0]), what[1])
        if kind == "constant":
            return ResultPart("input", captured[id(what)]) if id(what) in captured else what
        return ResultPart("output" if kind == "result" else "input", what)

    result = unflatten_like(trace.template, iter([place(at) for at in trace.places]))
    edits = [(edit.input, edit.result) for edit in trace.edits]
    grads = [(captured[leaf], g, leaf in before) for leaf, g in after.items() if leaf in captured]
    names, given = trace.names, trace.given
    return SavedGraph(trace.graph, names[:given], names[given:], edits, result, grads if trace.is_flat else None)


def of_traced(function: TracedFunction) -> SavedFunction:
    """A SavedFunction of all traces of a function; it shares the function's variables."""
    variables, passing = state_of(function.python_function)
    names = {id(x): name for name, x in reversed(variables.items())}
    parts = []
    calls: set[str] = set()
    for trace in function.history:
        part = part_of(trace, function.__name__)
        call = ", ".join(str(tensor_spec_of(x.spec)) for x in part.graph.inputs[: len(part.arguments)])
        if call in calls:
            raise StateError(
                f"{function.__name__} has several graphs for ({call}), which differ in arguments that are no tensors, "
                "and a saved function could not tell them apart: save one, mg.save(path, function, inputs)"
            )
        calls.add(call)
        for name, x in zip(part.reads, trace.captured):
            unique = names.setdefault(id(x), name if name not in variables else f"{name}_{len(variables)}")
            variables[unique] = x
        parts.append(part._replace(reads=[names[id(x)] for x in trace.captured]))
    if not parts:
        advice = "call it, or pass example inputs, mg.save(path, function, inputs)"
        raise StateError(f"{function.__name__} was not traced yet, so there is no graph to save: {advice}")
    constants = {n for n, x in variables.items() if id(x) in passing or (CONSTANT.fullmatch(n) and not x.requires_grad)}
    return SavedFunction(function.__name__, parts, variables, constants)


def state_of(f: Any) -> tuple[dict[str, Tensor], set[int]]:
    """The state_dict of a module, or of a method's module, and the ids of buffers that the state_dict lacks."""
    module = f.instance() if isinstance(f, WeakMethod) else f
    if not isinstance(module, Module):
        return {}, set()
    state = dict(module._named_state())
    return state, {id(x) for x in module.buffers()} - {id(x) for x in state.values()}


def of_session(run: SessionCallable) -> SavedFunction:
    """A SavedFunction of a session's run: its feeds become arguments, and the values of its variables are saved."""
    session, fed = run.session, [run.session.node(x) for x in run.feed_list]
    fetched = [session.node(x) for x in leaves(run.fetches)]
    found = prune_graph(session.graph, fetched, fed)
    names = [*dict.fromkeys([*(what for what in found.reads if isinstance(what, str)), *found.writes])]
    variables = {name: variable_of(session, name) for name in names}
    graph = Graph(inputs_of(found, fed, variables), found.graph.outputs)
    edits = [(len(fed) + names.index(name), len(fetched) + i) for i, name in enumerate(found.writes)]
    results = [None if y is None else ResultPart("output", i) for i, y in enumerate(graph.outputs[: len(fetched)])]
    part = SavedGraph(graph, [*map(name_of, fed)], names, edits, unflatten_like(run.fetches, iter(results)))
    return SavedFunction("run", [part], variables, set())


def inputs_of(found: PrunedGraph, fed: Sequence[Node], variables: Mapping[str, Tensor]) -> tuple[Node, ...]:
    """The graph's inputs: the feeds, then the variables, including those that the run does not read."""
    there: dict[Any, Node] = dict(zip(found.reads, found.graph.inputs))
    wanted: dict[Any, Spec] = {node: node.spec for node in fed} | {name: x.spec for name, x in variables.items()}
    return tuple(there.get(x) or Node(Input(f"unread_{i}"), (), wanted[x]) for i, x in enumerate(wanted))


def variable_of(session: Session, name: str) -> Tensor:
    """A session's variable as a tensor; a captured tensor is returned unchanged."""
    state = session.graph.states[name]
    if not isinstance(state, GraphVariable):
        return state  # type: ignore[no-any-return]
    return Tensor(session.read_state(name)).requires_grad_(state.trainable and state.spec.is_float)


class FunctionEncoder(GraphEncoder):
    """Encodes values, graphs, and functions."""

    def function(self, saved: SavedFunction) -> dict[str, Any]:
        parts = [{
            "graph": self.graph(part.graph), "arguments": part.arguments, "reads": part.reads,
            "edits": [[*edit] for edit in part.edits], "result": self.value(part.result),
            **({} if part.grads is None else {"grads": [[*grad] for grad in part.grads]}),
        } for part in saved.parts]  # fmt: skip
        first = {id(x): name for name, x in reversed(saved.variables.items())}
        learned: dict[str, Any] = {}
        for name, x in saved.variables.items():
            if first[id(x)] != name:
                learned[name] = first[id(x)]
                continue
            if self.array(x.spec.device.read(x.value), name) != name:
                raise StateError(f"a saved file cannot hold a variable with the name {name!r}")
            learned[name] = None if name in saved.constants else x.requires_grad and x.is_leaf
        places = [[*place] for place in self.places]
        return {"name": saved.name, "parts": parts, "variables": learned, "places": places}

    def special(self, x: Any, path: tuple[str, ...]) -> Any:
        if isinstance(x, tuple) and not isinstance(x, Slice):  # a named tuple: its class is not saved
            return self.value(tuple(x), path)
        if not isinstance(x, ResultPart):
            return super().special(x, path)
        if x.kind != "view":
            return {x.kind: x.number}
        return {"view": [self.value(x.of), self.op(x.look)]}


# -- out of a file ----------------------------------------------------------------------------------


class FunctionDecoder(GraphDecoder):
    """Decodes values, graphs, and functions."""

    def function(self, said: dict[str, Any]) -> SavedFunction:
        match said:
            case {"name": str(name), "parts": [_, *_] as parts, "variables": dict(learned)}:
                variables: dict[str, Tensor] = {}
                for n, wanted in learned.items():
                    variables[n] = self.variable(plain(n), wanted, variables)
                constants = {n for n, wanted in learned.items() if wanted is None}
                return SavedFunction(plain(name), [self.part(part, variables) for part in parts], variables, constants)
        raise SavedFileError(f"{short(said)} is not a function")

    def variable(self, name: str, said: Any, known: dict[str, Tensor]) -> Tensor:
        """The variable with this name; if the name is an alias of an earlier variable, that variable."""
        match said:
            case str() if said in known:
                return known[said]
            case None | bool():
                x = Tensor(self.array(name))
                if said and not x.spec.is_float:
                    raise SavedFileError(f"{name} is {x.spec}, which cannot require a gradient")
                return x.requires_grad_(bool(said))
        raise SavedFileError(f"the variable {name} is described by {short(said)}")

    def part(self, said: Any, variables: dict[str, Tensor]) -> SavedGraph:
        """One graph, after checking that its inputs have the specs of its arguments and variables."""
        match said:
            case {"graph": g, "arguments": list(names), "reads": list(reads), "edits": list(edits), "result": result}:
                graph = self.graph(g)
                known = [variables.get(name) if isinstance(name, str) else None for name in reads]
                last = [x.spec for x in graph.inputs[len(names) :]]
                if len(graph.inputs) != len(names) + len(reads) or [getattr(x, "spec", None) for x in known] != last:
                    raise SavedFileError(f"a graph reads {short(reads)}, whose specs differ from those of its inputs")
                new = [self.edit(edit, graph, len(names)) for edit in edits]
                part = SavedGraph(graph, [*map(plain, names)], reads, new, self.result(result, graph))
                if "grads" not in said:
                    return part
                if isinstance(said["grads"], list):
                    return part._replace(grads=[self.grad(grad, graph, len(names)) for grad in said["grads"]])
        raise SavedFileError(f"{short(said)} is not a graph of a function")

    def edit(self, said: Any, graph: Graph, given: int) -> tuple[int, int]:
        match said:
            case [int(i), int(y)] if i >= given:
                new = item_at([*graph.outputs], y)
                if new is not None and new.spec == item_at([*graph.inputs], i).spec:
                    return i, y
        raise SavedFileError(f"{short(said)} is not an edit of a variable")

    def grad(self, said: Any, graph: Graph, given: int) -> tuple[int, int | None, bool]:
        match said:
            case [int(i), None, bool(is_none)] if given <= i < len(graph.inputs):
                return i, None, is_none
            case [i, g, bool(is_none)]:
                return *self.edit([i, g], graph, given), is_none
        raise SavedFileError(f"{short(said)} is not a gradient of a variable")

    def result(self, said: Any, graph: Graph) -> Any:
        """The structure of the result, after checking that its parts exist."""
        result = self.value(said)
        for leaf in leaves(result):
            while isinstance(leaf, ResultPart) and leaf.kind == "view":
                leaf = leaf.of
            if isinstance(leaf, ResultPart):
                node = item_at([*(graph.outputs if leaf.kind == "output" else graph.inputs)], leaf.number)
                if node is None or isinstance(node.spec, Specs):
                    raise SavedFileError(f"{short(leaf)} is not one tensor")
        return result

    def special(self, kind: str, what: Any) -> Any:
        match kind, what:
            case (("output" | "input"), int()):
                return ResultPart(kind, what)
            case "view", [of, op]:
                of, op = self.value(of), self.op(op)
                if isinstance(of, ResultPart) and op.is_view:
                    return ResultPart("view", 0, of, op)
        return super().special(kind, what)
