"""Gradients in a graph: backpropagation on symbols adds more nodes. Also tracks the `.grad` of each leaf.

Checkpoints: backward recomputes the values inside from the checkpoint's inputs.

Eager code calls the function a second time. A graph already has the nodes, and marks those inside the checkpoint: the
part. A derivative that needs a node of the part reads a copy, computed from copies, back to the inputs of the part. The
inputs are read through a Barrier, which waits for the arriving gradient. So no pass merges the copy with the original,
and the copy is not computed before it is needed. (`jax.checkpoint` does the same, with an optimization_barrier.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

from ..engine import ops
from ..engine.base.errors import GraphError, NoGradientError, ShapeError
from ..engine.base.spec import Specs
from ..engine.core.backward import pullback
from ..engine.core.modes import current, in_mode
from ..engine.core.node import NamedNode, Node, depending_on, toposort
from ..engine.core.op import Op
from ..engine.tensor.grad import origin
from ..engine.tensor.rules import plan
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from .tracer import Tracer, on_worker

Key = tuple["CheckpointCall | None", Node]


def gradients(
    seeds: Mapping[Node, Symbol], wrt: Collection[Node], stop: Collection[Node] = (), like: Symbol | None = None
) -> dict[Node, Symbol]:
    """Node → Σ over the seeds of ⟨seed, ∂y/∂node⟩, for the nodes of `wrt` that a gradient reaches.

    seeds    result y → the gradient that arrives there
    stop     nodes treated as constants: no gradient passes through them
    like     a symbol of the nodes' graph, if the seeds may belong to a graph inside it
    """
    if not seeds:
        return {}
    passing = [node for node in as_written(toposort(*seeds)) if node not in stop]
    between = depending_on(passing, wrt)
    order = [node for node in passing if node in between]
    reading = Recomputation(next(iter(seeds.values())) if like is None else like)
    with in_mode(autocast=None):  # gradients keep the dtypes of forward
        grads = pullback(order, dict(seeds), partial(pull, between, reading), {*wrt}, add)
    return {node: grads[node] for node in wrt if node in grads}


def as_written(order: Sequence[Node]) -> list[Node]:
    """The nodes in the order in which eager mode runs them, so that sums of gradients have the same bits."""
    age: dict[Node, int] = {}
    for node in order:
        age[node] = max([node.born, *map(age.__getitem__, node.inputs)])  # after a pass, a node may read a newer node
    return sorted(order, key=age.__getitem__)


def pull(between: Collection[Node], reading: Recomputation, node: Node, gy: Any) -> tuple[Any, ...]:
    """The gradients of the inputs of `node`, as symbols; None for inputs outside `between`.

    The gradients are placed on the worker of the node, as with TensorFlow 1's colocate_gradients_with_ops.
    """
    if not node.inputs:
        return ()
    arrived = next(g for g in gy.gys if g is not None) if isinstance(gy, ops.Cotangents) else gy
    with on_worker(node.worker):
        y, *xs = reading.operands(node, arrived)
        gxs = node.op.gradients(gy, y, *xs)
    can_carry = [x in between and (isinstance(x.spec, Specs) or x.spec.is_float) for x in node.inputs]
    return tuple([gx if can else None for can, gx in zip(can_carry, gxs, strict=True)])


class PullbackBuilder:
    """The gradient methods of GraphBuilder."""

    outer: Any
    captured: dict[int, Any]
    grads: dict[int, tuple[Any, Any]]
    lift: Any
    building: Any
    is_own: Any

    def gradients(
        self, ys: Sequence[Any], xs: Sequence[Any], grad_ys: Sequence[Any] | None = None, stop: Sequence[Any] = ()
    ) -> list[Any]:
        """Σ ⟨grad_y, ∂y/∂x⟩ for each x, as nodes of this graph; None if no y depends on x.

        stop    tensors treated as constants
        """
        with self.innermost().building():
            seeds, places = self.seeds(ys, grad_ys), [self.reads(x) for x in xs]
            stopped = {node for x in stop for node in self.reads(x)}
            like = self.lift(ys[0]) if ys else None
            found = gradients(seeds, {node for nodes in places for node in nodes}, stopped, like)
            return [total([found[node] for node in nodes if node in found]) for nodes in places]

    def innermost(self) -> Any:
        """The builder to which gradients are added: the active builder if it is inside this one, else this one."""
        inside = current.mode.builder
        while inside is not None and inside is not self:
            inside = inside.outer
        return self if inside is None else current.mode.builder

    def reads(self, x: Any) -> list[Node]:
        """The node of x before its unrecorded edits; for a captured tensor's node, the node that replaces it here."""
        node = self.lift(x).node
        if not isinstance(node, NamedNode):
            return [c.symbol.node for c in self.captured.values() if c.what.node is node]
        while isinstance(node.op, ops.StopGradient) and len(node.inputs) > 1:
            node = node.inputs[1]
        return [node]

    def needs_grad(self: Any, x: Tracer) -> bool:
        """Whether x requires a gradient when the function runs as plain Python. In a session, every float does."""
        needed = self.may_need_grad(x)
        return bool(x._nowhere("requires_grad") if needed is None else needed)

    def may_need_grad(self: Any, x: Tracer) -> bool | None:
        """needs_grad(), but None if only a run knows, as after a branch. Each node is looked at once."""
        if not self.once:
            return x.spec.is_float
        todo = [self.lift(x).node]
        while todo:
            if missing := [y for y in todo[-1].inputs if y not in self.needs]:
                todo += missing
            elif (node := todo.pop()) not in self.needs:
                self.needs[node] = self.need_of(node, [self.needs[y] for y in node.inputs])
        is_leaf, needed = x.node in self.wishes or isinstance(x.node.op, ops.Input), self.needs[x.node]
        return needed if needed is False or is_leaf or self.is_grad_enabled() else False

    def need_of(self: Any, node: Node, needs: Sequence[bool | None]) -> bool | None:
        """Whether a node requires a gradient, given the needs of its inputs."""
        if isinstance(node.op, ops.Input):
            what = self.origins.get(node)
            if self.outer is not None and id(what) in self.renewed:
                what = self.outer.lift(what)
            if isinstance(what, Tracer):
                return what.builder.may_need_grad(what)
            read = what._note_read("requires_grad") if isinstance(what, Tensor) else what
            return None if read is None else bool(read.tracked)
        if isinstance(node.op, ops.StopGradient | ops.ControlDep):
            return [*needs[isinstance(node.op, ops.StopGradient) :], False][0]
        if None in needs or (True in needs and type(node.op) not in ops.TABLE):  # a branch, a loop, a user's rule
            return None
        if True in needs and all(y.spec.is_known for y in node.inputs):
            return plan(node.op, tuple(y.spec for y in node.inputs)).rule(tuple(needs)) is not None
        return True in needs

    def is_recorded(self: Any, x: Tracer) -> bool:
        """Whether x is the result of a recorded op when the function runs as plain Python. In a session, nothing is."""
        (node,) = self.reads(x)
        if not self.once or node in self.wishes or not self.needs_grad(x):
            return False
        if node in self.inputs:
            x._nowhere("is_leaf")
        return not isinstance(node.op, ops.Input) or not self.origins[node].is_leaf

    def seeds(self, ys: Sequence[Any], grad_ys: Sequence[Any] | None) -> dict[Node, Any]:
        """Node of each y → the gradient that arrives there; the sum, if a y occurs twice."""
        seeds: dict[Node, Any] = {}
        for y, gy in zip(map(self.lift, ys), [None] * len(ys) if grad_ys is None else grad_ys, strict=True):
            seed = self.arriving(y, gy)
            seeds[y.node] = seeds[y.node] + seed if y.node in seeds else seed
        return seeds

    def arriving(self, y: Tracer, gy: Any) -> Tracer:
        """The gradient that arrives at y: ones unless given."""
        if not y.spec.is_float:
            raise NoGradientError(f"gradients() start from floating numbers, and {y} is {y.spec}")
        lift = current.mode.builder.lift
        g = lift(1.0, y.spec).astype(y.dtype) if gy is None else lift(gy, y.spec)
        if gy is not None and g.shape != y.shape:
            raise ShapeError(f"grad_ys needs the shape of {y.spec}, and got {g.spec}")
        seed: Tracer = g.broadcast_to(y.shape)
        return seed

    def backward(self, y: Tracer, gradient: Any) -> None:
        """Add the gradients of y to `.grad` of the captured leaves that require one."""
        builder = current.mode.builder
        if builder is not None and builder is not self:  # y is from outside the branch or body that calls this
            builder.backward(builder.lift(y), gradient)
            return
        if gradient is None and y.spec.size != 1:
            raise NoGradientError(f"backward() starts from one number, and {y} is {y.spec}: sum it, or pass gradient=…")
        self.note_backward()
        leaves = self.leaves()
        found = self.gradients([y], leaves, None if gradient is None else [gradient])
        if all(g is None for g in found):
            raise NoGradientError(
                f"backward() adds to the .grad of tensors from outside the graph that require a gradient, and {y} "
                "depends on none: make them with requires_grad=True; or take mg.gradients(loss, [w]), for any node w"
            )
        for x, g in zip(leaves, found):
            if g is not None:
                before = x.grad
                if isinstance(before, Tensor) and before is getattr(x, "_grad", None):
                    raise NoGradientError(
                        f"backward() in a graph adds to the .grad of {x.spec}, which was there before the graph: "
                        "begin with zero_grad() inside the traced function, or take autograd.grad(loss, parameters)"
                    )
                hooks = origin(x).hooks
                if hooks is not None:
                    self.note_read(x, "hooks")  # type: ignore[attr-defined]
                    g = hooks(g)
                if before is None or self.outer is not None:  # in a branch, set_grad() checks this
                    x.grad = g
                else:
                    with in_mode(recording=False):
                        before.add_(g)  # the same tensor, as in eager mode: others may hold it
                for hook in () if hooks is None else [*hooks.after.values()]:
                    hook(x)

    def note_backward(self) -> None:
        """Called by backward(). Raises NoGradientError if it is not allowed here."""
        if self.outer is not None:
            self.outer.note_backward()

    def grad_of(self, x: Any, before: Any) -> Any:
        """x.grad at this point of the graph; it was `before` when the graph was begun."""
        if id(x) in self.grads:
            return self.grads[id(x)][1]
        return before if self.outer is None else self.outer.grad_of(x, before)

    def set_grad(self, x: Any, grad: Any) -> None:
        """x.grad = grad. Raises GraphError in a branch or a loop that a run may skip, if x is from outside."""
        if self.outer is not None and not self.is_own(x) and grad is not x.grad:
            raise GraphError(
                f"the .grad of {x.spec}, a tensor from outside, is set, or added to by backward(), in a branch or a "
                "loop of a graph, or in a function that is traced separately. Use mg.autograd.grad(loss, xs) there, "
                "which leaves .grad alone; return the gradients from the block, and set .grad after it"
            )
        self.grads[id(x)] = x, grad

    def leaves(self) -> list[Any]:
        """The captured leaves that require a gradient."""
        return [c.what for c in self.captured.values() if isinstance(c.what, Tensor) and c.what.tracked]


def total(gs: Sequence[Any]) -> Any:
    """The sum of the gs; None if there are none."""
    return reduce(add, gs) if gs else None


# -- checkpoints ------------------------------------------------------------------------------------


@dataclass(eq=False)
class CheckpointCall:
    """The call of a checkpoint's function: a part of the graph that backward recomputes.

    outer      the part around it
    keeps      (op, specs of its operands) → whether its result is saved, not recomputed; None if no result is saved
    is_shelf   whether it holds the saved nodes of the part around it
    """

    outer: CheckpointCall | None
    keeps: Callable[..., bool] | None = None
    is_shelf: bool = False

    def of(self, op: Op, inputs: tuple[Node, ...]) -> CheckpointCall | None:
        """The part of a new node: None if the node must not run twice, a shelf if its result is saved."""
        if isinstance(op, ops.TupleGet):
            return inputs[0].part  # type: ignore[no-any-return]
        if op.effect or isinstance(op, ops.Read | ops.Assign | ops.Group):
            return None
        if self.keeps is not None and inputs and self.keeps(op, *(x.spec for x in inputs)):
            return CheckpointCall(self, is_shelf=True)
        return self

    @property
    def home(self) -> CheckpointCall | None:
        """The part in which the operands of its nodes are found."""
        return self.outer if self.is_shelf else self

    def __iter__(self) -> Iterator[CheckpointCall]:
        """The parts in which its nodes are recomputed, the innermost first."""
        part = self.outer.outer if self.is_shelf and self.outer else self
        while part is not None:
            yield part
            part = part.outer


class Recomputation:
    """Finds or recomputes the values that one backward pass reads from a graph.

    like       a symbol, from which the new symbols are made
    open       the parts inside which the gradient is taken; their nodes are read directly
    arrived    part → the first gradient that arrived at it
    made       (part, node) → the symbol of the node for derivatives of nodes in the part
    """

    def __init__(self, like: Any):
        builder = getattr(like, "builder", None) and (current.mode.builder or like.builder)
        self.like = like
        self.open = set(getattr(builder, "part", None) or ())
        self.arrived: dict[CheckpointCall, Any] = {}
        self.made: dict[Key, Any] = {}

    def operands(self, node: Node, gy: Any) -> list[Any]:
        """The symbols of the node and its inputs that the node's derivative reads; gy is the gradient that arrives."""
        home = node.part and node.part.home
        for part in home or ():
            self.arrived.setdefault(part, gy)
        return [self.read((home, x)) for x in (node, *node.inputs)]

    def read(self, wanted: Key) -> Any:
        """The symbol of a node inside a part. Not recursive, as a part may be deep."""
        stack = [wanted]
        while stack:
            needs = self.needs(*stack[-1])
            missing = [key for key in needs if key not in self.made]
            if missing and stack[-1] not in self.made:
                stack += missing
                continue
            part, node = key = stack.pop()
            if key not in self.made:
                self.made[key] = self.symbol(part, node, [self.made[key] for key in needs])
        return self.made[wanted]

    def needs(self, part: CheckpointCall | None, node: Node) -> list[Key]:
        """The keys of the symbols from which the symbol of this key is computed."""
        if part is None or part in self.open or isinstance(node.op, ops.Const):
            return []
        if part not in (node.part or ()):
            return [(part.outer, node)]
        inputs = node.inputs[:1] if type(node.op) is ops.ControlDep else node.inputs  # its dependencies have run
        return [(part, x) for x in inputs]

    def symbol(self, part: CheckpointCall | None, node: Node, xs: list[Any]) -> Any:
        """Make the symbol of a node from the symbols that it needs."""
        if not xs:
            return self.like.at_node(node)
        if part not in (node.part or ()):
            return xs[0].apply(ops.Barrier(), self.arrived[part])  # type: ignore[index]
        if type(node.op) is ops.ControlDep:
            return xs[0]
        y = xs[0].apply(node.op, *xs[1:])
        if isinstance(y.node, NamedNode):  # a graph that is being built has named the node
            y.node.place = node.place  # type: ignore[attr-defined]
        elif isinstance(node, NamedNode):
            y.node = NamedNode(node.op, y.node.inputs, y.node.spec, f"{node.name}_again", node.place)
        return y
