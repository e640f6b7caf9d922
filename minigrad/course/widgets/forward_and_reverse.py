"""Forward mode above reverse mode on one function: both count their passes and fill a Jacobian.

In the upper half one input is nudged, and tangents travel along the arrows: each pass fills a column. In the lower half
one output is differentiated, and cotangents travel against the arrows: each pass fills a row. The mode with fewer
passes is cheaper: forward for few inputs, reverse for few outputs.

The recorded ops form one function from the inputs to every intermediate value. `func.jvp` of that function computes the
tangent of every value for one input; `autograd.grad` computes the gradient of one output with respect to every value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from ...api.func import jvp
from ...autograd import grad
from ...autograd.gradient import basis
from ...draw.graphs import place_boxes
from ...draw.heat import heat_of
from ...draw.picture import UNKNOWN, Box, Picture
from ...draw.svg import STYLE
from ...draw.tensors import format_array
from ...draw.words import join_names, number, pluralize
from ...engine.base.dtypes import kind
from ...engine.base.pytree import leaves
from ...engine.base.spec import Spec
from ...engine.core.node import Node, Source, toposort
from ...engine.ops import Const
from ...engine.tensor.grad import origin
from ...engine.tensor.tensor import Tensor
from ...graph.function import TracedFunction
from . import own_runs
from .film import FIRST, Cut, Film, Ids, Panel, Reel, refuse_large
from .jacobian import TITLES, draw_halves
from .recording import record_run
from .stills import state_after, still
from .widget import HERE

PHASES = ("given", "forward mode", "reverse mode", "done")
LARGEST = 24  # the most boxes: the graph is drawn twice, one above the other
MOST = 6  # the most elements of all inputs together, and of all outputs together: each costs one pass


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
        panels = [Panel(TITLES[side], html) for side, html in draw_halves(both).items()]
        reel = Reel(panels, list(add_marks(both, cuts(both))))
        super().__init__(f"{called}, {ends}: forward mode and reverse mode", PHASES, [reel])

    @property
    def svg(self) -> str:
        """Both halves as they are at the end."""
        state = state_after(self.steps)
        halves = [("", still(FIRST.findall(panel["html"])[0], *state)) for panel in self.films[0]["panels"]]
        is_across = " mg-down" in self.films[0]["panels"][0]["html"]  # behind the first picture, for a phone
        return self.place_in_rows(*([[half] for half in halves] if is_across else [halves]))


# -- the cuts -------------------------------------------------------------------------------------------------


def cuts(both: BothModes) -> Iterator[Cut]:
    n, m = len(both.columns), len(both.rows)
    one, other = "it" if m == 1 else f"each of the {m}", "that" if n == 1 else f"each of the {n}"
    ends = f"What goes in: {join_names(both.columns)}. What comes out: {join_names(both.rows)}."
    asks = f"How does {one} move with {other}? That is {pluralize(n * m, 'derivative', 'derivatives')}"
    counts = {f"{side}count": f"0 of {pluralize(k, 'pass', 'passes')}" for side, k in (("f", n), ("r", m))}
    yield Cut(PHASES[0], f"{ends} {asks}, found in two ways.", text=counts)
    for i, each in enumerate(both.pushed):
        yield from forward_pass_cuts(both, i, each)
    for j, each in enumerate(both.pulled):
        yield from reverse_pass_cuts(both, j, each)
    counts = {"fcount": passes(n, "input"), "rcount": passes(m, "output")}
    yield Cut(PHASES[3], f"{compare_jacobians(both)} {cheaper(n, m)}", text=counts)


def passes(n: int, end: str) -> str:
    """The counter at the end: 3 passes for 3 inputs."""
    return f"{pluralize(n, 'pass', 'passes')} for {pluralize(n, end, f'{end}s')}"


def add_marks(both: BothModes, cuts: Iterable[Cut]) -> Iterator[Cut]:
    """The same cuts, with marks on the seed of each pass, on what the pass went through, and on the strip it fills."""
    n, m = range(len(both.columns)), range(len(both.rows))
    strips = iter([f"fS{i}" for i in n] + [f"rS{j}" for j in m])
    begun, shown, through = iter([*both.pushed, *both.pulled]), dict[str, dict[str, list[str]]](), list[str]()
    strip = ""
    for cut in cuts:
        look, side = {PHASES[1]: ("pushed", "f"), PHASES[2]: ("pulled", "r")}.get(cut.phase, ("", ""))
        on, off = dict[str, list[str]](), dict[str, Ids]()
        lit = without(chain(*cut.hot.values()), [*cut.text])
        if look and f"{side}count" in cut.text:  # a pass begins
            strip, each = next(strips), next(begun)
            on = {"filling": [strip], "seed": [f"{side}pin{each.seed}", f"rp{each.seed}"][: 1 + (side == "r")]}
            on["zero"], on["turned"] = zeros(both, each, side), [f"r{id}" for id in both.picture.arrow] * (side == "r")
            off = {name: without(ids, on.get(name, [])) for name, ids in shown.get(side, {}).items()}
            off, through, shown[side] = {**off, look: without(through, lit)}, [], on
        elif on := fill_marks(both, cut, strip):
            shown[side] = {**shown[side], "fed": on["fed"]}
        through += lit
        yield replace(cut, on={**on, look: lit} if look else {}, off=off)


def fill_marks(both: BothModes, cut: Cut, strip: str) -> dict[str, list[str]]:
    """The marks on a strip that is filled, and on the lines that lead to it; {} if the cut fills none."""
    cells = [id for id in cut.text if "J" in id]
    fed = [id.replace("J", "T") for id in cells] + [f"fp{each.seed}" for each in both.pulled] * (strip[:1] == "f")
    none = [id.replace("J", part) for part in "JT" for id in cells if cut.text[id].strip("−") == "0"]
    return {"filled": [strip, *cells], "fed": fed, "zero": none} if cells else {}


def without(ids: Iterable[str], others: Sequence[str]) -> list[str]:
    return [id for id in ids if id not in others]


def zeros(both: BothModes, each: Pass, side: str) -> list[str]:
    """What has, or carries, only zeros in this pass: boxes and arrows."""
    ends = {arrow.id: arrow.tail if side == "f" else arrow.head for arrow in both.picture.arrows}
    still = {id for id, moved in each.moved.items() if not moved.strip("−0., []")}
    carry = {id for id, end in ends.items() if end in still or end not in each.moved or both.slopes.get(id) == "0"}
    return [side + id for id in sorted(still | carry)]


def forward_pass_cuts(both: BothModes, i: int, each: Pass) -> Iterator[Cut]:
    """A pass of forward mode: from the inputs along the arrows."""
    picture = both.picture
    given = [box for box in picture.boxes if box.kind == "leaf" and box.id in each.moved]
    texts = {f"f{box.id} moved": each.moved[box.id] if box in given else UNKNOWN for box in moving(picture, each)}
    others = " All others stand still: 0." if len(both.columns) > 1 else ""
    texts["fcount"] = f"pass {i + 1} of {len(both.pushed)}"
    say = f"Pass {i + 1} of {len(both.pushed)}: nudge {each.of}. Its tangent is 1.{others}"
    yield Cut(PHASES[1], say, text=texts, hot={"hot": [f"f{box.id}" for box in given]})
    for box in picture.boxes:
        if box.kind == "op":
            arrows, moved = picture.arrows_into[box.id], each.moved[box.id]
            shares = [(arrow.id, each.moved[arrow.tail]) for arrow in arrows if arrow.tail in each.moved]
            tangent = f"The tangent of {box.display_name} = {picture.formula(box)} is {total(both, shares, moved)}"
            say = f"{tangent}: how fast {box.display_name} changes as {each.of} changes."
            hot = [f"f{box.id}", *(f"f{arrow.id}" for arrow in arrows)]
            yield Cut(PHASES[1], say, text={f"f{box.id} moved": moved}, hot={"hot": hot})
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
    texts["fcount"] = passes(len(both.pushed), "input")
    texts["rcount"] = f"pass {j + 1} of {len(both.pulled)}"
    asks = f"Pass {j + 1} of {len(both.pulled)}: ask what {each.of} owes to everything."
    say = f"{asks} Its own cotangent is 1.{others}"
    yield Cut(PHASES[2], say, text=texts, hot={"back": [f"r{end}" for end in ends]})
    for box in reversed(moving(picture, each)):
        users = [arrow for arrow in picture.arrows if arrow.tail == box.id]
        if users:
            name, moved = box.display_name, each.moved[box.id]
            shares = [(arrow.id, each.moved[arrow.head]) for arrow in users if arrow.head in each.moved]
            own = ["1"] * (box.id in picture.ends and name == each.of)
            cotangent = f"The cotangent of {name} is {total(both, shares, moved, own)}"
            say = f"{cotangent}: how fast {each.of} changes as {name} changes."
            back = [f"r{box.id}", *(f"r{arrow.id}" for arrow in users)]
            yield Cut(PHASES[2], say, text={f"r{box.id} moved": moved}, hot={"back": back})
    row = {f"rJ{j},{i}": number(float(x)) for i, x in enumerate(both.reverse[j])}
    entries = join_names([f"∂{each.of}/∂{x} = {g}" for x, g in zip(both.columns, row.values())])
    yield Cut(PHASES[2], f"A row of the Jacobian: {entries}.", text=row, hot={"back": [*row]})


def total(both: BothModes, shares: Sequence[tuple[str, str]], moved: str, own: Sequence[str] = ()) -> str:
    """The sum that gives a (co)tangent, "2 × 1 + 3 × 0 = 2"; if a local slope is an array, the result alone."""
    if not shares or not all(arrow in both.slopes for arrow, _ in shares):
        return moved
    terms = [*own, *(f"{both.slopes[arrow]} × {change}" for arrow, change in shares)]
    return f"{' + '.join(terms)} = {moved}".replace("+ −", "− ")


def moving(picture: Picture, each: Pass) -> list[Box]:
    return [box for box in picture.boxes if box.id in each.moved]


def compare_jacobians(both: BothModes) -> str:
    if np.allclose(both.forward, both.reverse, rtol=1e-6, equal_nan=True):  # float32 has 7 digits
        return "Both tables are the same."
    return f"The tables differ by up to {number(float(np.nanmax(abs(both.forward - both.reverse))))}."


def cheaper(n: int, m: int) -> str:
    """Which mode is cheaper, and why."""
    forward, reverse = pluralize(n, "pass", "passes"), pluralize(m, "pass", "passes")
    which = "Neither mode" if n == m else "Forward mode" if n < m else "Reverse mode"
    return (
        f"Forward mode took {forward}, one for each input; reverse mode {reverse}, one for each output. {which} is "
        "cheaper in passes; only reverse mode keeps values. A loss is one output: its gradient is one pass back."
    )


@dataclass(frozen=True)
class Pass:
    """One pass through the whole graph.

    of       the input element that is nudged, or the output element that is differentiated
    moved    box → its tangent or its cotangent, as text
    seed     the box of that element; "" for an input that nothing reads
    """

    of: str
    moved: dict[str, str]
    seed: str


class BothModes:
    """The Jacobian of f at these inputs, computed by each mode.

    picture             the graph, with its values
    columns, rows       the names of the input elements, and of the output elements
    pushed, pulled      the passes of forward mode, one for each column, and of reverse mode, one for each row
    slopes              arrow → the local slope of its op, where all numbers are single
    forward, reverse    the Jacobian as each mode computes it, of shape (rows, columns)
    """

    @np.errstate(all="ignore")  # the widget shows NaN and infinity
    def __init__(self, f: Callable[..., Any], inputs: Sequence[Any]):
        f = f.python_function if isinstance(f, TracedFunction) else f
        if not inspect.isfunction(f):
            raise TypeError(f"ForwardAndReverse expects a Python function of tensors, got {f!r}")
        self.xs = [floating(x) for x in inputs]
        recording = record_run(f, self.xs, own_runs)
        if recording.error is not None:
            error = recording.error
            raise ValueError(f"{f.__name__} did not finish: {type(error).__name__}: {error}") from error
        self.ys = [check_output(f, y) for y in leaves(recording.result)]
        self.refuse_too_many(f)
        names = dict(zip(self.xs, parameters(f, len(self.xs))))
        self.columns = [entry for x in self.xs for entry in entries(names[x], x)]
        outputs = [recording.names.get(id(y), "") for y in self.ys]
        letter = min({"y", "z"} - {*recording.names.values()}, default="out")
        outputs = [name or letter + str(i) * (len(outputs) > 1) for i, name in enumerate(outputs, 1)]
        self.rows = [entry for name, y in zip(outputs, self.ys) for entry in entries(name, y)]
        kept = {y: recording.names.get(id(y), "") for y in recording.made}
        self.draw(names | kept | dict(zip(self.ys, outputs)))
        self.pushed, self.forward = self.push()
        self.pulled, self.reverse = self.pull()

    def refuse_too_many(self, f: Callable[..., Any]) -> None:
        for tensors, what, way in ((self.xs, "input", "inputs"), (self.ys, "output", "outputs")):
            if not 1 <= (n := sum(prod(x.shape) for x in tensors)) <= MOST:
                most = f"each {what} number costs a pass, so 1 to {MOST} can be shown"
                raise ValueError(f"{most}, but {f.__name__} has {n}: take fewer or smaller {way}")

    def draw(self, names: dict[Tensor, str]) -> None:
        """Set `picture`, with the learner's names, and `place`, which maps nodes to boxes."""
        self.ends = [origin(y) for y in self.ys]
        self.order = toposort(*self.ends)
        picture, place = place_boxes(self.ends, {})
        self.place = {node: id for node, id in place.items() if not isinstance(node.op, Const)}
        refuse_large("ForwardAndReverse", picture, LARGEST)
        called = {self.place[x.node]: name for x, name in names.items() if name and x.node in self.place}
        values = dict(zip(self.place, self.replay_ops(*self.xs)))
        boxes = {box.id: replace(box, name=called.get(box.id, box.name)) for box in picture.boxes}
        for node, id in self.place.items():
            boxes[id] = replace(boxes[id], value=format_array(values[node].value))
        ends = tuple(dict.fromkeys(self.place[y] for y in self.ends))
        self.picture = Picture(tuple(boxes.values()), picture.arrows, ends)
        self.slopes = self.local_slopes(values)

    def local_slopes(self, values: dict[Node, Tensor]) -> dict[str, str]:
        """Arrow → the local slope of its op, of ops on single numbers."""
        slopes: dict[str, str] = {}
        for node, id in self.place.items():
            arrows, specs = self.picture.arrows_into[id], [x.spec for x in (node, *node.inputs)]
            if all(isinstance(s, Spec) and s.is_float and not s.shape for s in specs):
                xs = [floating(x.op.value if isinstance(x.op, Const) else values[x]) for x in node.inputs]
                if xs and (y := xs[0].apply(node.op, *xs[1:])).requires_grad:
                    found = grad(y, xs, materialize_grads=True)
                    slopes |= {arrow.id: number(g.item()) for arrow, g in zip(arrows, found, strict=True)}
        return slopes

    def replay_ops(self, *xs: Tensor) -> tuple[Tensor, ...]:
        """Run the recorded ops on other inputs. Returns every intermediate value, in the order of `place`."""
        values: dict[Node, Any] = {origin(x): given for x, given in zip(self.xs, xs)}
        for node in self.order:
            if isinstance(node.op, Const):
                values[node] = Tensor(node.spec.device.array(node.op.value, node.spec.dtype))
            elif node.inputs:
                first, *others = (values[x] for x in node.inputs)
                values[node] = first.apply(node.op, *others)
            elif node not in values:
                assert isinstance(node, Source)
                values[node] = node.tensor()  # a tensor that f captured: it is constant here
        return tuple(values[node] for node in self.place)

    def push(self) -> tuple[list[Pass], np.ndarray]:
        """Forward mode: one pass for each input element."""
        passes: list[Pass] = []
        columns = []
        for k, x in enumerate(self.xs):
            for unit in basis(x):
                dxs = tuple(unit if i == k else still.new_zeros(still.shape) for i, still in enumerate(self.xs))
                moved = dict(zip(self.place, jvp(self.replay_ops, tuple(self.xs), dxs)[1]))
                columns.append(np.concatenate([moved[y].numpy().ravel() for y in self.ends]))
                passes.append(self.make_pass(self.columns[len(passes)], moved, origin(x)))
        return passes, np.stack(columns, axis=1)

    def pull(self) -> tuple[list[Pass], np.ndarray]:
        """Reverse mode: one pass for each output element."""
        values = dict(zip(self.place, self.replay_ops(*self.xs)))
        movable = {node: value for node, value in values.items() if value.requires_grad}
        passes: list[Pass] = []
        rows = []
        for y, end in zip(self.ys, self.ends):
            for unit in basis(y):
                gs = grad(movable[end], [*movable.values()], unit, retain_graph=True, materialize_grads=True)
                moved = dict(zip(movable, gs))
                shares = (moved.get(origin(x), x.new_zeros(x.shape)) for x in self.xs)  # 0 for an unused input
                rows.append(np.concatenate([share.numpy().ravel() for share in shares]))
                passes.append(self.make_pass(self.rows[len(passes)], moved, end))
        return passes, np.stack(rows)

    def make_pass(self, of: str, moved: dict[Node, Any], seed: Node) -> Pass:
        texts = {self.place[node]: format_entries(each.value) for node, each in moved.items()}
        return Pass(of, texts, self.place.get(seed, ""))


def format_entries(array: Any) -> str:
    """All elements of a small array, as each is an entry of the Jacobian; a summary of a larger array."""
    heat = heat_of(array)
    return heat.text if heat is not None and array.size <= MOST else format_array(array)


def floating(x: Any) -> Tensor:
    """A fresh input that requires a gradient. Raises TypeError for anything but real numbers."""
    array = np.array(x.numpy() if isinstance(x, Tensor) else x)
    if kind(array.dtype) not in "fiu" or (isinstance(x, Tensor) and not x.spec.is_float):
        raise TypeError(f"inputs are numbers or floating-point tensors, because others cannot be nudged; got {x!r}")
    return Tensor(array if kind(array.dtype) == "f" else array.astype(float), requires_grad=True)


def check_output(f: Callable[..., Any], y: Any) -> Tensor:
    """The output y. Raises TypeError if it cannot be differentiated."""
    if not isinstance(y, Tensor) or not y.requires_grad:
        got = y.spec if isinstance(y, Tensor) else repr(y)
        raise TypeError(f"{f.__name__} must return tensors computed from its inputs; {got} depends on none of them")
    return y


def parameters(f: Callable[..., Any], n: int) -> list[str]:
    """The names of f's first n arguments."""
    found = [p.name for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return [*found, *(f"x{i}" for i in range(len(found) + 1, n + 1))][:n]


def entries(name: str, x: Tensor) -> list[str]:
    """The names of the elements of x: "x" if it has no axes, else "x[0]", "x[1]", …"""
    if not x.shape:
        return [name]
    return [f"{name}[{', '.join(map(str, at))}]" for at in np.ndindex(*x.shape)]
