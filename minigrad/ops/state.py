"""Variables in a graph: a graph is a function, so what it reads is given to it, and what it assigns it gives back.

These ops only stand in the graph that a user builds. A run replaces them: a read by an input, an assignment by a
result (graph/pruning.py). They name their variable by its name in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..op import Op
from ..spec import Spec, Specs


@dataclass(frozen=True)
class Read(Op):
    """y = what the variable holds once the others have been computed; with no others, at the start of the run"""

    variable: str
    spec: Spec

    symbol = "read"
    inline = False

    def infer(self, *waits): return self.spec
    def vjp(self, gy, y, *waits): return tuple(None for _ in waits)
    def flops(self, y, *waits): return 0


@dataclass(frozen=True)
class Assign(Op):
    """variable ← x; y = x"""

    variable: str

    symbol = "←"
    inline = False

    def infer(self, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (None, *(None for _ in waits))
    def flops(self, y, *xs): return 0


class AssignAdd(Assign):
    """variable ← variable + x, of what it holds at that moment; y = the sum"""

    symbol = "+←"


class AssignSub(Assign):
    """variable ← variable − x, of what it holds at that moment; y = the difference"""

    symbol = "−←"


class Group(Op):
    """All of these; it gives nothing"""

    symbol = "group"
    inline = False

    def infer(self, *xs): return Specs(())
    def flops(self, y, *xs): return 0
