"""Static placement: one graph, whose nodes are assigned to processes.

    with mg.device("worker:0"): w = mg.Variable(…)
    with mg.device("worker:1"): y = x @ w
    with dist.Session(g) as session: session.run(y, {x: data})      # the same in every process

Each process keeps its part of the graph of a run. A Send and a Recv replace an edge between two parts: one pair for
each process that reads the value, however many of its nodes read it. Abadi et al. 2016, “TensorFlow: Large-Scale
Machine Learning on Heterogeneous Distributed Systems”, §3.2.2. https://arxiv.org/abs/1603.04467

All processes walk the whole graph in the same order, and each sends and receives its messages in that order. The first
pending message in this order can always proceed, so there is no deadlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from ..engine import ops
from ..engine.base.device import CPU
from ..engine.base.errors import GraphError
from ..engine.base.spec import Spec, Specs
from ..engine.core.graph import Graph
from ..engine.core.node import NamedNode, Node, place
from ..graph.graph import StaticGraph, name_of
from ..graph.pruning import DONE, PrunedGraph, prune_graph
from ..graph.session import RunPlan
from ..graph.session import Session as Alone
from .collectives import count_call, new_group, resolve_group
from .functional import Collective
from .group import ProcessGroup, Work

under_way: dict[str, list[Work]] = {}  # group → its sends in the current run


@dataclass(frozen=True)
class Send(Collective):
    """Send x to another process, after the nodes that it depends on.

    what    name of the node that is sent
    tag     number of the message in the run
    peer    index of the other process in the group
    """

    what: str
    tag: int
    peer: int

    label = property(lambda self: f"send {self.what} to worker:{self.peer}")

    def infer(self, *xs: Any) -> Any:
        return Specs(())

    def forward(self, xp: Any, x: Any, *waits: Any) -> Any:
        g, x = self.members, np.array(CPU.array(x), order="C")  # a copy: the run reuses x's memory
        count_call("send", Spec(x.shape, x.dtype))
        begun = Work(g.send(x, self.peer, self.tag), x.tobytes, g.until, lambda: self.label)
        under_way.setdefault(self.group, []).append(begun)
        return ()


@dataclass(frozen=True)
class Recv(Send):
    """y = the value that another process sends"""

    spec: Spec

    label = property(lambda self: f"receive {self.what} from worker:{self.peer}")

    def infer(self, *waits: Any) -> Spec:
        return self.spec

    def forward(self, xp: Any, *waits: Any) -> Any:
        g, y = self.members, np.empty(self.spec.shape, self.spec.dtype)
        Work(g.recv(y, self.peer, self.tag), lambda: None, g.until, lambda: self.label).wait()
        return xp.asarray(y)


class ProcessPart:
    """One process's part of a run.

    at       node → the process that computes it; None for a node without a place, which each reader computes
    here     node → its counterpart in this process
    sent     (node, process that reads it) → number of the message
    last     the last effect in this process
    """

    def __init__(self, graph: StaticGraph, run: PrunedGraph, group: str, rank: int, size: int):
        self.graph, self.run, self.group, self.rank, self.size = graph, run, group, rank, size
        self.reads = dict(zip(run.graph.inputs, run.reads))
        self.assigned = {node.op.variable for node in graph.order if isinstance(node.op, ops.Assign)}
        self.at: dict[Node, int | None] = {}
        self.here: dict[Node, Node] = {}
        self.sent: dict[tuple[Node, int], int] = {}
        self.last: Node | None = None

    def part(self, fetched: int) -> PrunedGraph:
        """The part of this process. All processes get the fetched values."""
        for node in dict.fromkeys((*self.run.graph.inputs, *self.run.graph.nodes)):
            if type(node.op) is not ops.ControlDep:
                self.step(node)
        ys = [y and source(y) for y in self.run.graph.outputs]
        results = [y and [self.route_value(y, to) for to in range(self.size)][self.rank] for y in ys[:fetched]]
        kept: dict[str, Node] = {}
        for name, y in zip(self.run.writes, ys[fetched:]):
            assert y is not None  # a write has a value
            new = self.route_value(y, owner := self.owner(name) or 0)
            kept |= {name: new} if owner == self.rank else {}
        effects = [] if self.last is None else [Node(ops.ControlDep(), (DONE, self.last))]
        outputs = (*results, *kept.values(), *effects)
        found = {*Graph((), outputs).nodes}
        reads = {x: what for x, what in self.reads.items() if x in found}
        names = tuple(name_of(x) for x in Graph((), outputs).nodes if isinstance(x, NamedNode) and x not in reads)
        return PrunedGraph(Graph(tuple(reads), outputs), tuple(reads.values()), tuple(kept), names)

    def step(self, node: Node) -> None:
        """Place the next node, and route its operands to the process that computes it."""
        xs = self.operands(node)
        self.at[node] = at = self.place_of(node, [self.at[x] for x in xs])
        if at is not None and at >= self.size:
            raise GraphError(f"{node} is placed on worker:{at}, and there are {self.size} processes, from worker:0 on")
        here = [self.route_value(x, self.rank if at is None else at) for x in xs]
        if at in (None, self.rank):
            self.here[node] = self.add_node(node, node.op, here) if node.inputs or node.op.effect else node

    def operands(self, node: Node) -> list[Node]:
        """The operands of a node. Control dependencies are left out: each process orders its effects itself."""
        alone = node.op.effect and not self.graph.symbols[name_of(node)].node.inputs
        return [] if alone else [source(x) for x in node.inputs]

    def place_of(self, node: Node, places: Sequence[int | None]) -> int | None:
        """The node's assigned process; else that of an operand; else the first one for an effect, None for others."""
        what = self.reads.get(node)
        if isinstance(what, str):
            return self.owner(what)
        if isinstance(node.op, ops.Const | ops.NextKey):  # one process draws all keys, from one sequence
            return 0 if node.op.effect else None
        said = None if isinstance(node.op, ops.TupleGet) else node.worker
        return next((at for at in (said, *places) if at is not None), 0 if node.op.effect else None)

    def owner(self, name: str) -> int | None:
        """The process of a variable; None for a captured tensor that the graph does not change, as all have it."""
        worker = self.graph.symbols[name].node.worker
        return 0 if worker is None and name in self.assigned else worker

    def route_value(self, x: Node, to: int) -> Node:
        """Make x available in process `to`, by a message if needed; returns its counterpart in this process."""
        start = self.at[x]
        if start not in (None, to) and (x, to) not in self.sent:
            self.sent[x, to] = tag = len(self.sent)
            message = self.group, name_of(x), tag
            if start == self.rank:
                self.add_node(x, Send(*message, to), [self.here[x]], "/send")
            if to == self.rank:
                self.here[x] = self.add_node(x, Recv(*message, start, x.spec), [], "/receive")
        return self.here.get(x, x)

    def add_node(self, like: Node, op: Any, xs: Sequence[Node], suffix: str = "") -> Node:
        """Add a node to this part; an effect follows the effects before it."""
        if op.effect and self.last is not None:
            xs = [Node(ops.ControlDep(), (xs[0], self.last)), *xs[1:]] if xs else [self.last]
        node: Any = like.naming(Node(op, tuple(xs), None if suffix else like.spec), suffix)
        node.worker = self.rank if suffix else like.worker
        self.last = node if op.effect else self.last
        return node  # type: ignore[no-any-return]


def source(node: Node) -> Node:
    """The node that computes this value, behind control dependencies."""
    while type(node.op) is ops.ControlDep:
        node = node.inputs[0]
    return node


class Session(Alone):
    """A session in which each process runs its part. All create it, make the same run calls and get the fetches.

    `with mg.device("worker:1"):` places nodes; the others run where their operands are. A variable is on its worker,
    by default the first. A node without any place is computed in each process that reads it. Gradients run with their
    forward node, an optimizer's step with the variable. A feed is read where its placeholder is; for a placeholder
    without a place, all processes feed the same. Effects keep their order within a process, not between processes.

    Raises DistributedError if processes make different runs, GraphError for an unknown worker.
    """

    workers: ProcessGroup
    nodes = 0  # in the graph when plans were made; a new node may be the first to change a tensor that a plan reads

    def __init__(self, graph: StaticGraph | None = None, **options: Any):
        super().__init__(graph, **options)
        self.workers = resolve_group(new_group())

    def plan(self, nodes: tuple[Node, ...], fed: tuple[Node, ...], arrays: Sequence[Any]) -> RunPlan:
        sums = (None if x.worker is not None else crc32(a.tobytes()) for x, a in zip(fed, arrays))
        same = [(name_of(x), a.shape, total) for x, a, total in zip(fed, arrays, sums)]
        self.workers.agree(f"session.run of {', '.join(map(name_of, nodes))} fed {same}", place)
        if self.nodes != len(self.graph.order):
            self.nodes = len(self.graph.order)
            self.graph.plans.clear()
        return super().plan(nodes, fed, arrays)

    def part(self, run: PrunedGraph, fetched: int) -> PrunedGraph:
        cut = ProcessPart(self.graph, run, self.workers.name, self.workers.rank, self.workers.size)
        part = cut.part(fetched)
        for x, _ in cut.sent:
            if not x.spec.is_known:
                raise GraphError(f"{name_of(x)}, {x.spec}, has a length that its reader on another worker cannot know")
        return part

    def run_plan(self, plan: RunPlan, arrays: Sequence[Any]) -> list[Any]:
        results = super().run_plan(plan, arrays)
        for work in under_way.pop(self.workers.name, []):
            work.wait()
        return results


def worker_graphs(fetches: Sequence[Any], workers: int) -> list[Graph]:
    """The graph that each of the processes would run to compute the fetches, for drawing. Starts no process."""
    graph, nodes = fetches[0].builder, [y.node for y in fetches]
    run = prune_graph(graph, nodes, [*graph.given])
    return [ProcessPart(graph, run, "world", rank, workers).part(len(nodes)).graph for rank in range(workers)]
