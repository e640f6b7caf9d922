"""`draw`: the computation graph behind a value, as a picture and as text that says the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from ..base.whole_file import replace_file
from ..scalar.value import Value
from .layout import LayoutError
from .names import variables
from .picture import Box, Picture, Replay
from .scalars import picture_of_value, replay_of_value
from .svg import svg
from .words import counted

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..graph import Graph as Building
    from ..graph.function import TracedFunction
    from ..tensor.tensor import Tensor


LARGEST = 200  # boxes; beyond that a picture is a grey mat, and laying it out takes seconds


def draw(x: object, names: Mapping[str, object] | None = None, ops: str = "nodes") -> Drawing:
    """The graph that x came from; of more than 200 Values, in groups.

    names    what to call the values, as {"x": x, "loss": loss}; by default, what the calling code calls them
    ops      "nodes": an operation is drawn in the box of its result; "edges": it is written on the arrows
    """
    if ops not in ("nodes", "edges"):
        raise ValueError(f'ops says where operations are drawn: "nodes" or "edges", and not {ops!r}')
    return Drawing(picture_of(x, variables(sys._getframe(1)) if names is None else names), ops)


def picture_of(x: object, namespace: Mapping[str, object]) -> Picture:
    """The picture of any value of either engine."""
    if isinstance(x, Value):
        return picture_of_value(x, namespace, LARGEST)
    if is_tensor(x):
        from .tensors import picture_of_tensor

        return picture_of_tensor(x, namespace)
    if "minigrad.tensor.symbol" in sys.modules:
        from ..core.graph import Graph
        from ..tensor.symbol import Symbol
        from .graphs import picture_of_graph, picture_of_session_graph, picture_of_symbols

        if isinstance(x, Graph):
            return picture_of_graph(x, namespace)
        if is_session_graph(x):
            return picture_of_session_graph(x, namespace)
        if is_traced(x):
            return picture_of_graph(only_graph(x), namespace)
        listed = list(x) if isinstance(x, list | tuple) else [x]
        symbols = [y for y in listed if isinstance(y, Symbol)]
        if symbols and len(symbols) == len(listed):
            return picture_of_symbols(symbols, namespace)
    raise TypeError(
        f"what has a graph that can be drawn is a Value, a Tensor, a Graph, tensors of one, or "
        f"f.graph_for(…) of a traced function; {x!r} of type {type(x).__name__} has none"
    )


def only_graph(f: TracedFunction) -> Graph:
    """The graph of a function that was traced once. Raises TypeError where there is none, or more than one."""
    if f.trace_count != 1 or len(f.history) != 1:
        raise TypeError(
            f"{f.__name__} was traced {counted(f.trace_count, 'time', 'times')}, and its arguments say which graph is "
            f"meant: draw({f.__name__}.graph_for(…))"
        )
    return f.history[0].graph


def replay_of(y: object, namespace: Mapping[str, object]) -> Replay:
    """The forward and backward pass over the graph of y."""
    if isinstance(y, Value):
        return replay_of_value(y, namespace)
    if is_tensor(y):
        from .tensors import replay_of_tensor

        return replay_of_tensor(y, namespace)
    raise TypeError(f"a Value or a Tensor has a graph to step through; {y!r} of type {type(y).__name__} has none")


def is_tensor(x: object) -> TypeGuard[Tensor]:
    """Whether x is a Tensor, asked without importing NumPy: where nobody has, there are no tensors."""
    engine = sys.modules.get("minigrad.tensor.tensor")
    return engine is not None and isinstance(x, engine.Tensor)


def is_session_graph(x: object) -> TypeGuard[Building]:
    """Whether x is a Graph for sessions, asked without importing what builds graphs."""
    built = sys.modules.get("minigrad.graph.graph")
    return built is not None and isinstance(x, built.Graph)


def is_traced(x: object) -> TypeGuard[TracedFunction]:
    """Whether x is what mg.function or mg.jit makes, asked in the same way."""
    traced = sys.modules.get("minigrad.graph.function")
    return traced is not None and isinstance(x, traced.TracedFunction)


@dataclass(frozen=True)
class Drawing:
    """A picture that notebooks show as SVG, and everything else as text.

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
        return svg(picture, title=f"Computation graph of {self.picture.output.called}", description=self.text)

    @property
    def text(self) -> str:
        """The drawing in words: a line for the graph, then one for each box, inputs before users."""
        return "\n".join([self.digest, *(line(self.picture, box) for box in self.picture.boxes)])

    @property
    def digest(self) -> str:
        """The drawing in one line."""
        boxes, arrows = len(self.picture.boxes), len(self.picture.arrows)
        place = "" if self.ops == "nodes" else ", operations on the arrows"
        said = f"{counted(boxes, 'box', 'boxes')}, {counted(arrows, 'arrow', 'arrows')}{place}"
        return f"{self.picture.output.stated}: {said}"

    @property
    def too_large(self) -> str:
        return (
            f"{self.digest}. A picture of more than {LARGEST} boxes shows nothing, so this one is not drawn. "
            "Draw a part: any value on the way there has a smaller graph of its own."
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file: .svg for the picture, .txt for the text."""
        path = Path(path)
        if path.suffix not in (".svg", ".txt"):
            raise ValueError(f"a drawing is saved as .svg or .txt, and not as {path.name!r}")
        replace_file(path, [(self.svg if path.suffix == ".svg" else self.text + "\n").encode()])

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
    said = [f"{box.called} = {picture.formula(box)}" if box.kind == "op" else box.called]
    if box.kind != "constant":
        said += [f" = {box.value}" if box.value else "", f" {box.spec}" if box.spec else ""]
    said += [{"op": "", "leaf": ", a leaf", "constant": ", a constant"}[box.kind]]
    said += [f", grad {box.grad}" if box.grad else "", ", saved for backward" if box.kept else ""]
    return "".join(said)
