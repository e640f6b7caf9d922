"""Forward mode above reverse mode on one function: both count their passes and fill a Jacobian.

In the upper half one input is nudged, and tangents travel along the arrows: each pass fills a column. In the lower half
one output is differentiated, and cotangents travel against the arrows: each pass fills a row. The mode with fewer
passes is cheaper: forward for few inputs, reverse for few outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from ...draw.picture import UNKNOWN, Box, Picture
from ...draw.svg import STYLE, across_and_down, natural_size, text, text_width
from ...draw.words import join_names, number, pluralize
from .both_modes import BothModes, Pass
from .film import STYLES, Cut, Film, Panel, Reel
from .widget import HERE

PHASES = ("given", "forward mode", "reverse mode", "done")
MODES = {"f": "tangent", "r": "cotangent"}
TITLES = {
    "f": "Forward mode: tangents go along the arrows, and a pass fills a column",
    "r": "Reverse mode: cotangents go against the arrows, and a pass fills a row",
}
ROOM = "000"  # extra room: "cotangent" is longer than the "grad" that it replaces
SHORT = 8  # characters of a value that is written beside its name
CELL = 27  # height of a row of the Jacobian in the static picture
SLOT = re.compile(r'data-id="(\w+ moved)"([^>]*)>[^<]*')


class ForwardAndReverse(Film):
    """The Jacobian of f at these inputs, by forward mode and by reverse mode.

    f         a Python function that takes tensors and returns one or several
    inputs    its arguments: tensors or numbers. All inputs together have 1 to 6 elements, and so have all outputs

    All numbers come from func.jvp and autograd.grad. Raises ValueError for more elements, for a graph of more than 24
    boxes, and for an f that raises or does not finish; TypeError for inputs or outputs that cannot be differentiated.
    """

    sheets = (*Film.sheets, "forward_and_reverse")
    looks = STYLE + (HERE / "forward_and_reverse_flow.css").read_text("utf-8")

    def __init__(self, f: Callable[..., Any], *inputs: Any):
        self.both = both = BothModes(f, inputs)
        name = getattr(f, "__name__", "f")
        called = name if name.isidentifier() else "f"
        ends = f"{pluralize(len(both.columns), 'input', 'inputs')} and {pluralize(len(both.rows), 'output', 'outputs')}"
        drawn = draw_graph(both)
        panels = [Panel(TITLES[side], graph_of(both, drawn, side) + tally(both, side)) for side in MODES]
        super().__init__(f"{called}, {ends}: forward mode and reverse mode", PHASES, [Reel(panels, list(cuts(both)))])

    @property
    def svg(self) -> str:
        """Both halves after their last pass, each with its table."""
        words: dict[str, str] = {}
        for step in self.steps:
            words |= step.get("text", {})
        y, parts, right = 0.0, list[str](), 0.0
        for side in MODES:
            drawn = STYLES.sub("", self.films[0]["panels"]["fr".index(side)]["html"].split("</svg>")[0]) + "</svg>"
            width, height = natural_size(drawn)
            marks = {f'" data-id="{side}{arrow.id}"' for arrow in self.both.picture.arrows}
            for mark in marks:
                drawn = drawn.replace(mark, f' mg-{"pushed" if side == "f" else "pulled"}{mark}')
            drawn = SLOT.sub(lambda m: f'data-id="{m[1]}"{m[2]}>{words.get(m[1], "")}', drawn)
            drawn = re.sub(r'width="[^"]*" height="[^"]*"', f'y="{y + 30:g}" width="{width:g}" height="{height:g}"', drawn, count=1)
            table, wide = static_table(self.both, side, words, width + 24, y + 44)
            parts += [text("mg-title", 8, y + 20, TITLES[side]), drawn, *table]
            y += 40 + max(height, 60 + CELL * (1 + len(self.both.rows)))
            right = max(right, width + 40 + wide, text_width(TITLES[side], 15))
        frame = f'width="{right:g}" height="{y:g}" viewBox="0 0 {right:g} {y:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture" role="img" {frame}><title>{escape(self.label)}</title>'
        return "\n".join([head, f"<style>{self.looks}</style>", *parts, "</svg>"])


# -- the panels -----------------------------------------------------------------------------------------------


def draw_graph(both: BothModes) -> str:
    """The graph of both halves: each box has room for the longest tangent and the longest cotangent."""
    boxes = []
    for box in both.picture.boxes:
        longest = max([each.moved.get(box.id, "") for each in (*both.pushed, *both.pulled)], key=len)
        joined = {"name": box.name_and_value, "value": ""} if box.kind != "constant" and len(box.value) <= SHORT else {}
        boxes.append(replace(box, spec="", grad=longest and longest + ROOM, **joined))
    return across_and_down(Picture(tuple(boxes), both.picture.arrows, both.picture.ends), title="", description="")


def graph_of(both: BothModes, drawn: str, side: str) -> str:
    """The graph of one half. The slots of its boxes are empty."""
    drawn = re.sub(r'data-id="(\w+)"', rf'data-id="{side}\1"', drawn).replace(">grad<", f">{MODES[side]}<")
    for box in both.picture.boxes:
        slot = rf'(data-id="{side}{box.id}"(?:(?!data-id=).)*?)class="mg-number mg-grad"([^>]*)>[^<]*<'
        new = rf'\1class="mg-number mg-grad" data-id="{side}{box.id} moved"\2>{UNKNOWN}<'
        drawn = re.sub(slot, new, drawn, flags=re.DOTALL)
    return drawn


def tally(both: BothModes, side: str) -> str:
    """The counter of passes, and the empty Jacobian: a row for each output element, a column for each input element."""
    head = "".join(f'<th scope="col">∂ {escape(name)}</th>' for name in both.columns)
    body = ""
    for j, name in enumerate(both.rows):
        cells = "".join(f'<td data-id="{side}J{j},{i}">{UNKNOWN}</td>' for i in range(len(both.columns)))
        body += f'<tr><th scope="row">∂ {escape(name)}</th>{cells}</tr>'
    table = f'<table class="mg-table"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
    title = f'<p class="mg-title" aria-hidden="true">{TITLES[side]}</p>'
    return f'<div class="mg-tally">{title}<p class="mg-passes" data-id="{side}count"></p>{table}</div>'


def static_table(both: BothModes, side: str, words: Mapping[str, str], x: float, y: float) -> tuple[list[str], float]:
    """The counter and the filled Jacobian as SVG, the cells of the last pass tinted; and their width."""
    n, m = len(both.columns), len(both.rows)
    cells = [words[f"{side}J{j},{i}"] for j in range(m) for i in range(n)]
    wide = max(text_width(each, 13) for each in [*cells, *(f"∂ {name}" for name in (*both.columns, *both.rows))]) + 16
    last = (n - 1, 0, 1, m) if side == "f" else (0, m - 1, n, 1)
    left, top = x + wide, y + 24 + CELL
    place = f'x="{left + last[0] * wide:g}" y="{top + last[1] * CELL:g}" width="{last[2] * wide:g}" height="{last[3] * CELL:g}"'
    parts = [text("mg-passes", x, y, words[f"{side}count"]), f'<rect class="mg-filling" {place}/>']
    parts += [text("mg-number mg-name", left + (i + 1) * wide - 8, top - 9, f"∂ {name}") for i, name in enumerate(both.columns)]
    parts += [text("mg-number", left - 8, top + j * CELL + 18, f"∂ {name}") for j, name in enumerate(both.rows)]
    for at, cell in enumerate(cells):
        parts.append(text("mg-number", left + (at % n + 1) * wide - 8, top + at // n * CELL + 18, cell))
    return parts, max((n + 1) * wide, text_width(words[f"{side}count"], 24))


# -- the cuts -------------------------------------------------------------------------------------------------


def cuts(both: BothModes) -> Iterator[Cut]:
    n, m = len(both.columns), len(both.rows)
    one, other = "it" if m == 1 else f"each of the {m}", "that" if n == 1 else f"each of the {n}"
    ends = f"What goes in: {join_names(both.columns)}. What comes out: {join_names(both.rows)}."
    asks = f"How does {one} move with {other}? That is {pluralize(n * m, 'derivative', 'derivatives')}"
    counts = {"fcount": count(0, n, "forward"), "rcount": count(0, m, "reverse")}
    yield Cut(PHASES[0], f"{ends} {asks}, found in two ways.", text=counts)
    for i, each in enumerate(both.pushed):
        yield from forward_pass_cuts(both, i, each)
    for j, each in enumerate(both.pulled):
        yield from reverse_pass_cuts(both, j, each)
    counts = {"fcount": plural(n, "forward"), "rcount": f"against {plural(m, 'reverse')}"}
    yield Cut(PHASES[3], f"{compare_jacobians(both)} {cheaper(n, m)}", text=counts)


def plural(n: int, mode: str) -> str:
    return pluralize(n, f"{mode} pass", f"{mode} passes")


def count(done: int, n: int, mode: str) -> str:
    return f"{done} of {plural(n, mode)}"


def marks(both: BothModes, side: str, kept: Sequence[str]) -> list[str]:
    """The boxes and arrows of a half, whose marks a new pass takes away, but for those that it starts from."""
    all_of = [f"{side}{each.id}" for each in (*both.picture.boxes, *both.picture.arrows)]
    return [each for each in all_of if each not in kept]


def line_of(both: BothModes, side: str, at: int) -> list[str]:
    """The cells that a pass fills: a column of forward mode, a row of reverse mode."""
    n, m = len(both.columns), len(both.rows)
    return [f"fJ{j},{at}" for j in range(m)] if side == "f" else [f"rJ{at},{i}" for i in range(n)]


def forward_pass_cuts(both: BothModes, i: int, each: Pass) -> Iterator[Cut]:
    """A pass of forward mode: from the inputs along the arrows."""
    picture = both.picture
    given = [box for box in picture.boxes if box.kind == "leaf" and box.id in each.moved]
    texts = {f"f{box.id} moved": each.moved[box.id] if box in given else UNKNOWN for box in moving(picture, each)}
    others = " All others stand still: 0." if len(both.columns) > 1 else ""
    texts["fcount"] = count(i + 1, len(both.pushed), "forward")
    say = f"Pass {i + 1} of {len(both.pushed)}: nudge {each.of}. Its tangent is 1.{others}"
    start = [f"f{box.id}" for box in given]
    off = {"pushed": marks(both, "f", start), "filling": line_of(both, "f", i - 1)}
    on = {"pushed": start, "filling": line_of(both, "f", i)}
    yield Cut(PHASES[1], say, text=texts, on=on, off=off, hot={"hot": start})
    for box in picture.boxes:
        if box.kind == "op":
            arrows, moved = picture.arrows_into[box.id], each.moved[box.id]
            tangent = f"The tangent of {box.display_name} = {picture.formula(box)} is {moved}"
            say, texts = f"{tangent}, for each 1 that {each.of} moves.", {f"f{box.id} moved": moved}
            lit = [f"f{box.id}", *(f"f{arrow.id}" for arrow in arrows)]
            yield Cut(PHASES[1], say, text=texts, on={"pushed": lit}, hot={"hot": lit})
    column = {f"fJ{j},{i}": number(float(x)) for j, x in enumerate(both.forward[:, i])}
    entries = join_names([f"∂{y}/∂{each.of} = {x}" for y, x in zip(both.rows, column.values())])
    yield Cut(PHASES[1], f"A column of the Jacobian: {entries}.", text=column, hot={"hot": [*column]})


def reverse_pass_cuts(both: BothModes, j: int, each: Pass) -> Iterator[Cut]:
    """A pass of reverse mode: from an output against the arrows."""
    picture = both.picture
    texts = {f"r{box.id} moved": UNKNOWN for box in moving(picture, each)}
    ends = [both.place[node] for node in both.ends]
    others = " The cotangents of all other outputs are 0." if len(both.rows) > 1 else ""
    texts |= {f"r{end} moved": each.moved[end] for end in ends if not picture.uses[end]}
    texts["rcount"] = count(j + 1, len(both.pulled), "reverse")
    asks = f"Pass {j + 1} of {len(both.pulled)}: ask what {each.of} owes to everything."
    say = f"{asks} Its own cotangent is 1.{others}"
    start = [f"r{end}" for end in ends]
    before = line_of(both, "r", j - 1) if j else line_of(both, "f", len(both.columns) - 1)
    on = {"pulled": start, "filling": line_of(both, "r", j), "turned": [f"r{arrow.id}" for arrow in picture.arrows]}
    off = {"pulled": marks(both, "r", start), "filling": before}
    yield Cut(PHASES[2], say, text=texts, on=on, off=off, hot={"back": start})
    for box in reversed(moving(picture, each)):
        users = [arrow for arrow in picture.arrows if arrow.tail == box.id]
        if users:
            added = f" Its {len(users)} shares were added." if len(users) > 1 else ""
            name, moved = box.display_name, each.moved[box.id]
            say = f"The cotangent of {name} is {moved}: what {each.of} moves for each 1 that {name} moves.{added}"
            back = [f"r{box.id}", *(f"r{arrow.id}" for arrow in users)]
            yield Cut(PHASES[2], say, text={f"r{box.id} moved": moved}, on={"pulled": back}, hot={"back": back})
    row = {f"rJ{j},{i}": number(float(x)) for i, x in enumerate(both.reverse[j])}
    entries = join_names([f"∂{each.of}/∂{x} = {g}" for x, g in zip(both.columns, row.values())])
    yield Cut(PHASES[2], f"A row of the Jacobian: {entries}.", text=row, hot={"back": [*row]})


def moving(picture: Picture, each: Pass) -> list[Box]:
    return [box for box in picture.boxes if box.id in each.moved]


def compare_jacobians(both: BothModes) -> str:
    if np.allclose(both.forward, both.reverse, rtol=1e-6, equal_nan=True):  # float32 has 7 digits
        return "Both tables are the same."
    return f"The tables differ by up to {number(float(np.nanmax(abs(both.forward - both.reverse))))}."


def cheaper(n: int, m: int) -> str:
    """Which mode is cheaper, and why."""
    forward, reverse = pluralize(n, "pass", "passes"), pluralize(m, "pass", "passes")
    took = f"Forward mode took {forward}, one for each input; reverse mode {reverse}, one for each output."
    if n == m:
        return f"{took} Neither is cheaper in passes; forward mode keeps nothing, and reverse mode keeps values."
    if n < m:
        return f"{took} With fewer inputs than outputs forward mode is cheaper, and it keeps nothing for later."
    return (
        f"{took} With fewer outputs than inputs reverse mode is cheaper. A loss is one output of all parameters: its "
        "gradient is one pass back, however many they are."
    )
