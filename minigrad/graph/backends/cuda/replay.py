"""A graph on a GPU: run once, recorded once, and replayed.

The first call runs node by node, so that every kernel is compiled and every library has started:

    kernel     fused groups, and every elementwise op that C can say; written into its buffer
    product    MatMul and Affine, by cuBLAS; written into its buffer
    call       everything else, by op.forward(xp, …), in memory of its own

The second call is recorded as it runs: its launches become one CUDA graph, which from then on starts with a single
call, whatever its length. What cannot be recorded (an effect, a factorisation, a sort, a branch, what is on the CPU)
splits it: parts are replayed, and what is between them is run.

    copy in what moved  ·  replay  ·  run  ·  replay  ·  copy out the results

An input that comes twice at the same address, as parameters do, is bound: the recording reads it where it is. Others
are copied into buffers of their own. Nothing here waits for the GPU.

It has run on the simulated device, which obeys the same rules, and with kernels executed on the CPU; not on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from ....engine import ops
from ....engine.base.device import Device
from ....engine.base.dimension import fits
from ....engine.base.errors import ShapeError
from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import array_function, is_constant, value
from ....engine.core.node import Node
from ....engine.core.op import Elementwise
from ....engine.ops import Affine, ControlDep, MatMul, Move, RandomChoice, RandomPermutation, StopGradient, TupleGet
from ...compiler.executable import device_of
from ...compiler.passes.fuse import Fused, alone
from ...compiler.passes.liveness import Ordered
from ...compiler.program.buffer import Buffer
from ..c import NotWritten
from .arena import Arena
from .kernel import Kernel
from .kernel import kernel as kernel_of
from .machine import Machine, Run, machine_of, multiply

Place = tuple[int, tuple[int, ...]]


class ReplayState:
    """Runs a program: first plainly, then recording, then replaying.

    before      where the arrays of the last call were; None before the first
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
        self.before: list[Place | None] | None = None
        self.bound: dict[int, Any] = {}
        self.moving: dict[int, Any] = {}
        self.recorded: list[Callable[[], None]] = []
        self.pool: Any = None

    def __call__(self, arrays: tuple[Any, ...], step: Callable[..., None]) -> tuple[Any, ...]:
        now = [self.place(arrays[i]) if i in self.program.here else None for i in range(len(arrays))]
        if self.before is None:
            self.plainly(arrays, step)
        elif not self.recorded or any(now[i] != self.place(x) for i, x in self.bound.items()):
            self.record(arrays, now, self.before)
        else:
            self.fill(arrays)
            for part, (_, nodes) in zip(self.recorded, self.program.parts):
                step(nodes, part)
        self.before = now
        ys = self.results(arrays)
        if not self.recorded:
            self.values = {}
        return ys

    def place(self, array: Any) -> Place:
        """Where an array lies, and how."""
        return self.machine.address(array), array.strides

    # -- running -------------------------------------------------------------------------------------

    def plainly(self, arrays: tuple[Any, ...], step: Callable[..., None]) -> None:
        """Every node once, on the arrays themselves."""
        self.values = self.program.constants | dict(zip(self.program.graph.inputs, arrays))
        for _, nodes in self.program.parts:
            for node in nodes:
                step((node,), self.run, node)
                for x in self.plan.done.get(node, ()):
                    del self.values[x]

    def run(self, node: Node) -> None:
        """One node, on the arrays of the others."""
        steps, plan = self.program.steps, self.plan
        route = self.program.writers.get(node)
        if route is None:
            self.values[node] = steps.call(node, self.values)
            return
        outs = [self.array(y) for y in plan.of(node)]
        if route == "kernel":
            steps.kernel(node, self.values, outs, plan.over[node], self.left)
        else:
            steps.product(node, self.values, outs[0])
        self.values[node] = tuple(outs) if isinstance(node.spec, Specs) else outs[0]

    def array(self, y: Buffer) -> Any:
        """Where a result is written."""
        own = self.plan.adopted(y)
        if own is not None:
            return self.values[own]
        start = self.plan.memory[y].offset
        assert start is not None, "the plan gives a place to everything that is written"
        return self.memory[start : start + y.nbytes].view(y.shell.dtype).reshape(y.shell.shape)

    def results(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is returned. Copies first: some may look at inputs that are then written over."""
        graph, into = self.program.graph, self.program.into
        given: list[Any] = []
        for i, y in enumerate(graph.outputs):
            copied = y is not None and (i not in into or any(r in self.plan.inputs for r in self.plan.of(y)[0].roots))
            given.append(None if y is None else self.values[y].copy() if copied else self.values[y])
        for i, x in into.items():
            y = graph.outputs[i]
            if y is not None and self.plan.adopted(self.plan.of(y)[0]) is not graph.inputs[x]:
                arrays[x][...] = given[i]
            given[i] = arrays[x]
        return tuple(given)

    # -- recording -----------------------------------------------------------------------------------

    def fill(self, arrays: tuple[Any, ...]) -> None:
        """What is not bound, copied to where it was recorded; what is on another device, which no recording reads."""
        for i, x in enumerate(self.program.graph.inputs):
            if i in self.moving:
                self.moving[i][...] = arrays[i]
            elif i not in self.bound:
                self.values[x] = arrays[i]

    def record(self, arrays: tuple[Any, ...], now: list[Place | None], before: list[Place | None]) -> None:
        """Records every part, and runs it."""
        inputs, targets = self.program.graph.inputs, self.program.into.values()
        for i in self.program.here:
            if i in targets or (now[i] == before[i] and i not in self.moving):
                self.bound[i] = arrays[i]
            elif i not in self.moving:
                self.bound.pop(i, None)
                self.moving[i] = self.machine.xp.empty(inputs[i].spec.shape, inputs[i].spec.dtype)
        self.values = self.program.constants | {inputs[i]: a for i, a in (self.bound | self.moving).items()}
        self.fill(arrays)
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
                for x in self.plan.done.get(node, ()):
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
        """Nodes that run each time anew; what they make is copied to where recorded parts read it."""
        kept: dict[Node, Any] = {}

        def run() -> None:
            for node in nodes:
                self.run(node)
                if node in self.program.replayed:
                    if node in kept:
                        kept[node][...] = self.values[node]
                    else:
                        kept[node] = self.values[node].copy()
                    self.values[node] = kept[node]

        return run


Route = Literal["kernel", "product", "call"]

# Families of ops whose forward launches, and does nothing else: no value is read, no library called that cannot be
# recorded. A test holds them to it on the simulated device. What is not listed runs between the recorded parts.
RECORDED = {
    *("arithmetic", "comparison", "pointwise", "activation", "special", "movement", "reduce", "normalise"),
    *("pattern", "leaf", "matmul", "index", "scan", "convolution", "pooling", "recurrent", "random"),
}
# What waits: copies, CuPy's sort by thrust; and cuBLAS, where it is not called by `product`.
WAITING = Move | RandomPermutation | RandomChoice | MatMul | Affine


def is_here(node: Node, device: Device) -> bool:
    """Whether the node works on arrays of the device alone, of lengths that are known."""
    specs = [s for x in (node, *node.inputs) for s in (x.spec if isinstance(x.spec, Specs) else (x.spec,))]
    return all(spec.device is device and spec.is_known for spec in specs)


def is_recordable(node: Node) -> bool:
    """Whether what the op's own forward launches can be recorded."""
    op = node.op
    if isinstance(op, TupleGet):
        return isinstance(node.inputs[0].op, Fused) or is_recordable(node.inputs[0])
    home, _, family = type(op).__module__.rpartition(".")
    known = home == ops.__name__ and (family in RECORDED or isinstance(op, StopGradient | ControlDep))
    return known and not op.effect and not isinstance(op, WAITING)


def route_of(node: Node) -> Route:
    """How the node runs."""
    if isinstance(node.op, MatMul | Affine):
        same = all(x.spec.dtype == node.spec.dtype for x in node.inputs)
        return "product" if same and node.spec.dtype.char in "fde" else "call"
    try:
        return "call" if group(node) is None else "kernel"
    except NotWritten:
        return "call"


def group(node: Node) -> Fused | None:
    """The node as a fused group; None if it is no loop. Raises NotWritten where C has no words for it."""
    if isinstance(node.op, Fused):
        found = node.op
    elif isinstance(node.op, Elementwise) and node.inputs and not node.op.effect:
        found = Fused(alone(node.op, tuple(x.spec for x in node.inputs), node.spec))
    else:
        return None
    kernel_of(found, [x.spec for x in node.inputs])
    return found


class NodeRunner:
    """Runs nodes, and keeps what it made for them: a kernel for each order of operands in memory.

    values    node → its array; of several results, a tuple
    outs      where the results of a kernel or a product are written
    """

    def __init__(self, machine: Machine, device: Device):
        self.machine, self.device = machine, device
        self.kernels: dict[tuple[Node, tuple[tuple[int, ...], ...]], tuple[Kernel, Run]] = {}

    def call(self, node: Node, values: Mapping[Node, Any]) -> Any:
        """What the op's own forward gives; of an effect, in memory of its own."""
        xs = [values[x] for x in node.inputs]
        if not node.op.effect and is_here(node, self.device):
            return array_function(node.op, node.spec, *(x.spec for x in node.inputs))(self.machine.xp, *xs)
        y = value(node, *xs)
        return y.copy() if any(y is x for x in xs) else y

    def product(self, node: Node, values: Mapping[Node, Any], out: Any) -> None:
        """x @ y, or x W + b, into `out`."""
        x, y, *bias = (values[x] for x in node.inputs)
        if isinstance(node.op, Affine):
            x, y = x.reshape(-1, x.shape[-1]), y.T if node.op.transposed else y
            out = out.reshape(x.shape[0], out.shape[-1])
        if out.size:
            multiply(self.machine, x, y, out)
        for b in bias:
            self.machine.xp.add(out, b, out=out)

    def kernel(
        self,
        node: Node,
        values: Mapping[Node, Any],
        outs: list[Any],
        over: frozenset[tuple[int, int]],
        left: dict[Kernel, list[Any]],
    ) -> None:
        """A fused group, into `outs`.

        left    what a kernel's first pass leaves for its second, kept from call to call
        """
        xs = [values[x] for x in node.inputs]
        steps = tuple(tuple(s // x.itemsize for s in x.strides) for x in xs)
        if (node, steps) not in self.kernels:
            fused = group(node)
            assert fused is not None
            made = kernel_of(fused, [x.spec for x in node.inputs], steps, over)
            self.kernels[node, steps] = made, self.machine.load(made, fused)
        made, run = self.kernels[node, steps]
        if made not in left:
            left[made] = [self.machine.xp.empty(s.shape, s.dtype) for s in made.partials]
        run(xs, outs, left[made])


class Replay:
    """(array of each input) → (array of each output); None where an output is None.

    threads    of a GPU's own there are enough: 1, or what the CPU's programs are given
    into       output → input, in whose own array it is written, once nobody reads its old value
    machine    what launches; that of the graph's device

    here       numbers of the inputs that are on its device, and are read, or written
    constants  what each is
    writers    the nodes that write where the plan says → how: a kernel, or a matrix product
    parts      the nodes in the order in which they run, in stretches: (whether it is recorded, its nodes)
    replayed   what recorded nodes read

    What is handed out is the caller's. A call that comes while another is running has buffers of its own.
    """

    def __init__(
        self,
        graph: Graph,
        threads: int = 1,
        into: Mapping[int, int] | None = None,
        machine: Machine | None = None,
    ):
        self.into = dict(into or {})
        targets = {i: graph.inputs[x] for i, x in self.into.items() if graph.outputs[i] is not None}
        self.device = device_of(graph)
        ours = {node for node in (*graph.nodes, *targets.values()) if is_here(node, self.device)}
        self.graph = graph = gathered(graph, ours)
        self.here = [i for i, x in enumerate(graph.inputs) if x in ours]
        self.machine = machine or machine_of(self.device)
        self.steps = NodeRunner(self.machine, self.device)
        self.constants = {node: value(node) for node in graph.nodes if is_constant(node)}
        self.writers = {node: route for node in graph.nodes if node in ours and (route := route_of(node)) != "call"}
        self.plan = Arena(graph, self.writers, targets)
        self.parts = parts(self.plan.order, {node for node in ours if node in self.writers or is_recordable(node)})
        self.replayed = {x for recorded, nodes in self.parts if recorded for node in nodes for x in node.inputs}
        self.awaited = {x for recorded, nodes in self.parts if not recorded for node in nodes for x in node.inputs}
        self.idle: list[ReplayState] = []

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if len(arrays) != len(self.graph.inputs) or not all(map(is_for, arrays, self.graph.inputs)):
            came = [(a.shape, a.dtype) for a in arrays]
            raise ShapeError(f"this program takes {[x.spec for x in self.graph.inputs]}, and got {came}")
        if not all(arrays[x].flags.c_contiguous for x in self.into.values()):
            return self.through_copies(arrays)
        try:
            state = self.idle.pop()
        except IndexError:
            state = ReplayState(self)
        ys = state(arrays, self.step)
        self.idle.append(state)  # one that broke off is not used again: its recording has an end too soon
        return ys

    def step(self, nodes: Sequence[Node], run: Callable[..., None], *given: Node) -> None:
        """One node of a plain run, or one part of a replayed one."""
        run(*given)

    def through_copies(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """A call with parameters that do not lie in memory as kernels write: on copies, and back."""
        ys = list(self(*(x.spec.device.xp.ascontiguousarray(a) for x, a in zip(self.graph.inputs, arrays))))
        for y, x in self.into.items():
            arrays[x][...] = ys[y]
            ys[y] = arrays[x]
        return tuple(ys)

    @property
    def kernels(self) -> list[Kernel]:
        """Those that have run, each once."""
        return list(dict.fromkeys(kernel for kernel, _ in self.steps.kernels.values()))

    @property
    def source(self) -> str:
        """Their text."""
        return "\n".join(dict.fromkeys(kernel.text for kernel in self.kernels))

    @property
    def peak_bytes(self) -> int:
        """Bytes of the block in which kernels and matrix products write."""
        return self.plan.size


def is_for(array: Any, x: Node) -> bool:
    """Whether the array is what the input stands for."""
    spec = x.spec
    return bool(array.dtype == spec.dtype and (array.shape == spec.shape or fits(array.shape, spec.shape)))


def gathered(graph: Graph, here: Collection[Node]) -> Graph:
    """The graph in an order in which what happens elsewhere, and the copies from there and to there, comes first where
    it needs nothing of what is here, and last where nothing here needs it: so that it divides no recording."""
    place: dict[Node, int] = {}
    for node in graph.nodes:
        place[node] = int(bool(node.inputs) and (node in here or any(place[x] for x in node.inputs)))
    needed: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in here or node in needed:
            needed.update(node.inputs)
        elif place[node]:
            place[node] = 2
    return Ordered(graph.inputs, graph.outputs, tuple(sorted(graph.nodes, key=place.__getitem__)))


def parts(order: Sequence[Node], recordable: Collection[Node]) -> list[tuple[bool, list[Node]]]:
    """The nodes in the order in which they run; of each stretch, whether it is recorded."""
    stretches = groupby(order, recordable.__contains__)
    return [(recorded, list(part)) for recorded, part in stretches]
