"""Session: runs parts of a graph, and holds the values of its variables.

    session.run(fetches, feed_dict)

The fetches may be any structure of tensors, variables, ops and names; the results have that structure. Any tensor of
the graph can be fed, and then the ops that compute it do not run. The part of the graph that a run needs is extracted
once (pruning.py), compiled, and cached by fetches and feeds.

A run is atomic: the variables get their new values at its end, all together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..engine.base.device import device_of
from ..engine.base.dimension import fits, is_unknown
from ..engine.base.errors import GraphError, ShapeError
from ..engine.base.pytree import leaves, unflatten_like
from ..engine.base.spec import Spec
from ..engine.core.modes import current, in_mode
from ..engine.core.node import Node
from ..engine.tensor.inplace import write
from ..tracing.builder import Tracer
from ..tracing.tracer import session_stack
from .compiled_graph import CompileOptions
from .compiler.executable import Executable, compile_graph, unalias_outputs
from .compiler.passes.specialise import specialise_graph
from .graph import StaticGraph, get_default_graph, name_of
from .placeholder import fitting
from .pruning import PrunedGraph, prune_graph
from .variable import GraphVariable, Variable

MOST_PLANS = 512  # per graph; a full cache is cleared, so that calls with ever new shapes do not fill the memory


@dataclass(frozen=True)
class RunPlan:
    """The compiled plan of a run, cached for later runs.

    pruned     what the run reads, writes and executes
    run        the compiled function, for these shapes
    sources    for each input, its index among the feeds, or the name of a variable or a captured tensor
    fetched    how many of the results are fetched
    """

    pruned: PrunedGraph
    run: Executable
    sources: tuple[int | str, ...]
    fetched: int

    executed = property(lambda self: self.pruned.executed, doc="The names of the nodes that ran.")
    source = property(lambda self: self.run.source, doc="The text that ran.")
    c_source = property(lambda self: self.run.c_source, doc="The C++ in it, of a session with jit_compile='native'.")

    def __repr__(self) -> str:
        return f"<Run of {len(self.executed)} node{'s' * (len(self.executed) != 1)}: {', '.join(self.executed)}>"


class Session:
    """Runs a graph.

    graph       the graph; the default graph unless given
    trap_nan    run op by op, and stop at the first op that makes a NaN or an infinity from finite numbers
    jit_compile as for mg.function: True may round differently, "native" runs loops in C++, "auto" once that pays off
    last_run    the plan of the last run
    """

    workers: Any = None  # the processes that share the work: see distributed/placement.py

    def __init__(self, graph: StaticGraph | None = None, *, trap_nan: bool = False, jit_compile: bool | str = False):
        self.graph = get_default_graph() if graph is None else graph
        self.trap_nan = trap_nan
        self.compile_options = CompileOptions.from_jit_compile(jit_compile)
        self.values: dict[str, Any] = {}
        self.closed = False
        self.last_run: RunPlan | None = None
        self.lock = threading.RLock()

    # -- one run ------------------------------------------------------------------------------------

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None, **named: Any) -> Any:
        """The values of the fetches, as NumPy arrays in the same structure; None for an op without a result.

        feed_dict    {x: value}; a key may be the name of a tensor. Keyword arguments are refused
        """
        self.refuse_closed()
        if named or not isinstance(feed_dict, Mapping | None):
            got = f"{', '.join(named)}=…" if named else type(feed_dict).__name__
            raise GraphError(f"feed as {{x: value}}, one dictionary after what is fetched: session.run() got {got}")
        single = isinstance(fetches, Tracer)
        nodes = (self.node(fetches),) if single else tuple(self.node(f) for f in leaves(fetches))
        fed, arrays = self.feeds(feed_dict) if feed_dict else ((), ())
        plan = self.plan(nodes, fed, arrays)
        if current.mode.builder is None:
            results = self.run_exclusively(plan, arrays)
        else:
            with in_mode(builder=None):
                results = self.run_exclusively(plan, arrays)
        self.last_run = plan
        return results[0] if single else unflatten_like(fetches, iter(results))

    def node(self, fetch: Any) -> Node:
        """The node of a fetch, or of the key of a feed. Raises GraphError if it is not in this graph."""
        if isinstance(fetch, str):
            return self.graph.get_tensor_by_name(fetch).node
        if not isinstance(fetch, Tracer):
            way_out = ": make it inside `with graph.as_default():`" if isinstance(fetch, Variable) else ""
            raise GraphError(
                f"a session runs tensors and ops of its graph, given as such or by name, and got {fetch!r}{way_out}"
            )
        if fetch.builder is not self.graph:
            raise GraphError(
                f"{fetch}, built at {fetch.node.place}, is of another graph than the one that this session runs: "  # type: ignore[attr-defined]
                "build it inside `with graph.as_default():`"
            )
        return self.graph.current(fetch).node

    def feeds(self, feed_dict: Mapping[Any, Any]) -> tuple[tuple[Node, ...], list[Any]]:
        """The fed nodes, and an array for each."""
        nodes = tuple(map(self.node, feed_dict))
        return nodes, [fed_to(node, x) for x, node in zip(feed_dict.values(), nodes)]

    def plan(self, nodes: tuple[Node, ...], fed: tuple[Node, ...], arrays: Sequence[Any]) -> RunPlan:
        """The plan for these fetches and feeds of these shapes, from the cache or made now."""
        plans = self.graph.plans
        key = nodes, fed, tuple([a.shape for a in arrays]), len(self.graph.probes), self.compile_options, self.workers
        found: RunPlan | None = plans.get(key)
        if found is None:
            if len(plans) >= MOST_PLANS:
                plans.clear()
            found = plans[key] = build_plan(self.graph, nodes, fed, arrays, self.compile_options, self.part)
        return found

    def part(self, run: PrunedGraph, fetched: int) -> PrunedGraph:
        """The part of a run that this process executes: all of it. A distributed session overrides this."""
        return run

    def run_exclusively(self, plan: RunPlan, arrays: Sequence[Any]) -> list[Any]:
        """Execute the plan, under a lock if it writes variables: two threads that each add 1 must add 2."""
        if not plan.pruned.writes:
            return self.run_plan(plan, arrays)
        with self.lock:
            return self.run_plan(plan, arrays)

    def run_plan(self, plan: RunPlan, arrays: Sequence[Any]) -> list[Any]:
        """Read the inputs, compute, write the variables, and return the fetches."""
        given = self.feed(plan, arrays)
        ys = plan.run.run_trapping_nan(*given) if self.trap_nan else plan.run(*given)
        for name, value in zip(plan.pruned.writes, ys[plan.fetched :]):
            self.write(name, value)
        for watcher in current.mode.watchers:
            if hasattr(watcher, "session_ran"):
                watcher.session_ran(self, plan, given, ys)
        return [None if y is None else handed_out(y) for y in ys[: plan.fetched]]

    def feed(self, plan: RunPlan, arrays: Sequence[Any]) -> list[Any]:
        """An array for each input."""
        return [arrays[source] if isinstance(source, int) else self.read_state(source) for source in plan.sources]

    def read_state(self, name: str) -> Any:
        """The value of a variable or a captured tensor. Raises GraphError if a variable has no value yet."""
        if name in self.values:
            return self.values[name]
        state = self.graph.states[name]
        if isinstance(state, GraphVariable):
            raise GraphError(
                f"the variable {name}, {state.spec}, has no value in this session yet: run its initializer, "
                "or session.run(mg.graph.global_variables_initializer()), before"
            )
        return state.value

    def write(self, name: str, value: Any) -> None:
        """Set the value of a variable or a captured tensor."""
        state = self.graph.states[name]
        if isinstance(state, GraphVariable):
            self.values[name] = value
        else:
            write(state, value)

    # -- other methods ------------------------------------------------------------------------------

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> SessionCallable:
        """A function of the feeds, in this order, that runs these fetches, as in TensorFlow. mg.save accepts it."""
        for each in (*leaves(fetches), *feed_list):
            self.node(each)
        return SessionCallable(self, fetches, tuple(feed_list))

    def load(self, variable: GraphVariable, value: Any) -> None:
        """Give a variable a value without running anything."""
        self.refuse_closed()
        node = self.node(variable)
        self.values[name_of(node)] = fed_to(node, value).copy()

    def close(self) -> None:
        """Free the values of all variables. A closed session cannot run."""
        self.values, self.closed = {}, True

    def refuse_closed(self) -> None:
        """Raises GraphError if the session is closed."""
        if self.closed:
            raise GraphError("the session is closed: its variables are gone. Open another with mg.Session(graph)")

    def __enter__(self) -> Self:
        session_stack.sessions.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        session_stack.sessions.remove(self)
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self.values)} variables have values"
        return f"<Session of {self.graph!r}: {state}>"


@dataclass(frozen=True)
class SessionCallable:
    """The result of `Session.make_callable`. Raises TypeError unless it is called with one value for each feed."""

    session: Session
    fetches: Any
    feed_list: tuple[Any, ...]

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.feed_list):
            names = ", ".join(map(str, self.feed_list))
            raise TypeError(f"this run is fed ({names}), and was called with {len(values)} values")
        return self.session.run(self.fetches, dict(zip(self.feed_list, values)))


def build_plan(
    graph: StaticGraph, nodes: tuple[Node, ...], fed: tuple[Node, ...], arrays: Sequence[Any],
    compile_options: CompileOptions, part_of: Callable[[PrunedGraph, int], PrunedGraph],
) -> RunPlan:  # fmt: skip
    """Make the plan of a run: prune the graph, fill in the lengths, compile."""
    whole = prune_graph(graph, nodes, fed)
    place = {node: i for i, node in enumerate(fed)}
    shapes: dict[Any, Any] = {node: a.shape for node, a in zip(fed, arrays)}
    specs = [x.spec.with_shape(shapes.get(y, x.spec.shape)) for x, y in zip(whole.graph.inputs, whole.reads)]
    told = {str(n): real for node in fed for n, real in zip(node.spec.shape, shapes[node]) if is_unknown(n)}
    part = part_of(replace(whole, graph=specialise_graph(whole.graph, specs, told)), len(nodes))
    sources = tuple(place[what] if isinstance(what, Node) else what for what in part.reads)
    return RunPlan(part, compile_graph(part.graph, *compile_options, finish=unalias_outputs), sources, len(nodes))


def fed_to(node: Node, data: Any) -> Any:
    """The fed data as an array for the node. Raises ShapeError or DTypeError if it does not fit."""
    spec: Spec = node.spec
    array = fitting(data, spec, name_of(node))
    if not fits(array.shape, spec.shape):
        hint = "; a placeholder made without a shape is one number" if not spec.shape else ""
        raise ShapeError(f"{name_of(node)} is {spec}, and was fed an array of shape {array.shape}{hint}")
    return array


def handed_out(y: Any) -> Any:
    """A result as the user gets it: a NumPy array, or a NumPy scalar if it has no axes."""
    y = y if isinstance(y, np.ndarray) else device_of(y).read(y)
    return y if y.shape else y[()]
