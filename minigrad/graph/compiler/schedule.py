"""Run a graph on several workers: nodes that do not depend on each other can run at the same time.

The critical path is the chain of nodes that takes longest; no number of workers beats it. A list schedule gives each
free worker the ready node with the longest remaining path (Graham 1969, “Bounds on multiprocessing timing
anomalies”: at most twice as long as the best schedule). Durations are estimated from flops and bytes.

Results do not depend on the schedule: a node computes the same value from the same operands, whenever it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from ...engine.base.threads import can_start, pool
from ...engine.core.graph import Graph
from ...engine.core.interpret import interpret, value
from ...engine.core.node import Node
from .passes.liveness import known_bytes, users_of
from .passes.remat import cost

FLOPS = 4e10  # floating-point operations per second, of one core in a matrix product
BANDWIDTH = 2e10  # bytes per second, of NumPy's elementwise loops
OVERHEAD = 1e-6  # seconds per op
HANDOVER = 2e-5  # seconds until another worker knows that a result is ready

Seconds = Callable[[Node], float]


def estimate(node: Node) -> float:
    """Estimated seconds of a node: a fixed overhead, plus arithmetic or memory traffic, whichever takes longer."""
    if not node.inputs or node.op.is_view:
        return 0.0
    moved = sum(known_bytes(x.spec) for x in (node, *node.inputs))
    return OVERHEAD + max(cost(node) / FLOPS, moved / BANDWIDTH)


def runs(node: Node) -> bool:
    """Whether running the node does any work; inputs and constants do none."""
    return bool(node.inputs) or node.op.effect


def waits_for(graph: Graph) -> dict[Node, tuple[Node, ...]]:
    """Node → the nodes it waits for: its operands and, if it has an effect, the previous node with an effect."""
    before: dict[Node, tuple[Node, ...]] = {}
    latest: tuple[Node, ...] = ()
    for node in graph.nodes:
        before[node] = tuple(dict.fromkeys(node.inputs + (latest if node.op.effect else ())))
        latest = (node,) if node.op.effect else latest
    return before


def ways_left(graph: Graph, seconds: Seconds = estimate) -> dict[Node, float]:
    """Node → seconds of the longest chain of nodes that starts at this node."""
    before, left = waits_for(graph), dict.fromkeys(graph.nodes, 0.0)
    for node in reversed(graph.nodes):
        left[node] += seconds(node)
        for x in before[node]:
            left[x] = max(left[x], left[node])
    return left


def critical_path(graph: Graph, seconds: Seconds = estimate) -> list[Node]:
    """The chain of nodes that takes longest, first to last."""
    left, before = ways_left(graph, seconds), waits_for(graph)
    users = users_of(before)
    path: list[Node] = []
    reachable = [node for node in graph.nodes if not before[node]]
    while reachable:
        path.append(max(reachable, key=left.__getitem__))
        reachable = users[path[-1]]
    return [node for node in path if runs(node)]


@dataclass(frozen=True)
class ScheduledNode:
    """A node in a schedule: its worker, and its start and end in estimated seconds."""

    node: Node
    worker: int
    start: float
    end: float


@dataclass(frozen=True)
class NodeSchedule:
    """Which worker runs which node, and when.

    slots      the scheduled nodes, operands first
    seconds    duration with these workers
    alone      duration with one worker
    path       duration of the critical path
    """

    graph: Graph
    workers: int
    slots: tuple[ScheduledNode, ...]
    path: float

    seconds = property(lambda self: max((slot.end for slot in self.slots), default=0.0))
    alone = property(lambda self: sum(slot.end - slot.start for slot in self.slots))

    def __repr__(self) -> str:
        width, whole = 60, self.seconds or 1.0
        lines = []
        for worker in range(self.workers):
            line = ["·"] * width
            for slot in (s for s in self.slots if s.worker == worker):
                first, last = (int(t / whole * (width - 1)) for t in (slot.start, slot.end))
                line[first : last + 1] = slot.node.op.label[0] * (last + 1 - first)
            lines.append(f"{worker}  {''.join(line)}")
        times = f"{1e3 * self.seconds:.3f} ms; alone {1e3 * self.alone:.3f}, critical path {1e3 * self.path:.3f}"
        return "\n".join([*lines, times])


def schedule(graph: Graph, workers: int = 2, seconds: Seconds = estimate) -> NodeSchedule:
    """The list schedule: the ready node with the longest remaining path goes to the worker that can start it first."""
    before, left = waits_for(graph), ways_left(graph, seconds)
    place = {node: i for i, node in enumerate(graph.nodes)}
    users, missing = users_of(before), {node: len(xs) for node, xs in before.items()}
    free, done = [0.0] + [HANDOVER] * (workers - 1), dict[Node, ScheduledNode]()  # other workers start later
    ready = [(-left[node], place[node], node) for node in graph.nodes if not missing[node]]
    heapify(ready)
    slots: list[ScheduledNode] = []
    while ready:
        node = heappop(ready)[2]
        if runs(node):
            begins = [beginning(before[node], worker, free[worker], done) for worker in range(workers)]
            worker = min(range(workers), key=begins.__getitem__)
            done[node] = slot = ScheduledNode(node, worker, begins[worker], begins[worker] + seconds(node))
            free[worker] = slot.end
            slots.append(slot)
        for user in users[node]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (-left[user], place[user], user))
    return NodeSchedule(graph, workers, tuple(slots), max(left.values(), default=0.0))


def beginning(operands: Sequence[Node], worker: int, free: float, done: dict[Node, ScheduledNode]) -> float:
    """When a worker can start a node: once free, with all operands. Operands of other workers arrive HANDOVER later."""
    came = (done[x].end + (HANDOVER if done[x].worker != worker else 0.0) for x in operands if x in done)
    return max(free, *came, 0.0)


class Workers:
    """A graph as a function of arrays, run by several threads according to a schedule.

    A worker runs its nodes in order, and waits for operands that another worker has not finished. An error in one
    worker stops all of them, and is raised. If the workers are busy with another call, or no thread can be started, the
    call runs in the caller's thread, with equal results.
    """

    def __init__(self, graph: Graph, workers: int = 2, seconds: Seconds = estimate):
        self.schedule = schedule(graph, workers, seconds)
        self.threads = pool(max(workers - 1, 1), "minigrad")
        self.at_work = threading.Lock()
        self.alone = not can_start()
        before = waits_for(graph)
        worker_of = {slot.node: slot.worker for slot in self.schedule.slots}
        self.constants = [n for n in graph.nodes if hasattr(n.op, "value") and not n.inputs]
        self.parts = [[slot.node for slot in self.schedule.slots if slot.worker == i] for i in range(workers)]
        self.foreign = {
            node: [x for x in before[node] if worker_of.get(x, mine) != mine] for node, mine in worker_of.items()
        }
        self.shared = {x for xs in self.foreign.values() for x in xs}

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The outputs for these inputs, equal to those of `interpret` to the last bit."""
        if self.alone or not self.at_work.acquire(blocking=False):
            return interpret(self.schedule.graph, *arrays)
        try:
            return self.run(*arrays)
        finally:
            self.at_work.release()

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Run every worker's nodes: the first worker is the caller's thread, the others are threads of the pool."""
        graph = self.schedule.graph
        run = WorkerRun(dict(zip(graph.inputs, arrays, strict=True)), {x: threading.Event() for x in self.shared})
        run.values |= {constant: value(constant) for constant in self.constants}
        first, *others = self.parts
        # numpy.errstate and our modes are context variables: each worker gets a copy of the caller's context.
        waiting = [self.threads.submit(copy_context().run, self.work, part, run) for part in others]
        self.work(first, run)
        for other in waiting:
            other.result()
        if run.error is not None:
            raise run.error
        return tuple(None if y is None else run.values[y] for y in graph.outputs)

    def work(self, part: Sequence[Node], run: WorkerRun) -> None:
        """Run one worker's nodes."""
        try:
            for node in part:
                for x in self.foreign[node]:
                    run.there[x].wait()
                if run.error is not None:
                    return
                run.values[node] = value(node, *(run.values[x] for x in node.inputs))
                if node in run.there:
                    run.there[node].set()
        except BaseException as error:  # run(), in the caller's thread, raises it
            run.error = run.error or error
            for event in run.there.values():
                event.set()


@dataclass
class WorkerRun:
    """One call of several workers: the values so far, and an event for each value that another worker reads."""

    values: dict[Node, Any]
    there: dict[Node, threading.Event]
    error: BaseException | None = None
