"""A graph of any size as a list of entries: what is known of each node, beside the node itself.

A `Picture` is for graphs that are looked at whole; a listing is for those that are opened part by part. Each engine has
its reader (listing_readers.py), and hierarchy.py puts the entries into groups.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

N = TypeVar("N", bound=Hashable)
Path = tuple["Scope", ...]


@dataclass(frozen=True, eq=False)
class Scope:
    """Something that made nodes: one call of a module, or a name scope. Two calls of one module are two scopes.

    kind     "module" or "scope"
    label    as encoder.0
    of       what it is, as TransformerEncoderLayer
    thing    what Python calls it
    """

    kind: str
    label: str
    of: str
    thing: Any


@dataclass
class Entry:
    """One node.

    kind       "leaf": given; "constant": a number written in an expression; "op": computed
    sign       of its op; "" unless kind is "op"
    spec       as in f64[3, 4]
    thing      what Python calls it: a Tensor, a Node, a Value, a symbol of a Graph
    nbytes     of its value; None where a length is not known before a run
    kept       whether backward will read its value again
    trouble    what is wrong with its value: 2 NaN
    line       of the user's code that made it; "" where nobody noted it
    path       the scopes it was made in, outermost first; None for where its users are
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
    path: Path | None = ()
    inputs: tuple[int, ...] = ()

    @property
    def said(self) -> str:
        """Its sign, its name and its spec: tanh → h, f64[3, 4]."""
        title = " → ".join(filter(None, (self.sign, self.name))) or self.value or self.kind
        return f"{title}, {self.spec}" if self.spec else title


@dataclass
class Listing:
    """A graph.

    entries    inputs before users
    notes      sentences about the whole of it
    """

    output: str
    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def entries_of(
    ops: Iterable[N],
    operands: Callable[[N], Sequence[N]],
    is_constant: Callable[[N], bool],
    entry: Callable[[N], Entry],
) -> list[Entry]:
    """Entries of the ops and of all they read, each leaf before its first user, a constant beside each of its users.

    ops    inputs before users; or a single leaf
    """
    entries: list[Entry] = []
    place: dict[N, int] = {}

    def placed(node: N, inputs: tuple[int, ...]) -> int:
        found = entry(node)
        found.inputs = inputs
        entries.append(found)
        place[node] = len(entries) - 1
        return place[node]

    for node in ops:
        numbers = [place[x] if x in place and not is_constant(x) else placed(x, ()) for x in operands(node)]
        placed(node, tuple(numbers))
    return entries
