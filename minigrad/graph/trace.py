"""A trace: one run of a Python function on symbols, and the graph that this run built.

The graph is a function of the argument tensors and of the tensors that the Python function reads from outside, such as
parameters and globals. These are captured by reference, and read at every run. The outputs include a new value for each
tensor that the function changed (a parameter, a running mean, a `.grad`); it is written back after the run.
Decisions that Python made during tracing are fixed in the graph. Guards check some of them before each run: guards.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple
from weakref import ref

from ..autograd.function_in_graph import Custom
from ..engine.base.errors import EditedError, GraphError, MinigradError, NoGradientError
from ..engine.base.pytree import leaves, unflatten_like
from ..engine.base.spec import Spec, spec_of
from ..engine.core import modes, versions
from ..engine.core.graph import Graph
from ..engine.core.op import Op
from ..engine.core.stateful import MISSING, noticing_reads
from ..engine.ops import StopGradient, TupleGet
from ..engine.tensor.inplace import renew, settle, write
from ..engine.tensor.tensor import Tensor, wrap_array
from ..tracing.builder import Capture, GraphBuilder, Tracer
from .compiled_graph import CompiledGraph, CompileOptions
from .compiler.passes.specialise import fields_at, lengths_in, specialise_graph
from .guards import REFUSED, Guards, observe
from .module_state import ModuleAttribute, assign, assigned_values
from .signature import leak_message

OUTSIDE = modes.Mode()  # without the builder: what a trace depends on is read in this mode
VALUE, NODE, TRACKED = map(attrgetter, ("value", "node", "tracked"))


class GradSlot:
    """The .grad of a leaf as an input of a graph: each run reads the tensor that is there at that time."""

    tracked = False
    node = None

    def __init__(self, leaf: Tensor, spec: Spec):
        self.leaf, self.spec = leaf, spec

    value = property(attrgetter("leaf.grad.value"))


class TraceBuilder(GraphBuilder):
    """The builder of a trace.

    known       id of a tensor → the name by which the Python function reaches it
    paths       name of an input → its Python path, such as net.0.weight for net_0_weight
    arguments   pairs (argument tensor, its symbol)
    noted       (id, attribute) → (object, value): the attributes that Python read while tracing
    assigned    (id, attribute) → (module, value before the first assignment)
    recorded    ids of the tensors that were edited in place while gradients were recorded
    pulled      whether backward() was called
    recording   whether the call that is traced records gradients
    closed      whether tracing is over
    """

    way_out = (
        "Return it from the function to see its value. To branch or loop in the function itself, test the tensor, as "
        "in `if y > 0`, and not y.item(), float(y) or bool(y): mg.function converts if, while and for, unless "
        "autograph=False. Elsewhere take mg.cond or where, mg.while_loop or lax.fori_loop"
    )
    way_in = (
        "a traced function reads tensors that have a value, such as mg.tensor(2.0, requires_grad=True) or a Parameter, "
        "at each run; a Variable and a placeholder have theirs in a session. " + GraphBuilder.way_in.capitalize()
    )

    def __init__(self, known: Mapping[int, str]):
        super().__init__()
        self.known = known
        self.paths: dict[str, str] = {}
        self.arguments: list[tuple[Tensor, Tracer]] = []
        self.noted: dict[tuple[int, str], tuple[Any, Any]] = {}
        self.assigned: dict[tuple[int, str], tuple[Any, Any]] = {}
        self.recorded: set[int] = set()
        self.pulled = self.closed = False
        self.recording = modes.current.mode.recording

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Tracer:
        if self.closed:
            symbol = next(x for x in operands if isinstance(x, Tracer) and x.builder is self)
            raise GraphError(f"{leak_message(symbol)}. Return it from the function that was traced")
        return super().apply(op, operands)

    def add_argument(self, name: str, x: Tensor, spec: Spec) -> Tracer:
        """Add an argument of this spec for the tensor x, and return its symbol."""
        symbol = self.argument(identifier(name), spec)
        self.paths[symbol.name] = name
        self.arguments.append((x, symbol))
        self.origins[symbol.node] = x
        return symbol

    def capture(self, x: Any) -> Tracer:
        return self.reading(x, self.path(x)) if id(x) not in self.captured else self.captured[id(x)].symbol

    def reading(self, x: Any, path: str) -> Tracer:
        """Capture x, a tensor from outside, and return its symbol."""
        node = self.input(identifier(path), x.spec)
        self.paths.setdefault(node.name, path if identifier(path) == node.name else node.name)
        self.origins[node], self.captured[id(x)] = x, Capture(x, node, Tracer(node, self))
        return self.captured[id(x)].symbol

    def path(self, x: Any) -> str:
        """The path by which the Python function reaches x; the state of a parameter is named after the parameter."""
        name = getattr(x, "name", None) or "captured"
        owners: Any = getattr(x, "owners", ())
        if len(owners) == 1 and id(owners[0]) in self.known:
            name = f"{self.known[id(owners[0])]}.{name}"
        return self.known.get(id(x), name)

    def note_read(self, what: Any, attribute: str) -> None:
        if attribute == "value":  # what detach() returned may be deleted before the next call: watch the tensor itself
            super().note_read(what := self.detached.get(id(what), (what,))[-1], attribute)
        key = id(what), attribute
        if key not in self.noted and key not in self.assigned and (id(what) not in self.born or attribute in REFUSED):
            mode, modes.current.mode = modes.current.mode, OUTSIDE
            try:
                self.noted[key] = what, observe(what, attribute)
            finally:
                modes.current.mode = mode

    def is_grad_enabled(self) -> bool:
        self.noted[id(modes.is_grad_enabled), "()"] = modes.is_grad_enabled, self.recording
        return self.recording

    def note_assignment(self, module: Any, name: str, before: Any) -> None:
        self.assigned.setdefault((id(module), name), (module, before))

    def restore(self) -> None:
        """Restore what modules held before the trace; each run repeats the assignments of the trace."""
        for (_, name), (module, before) in self.assigned.items():
            vars(module)[name] = before
            if before is MISSING:
                del vars(module)[name]

    def editing(self, x: Any) -> None:
        if modes.current.mode.recording and (whole := self.whole(x)) is not None:
            what = next((t for t, symbol in self.arguments if symbol is whole), whole)
            self.recorded.add(id(what))
            refuse_leaf(what)

    def grad_of(self, x: Any, before: Any) -> Any:
        if id(x) not in self.grads:
            self.note_read(x, "grad")
            if before is None:
                return None
            slot = GradSlot(x, before.spec)
            self.grads[id(x)] = x, self.reading(slot, f"{self.path(x)}.grad")
        return self.grads[id(x)][1]

    def backward(self, y: Tracer, gradient: Any) -> None:
        if self.closed:
            raise GraphError(
                f"{leak_message(y)}. Return it from the function that was traced, and call backward() on that"
            )
        super().backward(y, gradient)

    def note_backward(self) -> None:
        if wanting := [symbol.name for x, symbol in self.arguments if x.tracked]:
            raise NoGradientError(
                "backward() inside a traced function sets .grad of the parameters that it reaches, and not of the "
                f"arguments, of which {', '.join(wanting)} requires a gradient: use mg.autograd.grad(loss, x) inside, "
                "or call backward() on the result of the function"
            )
        self.pulled = True


def refuse_leaf(x: Any) -> None:
    """Raises EditedError if x is a leaf that requires a gradient: its edit cannot be recorded."""
    if isinstance(x, Tensor) and x.tracked and x.is_leaf:
        raise EditedError(
            f"{x.spec} is a leaf that requires a gradient, and is edited in place: edit it inside "
            "`with no_grad():`, or make a new tensor, as x = x + 1 does"
        )


def identifier(path: str) -> str:
    """A path such as `batch[0]` or `net.0.weight`, turned into a valid identifier."""
    word = re.sub(r"\W", "_", path).strip("_")
    return word if word and not word[0].isdigit() else f"x_{word}"


class Results:
    """The outputs of a graph, without duplicates.

    symbols    the symbols, in the order of the outputs
    shared     ids of the memory that several leaves of the Python function's result share
    views      id of a symbol → its view; a view that is returned several times has one entry
    """

    def __init__(self, builder: TraceBuilder, result: Any):
        self.builder = builder
        self.symbols: list[Tracer] = []
        self.views: dict[int, tuple[str, Any]] = {}
        roots = Counter(id(x.memory) for x in leaves(result) if isinstance(x, Tracer))
        self.shared = {x for x, n in roots.items() if n > 1}
        self.own: dict[int, tuple[str, Any]] = {
            id(symbol): ("argument", i) for i, (_, symbol) in enumerate(builder.arguments)
        }
        self.own |= {
            id(c.symbol): ("constant", c.what)
            for c in builder.captured.values()
            if isinstance(c.what, Tensor) and not builder.is_own(c.what)
        }
        for i, (key, c) in enumerate(builder.captured.items(), len(builder.arguments)):
            if isinstance(c.what, ModuleAttribute):
                self.own[key] = self.own[id(c.symbol)] = "argument", i

    def number(self, symbol: Tracer) -> int:
        """The index of this symbol among the outputs. A new symbol is appended."""
        for i, other in enumerate(self.symbols):
            if other is symbol:
                return i
        self.symbols.append(self.builder.current(self.builder.lift(symbol)))
        return len(self.symbols) - 1

    def place(self, leaf: Any) -> tuple[str, Any]:
        """Where a leaf of the Python function's result comes from: an output, an argument, a constant, or a view of one
        of these. Each run takes the view again, so that it shares memory and history with its base.
        """
        leaf = self.builder.look(leaf) if id(leaf) in self.builder.detached else leaf
        leaf = self.builder.lift(leaf).clone() if isinstance(leaf, Tensor) and self.builder.is_own(leaf) else leaf
        if not isinstance(leaf, Tracer):
            return self.own.get(id(leaf), ("constant", leaf))
        memory = id(leaf.memory)
        if leaf.look is not None and (memory in self.own or memory in self.shared):
            (x, op, recording), now = leaf.look, self.builder.current(leaf)
            if not isinstance(op, Custom | TupleGet):
                own = isinstance(op, StopGradient) and self.builder.may_need_grad(now) is not False
                history = self.number(leaf) if own else None
                return self.views.setdefault(id(leaf), ("view", (self.place(x), op, recording, history)))
        return self.own.get(id(leaf)) or ("result", self.number(leaf))

    def place_of_part(self, leaf: Any) -> tuple[str, Any]:
        """place() for a leaf of an assigned attribute. A parameter created in the trace is the same in all runs."""
        return ("constant", leaf) if isinstance(leaf, Tensor) and leaf.tracked and leaf.is_leaf else self.place(leaf)

    def assignments(self, values: Sequence[Any]) -> list[tuple[Any, str, Any, list[tuple[str, Any]]]]:
        """(module, attribute, structure, places of its leaves) for each attribute that a run assigns."""
        assigned = [(ref(module), name) for (_, name), (module, _) in self.builder.assigned.items()]
        places = [[self.place_of_part(leaf) for leaf in leaves(value)] for value in values]
        return [(*to, unflatten_like(value, repeat(None)), at) for to, value, at in zip(assigned, values, places)]

    def edits(self) -> list[Edit]:
        """The arguments and captured tensors that a run edits, except tensors that were created in the trace."""
        arguments = [(*pair, node) for pair, node in zip(self.builder.arguments, self.builder.inputs)]
        captured = [(c.what, c.symbol, c.input) for c in self.builder.captured.values()]
        return [
            Edit(i, self.number(symbol), id(x) in self.builder.recorded)
            for i, (x, symbol, node) in enumerate(arguments + captured)
            if symbol.node is not node and (i < len(arguments) or not self.builder.is_own(x))
        ]

    def gradients(self) -> list[tuple[Tensor, Any]]:
        """Each leaf whose gradient a run changes, with the index of the output that is its new gradient, or None."""
        read = {id(c.symbol) for c in self.builder.captured.values() if isinstance(c.what, GradSlot)}  # only read
        new = [(leaf, g) for leaf, g in self.builder.grads.values() if id(g) not in read]
        return [(leaf, self.number(g) if isinstance(g, Tracer) else g) for leaf, g in new]


class Edit(NamedTuple):
    """A tensor that a run edits in place.

    input     index of the graph's input that reads it
    result    index of the output that is its new value
    recorded  whether a run that records gradients records the edit too
    """

    input: int
    result: int
    recorded: bool


def copy_own_gradients(builder: TraceBuilder) -> None:
    """Make each run create its own tensor for a gradient that was created while tracing."""
    for key, (leaf, g) in builder.grads.items():
        if isinstance(g, Tensor) and builder.is_own(g):
            builder.grads[key] = leaf, builder.lift(g).clone()


class Trace:
    """A graph, and everything needed to run it in place of the Python function.

    graph       inputs: the argument tensors, then the captured tensors; outputs: the computed results, the new values
                of edited tensors, the new gradients
    captured    the tensors that the inputs after the arguments read
    edits       the tensors that a run edits; `recorded` has the input numbers of the edits that backward goes through
    reason      why it was traced, in a sentence
    """

    def __init__(self, builder: TraceBuilder, result: Any, name: str, reason: str, compile_options: CompileOptions):
        self.reason = reason
        copy_own_gradients(builder)
        values = assigned_values(builder)
        results = Results(builder, (result, values))
        self.places = [results.place(leaf) for leaf in leaves(result)]
        self.template = unflatten_like(result, repeat(None))
        self.assigned = results.assignments(values)
        self.given, self.captured = len(builder.arguments), [c.what for c in builder.captured.values()]
        self.edits = results.edits()
        self.grads = results.gradients()
        self.prepare_checks(builder)
        self.fitting: dict[tuple[Spec, ...], bool] = {}
        self.arguments: list[tuple[str, str]] = []
        self.watched: list[Any] = []
        done = [] if builder.last is None else builder.after_effects([builder.lift(True)])
        self.graph: Graph = builder.finish_graph([*results.symbols, *done])
        self.is_flat = builder.pulled  # backward() ran inside, and freed the graph behind the results
        places = self.places + [place for *_, there in self.assigned for place in there]
        self.handed = {*map(number_in, places), *(g for _, g in self.grads if type(g) is int)} - {-1}
        self.alone = bool(len(places) == 1 and places[0][0] == "result" and isinstance(result, Tracer))
        self.run = CompiledGraph(self.graph, name, {edit.result: edit.input for edit in self.edits}, compile_options)

    def prepare_checks(self, builder: TraceBuilder) -> None:
        """Name the inputs, and note what each run checks: guards, layouts, edits, attributes of modules."""
        given, tensors = self.given, [*(x for x, _ in builder.arguments), *self.captured]
        inputs = [*builder.inputs, *(c.input for c in builder.captured.values())]
        self.names = [builder.paths[node.name] for node in inputs]
        self.grad_names = [f"{builder.path(leaf)}.grad" for leaf, _ in self.grads]
        self.guards = Guards(dict(zip(self.names[given:], self.captured)), builder.noted, builder.pulled)
        self.laid = [i for i, x in enumerate(tensors) if id(x) in builder.laid]
        self.recorded = [edit.input for edit in self.edits if edit.recorded]
        self.nodes = [x.node for x in self.captured]
        self.edits_leaves = not any(i < given or has_history(self.captured[i - given]) for i, *_ in self.edits)
        self.slots = [given + i for i, x in enumerate(self.captured) if isinstance(x, ModuleAttribute)]

    def list_changes(self) -> list[str]:
        """The names of everything that a run changes."""
        return [*(self.names[edit.input] for edit in self.edits), *self.grad_names, *self.state()]

    def state(self) -> list[str]:
        """The attributes of modules that each run reads and assigns."""
        return [str(x) for x in self.captured if isinstance(x, ModuleAttribute)]

    def __call__(self, given: list[Tensor]) -> Any:
        """Run the graph on these argument tensors, with the result and the side effects of the Python function."""
        xs = [*given, *self.captured]
        for i in self.slots:
            xs[i] = xs[i].tensor
        arrays = [*map(VALUE, xs)]
        for i in self.laid:
            refuse_other_layout(self.names[i], arrays[i])
        if self.edits:
            refuse_shared_memory(self.edits, arrays, xs)
            for i in self.recorded if modes.current.mode.recording else ():
                refuse_leaf(xs[i])
        is_plain = self.is_plain(xs)
        ys = self.on_arrays(xs, arrays) if is_plain else self.on_tensors(xs)
        if self.alone:
            return ys[self.places[0][1]]
        lengths = lengths_in(self.graph.inputs, [x.spec for x in xs]) if self.run.is_open else {}
        views: dict[int, Any] = {}

        def value_at(place: tuple[str, Any]) -> Any:
            kind, there = place
            if kind == "result":
                return ys[there]
            if kind == "argument":
                return xs[there]
            if kind == "view" and id(place) not in views:  # a view that is returned twice is taken once
                x, op, recording, edited = there
                views[id(place)] = y = retake_view(value_at(x), op, recording, lengths)
                if edited is not None and not is_plain:  # detach() made y, and an edit gave it a history of its own
                    settle(y, ys[edited])
            return views[id(place)] if kind == "view" else there

        for of, name, template, places in self.assigned:
            assign(of(), name, unflatten_like(template, map(value_at, places)))
        return unflatten_like(self.template, map(value_at, self.places))

    def is_plain(self, xs: Sequence[Any]) -> bool:
        """Whether no gradient is recorded and no watcher is active, so that the run can work on arrays alone."""
        mode = modes.current.mode
        if mode.watchers or mode.tracked is None:
            return False
        if self.is_flat or not mode.recording:
            as_traced = self.edits_leaves and [*map(NODE, self.captured)] == self.nodes
            return as_traced or not any(has_history(xs[i]) for i, *_ in self.edits)
        return True not in map(TRACKED, xs)

    def on_arrays(self, xs: Sequence[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        """Run on arrays, write the edits and gradients back, and wrap as tensors the outputs that the caller gets."""
        variant = self.run.variant((), xs)
        ys = list(variant.run(*arrays))
        edited = [arrays[i] for i, *_ in self.edits]
        for i, y, _ in self.edits:
            if ys[y] is not arrays[i]:  # the program has not written the new value into the array itself
                arrays[i][...] = ys[y]
        if edited:
            versions.edit(*edited)
        specs: list[Any] = variant.specs
        for i in self.handed:
            ys[i] = wrap_array(ys[i], specs[i] if specs[i].is_known else spec_of(ys[i]))
        for leaf, g in self.grads:
            leaf._grad = ys[g] if isinstance(g, int) else g
        return ys

    def on_tensors(self, xs: Sequence[Any]) -> Sequence[Any]:
        """As on_arrays(), but on tensors, for a run that is recorded or watched."""
        with modes.in_mode(recording=modes.current.mode.recording and not self.is_flat):
            ys = self.run(xs)
        for i, y, _ in self.edits:
            update_tensor(xs[i], ys[y])
        for leaf, g in self.grads:
            leaf.grad = ys[g] if isinstance(g, int) else g
        return ys


def retake_view(x: Any, op: Any, recording: bool, lengths: Any) -> Any:
    """The view of x that `op` takes, recorded if it was recorded in the Python function."""
    if isinstance(op, StopGradient):
        return x.detach()
    with modes.in_mode(recording=recording and modes.current.mode.recording):
        return x.apply(fields_at(op, lengths))


def number_in(place: tuple[str, Any]) -> int:
    """The index of the output at this place, or of the output that it is a view of; −1 if there is no output."""
    kind, there = place
    return number_in(there[0]) if kind == "view" else there if kind == "result" else -1


def trace_fits(trace: Trace, tensors: Sequence[Tensor]) -> bool:
    """Whether a graph with unknown lengths is valid for the shapes of these tensors. The answer is cached."""
    specs = tuple(x.spec for x in tensors)
    if specs not in trace.fitting:
        try:
            specialise_graph(trace.graph, [*specs, *(x.spec for x in trace.graph.inputs[trace.given :])])
        except MinigradError:
            trace.fitting[specs] = False
        else:
            trace.fitting[specs] = True
    return trace.fitting[specs]


def has_history(x: Any) -> bool:
    """Whether an edit of x changes its history too: x requires a gradient, and is computed or a view."""
    return bool(x.tracked) and (bool(x.node.inputs) or getattr(x, "alias", None) is not None)


def refuse_other_layout(name: str, array: Any) -> None:
    """Raises EditedError if the array is not contiguous: a reshape traced as a view would now be a copy."""
    if not array.flags.c_contiguous:
        raise EditedError(
            f"{name} was contiguous when the function was traced, so that an edit of a reshape was an edit of the "
            "tensor itself. Now it is not contiguous: pass x.contiguous()"
        )


def refuse_shared_memory(edits: Sequence[Edit], arrays: Sequence[Any], xs: Sequence[Any]) -> None:
    """Raises EditedError if an edited tensor shares memory with another input, which the graph treats as separate."""
    owners = [id(x) if x.base is None else id(versions.owner(x)) for x in arrays]
    if len({*owners}) == len(owners):
        return
    for edit in edits:
        if owners.count(owners[edit.input]) > 1:
            raise EditedError(
                f"{xs[edit.input].spec} is edited in place by a traced function that reads its memory through another "
                "argument, or a global variable, too: pass it once, or edit a copy, as in x.clone().add_(1)"
            )


def update_tensor(x: Any, y: Tensor) -> None:
    """Give x the value and the history of y, which a run has computed for it."""
    if isinstance(x, GradSlot):
        x = x.leaf.grad
    if y.value is x.value:
        versions.edit(x.value)
    else:
        write(x, y.value)
    if modes.current.mode.recording and (y.tracked or x.tracked) and not (x.tracked and x.is_leaf):
        root = x.alias.root if getattr(x, "alias", None) is not None else x
        settle(x, y)
        renew(root, x)


def build_trace(
    call: Callable[[list[Tracer]], Any], tensors: Sequence[tuple[str, Tensor, Spec]],
    known: Mapping[int, str], name: str, reason: str, compile_options: CompileOptions,
) -> Trace:  # fmt: skip
    """Trace one call: run `call` on symbols for the argument tensors, each given as (name, tensor, spec)."""
    builder = TraceBuilder(known)
    symbols = [builder.add_argument(path, x, spec) for path, x, spec in tensors]
    try:
        with builder.building(), modes.in_mode(recording=True, tracked=False, watchers=()):
            with noticing_reads():
                result = builder.call(call, symbols)
            return Trace(builder, result, name, reason, compile_options)
    finally:
        builder.closed = True
        builder.restore()
