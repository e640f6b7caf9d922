"""A function written down as a graph, and run in every way that there is."""

from __future__ import annotations

import numpy as np

from minigrad.engine.base.pytree import leaves
from minigrad.engine.base.spec import Spec, spec_of
from minigrad.engine.core.interpret import interpret
from minigrad.graph.compiler.passes.pipeline import STANDARD
from minigrad.graph.compiler.passes.specialise import specialise_graph
from minigrad.graph.compiler.passes.verify import verify
from minigrad.graph.compiler.program.program import Program
from minigrad.tracing.builder import GraphBuilder


class Written:
    """The graph of f on inputs of these arrays' specs, its results in a list; what it edits comes after them.

    unknown    whether the first axis of each input is a length not known before the run
    """

    def __init__(self, f, *arrays, lengths=None):
        self.builder = GraphBuilder()
        with self.builder.building():
            shapes = [a.shape if lengths is None else (lengths, *a.shape[1:]) for a in arrays]
            xs = [self.builder.argument(f"x{i}", Spec(s, a.dtype)) for i, (s, a) in enumerate(zip(shapes, arrays))]
            self.results = [self.builder.lift(y) for y in leaves(f(*xs))]
        self.edited = [c.what for c in self.builder.edited.values()]
        ys = [*self.results, *(c.symbol for c in self.builder.edited.values())]
        self.graph = verify(self.builder.finish_graph(self.builder.after_effects(ys)))

    def __call__(self, *arrays):
        """The results, interpreted."""
        return interpret(self.known(arrays), *self.given(arrays))

    def compiled(self, *arrays):
        """The results by a program, after every pass; the graph is verified after each."""
        graph = self.known(arrays)
        for each in STANDARD:
            graph = verify(each(graph), graph)
        return Program(graph)(*self.given(arrays))

    def known(self, arrays):
        return specialise_graph(self.graph, [spec_of(a) for a in self.given(arrays)])

    def given(self, arrays):
        return [*map(np.asarray, arrays), *(c.what.value for c in self.builder.captured.values())]

    def ops(self, kind):
        """The ops of a kind in the graph."""
        return [node.op for node in self.graph.nodes if isinstance(node.op, kind)]
