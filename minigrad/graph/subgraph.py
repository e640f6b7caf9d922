"""The builders of branches and of bodies, and what these do to `.grad`: it is carried out of them as edits are.

Inner      of a branch: reads the `.grad` that was made outside
Left       what two branches leave there, brought together
Turn       of a loop's test and body: what `.grad` is before a turn
Carries    what goes on from turn to turn
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import GraphError, NoGradientError, ShapeError
from ..base.spec import Spec
from ..core.node import Node
from ..tensor.tensor import Tensor
from ..tracing.builder import Captured, GraphBuilder, Tracer
from ..tracing.gradients import gradients, total

WAY_OUT = "begin with w.grad = mg.zeros_like(w), so that there is one in any case"


class Inner(GraphBuilder):
    """The builder of a branch, or of a body.

    reached    its arguments at which the gradient of a backward() arrived
    """

    outer: GraphBuilder
    way_out = property(lambda self: self.outer.way_out)

    def __init__(self, outer: GraphBuilder):
        super().__init__(outer)
        self.reached: set[Node] = set()

    def left(self) -> None:
        """What was set is carried on by Left, or by Carries."""

    def leaves(self) -> list[Any]:
        return list({id(x): x for x in (*super().leaves(), *self.outer.leaves())}.values())

    def reads(self, x: Any) -> list[Node]:
        return [] if isinstance(x, Tensor) and id(x) not in self.captured else super().reads(x)

    def gradients(
        self, ys: Sequence[Any], xs: Sequence[Any], grad_ys: Sequence[Any] | None = None, stop: Sequence[Any] = ()
    ) -> list[Any]:
        """The same, through what was computed outside as well."""
        with self.building():
            seeds, places = self.seeds(ys, grad_ys), [self.reads(x) for x in xs]
            stopped = {node for x in stop for node in self.reads(x)}
            outside = [c for c in self.captured.values() if isinstance(c.what, Tracer) and is_float(c.input)]
            through = [*(c.input for c in outside), *filter(is_float, self.inputs)]
            found = gradients(seeds, {*through, *(node for nodes in places for node in nodes)}, stopped)
            sums = [[found[node] for node in nodes if node in found] for nodes in places]
            self.reached |= found.keys() & {*self.inputs}
            for c in outside:
                if c.input in found and c.input not in stopped:
                    for gs, g in zip(sums, self.from_outside_of(c, found[c.input], xs, stop)):
                        gs += [] if g is None else [g]
            return [total(gs) for gs in sums]

    def from_outside_of(self, c: Captured, gy: Any, xs: Sequence[Any], stop: Sequence[Any]) -> list[Any]:
        """⟨gy, ∂c/∂x⟩ for each x: c is computed outside, and so is its gradient, of which gy, one number, is a factor.

        Raises NoGradientError where c has several elements, and depends on an x.
        """
        sources, stops = ([self.seen_outside(x) for x in some] for some in (xs, stop))
        asked = [i for i, x in enumerate(sources) if x is not c.what]  # of c itself, gy is the whole of it
        with self.outer.building():
            y = self.outer.lift(c.what)
            one = y if y.spec.size == 1 else y.sum()
        found: list[Any] = [None] * len(xs)
        for i, g in zip(asked, self.outer.gradients([one], [sources[i] for i in asked], None, stops)):
            if g is not None and one is not y:
                raise NoGradientError(
                    f"a gradient is asked for in a branch, or the body of a loop, and passes {y}, which is computed "
                    "outside: that can be one number, such as a loss. Compute it inside, or detach() it"
                )
            found[i] = g if g is None else (gy.reshape(()).astype(g.dtype) * self.lift(g)).astype(g.dtype)
        return found

    def seen_outside(self, x: Any) -> Any:
        """x as the builder outside knows it."""
        if not isinstance(x, Tracer) or x.builder is not self:
            return x
        return next((c.what for c in self.captured.values() if c.symbol is x), Tracer(x.node, self.outer))

    def ends_as(self, what: Any, g: Any, leaf: Any) -> None:
        """What is captured under `what` has g's value at the end. Raises ShapeError where that does not fit."""
        with self.building():
            y, captured = self.lift(g), self.capture(what)
            if y.shape != what.shape:
                raise ShapeError(f"the .grad of {leaf.spec} is {what.spec} outside, and {y.spec} in a branch or a loop")
            self.captured[id(what)] = Captured(what, self.captured[id(what)].input, y.astype(captured.dtype))


def is_float(node: Any) -> bool:
    """Whether a gradient can arrive there."""
    return isinstance(node.spec, Spec) and node.spec.is_float


def before(outer: GraphBuilder, leaf: Any) -> Any:
    """A symbol of its own, outside, for the .grad that the leaf has there; None where there is none."""
    g = outer.grad_to_add(leaf)
    return None if g is None else Tracer(outer.lift(g).node, outer)


def zeros(outer: GraphBuilder, leaf: Any) -> Tracer:
    """A .grad to begin with, where there is none."""
    with outer.building():
        z = outer.lift(0).astype(leaf.dtype).broadcast_to(leaf.shape)
        return Tracer(z.node, outer)


class Left:
    """What two branches leave in `.grad`.

    whats    of each leaf whose .grad a branch has set, what stands for it outside
    """

    def __init__(self, outer: GraphBuilder, builders: Sequence[Inner]):
        self.outer = outer
        self.whats: list[Tracer] = []
        self.set: list[tuple[Any, Tracer | None]] = []
        for leaf in {key: leaf for builder in builders for key, (leaf, _) in builder.grads.items()}.values():
            now = outer.grad_to_add(leaf)
            after = [builder.grad_to_add(leaf) for builder in builders]
            if all(g is now for g in after):
                continue
            if all(g is None for g in after):
                self.set.append((leaf, None))
                continue
            if any(g is None for g in after):
                raise GraphError(
                    f"the .grad of {leaf.spec} is a tensor after one branch and None after the other, and the graph, "
                    f"which decides when it runs, needs one kind of value: {WAY_OUT}"
                )
            what = zeros(outer, leaf) if now is None else before(outer, leaf)
            for builder, g in zip(builders, after):
                builder.ends_as(what, g, leaf)
            self.whats.append(what)
            self.set.append((leaf, what))

    def taken(self) -> None:
        """What they leave is what there is from here on."""
        for leaf, what in self.set:
            self.outer.grads[id(leaf)] = leaf, what


class Turn(Inner):
    """The builder of a loop's test, or body: a `.grad` is what the turn before has left.

    missed    id of a leaf → the leaf, whose .grad was found to be None before the turn
    """

    def __init__(self, outer: GraphBuilder, carries: Carries):
        super().__init__(outer)
        self.carries = carries
        self.missed: dict[int, Any] = {}

    def grad_of(self, x: Any, before: Any) -> Any:
        if id(x) not in self.grads and id(x) in self.carries.empty:
            raise GraphError(
                f"the .grad of {x.spec} is read in a loop, and is None before the first turn and a tensor before "
                f"the others: {WAY_OUT}"
            )
        return self.grad_to_add(x)

    def grad_to_add(self, x: Any) -> Any:
        if id(x) not in self.grads:
            what = self.carries.start(x)
            if what is None:
                self.missed[id(x)] = x
                return None
            self.grads[id(x)] = x, self.capture(what)
        return self.grads[id(x)][1]


class Carries:
    """The `.grad` that go on from turn to turn of a loop.

    starts    id of a leaf → (the leaf, what stands outside for its .grad before the first turn)
    empty     ids of leaves whose .grad is None there, and that begin with zeros
    whats     what stands outside for those that change
    """

    def __init__(self, outer: GraphBuilder):
        self.outer = outer
        self.starts: dict[int, tuple[Any, Tracer]] = {}
        self.empty: set[int] = set()
        self.whats: list[Tracer] = []
        self.set: list[tuple[Any, Tracer, Any]] = []

    def start(self, leaf: Any) -> Tracer | None:
        """What stands for its .grad before the first turn; None if it is None in every turn."""
        if id(leaf) not in self.starts:
            what = before(self.outer, leaf)
            if what is None and id(leaf) not in self.empty:
                return None
            self.starts[id(leaf)] = leaf, zeros(self.outer, leaf) if what is None else what
        return self.starts[id(leaf)][1]

    def through(self, written: Callable[[], Any]) -> Any:
        """The body, written down once more where it turns out that a .grad begins with zeros."""
        while True:
            body = written()
            new = [leaf for leaf, g in body.builder.grads.values() if g is not None and self.start(leaf) is None]
            self.empty |= set(map(id, new))
            if not any(id(leaf) in body.builder.missed for leaf in new):
                self.ended(body.builder)
                return body

    def ended(self, builder: Turn) -> None:
        """Note what the body leaves."""
        for leaf, g in list(builder.grads.values()):
            what = self.start(leaf)
            if what is None or self.is_as_it_was(builder, what, g):
                continue
            if g is None:
                raise GraphError(
                    f"the .grad of {leaf.spec} is a tensor before a turn of a loop and None after it, and the graph, "
                    "which decides when it runs, needs one kind of value: end with w.grad = mg.zeros_like(w), or call "
                    "zero_grad() before the loop as well"
                )
            edited = self.outer.grad_to_add(leaf) if g is builder.capture(what) else None
            if isinstance(edited, Tracer) and id(edited) in builder.captured:
                raise GraphError(
                    f"the .grad of {leaf.spec} is edited in place in a loop, and read there under another name "
                    "besides: let that be a tensor of its own, as w.grad.clone() is"
                )
            builder.ends_as(what, g, leaf)
            self.whats.append(what)
            self.set.append((leaf, what, edited))

    def is_as_it_was(self, builder: Turn, what: Tracer, g: Any) -> bool:
        """Whether g is what the turn began with."""
        c = builder.captured.get(id(what))
        return c is not None and g is c.symbol and g.node is c.input

    def only_read(self, test: Any) -> None:
        """Raises GraphError where the test sets a .grad, or has found None where the body leaves a tensor."""
        for leaf, g in test.grads.values():
            what = self.start(leaf)
            if what is None or not self.is_as_it_was(test, what, g):
                raise GraphError(f"the test of a loop sets the .grad of {leaf.spec}: set it in the body")
        for key, leaf in test.missed.items():
            if key in self.empty:
                raise GraphError(
                    f"the .grad of {leaf.spec} is read by the test of a loop, and is None before the first turn and a "
                    f"tensor before the others: {WAY_OUT}"
                )

    def checked(self, body: Any, *starts: Sequence[Tracer]) -> None:
        """Raises NoGradientError where backward() has gone, in the body, to a variable that depends on a leaf."""
        first = [x for some in starts for x in some]
        todo = [i for i, node in enumerate(body.builder.inputs) if node in body.builder.reached]
        for i in todo:  # which grows meanwhile
            after = body.outputs[i : i + 1]
            if depends(self.outer, first[i]) or any(depends(body.builder, y) for y in after):
                raise NoGradientError(
                    f"backward() in the body of a loop goes back to {first[i]}, which comes from the turn "
                    "before, or from outside, and depends there on what requires a gradient: detach() it at the "
                    "beginning of the body, or compute the loss of all turns, and its gradient after the loop"
                )
            for y in after:
                todo += [j for j in arguments_of(body.builder, y) if j not in todo]

    def taken(self) -> None:
        """What the last turn leaves is what there is from here on."""
        for leaf, what, edited in self.set:
            if isinstance(edited, Tracer):
                self.outer.take(edited, what)
            else:
                self.outer.grads[id(leaf)] = leaf, what


def depends(builder: GraphBuilder, y: Any) -> bool:
    """Whether a gradient passes from y to a leaf."""
    y = builder.lift(y)
    if not is_float(y.node):
        return False
    with builder.building():
        one = y if y.spec.size == 1 else y.sum()
    return any(g is not None for g in builder.gradients([one], builder.leaves()))


def arguments_of(builder: Inner, y: Any) -> list[int]:
    """The numbers of the arguments to which a gradient passes from y."""
    y = builder.lift(y)
    if not is_float(y.node):
        return []
    with builder.building():
        one = y if y.spec.size == 1 else y.sum()
        found = gradients(builder.seeds([one], None), {*filter(is_float, builder.inputs)})
    return [i for i, node in enumerate(builder.inputs) if node in found]
