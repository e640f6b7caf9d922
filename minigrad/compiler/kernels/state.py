"""The buffers of one call at a time, and what was recorded on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...node import Node
from ...spec import Specs
from .kernel import Kernel

if TYPE_CHECKING:
    from .replay import Replay

Place = tuple[int, tuple[int, ...]]


class State:
    """Runs a program: first plainly, then recording, then replaying.

    before      where the arrays of the last call were
    bound       input → the array whose address was recorded, which is kept alive so that the address is its own
    moving      input → the buffer it is copied into at each call
    recorded    what to do, one after another
    pool        where the recordings allocated: theirs as long as they can be replayed
    """

    def __init__(self, program: Replay):
        self.program, self.machine, self.plan = program, program.machine, program.plan
        self.memory = self.machine.xp.empty(max(self.plan.size, 1), "u1")
        self.values: dict[Node, Any] = {}
        self.left: dict[Kernel, list[Any]] = {}
        self.before: list[Place] = []
        self.bound: dict[int, Any] = {}
        self.moving: dict[int, Any] = {}
        self.recorded: list[Callable[[], None]] = []
        self.pool: Any = None

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        now = [self.place(a) for a in arrays]
        if not self.before and arrays:
            self.plainly(arrays)
        elif not self.recorded or any(now[i] != self.place(x) for i, x in self.bound.items()):
            self.record(arrays, now)
        else:
            self.fill(arrays)
            for part in self.recorded:
                part()
        self.before = now
        ys = self.results(arrays)
        if not self.recorded:
            self.values = {}
        return ys

    def place(self, array: Any) -> Place:
        """Where an array lies, and how."""
        return self.machine.address(array), array.strides

    # -- running -------------------------------------------------------------------------------------

    def plainly(self, arrays: tuple[Any, ...]) -> None:
        """Every node once, on the arrays themselves."""
        self.values = dict(zip(self.program.graph.inputs, arrays))
        for _, nodes in self.program.parts:
            for node in nodes:
                self.run(node)
                for x in self.program.last_read.get(node, ()):
                    del self.values[x]

    def run(self, node: Node) -> None:
        """One node, on the arrays of the others."""
        steps, plan = self.program.steps, self.plan
        route = self.program.writers.get(node)
        if route is None:
            self.values[node] = steps.call(node, self.values)
            return
        specs = node.spec if isinstance(node.spec, Specs) else (node.spec,)
        results = plan.results.get(node, {})
        outs = [
            self.buffer(results[i]) if i in results else self.machine.xp.empty(spec.shape, spec.dtype)
            for i, spec in enumerate(specs)
        ]
        if route == "kernel":
            steps.kernel(node, self.values, outs, plan.over[node], self.left)
        else:
            steps.product(node, self.values, outs[0])
        self.values[node] = tuple(outs) if isinstance(node.spec, Specs) else outs[0]

    def buffer(self, y: Node) -> Any:
        """Where a result is written."""
        if y in self.plan.adopted:
            return self.values[self.plan.adopted[y]]
        start = self.plan.buffers[y].offset
        assert start is not None, "the plan gives a place to everything that is written"
        return self.memory[start : start + y.spec.nbytes].view(y.spec.dtype).reshape(y.spec.shape)

    def results(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is returned. Copies first: some may look at inputs that are then written over."""
        graph, into, adopted = self.program.graph, self.program.into, self.plan.adopted
        given: list[Any] = []
        for i, y in enumerate(graph.outputs):
            copied = y is not None and (i not in into or not self.plan.home[y].inputs)
            given.append(None if y is None else self.values[y].copy() if copied else self.values[y])
        for i, x in into.items():
            y = graph.outputs[i]
            if y is not None and adopted.get(y) is not graph.inputs[x]:
                arrays[x][...] = given[i]
            given[i] = arrays[x]
        return tuple(given)

    # -- recording -----------------------------------------------------------------------------------

    def fill(self, arrays: tuple[Any, ...]) -> None:
        """What is not bound, copied to where it was recorded."""
        for i, buffer in self.moving.items():
            buffer[...] = arrays[i]

    def record(self, arrays: tuple[Any, ...], now: list[Place]) -> None:
        """Records every part, and runs it."""
        inputs, targets = self.program.graph.inputs, self.program.into.values()
        for i, x in enumerate(inputs):
            if i in targets or (now[i] == self.before[i] and i not in self.moving):
                self.bound[i] = arrays[i]
            elif i not in self.moving:
                self.bound.pop(i, None)
                self.moving[i] = self.machine.xp.empty(x.spec.shape, x.spec.dtype)
        self.fill(arrays)
        self.values = {x: (self.bound | self.moving)[i] for i, x in enumerate(inputs)}
        self.recorded = []
        self.pool = self.machine.pool()
        for recordable, nodes in self.program.parts:
            part = self.part(nodes) if recordable else self.stretch(nodes)
            part()
            self.recorded.append(part)

    def part(self, nodes: list[Node]) -> Callable[[], None]:
        """Nodes that are replayed; what they doubt (device.refuse) is put to the device again each time."""
        device = self.program.device
        known = dict(device.doubts)
        device.doubts.clear()

        def all_of_them() -> None:
            for node in nodes:
                self.run(node)
                for x in self.program.last_read.get(node, ()):
                    if x not in self.program.awaited:
                        self.values.pop(x, None)  # its memory is the pool's again, for the next node to take

        try:
            launch = self.machine.record(all_of_them, self.pool)
            doubts = list(device.doubts.values())
        finally:
            device.doubts.clear()
            device.doubts.update(known)

        def replayed() -> None:
            launch()
            for error, wrong in doubts:
                device.refuse(wrong, error)

        return replayed

    def stretch(self, nodes: list[Node]) -> Callable[[], None]:
        """Nodes that run each time anew; what they make is copied to where the parts that follow read it."""
        kept: dict[Node, Any] = {}

        def run() -> None:
            for node in nodes:
                self.run(node)
                made = self.values[node]
                if isinstance(node.spec, Specs):
                    continue  # its pieces are copied
                if node in kept:
                    kept[node][...] = made
                else:
                    kept[node] = made.copy()
                self.values[node] = kept[node]

        return run
