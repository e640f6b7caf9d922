"""A session's run as a saved function: its feeds become arguments, and the values of variables are saved with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.base.pytree import leaves, unflatten_like
from ...engine.base.spec import Spec
from ...engine.core.graph import Graph
from ...engine.core.node import Node
from ...engine.ops import Input
from ...engine.tensor.tensor import Tensor
from ...graph.graph import name_of
from ...graph.pruning import PrunedGraph, prune_graph
from ...graph.session import Session, SessionCallable
from ...graph.variable import GraphVariable
from .functions import ResultPart, SavedFunction, SavedGraph


def of_session(run: SessionCallable) -> SavedFunction:
    """The SavedFunction of a session's run."""
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
