"""Static placement: one graph, whose nodes say in which process they are computed.

    with mg.device("worker:0"): w = mg.Variable(…)
    with mg.device("worker:1"): y = x @ w
    with dist.Session(g) as session: session.run(y, {x: data})      # in every process alike

Each process keeps its part of what a run needs. Where an edge goes from one part to another, Send and Recv take its
place, once for each process that reads the value, however many of its nodes do. Abadi et al. 2016, “TensorFlow:
Large-Scale Machine Learning on Heterogeneous Distributed Systems”, §3.2.2. https://arxiv.org/abs/1603.04467

All walk through the whole graph in the same order, and each does its share of sending and receiving in that order: the
first of what is still to come, in this order, is always possible, and so nobody waits for ever.
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
from ..graph.pruning import DONE, Pruned, pruned
from ..graph.session import RunPlan
from ..graph.session import Session as Alone
from .functional import Collective
from .group import ProcessGroup, Work
from .transfer import counted
from .world import found, new_group

under_way: dict[str, list[Work]] = {}  # group → what was sent in a run that is not over


@dataclass(frozen=True)
class Send(Collective):
    """x goes to another process; what is waited for is done before.

    what    the name of the node that is sent
    tag     the number of the message in the run
    peer    the place of the other process in the group
    """

    what: str
    tag: int
    peer: int

    @property
    def label(self) -> str:
        return f"send {self.what} to worker:{self.peer}"

    def infer(self, *xs: Any) -> Any:
        return Specs(())

    def forward(self, xp: Any, x: Any, *waits: Any) -> Any:
        g, x = self.members, np.array(CPU.array(x), order="C")  # of a memory that the run uses again
        counted("send", Spec(x.shape, x.dtype))
        begun = Work(g.send(x, self.peer, self.tag), x.tobytes, g.until, lambda: self.label)
        under_way.setdefault(self.group, []).append(begun)
        return ()


@dataclass(frozen=True)
class Recv(Send):
    """y = what another process sends"""

    spec: Spec

    @property
    def label(self) -> str:
        return f"receive {self.what} from worker:{self.peer}"

    def infer(self, *waits: Any) -> Spec:
        return self.spec

    def forward(self, xp: Any, *waits: Any) -> Any:
        g, y = self.members, np.empty(self.spec.shape, self.spec.dtype)
        Work(g.recv(y, self.peer, self.tag), lambda: None, g.until, lambda: self.label).wait()
        return xp.asarray(y)


class Cut:
    """A run, cut into what each process does.

    at       node → the process that computes it; None for every process that reads it, of what is placed nowhere
    here     node → what stands for it in this process
    sent     (node, process that reads it) → the number of the message
    last     the last effect here
    """

    def __init__(self, graph: StaticGraph, run: Pruned, group: str, rank: int, size: int):
        self.graph, self.run, self.group, self.rank, self.size = graph, run, group, rank, size
        self.reads = dict(zip(run.graph.inputs, run.reads))
        self.assigned = {node.op.variable for node in graph.order if isinstance(node.op, ops.Assign)}
        self.at: dict[Node, int | None] = {}
        self.here: dict[Node, Node] = {}
        self.sent: dict[tuple[Node, int], int] = {}
        self.last: Node | None = None

    def part(self, fetched: int) -> Pruned:
        """What this process does. What is fetched comes to all of them: each has asked for it."""
        for node in dict.fromkeys((*self.run.graph.inputs, *self.run.graph.nodes)):
            if type(node.op) is not ops.ControlDep:
                self.step(node)
        ys = [y and source(y) for y in self.run.graph.outputs]
        results = [y and [self.brought(y, to) for to in range(self.size)][self.rank] for y in ys[:fetched]]
        kept: dict[str, Node] = {}
        for name, y in zip(self.run.writes, ys[fetched:]):
            assert y is not None  # what is written has a value
            new = self.brought(y, owner := self.owner(name) or 0)
            kept |= {name: new} if owner == self.rank else {}
        effects = [] if self.last is None else [Node(ops.ControlDep(), (DONE, self.last))]
        outputs = (*results, *kept.values(), *effects)
        found = {*Graph((), outputs).nodes}
        reads = {x: what for x, what in self.reads.items() if x in found}
        names = tuple(name_of(x) for x in Graph((), outputs).nodes if isinstance(x, NamedNode) and x not in reads)
        return Pruned(Graph(tuple(reads), outputs), tuple(reads.values()), tuple(kept), names)

    def step(self, node: Node) -> None:
        """The next node: what it reads is brought to where it is."""
        xs = self.operands(node)
        self.at[node] = at = self.place_of(node, [self.at[x] for x in xs])
        if at is not None and at >= self.size:
            raise GraphError(f"{node} is placed on worker:{at}, and there are {self.size} processes, from worker:0 on")
        here = [self.brought(x, self.rank if at is None else at) for x in xs]
        if at in (None, self.rank):
            self.here[node] = self.done(node, node.op, here) if node.inputs or node.op.effect else node

    def operands(self, node: Node) -> list[Node]:
        """What a node reads, and not what it only comes after, which is settled anew in each process."""
        alone = node.op.effect and not self.graph.symbols[name_of(node)].node.inputs
        return [] if alone else [source(x) for x in node.inputs]

    def place_of(self, node: Node, places: Sequence[int | None]) -> int | None:
        """Where a node was put; else where an operand is; else with the first, if there must be only one of it."""
        what = self.reads.get(node)
        if isinstance(what, str):
            return self.owner(what)
        if isinstance(node.op, ops.Const | ops.NextKey):  # keys are of one sequence, whoever draws by them
            return 0 if node.op.effect else None
        said = None if isinstance(node.op, ops.TupleGet) else node.worker
        return next((at for at in (said, *places) if at is not None), 0 if node.op.effect else None)

    def owner(self, name: str) -> int | None:
        """Where a variable is; None for a tensor from outside that nothing in the graph changes: all have it."""
        worker = self.graph.symbols[name].node.worker
        return 0 if worker is None and name in self.assigned else worker

    def brought(self, x: Node, to: int) -> Node:
        """What stands for x in a process: x, if it is made there, or what has come. In others, anything."""
        start = self.at[x]
        if start not in (None, to) and (x, to) not in self.sent:
            self.sent[x, to] = tag = len(self.sent)
            message = self.group, name_of(x), tag
            if start == self.rank:
                self.done(x, Send(*message, to), [self.here[x]], "/send")
            if to == self.rank:
                self.here[x] = self.done(x, Recv(*message, start, x.spec), [], "/receive")
        return self.here.get(x, x)

    def done(self, like: Node, op: Any, xs: Sequence[Node], suffix: str = "") -> Node:
        """The node of an op here; of one with an effect, after those before it."""
        if op.effect and self.last is not None:
            xs = [Node(ops.ControlDep(), (xs[0], self.last)), *xs[1:]] if xs else [self.last]
        node: Any = like.naming(Node(op, tuple(xs), None if suffix else like.spec), suffix)
        node.worker = self.rank if suffix else like.worker
        self.last = node if op.effect else self.last
        return node  # type: ignore[no-any-return]


def source(node: Node) -> Node:
    """The node whose value this is."""
    while type(node.op) is ops.ControlDep:
        node = node.inputs[0]
    return node


class Session(Alone):
    """A session of all processes, each of which runs its part. All make it and call run alike, and get what is fetched.

    A node runs where `with mg.device("worker:1"):` put it; another beside its operands; a variable lives on its worker,
    on the first if none is said; what is placed nowhere is computed wherever it is read. Gradients are beside their
    forward node, an optimizer's step beside the variable. What is fed is taken where its placeholder is: of one placed
    nowhere in every process, and there all feed the same. Effects keep their order in each process, not across.

    Raises DistributedError where processes run different things, GraphError for workers that there are not.
    """

    workers: ProcessGroup
    nodes = 0  # of the graph, when plans were made: one that is added may be the first to change a tensor they read

    def __init__(self, graph: StaticGraph | None = None, **options: Any):
        super().__init__(graph, **options)
        self.workers = found(new_group())

    def plan(self, nodes: tuple[Node, ...], fed: tuple[Node, ...], arrays: Sequence[Any]) -> RunPlan:
        sums = (None if x.worker is not None else crc32(a.tobytes()) for x, a in zip(fed, arrays))
        same = [(name_of(x), a.shape, total) for x, a, total in zip(fed, arrays, sums)]
        self.workers.agree(f"session.run of {', '.join(map(name_of, nodes))} fed {same}", place)
        if self.nodes != len(self.graph.order):
            self.nodes = len(self.graph.order)
            self.graph.plans.clear()
        return super().plan(nodes, fed, arrays)

    def part(self, run: Pruned, fetched: int) -> Pruned:
        cut = Cut(self.graph, run, self.workers.name, self.workers.rank, self.workers.size)
        part = cut.part(fetched)
        for x, _ in cut.sent:
            if not x.spec.is_known:
                raise GraphError(f"{name_of(x)}, {x.spec}, has a length that its reader on another worker cannot know")
        return part

    def computed(self, plan: RunPlan, arrays: Sequence[Any]) -> list[Any]:
        results = super().computed(plan, arrays)
        for work in under_way.pop(self.workers.name, []):
            work.wait()
        return results


def worker_graphs(fetches: Sequence[Any], workers: int) -> list[Graph]:
    """What each of so many processes would run to make the fetches, to be drawn: no process is needed for it."""
    graph, nodes = fetches[0].builder, [y.node for y in fetches]
    run = pruned(graph, nodes, [*graph.given])
    return [Cut(graph, run, "world", rank, workers).part(len(nodes)).graph for rank in range(workers)]
