"""The graph that an answer builds, drawn beside the expected one; the first difference is marked and put into words.

Among the probes of an exercise, a comment says which graph belongs to the probe below it:

    # Graph: multiply(a, b)     every right answer has this graph: the build stores it, and both graphs are drawn
    # Own graph: mine(a, b)     right answers have different graphs: only the learner's is drawn

The expression gives anything that mg.draw draws, a Picture, or None; for an own graph also a tuple: the graph, the id
of the box to mark, and a sentence about it. A drawing has no part in the verdict, or in grading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import astuple, fields, replace
from html import escape
from typing import Any

from minigrad.course.exercise import Verdict
from minigrad.course.fork import run_probes
from minigrad.course.referee import inner_probe
from minigrad.draw.drawing import Drawing, picture_of
from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.svg import svg
from minigrad.draw.words import join_names, pluralize

PACK = "from minigrad.course.graph_comparison import pack as pack_graph"
MOST = 40  # boxes in a drawing; of a larger graph, only the boxes nearest to the mark are drawn
COMMUTES = ("+", "×", "max", "min", "add", "mul", "multiply")  # the order of their operands does not count
LOOK = "display:inline-block;vertical-align:top;margin:.6em 1.5em 0 0;max-width:100%;overflow-x:auto"
STYLE = """<style>.mg-yours { --mg-line: var(--mg-backward); } .mg-expected { --mg-line: var(--mg-forward); }
.mg-picture :is(.mg-yours, .mg-expected) :is(.mg-frame, path:not(.mg-chip)) {
  stroke: var(--mg-line); stroke-width: 4; } .mg-picture .mg-yours * { stroke-dasharray: 6 3; }</style>"""


def graph_figure(verdict: Verdict, namespace: dict[str, Any]) -> tuple[str, str] | None:
    """A sentence on the graph of the failed probe, and drawings as HTML; None without a difference, or on failure."""
    try:
        if not (verdict.graph and verdict.attempt):
            return None
        expression, expected = verdict.graph
        probe = inner_probe(f"{verdict.part.probes}\n{PACK}\npack_graph({expression}, globals())", -1)
        came = run_probes([probe], namespace)[0].value
        mine = unpack(came)
        if expected:
            said, mark, other = find_difference(mine, wanted := unpack(expected))
            return said, STYLE + draw_side(said, "yours", mine, mark) + draw_side(said, "expected", wanted, other)
        boxes, arrows = pluralize(len(mine.boxes), "box", "boxes"), pluralize(len(mine.arrows), "arrow", "arrows")
        mark, more = came[3:] or ("", "")
        said = f"Your graph has {boxes} and {arrows}. {more}".strip()
        return said, STYLE + draw_side(said, "yours", mine, mark)
    except Exception:
        return None


def pack(graph: Any, names: Mapping[str, object]) -> Any:
    """A graph as plain data: its boxes, arrows and outputs; for an own graph, the mark and the sentence, too."""
    graph, *more = graph if isinstance(graph, tuple) else (graph,)
    picture = graph if graph is None or isinstance(graph, Picture) else picture_of([graph], names)
    return picture and [[*map(pack_part, picture.boxes)], [*map(pack_part, picture.arrows)], picture.ends, *more]


def pack_part(part: Box | Arrow) -> list[Any]:
    """The fields of a box or an arrow, without default values at the end, which unpack() restores."""
    row, defaults = [*astuple(part)], [x.default for x in fields(part)]
    while row[-1] == defaults[len(row) - 1]:
        row.pop()
    return row


def unpack(data: Any) -> Picture:
    boxes, arrows, ends, *_ = data
    return Picture(tuple(Box(*row) for row in boxes), tuple(Arrow(*row) for row in arrows), tuple(ends))


def find_difference(mine: Picture, wanted: Picture) -> tuple[str, str, str]:
    """A sentence on the first difference, and the id of the box or arrow to mark in each picture; "" for none.

    First an op that only one graph has; else find_other_number(). Raises StopIteration if the pictures are alike.
    """
    table = dict[Any, int]()
    a, b = (expression_numbers(picture, table) for picture in (mine, wanted))
    x = next((box for box in mine.boxes if box.kind == "op" and a[box.id] not in b.values()), None)
    y = next((box for box in wanted.boxes if box.kind == "op" and b[box.id] not in a.values()), None)
    if x and y and x.op == y.op:
        ours, theirs = mine.arrows_into[x.id], wanted.arrows_into[y.id]
        mark, other = odd_arrow(ours, a, theirs, b), odd_arrow(theirs, b, ours, a)
        reads, expected = words(mine, x), words(wanted, y)
        expected = "others, or another order" if expected == reads else expected
        return f"In yours, {reads}; expected: {expected}.", mark or x.id, other or y.id
    if x or y:
        extra = f"In yours, {words(mine, x)}: that is not expected. " if x else ""
        missing = f"Missing in yours: {words(wanted, y)}." if y else ""
        return (extra + missing).strip(), x.id if x else "", y.id if y else ""
    return find_other_number(mine, wanted, a, b)


def find_other_number(mine: Picture, wanted: Picture, a: dict[str, int], b: dict[str, int]) -> tuple[str, str, str]:
    """find_difference() for graphs with the same ops: how many boxes have an op, or a number in one of them."""
    counts, others = Counter(a.values()), Counter(b.values())
    if x := next((x for x in mine.boxes if x.kind == "op" and counts[a[x.id]] != others[a[x.id]]), None):
        mark, other = ([id for id in numbers if numbers[id] == a[x.id]][-1] for numbers in (a, b))
        boxes = pluralize(counts[a[x.id]], "box does", "boxes do")
        return f"In yours, {boxes} this: {words(mine, x)}. Expected: {others[a[x.id]]}.", mark, other
    order = [number for number in a.values() if counts[number] == 1]
    both = zip(facts(mine, a, order), facts(wanted, b, order))
    (what, came, mark), (_, expected, other) = next(pair for pair in both if pair[0][1] != pair[1][1])
    return f"In yours, {what} is {came or 'missing'}; expected: {expected}.", mark, other


def expression_numbers(picture: Picture, table: dict[Any, int]) -> dict[str, int]:
    """Box → the number of what it computes; equal ops on equal operands have equal numbers."""
    numbers = dict[str, int]()
    for box in picture.boxes:
        below = [numbers[x.id] for x in picture.operands(box)]
        key = box.kind, name_of(box), box.spec, tuple(sorted(below) if box.op in COMMUTES else below)
        numbers[box.id] = table.setdefault(key, len(table))
    return numbers


def odd_arrow(ours: list[Arrow], a: dict[str, int], theirs: list[Arrow], b: dict[str, int]) -> str:
    """The first of our arrows that brings what none of theirs brings, or what theirs brings at another place."""
    others = [b[arrow.tail] for arrow in theirs]
    odd = [arrow.id for arrow in ours if a[arrow.tail] not in others]
    moved = [arrow.id for i, arrow in enumerate(ours) if others[i : i + 1] != [a[arrow.tail]]]
    return next(iter(odd + moved), "")


def facts(picture: Picture, numbers: dict[str, int], order: list[int]) -> Iterator[tuple[str, str, str]]:
    """(name, text, id) of each number in the picture: values and slopes forward, then gradients backward."""
    boxes = [box for number in order for box in picture.boxes if numbers[box.id] == number]
    for box in boxes:
        yield name_of(box), box.value, box.id
        for arrow in picture.arrows_into[box.id]:
            yield f"the slope from {name_of(box)} to {name_of(picture.box[arrow.tail])}", arrow.label, arrow.id
    yield from ((f"the gradient of {name_of(box)}", box.grad, box.id) for box in reversed(boxes))


def name_of(box: Box) -> str:
    return "a new leaf of " * (box.kind == "leaf" and not box.name) + f"`{box.op or box.name or box.value}`"


def words(picture: Picture, box: Box) -> str:
    """What a box does: `×` reads `x − y` twice."""
    reads = []
    for id, n in Counter(x.id for x in picture.operands(box)).items():
        formula = picture.box[id].name or picture.formula(picture.box[id])
        name = name_of(picture.box[id]) if "#" in formula else f"`{formula}`"
        reads.append(name if n == 1 else f"{name} {'twice' if n == 2 else f'{n} times'}")
    return f"{name_of(box)} reads {join_names(reads or ['nothing'])}"


def draw_side(sentence: str, title: str, picture: Picture, mark: str) -> str:
    """One graph as HTML, with its mark: thick, coloured, and with a sign."""
    part, sign = cut_around(picture, mark), "✗" if title == "yours" else "✓"
    caption = title if part is picture else f"{title}: the {MOST} of {len(picture.boxes)} boxes nearest to the mark"
    boxes = (replace(b, name=f"{b.display_name} {sign}") if b.id == mark else b for b in part.boxes)
    arrows = (replace(a, label=f"{a.label} {sign}".strip()) if a.id == mark else a for a in part.arrows)
    drawn = svg(Picture(tuple(boxes), tuple(arrows), part.ends), title, "")
    label = escape(f"{caption}. {sentence} {Drawing(part).text}", quote=True)
    drawn = drawn.replace('role="img"', f'role="img" aria-label="{label}"', 1)
    drawn = drawn.replace(f'" data-id="{mark}"', f' mg-{title}" data-id="{mark}"', 1)
    return f'<figure style="{LOOK}"><figcaption>{caption}</figcaption>{drawn}</figure>'


def cut_around(picture: Picture, mark: str) -> Picture:
    """The picture, or of a larger one the boxes nearest to the mark."""
    if len(picture.boxes) <= MOST:
        return picture
    near = [picture.arrow[mark].head] if mark in picture.arrow else [mark or picture.output.id]
    for id in near:  # which grows
        ends = [end for a in picture.arrows if id in (a.tail, a.head) for end in (a.tail, a.head)]
        near += [end for end in dict.fromkeys(ends) if end not in near]
    boxes = tuple(box for box in picture.boxes if box.id in near[:MOST])
    arrows = tuple(a for a in picture.arrows if {a.tail, a.head} <= {box.id for box in boxes})
    return Picture(boxes, arrows, tuple(end for end in picture.ends if end in near[:MOST]))
