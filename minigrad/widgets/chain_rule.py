"""The chain rule, stepped over the learner's own graph: forward box by box, backward arrow by arrow.

Python computes everything once: one picture, laid out with room for every number it will ever hold, and the list of
steps. The browser only plays them back, so a step takes no time and needs no kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

import traitlets

from ..draw.drawing import picture_of, replay_of
from ..draw.names import variables
from ..draw.picture import Picture
from ..draw.svg import svg
from .stepped import Stepped, css, javascript
from .steps import Step, steps_of

LARGEST = 60  # boxes; more do not fit a screen at a size that can be read


class ChainRule(Stepped):
    """Forward and backward over the graph of y, one step at a time.

    index    the step on the screen: read it, or set it to go there
    text     all steps in words

    The numbers are the engine's own, from a run on a copy: y's .grad and its graph stay as they are.
    Raises ValueError for a graph of more than 60 boxes.
    """

    _esm = javascript("stepper", "chain_rule")
    _css = css("stepper", "chain_rule")

    shown = (*Stepped.shown, "picture")
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, y: object, names: Mapping[str, object] | None = None):
        """names    what to call the values, as {"x": x, "loss": loss}; by default, what the calling code calls them"""
        namespace = variables(sys._getframe(1)) if names is None else names
        graph = picture_of(y, namespace)
        if len(graph.boxes) > LARGEST:
            raise ValueError(
                f"ChainRule shows a graph of up to {LARGEST} boxes, and {graph.output.called} has {len(graph.boxes)}. "
                "Step through a part: any value on the way there has a smaller graph of its own"
            )
        self.replay = replay_of(y, namespace)
        final = self.replay.picture
        steps = steps_of(self.replay)
        super().__init__(
            label=f"Chain rule on the graph of {final.output.called}",
            picture=roomy(final, steps),
            steps=[step.plain() for step in steps],
        )

    @property
    def svg(self) -> str:
        """The end of the run as one picture: every value, every gradient, every local derivative."""
        final = self.replay.picture
        labels = longest({}, [step.get("labels", {}) for step in self.steps])
        arrows = tuple(replace(arrow, label=labels.get(arrow.id, "")) for arrow in final.arrows)
        return svg(Picture(final.boxes, arrows), title=self.label, description=self.text)

    def __repr__(self) -> str:
        leaves = [box for box in self.replay.picture.boxes if box.kind == "leaf" and box.grad]
        grads = [f"{box.called}.grad = {box.grad}" for box in leaves]
        return f"ChainRule({len(self.steps)} steps; {', '.join(grads)})"


def roomy(final: Picture, steps: list[Step]) -> str:
    """The picture as SVG, with room for the longest text that any step writes into a box or onto an arrow."""
    values = longest({box.id: box.value for box in final.boxes}, [step.values for step in steps])
    grads = longest({box.id: box.grad for box in final.boxes}, [step.grads for step in steps])
    labels = longest({}, [step.labels for step in steps])
    kept = {box for step in steps for box in step.kept}
    boxes = tuple(replace(box, value=values[box.id], grad=grads[box.id], kept=box.id in kept) for box in final.boxes)
    return svg(Picture(boxes, final.arrows), title="", description="", room=labels)


def longest(texts: dict[str, str], written: list[dict[str, str]]) -> dict[str, str]:
    """For each id, the longest of all that is ever written there."""
    for new in written:
        texts |= {key: max(text, texts.get(key, ""), key=len) for key, text in new.items()}
    return texts
