"""`draw`: the computation graph behind a value, as a picture and as equivalent text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from ..engine.base.pytree import leaves
from ..engine.base.whole_file import replace_file
from ..scalar.value import Value
from .layout import LayoutError, png
from .names import variables
from .picture import COMPUTED, Box, GraphRun, Picture
from .readers import reader_of
from .scalars import picture_of_values, replay_of_value
from .svg import svg, text_width
from .words import join_names, pluralize, shorten

if TYPE_CHECKING:
    from ..engine.tensor.tensor import Tensor
    from ..graph import Graph as Building
    from ..graph.function import TracedFunction
    from ..graph.trace import Trace


LARGEST = 200  # boxes; a larger picture is unreadable, and its layout takes seconds
STILL = 60  # boxes; in a graph of another framework, a group that would add more stays closed
LONGEST = 120  # characters for the names of the outputs


def draw(*xs: Any, names: Mapping[str, object] | None = None, ops: str = "nodes") -> Drawing:
    """Draw the graph behind one or more values: draw(x), draw(x, y), draw([x, y]), draw({"loss": x}).

    names    names of values, such as {"x": x, "loss": loss}; by default, the variable names in the calling code.
             A dictionary at the end of xs has the same effect, unless xs[0] is a function of another framework
    ops      "nodes": draw an operation in the box of its result; "edges": write it on the arrows

    Draws graphs of other frameworks as well (readers/): draw(loss) for a PyTorch tensor, draw(f, x), draw(model, x).
    More than 200 Values are drawn in groups. Raises TypeError for a value without a graph.
    """
    if ops not in ("nodes", "edges"):
        raise ValueError(f'ops, where to draw operations, must be "nodes" or "edges", got {ops!r}')
    reader = reader_of(xs[0], xs[1:]) if xs else None
    if names is None and len(xs) > 1 and isinstance(xs[-1], dict) and not (reader and callable(xs[0])):
        *xs, names = xs  # type: ignore[assignment]
    labels = {str(key): y for x in xs if isinstance(x, dict) for key, y in x.items()}
    namespace = variables(sys._getframe(1)) if names is None else names
    if reader is not None:
        from .hierarchy import hierarchy
        from .overview import Overview

        listing = reader.listing_of(xs[0], xs[1:], {**labels, **namespace, **labels})
        return Drawing(Overview(listing, hierarchy(listing, STILL)).picture(STILL), ops)
    return Drawing(picture_of(leaves(xs), {**labels, **namespace, **labels}), ops)


def picture_of(xs: Sequence[Any], namespace: Mapping[str, object]) -> Picture:
    """The picture of values of either engine, or of graphs."""
    if xs and all(isinstance(x, Value) for x in xs):
        return picture_of_values(xs, namespace, LARGEST)
    if xs and all(map(is_tensor, xs)):
        from .tensors import TensorGraph

        return TensorGraph(xs, namespace).picture
    if xs and "minigrad.engine.tensor.symbol" in sys.modules:
        from ..engine.core.graph import Graph
        from ..engine.tensor.symbol import Symbol
        from .graphs import picture_of_graph, picture_of_nodes, picture_of_session_graph

        if all(isinstance(x, Symbol) for x in xs):
            return picture_of_nodes([x.node for x in xs], namespace)
        if len(xs) == 1 and isinstance(x := xs[0], Graph):
            return picture_of_graph(x, namespace)
        if len(xs) == 1 and is_session_graph(x := xs[0]):
            return picture_of_session_graph(x, namespace)
        if len(xs) == 1 and is_traced(x := xs[0]):
            return picture_of_graph(only_trace(x).graph, namespace, only_trace(x))
    raise TypeError(refusal(xs))


def refusal(xs: Sequence[Any]) -> str:
    """The error message for values that have no picture."""
    kinds = dict.fromkeys("" if x is None else type(x).__name__ for x in xs)
    if len(xs) > 1 and "" not in kinds:
        return f"only Values, only Tensors or tensors of one graph can be drawn together, got {join_names([*kinds])}"
    x = next((x for x in xs if x is None), xs[0]) if xs else xs
    return (
        "expected a Value, a Tensor, a Graph, tensors of a Graph, or f.graph_for(…) of a traced function; "
        f"{shorten(repr(x), 80)} of type {type(x).__name__} has no graph"
    )


def only_trace(f: TracedFunction) -> Trace:
    """The only trace of a function. Raises TypeError if it has none, or several."""
    if f.trace_count != 1 or len(f.history) != 1:
        advice = f"say by its arguments which graph you mean, as in draw({f.__name__}.graph_for(…))"
        raise TypeError(f"{f.__name__} was traced {pluralize(f.trace_count, 'time', 'times')}: {advice}")
    return f.history[0]


def replay_of(y: object, namespace: Mapping[str, object], args: Sequence[Any] = (), **limits: Any) -> GraphRun:
    """The forward and backward pass over the graph of y; for another framework's function y, of y(*args) (readers/)."""
    if hasattr(reader := reader_of(y, args), "replay_of"):
        return reader.replay_of(y, args, namespace, **limits)  # type: ignore[union-attr]
    if isinstance(y, Value):
        return replay_of_value(y, namespace)
    if is_tensor(y):
        from .tensors import replay_of_tensor

        return replay_of_tensor(y, namespace)
    raise TypeError(f"only a Value or a Tensor has a graph to step through, not {y!r} of type {type(y).__name__}")


def is_tensor(x: object) -> TypeGuard[Tensor]:
    """Whether x is a Tensor. This does not import NumPy: if nothing else has imported it, there are no tensors."""
    engine = sys.modules.get("minigrad.engine.tensor.tensor")
    return engine is not None and isinstance(x, engine.Tensor)


def is_session_graph(x: object) -> TypeGuard[Building]:
    """Whether x is a Graph for sessions. This does not import the modules that build graphs."""
    built = sys.modules.get("minigrad.graph.graph")
    return built is not None and isinstance(x, built.Graph)


def is_traced(x: object) -> TypeGuard[TracedFunction]:
    """Whether x is a function traced by mg.function or mg.jit. This does not import the modules that trace."""
    traced = sys.modules.get("minigrad.graph.function")
    return traced is not None and isinstance(x, traced.TracedFunction)


@dataclass(frozen=True)
class Drawing:
    """A picture, shown in notebooks as SVG and elsewhere as text.

    picture    the boxes and arrows
    ops        "nodes" or "edges": where the operations are drawn
    """

    picture: Picture
    ops: str = "nodes"

    @cached_property
    def svg(self) -> str:
        """The drawing as one SVG document. Raises ValueError for a graph of more than 200 boxes."""
        if len(self.picture.boxes) > LARGEST:
            raise ValueError(self.too_large)
        picture = self.picture if self.ops == "nodes" else self.picture.ops_on_arrows()
        title = f"Computation graph of {join_names([box.display_name for box in picture.outputs])}"
        return svg(picture, title=title, description=self.text)

    @property
    def dot(self) -> str:
        """The drawing as a Graphviz graph in the DOT language; its boxes contain the same words as `text`."""
        from graphviz import Digraph, escape

        picture = self.picture if self.ops == "nodes" else self.picture.ops_on_arrows()
        graph = Digraph(graph_attr={"rankdir": "LR"})
        graph.attr("node", shape="box", style="filled", fillcolor="#f3f4f6", fontname="Helvetica", fontsize="12")
        graph.attr("edge", fontname="Helvetica", fontsize="12")
        for box in picture.boxes:
            rows = phrases(picture, box)
            width = max(text_width(row, 12) for row in rows) / 72  # engines can measure only ASCII
            looks = {"penwidth": "3"} if box in picture.outputs else {}
            looks |= {"fillcolor": "#e3f0fb"} if box.kind == "leaf" else {}
            graph.node(box.id, escape("\n".join(rows)), width=f"{width:.2f}", **looks)
        for arrow in picture.arrows:
            graph.edge(arrow.tail, arrow.head, escape(arrow.label) if arrow.label else None)
        return graph.source

    @property
    def png(self) -> bytes:
        """The drawing as PNG. Raises ValueError for a graph of more than 200 boxes."""
        if len(self.picture.boxes) > LARGEST:
            raise ValueError(self.too_large)
        return png(self.dot)

    @property
    def text(self) -> str:
        """The drawing in words: a line for the graph, then a line for each box, inputs before users."""
        return "\n".join([self.digest, *(line(self.picture, box) for box in self.picture.boxes)])

    @property
    def digest(self) -> str:
        """The drawing in one line."""
        boxes, arrows = len(self.picture.boxes), len(self.picture.arrows)
        place = "" if self.ops == "nodes" else ", operations on the arrows"
        said = f"{pluralize(boxes, 'box', 'boxes')}, {pluralize(arrows, 'arrow', 'arrows')}{place}"
        return f"{shorten(join_names([box.name_and_value for box in self.picture.outputs]), LONGEST)}: {said}"

    @property
    def too_large(self) -> str:
        return (
            f"{self.digest}. A picture of more than {LARGEST} boxes is unreadable, so this one is not drawn. "
            "Draw a part: any intermediate value has a smaller graph of its own."
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file: .svg or .png for a picture, .dot for Graphviz, .txt for the text.

        An existing file is replaced once the new one is complete. Raises ValueError for another ending, LayoutError
        if no installed Graphviz writes PNG, OSError if the file cannot be written.
        """
        match Path(path).suffix.lower():
            case ".svg":
                data = self.svg.encode()
            case ".png":
                data = self.png
            case ".dot" | ".gv":
                data = self.dot.encode()
            case ".txt":
                data = f"{self.text}\n".encode()
            case _:
                advice = "give a name such as graph.svg"
                raise ValueError(f"a drawing can be saved as .png, .dot, .svg or .txt, not as {str(path)!r}: {advice}")
        replace_file(path, [data])

    def __repr__(self) -> str:
        return f"Drawing({self.digest})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        if len(self.picture.boxes) > LARGEST:
            return {"text/plain": self.too_large}
        try:
            return {"image/svg+xml": self.svg, "text/plain": self.text}
        except LayoutError as error:
            return {"text/plain": f"{self.text}\n({error})"}


def line(picture: Picture, box: Box) -> str:
    """One box in words: temp = x × y = 6, grad 1, saved for backward."""
    is_one_of_several = len(picture.outputs) > 1 and box in picture.outputs
    return ", ".join([*phrases(picture, box), *["an output"] * is_one_of_several])


def phrases(picture: Picture, box: Box) -> list[str]:
    """The parts of a box's description."""
    said = f"{box.display_name} = {picture.formula(box)}" if box.kind in COMPUTED else box.display_name
    if box.kind != "constant":
        said += (f" = {box.value}" if box.value else "") + (f" {box.spec}" if box.spec else "")
    kind = {"leaf": "a leaf", "constant": "a constant"}.get(box.kind, "")
    return [*filter(None, (said, kind, box.grad and f"grad {box.grad}", "saved for backward" * box.kept))]
