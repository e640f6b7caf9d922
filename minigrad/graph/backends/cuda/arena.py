"""Where results lie on a GPU: every buffer at one place of one block, for good.

Replaying needs addresses that never change. So what kernels and matrix products write is planned beforehand, as for a
program on the CPU (graph/compiler/program/memory_plan.py), with a node as a step: a kernel may write over an operand
that it reads at the very element it writes; and a parameter's next value over the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import is_constant
from ....engine.core.node import Node
from ....engine.ops import Input, TupleGet
from ...compiler.program.buffer import Buffer, Section, Step, hull
from ...compiler.program.memory_plan import Allocation, plan


class Arena:
    """The memory of a graph's results.

    writers   node that writes where it is told → how: a "kernel" may write over what it reads
    into      output → the input that shall become it

    pieces    writer → the nodes that pick one of its results
    order     the nodes as they run: a parameter's next value, where that can be, once the old one was read
    buffers   node → what stands for its array; of several results, a tuple
    memory    buffer that a writer fills → where it is
    inputs    argument → its node
    over      writer → (which result, which operand): what it writes over an operand
    done      node → those whose arrays nobody needs once it has run
    size      bytes of it all
    """

    def __init__(self, graph: Graph, writers: Mapping[Node, str], into: Mapping[int, Node]):
        self.buffers: dict[Node, Buffer | tuple[Buffer, ...]] = {}
        steps = [step for node in dict.fromkeys((*graph.inputs, *graph.nodes)) for step in self.steps(node, writers)]
        arguments = [self.of(x)[0] for x in graph.inputs]
        self.inputs = dict(zip(arguments, graph.inputs))
        ys = {i: y for i, y in enumerate(graph.outputs) if y is not None}
        outputs = {i: self.of(y)[0] for i, y in ys.items()}
        given = {i: x for i, x in into.items() if outputs[i].kind == "planned" and ys[i].spec == x.spec}
        looked_at = {r for i, y in outputs.items() if i not in given for r in y.roots}
        own = {i: self.of(x)[0] for i, x in given.items() if looked_at.isdisjoint((outputs[i], *self.of(x)))}
        steps.append(Step("", tuple(y for i, y in outputs.items() if i not in own)))  # they live to the end
        section = Section(tuple(arguments), steps, tuple(outputs[i] for i in own))
        planned = plan(section, {j: arguments.index(x) for j, x in enumerate(own.values())})
        self.pieces = {x: [n for n in graph.readers[x] if isinstance(n.op, TupleGet)] for x in writers}
        self.order = [n for s in planned.steps if s.node for n in (s.node, *self.pieces.get(s.node, ()))]
        self.memory: dict[Buffer, Allocation] = planned.allocations
        self.size = planned.size
        self.over = {node: self.written_over(node) for node in writers}
        self.done = self.let_go(planned.steps, planned.last, {*ys.values()})

    def of(self, node: Node) -> tuple[Buffer, ...]:
        """The buffers of a node's results."""
        found = self.buffers[node]
        return found if isinstance(found, tuple) else (found,)

    def steps(self, node: Node, writers: Mapping[Node, str]) -> list[Step]:
        """The node as a step; none if it is an input, a constant, or one of a writer's results."""
        several = isinstance(node.spec, Specs)
        shells = [hull(spec) for spec in (node.spec if isinstance(node.spec, Specs) else (node.spec,))]
        if isinstance(node.op, Input) or is_constant(node):
            self.buffers[node] = Buffer(shells[0], "argument" if isinstance(node.op, Input) else "constant")
            return []
        xs = tuple(b for x in node.inputs for b in self.of(x))
        if isinstance(node.op, TupleGet) and node.inputs[0] in writers:
            self.buffers[node] = xs[node.op.i]
            return []
        if node in writers:
            outs = tuple(Buffer(each, "planned") for each in shells)
            self.buffers[node] = outs if several else outs[0]
            over = None if writers[node] == "kernel" else frozenset[tuple[int, int]]()
            return [Step("", (*xs, *outs), tuple(range(len(xs), len(xs) + len(outs))), over=over, node=node)]
        self.buffers[node] = made = Buffer(shells[0], "made")
        if several or node.op.is_view or node.op.effect:
            made.roots = (made, *dict.fromkeys(r for x in xs for r in x.roots))
        return [Step("", xs, result=made, node=node)]

    def adopted(self, y: Buffer) -> Node | None:
        """The input in whose own array a result is written."""
        home = self.memory.get(y)
        return None if home is None or home.argument is None else self.inputs[home.argument]

    def written_over(self, node: Node) -> frozenset[tuple[int, int]]:
        """Which of its results a writer writes over which of its operands."""
        xs = [self.of(x)[0] for x in node.inputs]
        return frozenset(
            (i, k)
            for i, y in enumerate(self.of(node))
            for k, x in enumerate(xs)
            if x is self.memory[y].argument or self.memory.get(x) is self.memory[y]
        )

    def let_go(self, steps: list[Step], last: Mapping[Buffer, int], outputs: set[Node]) -> dict[Node, list[Node]]:
        """Node → those whose arrays nobody needs once it has run."""
        done: dict[Node, list[Node]] = {}
        for node in self.order:
            ends = [last[y] for y in self.of(node) if y in last]
            reader = pieces[-1] if (pieces := self.pieces.get(node)) else steps[max(ends)].node if ends else node
            if node not in outputs and reader is not None:
                done.setdefault(reader, []).append(node)
        return done
