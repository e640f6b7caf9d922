"""A graph of any size as a list of entries: each node with a description of it.

A `Picture` is for graphs that are shown whole, a listing for graphs that are opened part by part. Each engine has a
reader (listing_readers.py), and hierarchy.py puts the entries into groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Path = tuple["Scope", ...]
LONGEST = 60  # characters of a fact, or of a line of code


@dataclass(frozen=True, eq=False)
class Scope:
    """A call of a module, or a name scope, in which nodes were made. Two calls of one module are two scopes.

    kind     "module" or "scope"
    label    its name, such as encoder.0
    of       its type, such as TransformerEncoderLayer
    thing    the Python object
    """

    kind: str
    label: str
    of: str
    thing: Any


@dataclass
class Entry:
    """One node.

    kind       "leaf": given; "constant": a number written in an expression; "op": computed
    sign       symbol of its op; "" unless kind is "op"
    spec       as in f64[3, 4]
    thing      the Python object: a Tensor, a Node, a Value, a symbol of a Graph
    nbytes     bytes of its value; None if a length is not known before a run
    kept       whether backward will read its value again
    trouble    what is wrong with its value, as in 2 NaN; "" if nothing
    line       the line of user code that made it; "" if unknown
    facts      what else is known about it, in phrases such as: saves self f32[3, 4], 48 bytes
    path       the scopes it was made in, outermost first; None if it belongs where its users are
    inputs     numbers of the entries it reads
    """

    kind: str
    sign: str
    name: str
    spec: str
    thing: Any
    nbytes: int | None = None
    kept: bool = False
    value: str = ""
    trouble: str = ""
    line: str = ""
    facts: tuple[str, ...] = ()
    path: Path | None = ()
    inputs: tuple[int, ...] = ()

    @property
    def headline(self) -> str:
        """The symbol of its op, its name and its spec: tanh → h, f64[3, 4]."""
        title = " → ".join(filter(None, (self.sign, self.name))) or self.value or self.kind
        return f"{title}, {self.spec}" if self.spec else title


@dataclass
class Listing:
    """A graph.

    entries    inputs before users
    notes      sentences about the whole graph
    """

    output: str
    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
