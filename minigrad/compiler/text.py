"""The text of a program on its way: its lines, and the names they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..node import Node, Staged
from ..spec import Specs
from ..standin import is_unknown
from .axes import copied_order
from .steps import Step, Value

LARGE = 1 << 16  # bytes: an array as large is let go as soon as nobody reads it
RECYCLED = 1 << 20  # bytes: an array as large is handed out again once the caller has let go of it
KNOWN: dict[str, Any] = {
    "empty": np.empty,
    "errstate": np.errstate,
    "len": len,
    "range": range,
    "reversed": reversed,
    **dict.fromkeys(("at", "handed", "together")),  # these the program brings along
}


@dataclass
class Text:
    """A program's source, and what it needs to run.

    size       bytes of workspace
    kept       lines that set up what is kept between calls
    defined    lines of the functions
    scope      what names in the lines mean
    nodes      line of the source → the node it is part of
    whole      arguments whose arrays have to be contiguous, being written through a view
    loops      how many there are
    named      text that makes something kept → its name
    constants  value of a constant → its name
    large      how many large arrays there are for the caller
    steps      all that have been written
    """

    size: int
    kept: list[str] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=lambda: dict(KNOWN))
    nodes: dict[int, Node] = field(default_factory=dict)
    whole: set[Value] = field(default_factory=set)
    loops: int = 0
    named: dict[Any, str] = field(default_factory=dict)
    constants: dict[Any, str] = field(default_factory=dict)
    large: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def source(self) -> str:
        return "\n".join([*self.kept, *([""] if self.kept else []), *self.defined, ""])

    def bind(self, name: str, thing: Any) -> str:
        """The name that means the thing, everywhere in the text: this one, or with a number, if it is taken."""
        called, k = name, 2
        while self.scope.setdefault(called, thing) is not thing:
            called, k = f"{name}_{k}", k + 1
        return called

    # -- what is kept --------------------------------------------------------------------------------

    def keep(self, letter: str, made: str) -> str:
        """The name of something that is made once: equal things have one."""
        if made not in self.named:
            self.named[made] = name = f"{letter}{len(self.named)}"
            self.scope[name] = None  # until the program runs
            self.kept.append(f"{name} = {made}")
        return self.named[made]

    def is_kept(self, name: str) -> bool:
        """Whether the name is of something that is there between calls."""
        return name in self.scope

    def constant(self, value: Value) -> str:
        """The name of a constant: equal numbers have one."""
        array = value.array
        key = (array.dtype, array.tobytes()) if not array.ndim else value
        if key not in self.constants:
            self.constants[key] = name = f"c{len(self.constants)}"
            self.scope[name] = array
            self.kept.append(f"# {name} = {array.dtype} {array if not array.ndim else [*array.shape]}")
        return self.constants[key]

    def repeated(self, number: Value, like: np.ndarray) -> str:
        """The name of an array full of a constant, laid out as another array."""
        key = (number.array.dtype, number.array.tobytes(), like.shape, like.strides)
        if key not in self.constants:
            order = copied_order(like)
            array = np.empty([like.shape[a] for a in order], number.array.dtype).transpose(np.argsort(order))
            array.fill(number.array.item())
            self.constants[key] = name = f"c{len(self.constants)}"
            self.scope[name] = array
            self.kept.append(f"# {name} = {array.dtype} {number.array} in an array {[*like.shape]}")
        return self.constants[key]

    # -- arrays --------------------------------------------------------------------------------------

    def at(self, x: np.ndarray, offset: int) -> str:
        """An array of the workspace."""
        strides = "" if x.flags.c_contiguous else f", {x.strides}"
        return self.keep("b", f"at({offset}, {x.shape}, {self.dtype(x.dtype)}{strides})")

    def new(self, x: np.ndarray) -> str:
        """What makes an array for the caller."""
        dtype = self.dtype(x.dtype)
        if x.nbytes >= RECYCLED:
            name, self.large = f"new{self.large}", self.large + 1
            self.kept.append(f"{name} = handed({x.shape}, {dtype}, {x.strides})")
            return f"{name}()"
        if x.flags.c_contiguous:
            return f"empty({x.shape}, {dtype})"
        order = copied_order(x)
        back = tuple(order.index(a) for a in range(x.ndim))
        return f"empty({tuple(x.shape[a] for a in order)}, {dtype}).transpose({back})"

    def dtype(self, dtype: np.dtype) -> str:
        """A dtype, which is bound under its own name."""
        name = "boolean" if dtype.kind == "b" else dtype.name
        self.scope[name] = dtype
        return name


def commented(line: str, made: Any, node: Node | None) -> str:
    """The line, with the spec of what it makes, and where in the user's code that was built, if it is known."""
    comment = written(made)
    if isinstance(node, Staged):
        comment += f" {node.name}" + (f", {node.place.where}" if node.place else "")
    return f"{line:<52}# {comment}"


def written(made: Any) -> str:
    """The spec of an array, as far as it is known: f64[?, 3]; of several, (f64[2], bool[])."""
    if isinstance(made, Specs):
        return f"({', '.join(map(written, made))})"
    kind = "bool" if made.dtype.kind == "b" else f"{made.dtype.kind}{8 * made.dtype.itemsize}"
    return f"{kind}[{', '.join('?' if is_unknown(n) else str(n) for n in made.shape)}]"
