"""The chain rule, stepped over the learner's own graph: forward box by box, backward arrow by arrow.

Python computes everything once: the list of steps, and one picture with room for the longest text of every box. The
browser only plays them back, so a step takes no time and needs no kernel.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import traitlets

from ...draw import heat
from ...draw.drawing import picture_of, replay_of
from ...draw.names import variables
from ...draw.picture import UNKNOWN, Picture
from ...draw.readers import reader_of
from ...draw.svg import LAPTOP, LEGEND, across_and_down, colours, svg
from ...scalar.value import Value, history
from .chain_rule_steps import ChainStep, steps_of
from .dragging import scalar_program
from .gradient_questions import NEAR, listed_questions, validate_answers
from .widget import Plain, SteppedWidget, javascript

LARGEST = 60  # boxes; more do not fit a screen at a readable size
CELLS = re.compile(r'(<g class="mg-heat"[^>]*>)(?:<g class="mg-cell.*?</g>)*</g>')  # the browser draws the cells
LARGER, TALLEST = 1.5, 370  # limits of enlarging a small picture: the factor, and the height in pixels
DRAGGED = "−0.0000"  # the width of boxes in which dragging can change the number
VIEWS = ("numbers", "formulas")  # how arrows show local derivatives; also names of fields of ChainStep


class ChainRule(SteppedWidget):
    """Forward and backward over the graph of y, one step at a time.

    index      the step on the screen: read it, or set it to go there
    asks       whether each backward step first asks for the gradient it will show
    answers    step → {"guess": …, "right": …, "gap": guess − right, "close": within 1 %}; guess is None if skipped
    view       what the arrows show: "numbers" or "formulas"
    program    the scalar graph that the browser evaluates when a leaf is dragged; [] if leaves cannot be dragged
    text       all steps in words

    With `asks`, the steps after the first open question cannot be reached. The numbers come from the engine, run on a
    copy: y's graph and .grad are unchanged.
    Raises ValueError for a graph of more than 60 boxes.
    """

    _esm = javascript("stepper", "heat", "asking", "number", "dragging", "chain_run", "chain_cells", "chain_rule")
    sheets = "stepper", "slider", "chain_rule"
    looks = colours(".mg-widget", ".mg-widget", heat.LIGHT, heat.DARK)

    shown = (*SteppedWidget.shown, "pictures", "view", "asks", "answers", "near", "program")
    pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)  # view → SVG
    view = traitlets.Enum(VIEWS, VIEWS[0]).tag(sync=True)
    asks = traitlets.Bool(False).tag(sync=True)
    program: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    near = traitlets.Float(NEAR).tag(sync=True)
    answers: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)

    def __init__(
        self, y: object, *args: Any, names: Mapping[str, object] | None = None, asks: bool = False, view: str = VIEWS[0]
    ):
        """y        a Value, a Tensor or a PyTorch tensor; or a PyTorch function or module, or a JAX function
        args     the arguments of y if y is a function or a module, which is called once
        names    names of values, such as {"x": x, "loss": loss}; by default, the variable names of the calling code
        """
        if names is None and args and isinstance(args[-1], dict) and not callable(y):
            *args, names = args  # type: ignore[assignment]
        namespace = variables(sys._getframe(1)) if names is None else names
        run = replay_of(y, namespace, args, most=LARGEST) if reader_of(y, args) else None
        graph = run.picture if run else picture_of([y], namespace)
        boxes = len(history(y)) if isinstance(y, Value) else len(graph.boxes)  # many Values are drawn in groups
        if boxes > LARGEST:
            raise ValueError(
                f"ChainRule shows a graph of up to {LARGEST} boxes, and {graph.output.display_name} has {boxes}. "
                "Step through a part: any value on the way there has a smaller graph of its own"
            )
        self.replay = replace(run or replay_of(y, namespace), arrays={})  # the widget keeps no array alive
        final = self.replay.picture
        steps = steps_of(self.replay)
        drags = scalar_program(y, final)
        super().__init__(
            label=f"Chain rule on the graph of {final.output.display_name}",
            pictures={view: roomy(final, steps, view, DRAGGED if drags else "") for view in VIEWS},
            program=drags,
            steps=[step.plain() for step in steps],
            asks=asks,
            view=view,
        )

    @traitlets.validate("answers")
    def _an_answer_to_a_question(self, proposal: Any) -> dict[int, Plain]:
        return validate_answers(proposal["value"], self.steps)

    @property
    def text(self) -> str:
        """All steps in words, numbered from 0, with the numbers of heat maps; with `asks`, all questions come first."""
        steps = "\n".join(self._step_lines())
        return f"{listed_questions(self.steps, self.answers)}\n\n{steps}" if self.asks else steps

    def _step_lines(self) -> Iterator[str]:
        box = self.replay.picture.box
        for line, step in zip(super().text.split("\n"), self.steps, strict=True):
            yield f"{line} [{step['held']}]" if "held" in step else line
            for what, key in (("", "value_heats"), ("gradient of ", "grad_heats")):
                for id, each in step.get(key, {}).items():
                    yield f"     {what}{box[id].display_name} = {heat.Heat(**each).text}"

    @property
    def svg(self) -> str:
        """The end of the run as one picture; with `asks`, without gradients."""
        final = self.replay.picture
        if self.asks:
            boxes = tuple(replace(box, grad=box.grad and UNKNOWN, grad_heat=None) for box in final.boxes)
            return svg(Picture(boxes, final.arrows), title=self.label, description=self.label)
        return svg(annotate(final, steps_of(self.replay), self.view), title=self.label, description=self.text)

    def __repr__(self) -> str:
        leaves = [box for box in self.replay.picture.boxes if box.kind == "leaf" and box.grad]
        grads = [f"{box.display_name}.grad = {box.grad}" for box in leaves]
        return f"ChainRule({len(self.steps)} steps; {', '.join(grads)})"


def annotate(final: Picture, steps: list[ChainStep], view: str, least: str | None = None) -> Picture:
    """The picture with what the steps write last: on each arrow its share, in each box the sum of its gradient.

    least    if given, each slot has the longest text that any step writes there, and at least this one
    """

    def texts(name: str) -> dict[str, Any]:
        slots: dict[str, Any] = {}
        for id, text in ((id, text) for step in steps for id, text in getattr(step, name).items()):
            slots[id] = text if least is None else max(text, slots.get(id, least), key=len)
        return slots

    values, grads, parts, labels = map(texts, ("values", "grads", "parts", view))
    flows = {id: width for step in steps for id, width in step.flows.items()}
    maps = {id: (found, step.around[id]) for step in steps for id, found in step.maps.items() if view == VIEWS[0]}
    heads = {arrow.id: final.box[arrow.head].display_name for arrow in final.arrows}
    boxes = []
    for box in final.boxes:
        summands = tuple((id, part, heads[id]) for id, part in parts.items() if final.arrow[id].tail == box.id)
        written = {"value": values.get(box.id, box.value), "grad": grads.get(box.id, box.grad), "parts": summands}
        boxes.append(replace(box, **written))
    arrows = (replace(x, label=labels.get(x.id, ""), flow=flows.get(x.id)) for x in final.arrows)
    dressed = (replace(x, maps=maps[x.id][0], around=maps[x.id][1]) if x.id in maps else x for x in arrows)
    return Picture(tuple(boxes), tuple(dressed))


def roomy(final: Picture, steps: list[ChainStep], view: str, least: str) -> str:
    """The picture as SVG, with room for the longest text that any step writes into each box or onto each arrow."""
    picture, kept = annotate(final, steps, view, least), {box for step in steps for box in step.kept}
    lines = {arrow.id: arrow.label.split("\n") for arrow in picture.arrows if arrow.label}
    room = {id: "\n".join(max(line, f"= {least}", key=len) for line in lines[id]) for id in lines}
    boxes = tuple(replace(box, kept=box.id in kept) for box in picture.boxes)
    empty = Picture(boxes, tuple(replace(arrow, label="") for arrow in picture.arrows))
    drawn = across_and_down(empty, title="", description="", room=room)
    wide, tall = map(float, drawn.split('viewBox="', 1)[1].split('"')[0].split()[2:])
    drawn = f'<svg style="--mg-enlarge: {max(1, min(LARGER, LAPTOP / wide, TALLEST / tall)):.3f}"{drawn[4:]}'
    if view == VIEWS[1]:
        more = ", or g ↦ what is passed on" * any("↦" in arrow.label for arrow in picture.arrows)
        words = f'<tspan class="mg-dim">slope</tspan> <tspan class="mg-passed">= formula{more}</tspan>'
        drawn = drawn.replace(LEGEND[1], f'<text y="4">{words}</text>')
    return CELLS.sub(r"\1</g>", drawn)
