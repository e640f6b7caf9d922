"""An eager run of a learner's function as a graph: the boxes that each line added, and its output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from ...draw.picture import Box, Picture, PictureBuilder
from ...draw.static_run import code_of
from ...draw.svg import draw_down, natural_width
from ...engine.base.pytree import leaves
from .recording import LineEvent, OpEvent, PrintEvent, TooLong, record_run, truncate_text

LARGEST = 60  # boxes of one graph; with more, two graphs side by side are too small to read
TALL, WIDE = 380, 380  # pixels: boxes of a taller graph have one row; boxes of a wider one show no types


@dataclass(frozen=True)
class LineRun:
    """A line that ran, and its effects.

    parts      the boxes and arrows that the line added
    values     box → its value, for each op
    says       whether the line printed
    printed    the whole output so far, truncated
    made_at    the lines that made the ops and the output: this line, and lines of functions that it calls
    """

    line: int
    parts: tuple[str, ...]
    values: dict[str, str]
    says: bool
    printed: str
    made_at: set[int]


class EagerRun(PictureBuilder):
    """The run of a function as a graph, with a box for each tensor that was created.

    result    the outputs as text
    outputs   the ids of their boxes on the screen
    used      the boxes that the outputs depend on
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Any], framework: ModuleType):
        super().__init__()
        self.framework = framework
        self.recording = record_run(f, args, framework)
        names = framework.names(f) | self.recording.names
        edits = [e for e in self.recording.events if isinstance(e, OpEvent) and not e.box.op]
        names |= {id(e.xs[0]): names.get(id(e.ys[0]), "") for e in edits}
        self.line: dict[str, int] = {}
        self.held: list[Any] = []  # keeps tensors alive, so that ids stay unique
        self.given = [self.leaf(x, box, names) for x, box in self.recording.given]
        self.moments = list(self.collect_moments(names))
        self.result = self.recording.text
        ends = [self.box_of[id(x)] for x in leaves(self.recording.result) if id(x) in self.box_of]
        self.outputs, self.used = [f"l{box}" for box in ends], {*ends}
        for arrow in reversed(self.arrows):
            self.used |= {arrow.tail} if arrow.head in self.used else set()
        lines = {box[1:]: line - code_of(f).co_firstlineno + 1 for box, line in self.line.items()}
        self.svg = draw_half(self.picture(), "l", lines) if self.boxes else ""

    def collect_moments(self, names: dict[int, str]) -> Iterator[LineRun]:
        """A moment for each line that ran, in order."""
        line, printed, made_at = 0, "", set[int]()
        start = (len(self.boxes), 0, 0)

        def moment() -> LineRun:
            boxes, arrows, says = start
            new = [*self.boxes.values()][boxes:]
            parts = (*(f"l{box.id}" for box in new), *(f"l{arrow.id}" for arrow in self.arrows[arrows:]))
            values = {f"l{box.id}": box.value for box in new if box.kind == "op"}
            return LineRun(line, parts, values, len(printed) > says, truncate_text(printed), made_at)

        for event in self.recording.events:
            if isinstance(event, LineEvent):
                if line:
                    yield moment()
                line, start, made_at = event.line, (len(self.boxes), len(self.arrows), len(printed)), set()
            elif isinstance(event, PrintEvent):
                printed += event.text
            else:
                self.add_event(event, names, line)
            made_at.add(event.line)
        if line:
            yield moment()

    def add_event(self, event: OpEvent, names: dict[int, str], line: int) -> None:
        tails = [self.box_of.get(id(x)) or self.leaf(x, box, names) for x, box in zip(event.xs, event.operands)]
        if not event.box.op:
            self.box_of[id(event.ys[0])] = tails[0]
            return
        name = ", ".join(dict.fromkeys(names[id(y)] for y in event.ys if names.get(id(y))))
        self.add_op(replace(event.box, name=name), map(id, event.ys), tails)
        self.line[f"l{[*self.boxes][-1]}"] = line
        self.held += event.ys

    def leaf(self, x: Any, box: Box, names: dict[int, str]) -> str:
        self.held.append(x)
        is_constant = box.kind == "constant"  # each op that reads a constant gets its own box for it
        return self.add_box(replace(box, name=names.get(id(x), "")), [] if is_constant else [id(x)])

    def add_box(self, box: Box, values: Iterable[Any] = ()) -> str:
        if len(self.boxes) >= LARGEST:
            error = self.recording.error
            why = error if isinstance(error, TooLong) else "take a part of the function"
            raise ValueError(f"StaticVsDynamic shows a graph of up to {LARGEST} boxes, and this run makes more: {why}")
        return super().add_box(box, values)

    def parts(self) -> list[str]:
        """All boxes and arrows."""
        return [f"l{box}" for box in self.boxes] + [f"l{arrow.id}" for arrow in self.arrows]

    def name(self, line: int, op: str) -> str:
        """The variable that holds the result of this op of a line; "" if the line has several such ops."""
        names = {x.name for x in self.boxes.values() if (self.line.get(f"l{x.id}"), x.op) == (line, op)}
        return names.pop() if len(names) == 1 else ""


def draw_half(picture: Picture, prefix: str, lines: Mapping[str, int], said: Mapping[str, str] | None = None) -> str:
    """The picture from top to bottom, with short boxes that name their line of code.

    prefix    for its half of the screen, before every id
    lines     box → its line; the line where the function begins is 1
    said      box → more words, which come in place of its type
    """
    said = dict(said or {})
    places = said | {box: ", ".join([*filter(None, [said.get(box)]), f"line {line}"]) for box, line in lines.items()}
    specs = {x.id: ", ".join(filter(None, ["" if x.id in said else x.spec, places.get(x.id)])) for x in picture.boxes}
    drawn = draw_down(picture, 2, specs)
    if float(re.findall(r'height="([\d.]+)"', drawn)[0]) > TALL:
        drawn = draw_down(picture, 1, places)
    elif natural_width(drawn) > WIDE:
        drawn = draw_down(picture, 2, places)
    return drawn.replace('data-id="', f'data-id="{prefix}')
