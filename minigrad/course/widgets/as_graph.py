"""The boxes that tracing a learner's function builds, and the values that a run of that graph computes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from html import escape
from traceback import extract_tb
from types import CodeType
from typing import Any

from ...draw.picture import Box, Picture
from ...draw.readers import READERS
from ...draw.static_run import own_line
from ...draw.words import join_names
from .eager_run import LARGEST, EagerRun, LineRun, draw_half
from .film import refuse_large
from .recording import PrintEvent, PrintRecorder, format_value

# errors of PyTorch and JAX
NEEDS_VALUE = re.compile("GuardOnDataDependent|Concretization|Tracer.*Conversion")


class TraceError(Exception):
    """The function runs eagerly but cannot be traced. The message says why.

    line    the line that cannot be traced; 0 if it is unknown
    """

    def __init__(self, error: Exception, code: CodeType, branch: str):
        """branch    the framework's function for an if on a tensor"""
        name, message = type(error).__name__, str(error)
        frames = [(frame.filename, frame.lineno or 0) for frame in extract_tb(error.__traceback__)]
        if message.startswith("in user code:"):  # AutoGraph's own traceback
            frames = [(file, int(n)) for file, n in re.findall(r'File "(.+)", line (\d+)', message)]
            message = message.strip().rpartition("\n")[2].strip()
        elif type(error).__module__.partition(".")[0] in READERS:
            message = f"{name}: {re.split(r' [(]|[.] |[.]?$', message, flags=re.MULTILINE)[0]}"
        self.line = own_line(frames, code)
        at = f"line {self.line - code.co_firstlineno + 1} needs a value, and no value exists while tracing. "
        is_known = self.line > 0 and bool(NEEDS_VALUE.match(name))
        advice = f". An if on a tensor can be traced as {branch}(condition, f, g, …)"
        super().__init__(at * is_known + (message or name) + advice * is_known)


class AsGraph:
    """The traced graph of a function, and the values of one run of it.

    is_new    whether this call traced the function; a later call of the same kind reuses the graph
    count     how often the function has been traced so far
    line      box → the function's line that built it, itself or in another function that it calls; 0 for an input
    taken     box of an if → the id of the branch that ran, "true of rb5" or "false of rb5"
    unbuilt   id of a box for an op of `left` that is not in the graph → "unused", or "a view" if it is a view
    result    the outputs as text
    Raises TraceError if tracing fails, ValueError for a graph of more than 60 boxes.
    """

    def __init__(self, traces: Any, args: Sequence[Any], left: EagerRun, code: CodeType):
        events: list[Any] = []
        before = traces.trace_count
        try:
            with redirect_stdout(PrintRecorder(events, getattr(traces, "user_line", None))):
                traces.trace_for(*args)
        except Exception as error:  # raised by the learner's code or by the framework: the widget shows it
            raise TraceError(error, code, getattr(left.framework, "branch", "")) from error
        self.count = traces.trace_count
        self.is_new = self.count > before
        self.printed = [event for event in events if isinstance(event, PrintEvent)] if self.is_new else []
        self.run = traces.run(*args)
        refuse_large("StaticVsDynamic", self.run.picture(), LARGEST)
        self.result = join_names([format_value(x, left.framework) for x in self.run.results])
        self.line = self.lines_of(left.moments)
        self.taken = {box: f"{branch} of r{box}" for box, branch in self.run.taken.items()}
        names = {box.id: left.name(self.line[box.id], box.op) for box in self.run.boxes.values()}
        boxes = (replace(x, name=names[x.id] or x.name) for x in self.run.boxes.values())
        self.picture = Picture(tuple(boxes), tuple(self.run.arrows))
        self.svg = self.draw(left, code.co_firstlineno)
        self.shown: set[str] = set()
        self.turns = defaultdict[int, list[int]](list)  # line → the number of eager ops in each turn to come
        for moment in left.moments:
            self.turns[moment.line].append(len(moment.values))

    def draw(self, left: EagerRun, first: int) -> str:
        """The graph, with ghosts for unused ops."""
        lines = {box: line - first + 1 for box, line in self.line.items() if line}
        ghosts = self.ghosts(left)
        self.unbuilt = {f"r{x.id}": "a view" if x.id.split()[1] in left.used else "unused" for x in ghosts}
        captions = {**self.run.branches, **{id[1:]: f"not built: {why}" for id, why in self.unbuilt.items()}}
        picture = Picture((*ghosts, *self.picture.boxes), self.picture.arrows)
        return self.mark_branches(draw_half(picture, "r", lines, captions) if self.picture.boxes else "", captions)

    def ghosts(self, left: EagerRun) -> list[Box]:
        """Boxes for ops of the eager run that the graph dropped; none if the graph has branches or loops."""
        if not self.is_new or not self.run.drops or self.run.inner:
            return []
        built = {*self.line.values()}
        ops = [box for box in left.boxes.values() if box.kind == "op"]
        gone = [box for box in ops if left.line[f"l{box.id}"] not in built]
        is_all = len(ops) - len(gone) == sum(box.kind == "op" for box in self.picture.boxes)  # else lines differ
        return [replace(box, id=f"not {box.id}", name="", value="") for box in gone if is_all]

    def mark_branches(self, drawn: str, captions: dict[str, str]) -> str:
        """The picture with ghosts, and with each branch as a part; the branch that ran is highlighted."""
        for box in self.unbuilt:
            drawn = drawn.replace(f'" data-id="{box}"', f' mg-unused" data-id="{box}"')
        for box, branch in self.taken.items():
            for words in escape(captions[box]).split(" | "):
                id = f"{words.partition(':')[0]} of r{box}"
                part = f'<tspan class="{"mg-taken" * (id == branch)}" data-id="{id}">{words}</tspan>'
                at = drawn.index(words, drawn.index(f'data-id="r{box}"'))
                drawn = drawn[:at] + part + drawn[at + len(words) :]
        return drawn

    def lines_of(self, moments: Sequence[LineRun]) -> dict[str, int]:
        found: dict[str, int] = {}
        for moment in moments:
            made = [x for x in self.run.order if x not in found and self.run.lines.get(x, 0) in moment.made_at]
            found |= dict.fromkeys(made[: len(moment.values)], moment.line)
        return {x.id: found.get(x.id, self.run.lines.get(x.id, 0)) for x in self.run.boxes.values()}

    def explain_no_box(self, moment: LineRun) -> str:
        """Words for a line that adds no box: it may add nothing, or the graph may have its boxes already."""
        for box, lines in self.run.inner.items():
            if moment.made_at & lines:
                return f"is in the {self.picture.box[box].op} already"
        built = self.shown if self.is_new else self.line
        return "has its boxes already" if any(self.line[x] == moment.line for x in built) else "adds nothing"

    def build_line(self, moment: LineRun) -> tuple[list[str], str]:
        """The boxes and arrows to show when this line runs, and the line's output in the trace; empty if not `is_new`.

        In an unrolled loop, each turn shows as many boxes as the line ran ops eagerly. If the graph has more or fewer
        ops, each turn shows an equal share. A loop that is an op is traced once, so its first turn shows all boxes.
        """
        new = [x for x in self.run.order if self.is_new and self.line[x] == moment.line and x not in self.shown]
        if moment.line not in [self.line[box] for box in self.run.inner]:
            pure = [box for box in new if box not in self.run.effects]
            turns, self.turns[moment.line] = self.turns[moment.line], self.turns[moment.line][1:]
            share = -(-len(pure) // max(1, len(turns)))
            new = (
                pure[: len(moment.values) if len(pure) == sum(turns) else share]
                + [box for box in new if box in self.run.effects][:1]
            )
        self.shown |= {*new}
        text = "".join(event.text for event in self.printed if event.line in moment.made_at)
        self.printed = [event for event in self.printed if event.line not in moment.made_at]
        return self.parts(new), text

    def parts(self, boxes: Sequence[str]) -> list[str]:
        """The ids of some boxes, and of the arrows into them."""
        return [f"r{box}" for box in boxes] + [f"r{a.id}" for a in self.picture.arrows if a.head in boxes]

    def inputs(self) -> list[str]:
        """The boxes of inputs."""
        return [box.id for box in self.picture.boxes if box.kind == "leaf"]
