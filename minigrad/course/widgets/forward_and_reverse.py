"""Forward mode next to reverse mode on one function: both count their passes and fill a Jacobian.

On the left one input is nudged, and tangents travel along the arrows: each pass gives a column. On the right one output
is differentiated, and cotangents travel against the arrows: each pass gives a row. The mode with fewer passes is
cheaper: forward for few inputs, reverse for few outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from ...draw.picture import UNKNOWN, Box, Picture
from ...draw.svg import across_and_down
from ...draw.words import join_names, number, pluralize
from .both_modes import BothModes, Pass
from .film import Cut, Film, Panel, Reel

PHASES = ("given", "forward mode", "reverse mode", "done")
TANGENT, COTANGENT = "tangent", "cotangent"
ROOM = "000"  # extra room: "tangent" and "cotangent" are longer than the "grad" that they replace


class ForwardAndReverse(Film):
    """The Jacobian of f at these inputs, by forward mode and by reverse mode.

    f         a Python function that takes tensors and returns one or several
    inputs    its arguments: tensors or numbers. All inputs together have 1 to 6 elements, and so have all outputs

    All numbers come from func.jvp and autograd.grad. Raises ValueError for more elements, for a graph of more than 24
    boxes, and for an f that raises or does not finish; TypeError for inputs or outputs that cannot be differentiated.
    """

    sheets = (*Film.sheets, "forward_and_reverse")

    def __init__(self, f: Callable[..., Any], *inputs: Any):
        both = BothModes(f, inputs)
        name = getattr(f, "__name__", "f")
        called = name if name.isidentifier() else "f"
        ends = f"{pluralize(len(both.columns), 'input', 'inputs')} and {pluralize(len(both.rows), 'output', 'outputs')}"
        reel = Reel([*panels(both, TANGENT), *panels(both, COTANGENT)], list(cuts(both)))
        super().__init__(f"{called}, {ends}: forward mode beside reverse mode", PHASES, [reel])


# -- the panels -----------------------------------------------------------------------------------------------


def panels(both: BothModes, what: str) -> list[Panel]:
    """The two panels of a mode: its graph, then its counter and its table."""
    side, of, way = ("f", both.pushed, "column") if what == TANGENT else ("r", both.pulled, "row")
    mode = "Forward" if what == TANGENT else "Reverse"
    longest = {box.id: max([each.moved.get(box.id, "") for each in of], key=len) for box in both.picture.boxes}
    boxes = tuple(replace(box, grad=longest[box.id] and longest[box.id] + ROOM) for box in both.picture.boxes)
    drawn = across_and_down(Picture(boxes, both.picture.arrows), title=f"{mode} mode", description="")
    drawn = re.sub(r'data-id="(\w+)"', rf'data-id="{side}\1"', drawn).replace(">grad<", f">{what}<")
    for box in boxes:
        slot = rf'(data-id="{side}{box.id}".*?)class="mg-number mg-grad"([^>]*)>[^<]*<'
        if box.grad:
            new = rf'\1class="mg-number mg-grad" data-id="{side}{box.id} moved"\2>{UNKNOWN}<'
            drawn = re.sub(slot, new, drawn, flags=re.DOTALL)
    counter = f'<p class="mg-passes" data-id="{side}count"></p>'
    return [Panel(f"{mode} mode: a pass gives a {way}", drawn), Panel("", counter + jacobian(both, side))]


def jacobian(both: BothModes, side: str) -> str:
    """The empty Jacobian: a row for each output element, a column for each input element."""
    head = "".join(f'<th scope="col">∂ {escape(name)}</th>' for name in both.columns)
    body = ""
    for j, name in enumerate(both.rows):
        cells = "".join(f'<td data-id="{side}J{j},{i}">{UNKNOWN}</td>' for i in range(len(both.columns)))
        body += f'<tr><th scope="row">∂ {escape(name)}</th>{cells}</tr>'
    return f'<table class="mg-table"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'


# -- the cuts -------------------------------------------------------------------------------------------------


def cuts(both: BothModes) -> Iterator[Cut]:
    n, m = len(both.columns), len(both.rows)
    one, other = "it" if m == 1 else f"each of the {m}", "that" if n == 1 else f"each of the {n}"
    ends = f"What goes in: {join_names(both.columns)}. What comes out: {join_names(both.rows)}."
    asks = f"How does {one} move with {other}? That is {pluralize(n * m, 'derivative', 'derivatives')}"
    counts = {"fcount": f"passes: 0 of {n}", "rcount": f"passes: 0 of {m}"}
    yield Cut(PHASES[0], f"{ends} {asks}, found in two ways.", text=counts)
    for i, each in enumerate(both.pushed):
        yield from forward_pass_cuts(both, i, each)
    for j, each in enumerate(both.pulled):
        yield from reverse_pass_cuts(both, j, each)
    yield Cut(PHASES[3], f"{compare_jacobians(both)} {cheaper(n, m)}")


def forward_pass_cuts(both: BothModes, i: int, each: Pass) -> Iterator[Cut]:
    """A pass of forward mode: from the inputs along the arrows."""
    picture = both.picture
    given = [box for box in picture.boxes if box.kind == "leaf" and box.id in each.moved]
    texts = {f"f{box.id} moved": each.moved[box.id] if box in given else UNKNOWN for box in moving(picture, each)}
    others = " All others stand still: 0." if len(both.columns) > 1 else ""
    texts["fcount"] = f"passes: {i + 1} of {len(both.pushed)}"
    say = f"Pass {i + 1} of {len(both.pushed)}: nudge {each.of}. Its tangent is 1.{others}"
    yield Cut(PHASES[1], say, text=texts, hot={"hot": [f"f{box.id}" for box in given]})
    for box in picture.boxes:
        if box.kind == "op":
            arrows, moved = picture.arrows_into[box.id], each.moved[box.id]
            tangent = f"The tangent of {box.display_name} = {picture.formula(box)} is {moved}"
            say, texts = f"{tangent}, for each 1 that {each.of} moves.", {f"f{box.id} moved": moved}
            hot = [f"f{box.id}", *(f"f{arrow.id}" for arrow in arrows)]
            yield Cut(PHASES[1], say, text=texts, hot={"hot": hot})
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
    texts["rcount"] = f"passes: {j + 1} of {len(both.pulled)}"
    asks = f"Pass {j + 1} of {len(both.pulled)}: ask what {each.of} owes to everything."
    say = f"{asks} Its own cotangent is 1.{others}"
    yield Cut(PHASES[2], say, text=texts, hot={"back": [f"r{end}" for end in ends]})
    for box in reversed(moving(picture, each)):
        users = [arrow for arrow in picture.arrows if arrow.tail == box.id]
        if users:
            added = f" Its {len(users)} shares were added." if len(users) > 1 else ""
            name, moved = box.display_name, each.moved[box.id]
            say = f"The cotangent of {name} is {moved}: what {each.of} moves for each 1 that {name} moves.{added}"
            back = [f"r{box.id}", *(f"r{arrow.id}" for arrow in users)]
            yield Cut(PHASES[2], say, text={f"r{box.id} moved": moved}, hot={"back": back})
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
