"""The memory of results on a GPU: every buffer has a fixed place in one block.

Replaying needs addresses that never change. So the results of kernels and matrix products are planned in advance, as
for a program on the CPU (graph/compiler/program/memory_plan.py), with each node as one step. A kernel may overwrite an
operand that it reads at the same element; a parameter's next value may overwrite the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import is_constant
from ....engine.core.node import Node
from ....engine.ops import Input, TupleGet
from ...compiler.program.buffer import Buffer, ProgramStep, Section, hull, roots_of
from ...compiler.program.memory_plan import Allocation, plan


class Arena:
    """The memory of a graph's results.

    writers   node that writes into a planned buffer → its route: a "kernel" may overwrite its operands
    into      index of an output → the input that it overwrites

    pieces    writer → the nodes that pick one of its results
    order     the nodes as they run; a parameter's next value is written after the last read of the old one, if possible
    buffers   node → its Buffer; a tuple for several results
    memory    buffer that a writer fills → its allocation
    inputs    argument → its node
    over      writer → pairs (result, operand) where the result overwrites the operand
    done      node → the nodes whose arrays are no longer needed after this node
    size      bytes of the block
    """

    def __init__(self, graph: Graph, writers: Mapping[Node, str], into: Mapping[int, Node]):
        self.buffers: dict[Node, Buffer | tuple[Buffer, ...]] = {}
        steps = [step for node in dict.fromkeys((*graph.inputs, *graph.nodes)) for step in self.steps(node, writers)]
        arguments = [self.buffers_of(x)[0] for x in graph.inputs]
        self.inputs = dict(zip(arguments, graph.inputs))
        ys = {i: y for i, y in enumerate(graph.outputs) if y is not None}
        outputs = {i: self.buffers_of(y)[0] for i, y in ys.items()}
        own = self.overwrite_targets(outputs, {i: x for i, x in into.items() if ys[i].spec == x.spec})
        alive = tuple(y for i, y in outputs.items() if i not in own)
        steps.append(ProgramStep("", alive))  # the outputs live to the end
        section = Section(tuple(arguments), steps, tuple(map(outputs.__getitem__, own)))
        planned = plan(section, dict(enumerate(map(arguments.index, own.values()))))
        self.pieces = {x: [n for n in graph.readers[x] if isinstance(n.op, TupleGet)] for x in writers}
        self.order = [n for s in planned.steps if s.node for n in (s.node, *self.pieces.get(s.node, ()))]
        self.memory: dict[Buffer, Allocation] = planned.allocations
        self.size = planned.size
        self.over = {node: self.written_over(node) for node in writers}
        self.done = self.find_dead_nodes(planned.steps, planned.last, {*ys.values()})

    def overwrite_targets(self, outputs: Mapping[int, Buffer], into: Mapping[int, Node]) -> dict[int, Buffer]:
        """Index of an output → the argument it overwrites, unless another output is a view of one of the two."""
        given = {i: x for i, x in into.items() if outputs[i].kind == "planned"}
        viewed = {r for i, y in outputs.items() if i not in given for r in y.roots}
        return {
            i: self.buffers_of(x)[0] for i, x in given.items() if viewed.isdisjoint((outputs[i], *self.buffers_of(x)))
        }

    def buffers_of(self, node: Node) -> tuple[Buffer, ...]:
        """The buffers of a node's results."""
        found = self.buffers[node]
        return found if isinstance(found, tuple) else (found,)

    def steps(self, node: Node, writers: Mapping[Node, str]) -> list[ProgramStep]:
        """Set the node's buffers. Returns its step; none for an input, a constant, or one of a writer's results."""
        several = isinstance(node.spec, Specs)
        shells = [hull(spec) for spec in (node.spec if isinstance(node.spec, Specs) else (node.spec,))]
        if isinstance(node.op, Input) or is_constant(node):
            self.buffers[node] = Buffer(shells[0], "argument" if isinstance(node.op, Input) else "constant")
            return []
        xs = tuple(b for x in node.inputs for b in self.buffers_of(x))
        if isinstance(node.op, TupleGet) and node.inputs[0] in writers:
            self.buffers[node] = xs[node.op.i]
            return []
        if node in writers:
            outs = tuple(Buffer(each, "planned") for each in shells)
            self.buffers[node] = outs if several else outs[0]
            over = None if writers[node] == "kernel" else frozenset[tuple[int, int]]()
            return [ProgramStep("", (*xs, *outs), tuple(range(len(xs), len(xs) + len(outs))), over=over, node=node)]
        self.buffers[node] = made = Buffer(shells[0], "made")
        if several or node.op.is_view or node.op.effect:
            made.roots = (made, *roots_of(xs))
        return [ProgramStep("", xs, result=made, node=node)]

    def target_input(self, y: Buffer) -> Node | None:
        """The input whose array this result overwrites, if any."""
        home = self.memory.get(y)
        return None if home is None or home.argument is None else self.inputs[home.argument]

    def written_over(self, node: Node) -> frozenset[tuple[int, int]]:
        """Pairs (result, operand) of a writer where the result overwrites the operand."""
        home = self.memory
        pairs = product(enumerate(self.buffers_of(node)), enumerate(self.buffers_of(x)[0] for x in node.inputs))
        return frozenset((i, k) for (i, y), (k, x) in pairs if x is home[y].argument or home.get(x) is home[y])

    def find_dead_nodes(
        self, steps: list[ProgramStep], last: Mapping[Buffer, int], outputs: set[Node]
    ) -> dict[Node, list[Node]]:
        """Node → the nodes whose arrays are no longer needed after this node has run."""
        done: dict[Node, list[Node]] = {}
        for node in self.order:
            ends = [last[y] for y in self.buffers_of(node) if y in last]
            reader = pieces[-1] if (pieces := self.pieces.get(node)) else steps[max(ends)].node if ends else node
            if node not in outputs and reader is not None:
                done.setdefault(reader, []).append(node)
        return done
