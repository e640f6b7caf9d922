"""A computation graph as plain data: boxes and arrows, without objects of the engine.

Graphs of both engines are converted to this form (`scalars.py`, `tensors.py`), and every view reads only this: the
text, the SVG, the widgets. All numbers are already text, so every view shows the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .heat import Heat
from .words import format_op

COMPUTED = "op", "group"  # kinds of boxes
UNKNOWN = "·"  # stands for a number that has not been computed yet; 0 would be wrong


@dataclass(frozen=True)
class Box:
    """One value of the graph, together with the operation that made it.

    id      its name inside the picture: "b1", "b2", ... in topological order
    kind    "leaf": given; "constant": a number written in an expression; "op": computed; "group": a closed group
    name    the learner's name for it; "" if no variable holds it
    op      the symbol of its operation; "" unless kind is "op"
    spec    shape and element type, as in f64[3, 4]; "" for a scalar of the scalar engine
    value   as text; "·" while unknown
    grad    as text; "·" while unknown; "" if no gradient is computed
    kept    whether backward will read this value again

    value_heat, grad_heat    value and gradient as heat maps; None for a number or a large array
    parts                    the terms of the gradient, if shown: (arrow, number as text, name of the arrow's head)
    short                    rows of text of a small box, 1 or 2, with the value beside the name; 0 for a full box
    """

    id: str
    kind: str
    name: str
    op: str
    spec: str
    value: str
    grad: str
    kept: bool = False
    value_heat: Heat | None = None
    grad_heat: Heat | None = None
    parts: tuple[tuple[str, str, str], ...] = ()
    short: int = 0

    @property
    def display_name(self) -> str:
        """The learner's name, else the constant itself, else the box's number: #3."""
        return self.name or (self.value if self.kind == "constant" else f"#{self.id[1:]}")

    @property
    def name_and_value(self) -> str:
        """Its name and its value: x = 2."""
        return self.display_name if self.value in ("", self.display_name) else f"{self.display_name} = {self.value}"


@dataclass(frozen=True)
class Arrow:
    """One use of a value: from the box that made it to the box that reads it.

    flow    the width of the gradient that it carried back, in pixels; None if it shows none
    maps    heat maps of the gradient that arrived, the local derivative, and the gradient passed on; in place of text
    around  the rule's text before and after the gradient that arrived, if that is a heat map: "", "@ bᵀ"
    """

    id: str
    tail: str
    head: str
    label: str = ""
    flow: float | None = None
    maps: tuple[Heat | None, ...] = (None, None, None)
    around: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class GroupFrame:
    """The frame around an open group.

    name     the group's name, a prefix that boxes inside leave out
    words    its heading
    """

    id: str
    name: str
    words: str

    continuation = property(lambda self: replace(self, words=f"{self.words.partition(': ')[0]}, continued"))


@dataclass(frozen=True)
class Picture:
    """Boxes, inputs before users, and the arrows between them.

    ends    ids of the outputs; () if the last box is the only output
    ranks   Graphviz's "min" or "max" → ids of boxes that are drawn first, or last
    around  box → the frames around it, outermost first
    close   whether boxes are drawn close together
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    ends: tuple[str, ...] = ()
    ranks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    around: Mapping[str, tuple[GroupFrame, ...]] = field(default_factory=dict)
    close: bool = False

    output = property(lambda self: self.outputs[-1])

    @cached_property
    def outputs(self) -> list[Box]:
        return [self.box[id] for id in self.ends if id in self.box] if self.ends else [self.boxes[-1]]

    @cached_property
    def box(self) -> dict[str, Box]:
        return {box.id: box for box in self.boxes}

    @cached_property
    def arrow(self) -> dict[str, Arrow]:
        return {arrow.id: arrow for arrow in self.arrows}

    @cached_property
    def arrows_into(self) -> dict[str, list[Arrow]]:
        """The arrows that enter each box, in the order of its operands."""
        into: dict[str, list[Arrow]] = {box.id: [] for box in self.boxes}
        for arrow in self.arrows:
            into[arrow.head].append(arrow)
        return into

    @cached_property
    def uses(self) -> Counter[str]:
        """How many arrows leave each box."""
        return Counter(arrow.tail for arrow in self.arrows)

    def operands(self, box: Box) -> list[Box]:
        return [self.box[arrow.tail] for arrow in self.arrows_into[box.id]]

    def formula(self, box: Box) -> str:
        """The box's formula in the learner's names: x × y. For a box that is not computed, its name."""
        names = [x.display_name for x in self.operands(box)]
        return format_op(box.op, names) if box.kind in COMPUTED else box.display_name

    @staticmethod
    def inner_name(name: str, frames: Sequence[GroupFrame]) -> str:
        """A name without the prefix that the frames around it show."""
        found = (name[len(f.name) + 1 :] for f in reversed(frames) if name.startswith((f"{f.name}.", f"{f.name}/")))
        return next(found, name)

    def symbol(self, box: Box) -> str:
        """The symbol of a box's operation; if one of two operands is a constant, with it: × 2."""
        words = [x.value if x.kind == "constant" else "" for x in self.operands(box)]
        return f"{words[0]} {box.op} {words[1]}".strip() if len(words) == 2 and " " not in box.op else box.op

    def ops_on_arrows(self) -> Picture:
        """The picture in the other convention: boxes are only values, and arrows carry the operation they enter."""
        boxes = tuple(replace(box, kind="value", op="") if box.kind in COMPUTED else box for box in self.boxes)
        arrows = tuple(replace(arrow, label=self.box[arrow.head].op) for arrow in self.arrows)
        return replace(self, boxes=boxes, arrows=arrows)


@dataclass
class PictureBuilder:
    """The boxes and arrows of a picture, added op by op.

    boxes     id → box
    box_of    a value of the graph → the id of its box
    """

    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    box_of: dict[Any, str] = field(default_factory=dict)

    def add_box(self, box: Box, values: Iterable[Any] = ()) -> str:
        """Add a box that holds some values. Returns its id."""
        id = f"b{len(self.boxes) + 1}"
        self.boxes[id] = replace(box, id=id)
        self.box_of.update(dict.fromkeys(values, id))
        return id

    def add_op(self, box: Box, values: Iterable[Any], tails: Sequence[str]) -> list[Arrow]:
        """Add the box of an op. Returns the arrows from the boxes of its operands, `tails`."""
        head = self.add_box(box, values)
        arrows = [Arrow(f"a{len(self.arrows) + i}", tail, head) for i, tail in enumerate(tails, 1)]
        self.arrows += arrows
        return arrows

    def picture(self, ends: Sequence[str] = ()) -> Picture:
        return Picture(tuple(self.boxes.values()), tuple(self.arrows), tuple(ends))


@dataclass(frozen=True)
class GradientEntry:
    """One number of a gradient in a backward step: its value before, the number added, and its value after.

    where    its index, as [0, 1]; "" if the gradient is a number
    before   None for the first share
    """

    where: str
    before: float | None
    outgoing: float
    after: float


@dataclass(frozen=True)
class Share:
    """What one arrow passes back in a backward step.

    Usually this is the gradient at its head times the local derivative; an op that mixes elements has its own rule.

    arrow      the arrow's id
    incoming   gradient of the output with respect to the arrow's head
    rule       the local derivative in symbols: y for ∂(x × y)/∂x; "" if unknown
    is_whole   whether `rule` is the whole formula, in which g is the incoming gradient: g @ yᵀ
    slope      the local derivative in numbers; "" if there are many
    outgoing   what is added to the gradient of the arrow's tail
    before     the tail's gradient before this share; "" for the first share
    after      the tail's gradient after this share
    entry      one element of these gradients, unrounded; None if the gradient is too large to show
    heat       `after` as a heat map; None if it is a number or too large
    lines      what the arrow shows: incoming, local derivative, outgoing
    size       the norm of `outgoing`
    maps       heat maps of what the three lines show; None for a number, a formula or a large array
    around     the rule's text before and after the heat map of the incoming gradient; its line is then left out
    """

    arrow: str
    incoming: str
    rule: str
    is_whole: bool
    slope: str
    outgoing: str
    before: str
    after: str
    entry: GradientEntry | None = None
    heat: Heat | None = None
    lines: tuple[str, ...] = ()
    size: float = 0.0
    maps: tuple[Heat | None, ...] = (None, None, None)
    around: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class GraphRun:
    """A whole run of a graph, forward and backward.

    picture   the picture with every value and every final gradient
    seed      the gradient that backward started from
    shares    what the arrows passed back, in the order of the backward pass
    reads     operation → the boxes whose values its derivative reads; unknown operations are missing
    frees     whether this engine frees saved values once backward has read them
    sizes     box → the bytes of its value
    arrays    box → its value and its gradient as arrays, if it has both
    note      a sentence on how backward() may differ; "" if it does not
    """

    picture: Picture
    seed: str
    shares: tuple[Share, ...]
    reads: dict[str, tuple[str, ...]]
    frees: bool
    sizes: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    note: str = ""
