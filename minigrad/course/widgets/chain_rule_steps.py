"""The steps of a replay: each has the changes to the screen and a sentence that explains them.

A step holds only changes: the screen at step n is the result of applying steps 0 to n in order.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace

from ...draw.heat import Heat
from ...draw.picture import Box, GraphRun, Picture, Share
from ...draw.svg import band
from ...draw.words import format_op, is_number, join_names, number, pluralize
from .gradient_questions import StepQuestion, share_question

LONGEST_LINE = 12  # characters on an arrow; a longer line is wrapped
LONGEST_BESIDE = 9  # characters below a heat map
MOST_PARTS = 4  # summands in a box


@dataclass(frozen=True)
class ChainStep:
    """One step of the run.

    phase      "built", "forward", "backward" or "done"
    say        the sentence that explains the step
    box        id of the box in the spotlight; "" for none
    arrows     ids of the arrows in the spotlight
    sources    boxes whose numbers the step reads
    values     box → its new value, as text
    grads      box → its new gradient, as text
    parts      arrow → the share of the gradient that its tail adds up, as text
    flows      arrow → the width of the gradient that it carries, in pixels
    numbers    arrow → its new label in the view "numbers": incoming, local derivative and outgoing, in lines
    formulas   arrow → its new label in the view "formulas": the local derivative in symbols
    kept       boxes whose values are saved for backward from this step on
    freed      boxes whose saved values this step frees
    slope      id of the box whose value is the local derivative; "" for none
    maps       arrow → heat maps in place of lines of its label in the view "numbers"
    made       how the entries of what the arrow passes on come about: see terms_of
    around     arrow → the rule's text before and after the heat map of what arrives
    held       the bytes saved for backward after the step, in words; "" if the engine frees nothing
    question   the question that may come before the step

    value_heats, grad_heats    box → its new heat map
    """

    phase: str
    say: str
    box: str = ""
    arrows: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    grads: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    flows: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    formulas: dict[str, str] = field(default_factory=dict)
    value_heats: dict[str, Heat] = field(default_factory=dict)
    grad_heats: dict[str, Heat] = field(default_factory=dict)
    slope: str = ""
    maps: dict[str, tuple[Heat | None, ...]] = field(default_factory=dict)
    made: dict[str, object] = field(default_factory=dict)
    around: dict[str, tuple[str, str]] = field(default_factory=dict)
    held: str = ""
    question: StepQuestion | None = None

    def plain(self) -> dict[str, object]:
        """The step as plain data, without empty fields."""
        return {key: value for key, value in asdict(self).items() if value}


def steps_of(replay: GraphRun) -> list[ChainStep]:
    """The whole run: built, forward box by box, backward arrow by arrow, done."""
    picture = replay.picture
    computed = [forward(replay, box) for box in picture.boxes if box.kind == "op"]
    steps = [opening_step(picture), *leaf_steps(picture), *computed, *backward(replay), final_step(replay)]
    return with_bytes(steps, replay.sizes) if replay.frees else steps


def with_bytes(steps: list[ChainStep], sizes: dict[str, int]) -> list[ChainStep]:
    """The steps, each with the bytes that are saved for backward after it."""
    kept: dict[str, int] = {}
    told = []
    for step in steps:
        kept |= {x: sizes[x] for x in step.kept}
        kept = {x: size for x, size in kept.items() if x not in step.freed}
        told.append(replace(step, held=f"saved for backward: {pluralize(sum(kept.values()), 'byte', 'bytes')}"))
    return told


def opening_step(picture: Picture) -> ChainStep:
    kinds = Counter(box.kind for box in picture.boxes)
    leaves = pluralize(kinds["leaf"], "leaf", "leaves")
    operations = pluralize(kinds["op"], "operation", "operations")
    parts = f"The graph of {picture.output.display_name}: {leaves} and {operations}"
    return ChainStep("built", f"{parts}. We run it again, and no number is known yet.")


def leaf_steps(picture: Picture) -> list[ChainStep]:
    leaves = [box for box in picture.boxes if box.kind == "leaf"]
    names = [box.display_name if box.value.startswith("norm") else box.name_and_value for box in leaves]
    say = f"Forward starts at the leaves, which are given: {join_names(names)}."
    values = {box.id: beside(box.value, box.value_heat) for box in leaves}
    return [ChainStep("forward", say, values=values, value_heats=heats(leaves))] if leaves else []


def beside(text: str, heat: Heat | None) -> str:
    """The text if there is no heat map, or if it is short enough to stand below the heat map; else ""."""
    return text if heat is None or (len(text) <= LONGEST_BESIDE and "norm" not in text) else ""


def heats(boxes: list[Box]) -> dict[str, Heat]:
    return {box.id: box.value_heat for box in boxes if box.value_heat is not None}


def forward(replay: GraphRun, box: Box) -> ChainStep:
    """The step in which an op computes its result."""
    picture = replay.picture
    operands = picture.operands(box)
    if all(is_number(x.value) for x in (box, *operands)):
        numbers = format_op(box.op, [x.value for x in operands])
        say = f"{box.display_name} = {picture.formula(box)} = {numbers} = {box.value}."
    else:
        found = f", which is {box.value}" * (not box.value.startswith("norm"))
        say = f"{box.display_name} = {picture.formula(box)}{found}."
    read = replay.reads.get(box.id, ())
    if read:
        names = join_names([picture.box[x].display_name for x in read])
        say += f" Backward will need {names} here, so {'it is' if len(read) == 1 else 'they are'} saved."
    elif box.grad and box.id in replay.reads:
        say += " Backward needs no number from here: nothing is saved."
    arrows = tuple(arrow.id for arrow in picture.arrows_into[box.id])
    sources = tuple(x.id for x in operands)
    values, hot = {box.id: beside(box.value, box.value_heat)}, heats([box])
    return ChainStep("forward", say, box.id, arrows, sources, values=values, value_heats=hot, kept=read)


def backward(replay: GraphRun) -> list[ChainStep]:
    """The steps of the backward pass: the seed, then one for each arrow."""
    picture, output = replay.picture, replay.picture.output
    y = output.display_name
    say = f"Backward starts at {y}, with ∂{y}/∂{y} = {replay.seed}: {y} moves exactly as much as {y}."
    say += f" {replay.note}" * bool(replay.note)
    ask = StepQuestion(f"Backward starts at {y}. What is ∂{y}/∂{y}?", 1.0, replay.seed)
    steps = [ChainStep("backward", say, output.id, grads={output.id: replay.seed}, question=ask)]
    to_come = Counter(picture.arrow[share.arrow].tail for share in replay.shares)
    last_of = {picture.arrow[share.arrow].head: share for share in replay.shares}
    still_read = Counter(x for head in last_of for x in replay.reads.get(head, ()))
    for share in replay.shares:
        arrow = picture.arrow[share.arrow]
        to_come[arrow.tail] -= 1
        freed: list[str] = []
        if replay.frees and last_of[arrow.head] == share:
            still_read.subtract(replay.reads[arrow.head])
            freed = [x for x in replay.reads[arrow.head] if still_read[x] == 0]
        steps.append(share_step(replay, share, to_come[arrow.tail] > 0, freed))
    return steps


def wrap(line: str) -> str:
    """Break the line after spaces and opening brackets where it is too long for an arrow."""
    ends = [found.end() for found in re.finditer(r"[ (]", line.rstrip())] if len(line) > LONGEST_LINE else []
    at = min(ends, key=lambda end: abs(end - len(line) / 2), default=len(line))
    return line if at == len(line) else f"{line[:at]}\n{wrap(line[at:])}"


def share_step(replay: GraphRun, share: Share, more_to_come: bool, freed: list[str]) -> ChainStep:
    """The step in which one arrow carries its share of the gradient back."""
    picture = replay.picture
    arrow = picture.arrow[share.arrow]
    head, tail = picture.box[arrow.head].display_name, picture.box[arrow.tail].display_name
    way = f"From {head} back to {tail}"
    derivative = f"∂{head}/∂{tail}"
    if share.is_whole:
        say = f"{way}: g ({share.incoming}) arrives at {head}, and the rule “{share.rule}” makes {share.outgoing}."
        formula = f"g ↦ {share.rule}"
    else:
        local = derivative if share.rule in ("", share.slope) else f"{derivative} = {share.rule}"
        times = f"{local} = {share.slope}" if share.slope else local
        say = f"{way}: {share.incoming} arrives at {head}, times {times}, makes {share.outgoing}."
        formula = f"{derivative}\n= {share.rule}" if share.rule else derivative
    if share.before:
        say += describe_sum(tail, picture.uses[arrow.tail], share)
    if freed:
        names, size = join_names([picture.box[x].display_name for x in freed]), sum(replay.sizes[x] for x in freed)
        say += f" Backward is done with {names}: what is saved shrinks by {pluralize(size, 'byte', 'bytes')}."
    is_part = 1 < picture.uses[arrow.tail] <= MOST_PARTS and (share.heat is not None or is_number(share.after))
    return ChainStep(
        "backward", say, arrow.tail, (arrow.id,), (arrow.head,),
        grads={arrow.tail: beside(f"{share.after} + …" if more_to_come else share.after, share.heat)},
        parts={arrow.id: share.outgoing} if is_part else {}, flows={arrow.id: band(share.size)},
        maps={arrow.id: share.maps}, around={arrow.id: share.around}, made=terms_of(share),
        slope=slope_box(picture, share),
        grad_heats={arrow.tail: share.heat} if share.heat is not None else {},
        numbers={arrow.id: "\n".join(map(wrap, lines_beside(share)))},
        formulas={arrow.id: "\n".join(map(wrap, formula.split("\n")))},
        freed=tuple(freed), question=share_question(picture, share),
    )  # fmt: skip


def lines_beside(share: Share) -> list[str]:
    """The lines that no heat map shows; the rule only if it does not fit around the heat map of what arrives."""
    came, slope, passed = share.maps
    shown = came, slope or (came and share.around[0] not in ("Σ", "f(")), passed
    return [line for line, is_shown in zip(share.lines, shown) if not is_shown]


def terms_of(share: Share) -> dict[str, object]:
    """How the entry [i, j] of what is passed on comes about: a sum of `length` terms, each a product of `parts`.

    A part is (owner of a heat map, what it shows, a, b, c); in term k it is the entry a i + b j + c k of the map.
    """
    (came, slope, passed), (before, after) = share.maps, share.around
    if came is None or passed is None:
        return {}
    g, wide, rows = (share.arrow, "came"), came.columns, len(came.cells) // came.columns
    parts: list[tuple[object, ...]] = []
    if slope and "@" in before:
        rows, parts = slope.columns, [(share.arrow, "slope", slope.columns, 0, 1), (*g, 0, 1, wide)]
    elif slope and "@" in after:
        rows, parts = wide, [(*g, wide, 0, 1), (share.arrow, "slope", 0, 1, slope.columns)]
    elif before == "Σ" and passed.columns == wide:
        parts = [(*g, 0, 1, wide)]
    elif slope or after.startswith("×"):
        rows, parts = 1, [(*g, wide, 1, 0), *[(share.arrow, "slope", wide, 1, 0)] * (slope is not None)]
    times = f" {after}" * (not slope and after.startswith("×"))
    return {"length": rows, "parts": parts, "times": times} if parts else {}


def slope_box(picture: Picture, share: Share) -> str:
    """The id of the box whose value is the local derivative; "" for none."""
    operands = [x for x in picture.operands(picture.box[picture.arrow[share.arrow].head]) if x.kind != "constant"]
    return next((x.id for x in operands if x.display_name == share.rule and not share.is_whole), "")


def describe_sum(called: str, uses: int, share: Share) -> str:
    """The sentence for adding a share to the gradient of a value with several uses."""
    times = "twice" if uses == 2 else f"{uses} times"
    say = f" {called} was used {times}, so its gradients add"
    entry = share.entry
    if entry is None or entry.before is None:
        return f"{say} to {share.after}."
    if entry.where:
        sums = f"{format_op('+', [number(entry.before), number(entry.outgoing)])} = {number(entry.after)}"
        return f"{say}, entry by entry, to {share.after}: at {entry.where}, {sums}."
    return f"{say}: {format_op('+', [share.before, share.outgoing])} = {share.after}."


def final_step(replay: GraphRun) -> ChainStep:
    picture = replay.picture
    leaves = [box for box in picture.boxes if box.kind == "leaf" and box.grad]
    grads = join_names([f"{box.display_name}.grad = {box.grad}".replace("= norm", "has norm") for box in leaves])
    say = f"Done: {grads}."
    if leaves and is_number(leaves[0].grad):
        first = leaves[0]
        say += f" Nudge {first.display_name} by a tiny d, and {picture.output.display_name} moves by {first.grad} × d."
    if replay.frees and any(replay.reads.values()):
        say += " What was saved is freed, so a second backward would find nothing to read."
    reached = {replay.picture.arrow[share.arrow].tail for share in replay.shares}
    return ChainStep("done", say, grads={x.id: beside(x.grad, x.grad_heat) for x in picture.boxes if x.id in reached})
