"""Compile a graph to a function: passes/ optimises the graph; program/ lowers it, plans memory and emits Python source.

    optimised(graph), steps(graph)      the graph after all passes of STANDARD, FAST or NATIVE; a table of every pass
    share, fold, fuse, remat, …         the passes, each a function from a graph to a graph
    bytes_moved, peak_bytes, …          what a graph costs
    Program(graph)                      a compiled graph; Workers runs a graph on several threads
    interpret(graph, *arrays)           runs a graph op by op: the reference for all of these

Sessions, traced functions, branches and loops all compile through `compile_graph` in executable.py.

The derivative of a single op is compiled elsewhere, in engine/tensor/rules.py, because eager execution needs it too.
"""

from ...engine.core.graph import Graph as Graph
from ...engine.core.interpret import interpret as interpret, value as value
from ...engine.core.node import Node as Node, toposort as toposort
from ...engine.tensor.rewrite import share as share, simplify as simplify
from .passes.fold import fold as fold
from .passes.fuse import Fused as Fused, fuse as fuse
from .passes.liveness import (
    Ordered as Ordered, alive_bytes as alive_bytes, bytes_moved as bytes_moved, lifetimes as lifetimes,
    ordered as ordered, peak_bytes as peak_bytes,
)
from .passes.pipeline import (
    FAST as FAST, NATIVE as NATIVE, STANDARD as STANDARD, optimised as optimised, steps as steps,
)
from .passes.remat import flops as flops, remat as remat
from .passes.transpose_rules import transposes as transposes
from .program.program import Program as Program
from .schedule import Workers as Workers, critical_path as critical_path, ways_left as ways_left
