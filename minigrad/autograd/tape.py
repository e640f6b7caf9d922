"""GradientTape, as in TensorFlow 2.

    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)

A tape watches some tensors for a span of time: they require a gradient while the tape is open. Leaves that require a
gradient anyway, such as parameters, are watched by default. All tapes share one recorded graph (engine/core/node.py).
Each op in that graph has the time at which it ran, so a tape stores only when it was recording.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..engine.base.errors import DTypeError, FreedError, NoGradientError, ShapeError
from ..engine.base.pytree import leaves, leaves_beside, unflatten_like
from ..engine.core import modes
from ..engine.core.node import Record, Source
from ..engine.core.op import Op
from ..engine.core.versions import now
from ..engine.methods import Operand
from ..engine.ops import Input, Read
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from .gradient import gradients, jacobian, ones_like, zeros_like


class OpenTapes(threading.local):
    """The tapes that are recording in this thread."""

    def __init__(self) -> None:
        self.tapes: list[GradientTape] = []


_open = OpenTapes()


class GradientTape:
    """A block whose ops are recorded for `gradient`.

    persistent                  allow more than one call of `gradient`
    watch_accessed_variables    also watch every leaf in use that requires a gradient
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self.persistent, self.automatic = persistent, watch_accessed_variables
        self.spans: list[list[float]] = []  # the time spans in which this tape was recording
        self.shared = False  # whether another tape was recording at the same time
        self.switched: list[Tensor] = []  # tensors that require a gradient only until the tape closes
        self.forget()

    def forget(self) -> None:
        """Forget all watched tensors, and that a gradient was taken."""
        self.watched: list[tuple[Tensor, Any]] = []  # (tensor, its node while it was watched)
        self.seen: dict[int, Tensor] = {}  # leaves that were watched by default
        self.used = False

    def reset(self) -> None:
        """Discard what was watched and recorded, as if the block began here."""
        self._release()
        self.forget()
        self.spans = [[now(), float("inf")]] if self in _open.tapes else []

    def __enter__(self) -> Self:
        self._mode = modes.in_mode(recording=True, watchers=(*modes.current.mode.watchers, self))
        self._mode.__enter__()
        self._listen()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._pause()
        self._mode.__exit__(*raised)
        del self._mode  # the mode references this tape
        self._release()

    def watch(self, tensor: Any) -> None:
        """Record the ops on these tensors from here on."""
        for x in leaves(tensor):
            is_floating = isinstance(x, Operand) and x.spec.is_float
            if not is_floating:
                raise DTypeError(f"a tape watches tensors of floating point numbers, and got {x!r}")
            if not x.tracked and modes.current.mode.builder is None:
                x.requires_grad_()
                self.switched.append(x)
            self.watched.append((x, x.node))

    def watched_variables(self) -> tuple[Tensor, ...]:
        """The watched tensors: those passed to watch(), then the leaves that were used, in order."""
        asked = {id(x): x for x, _ in self.watched}
        return tuple((asked | self.seen).values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block that this tape does not record. Other open tapes still record it; without any, no op is recorded."""
        self._pause()
        try:
            with modes.in_mode(recording=bool(_open.tapes)):
                yield
        finally:
            self._listen()

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """∂(Σ target)/∂source for each source, in the structure of `sources`; None for a source without a gradient.

        output_gradients         the gradient that arrives at each target; ones if None
        unconnected_gradients    "none", or "zero" for zeros in place of None

        Raises FreedError on a second call, unless the tape is persistent; NoGradientError if a target is None.
        """
        ys = target_leaves(target)
        self._use()
        gys = [None] * len(ys) if output_gradients is None else leaves_beside(target, output_gradients)
        gxs = self._gradients(ys, gys, leaves(sources), self.persistent or self.shared)
        return unflatten_like(sources, iter(fill_unconnected(gxs, leaves(sources), unconnected_gradients)))

    def jacobian(self, target: Tensor, sources: Any, unconnected_gradients: str = "none") -> Any:
        """∂target/∂source, of shape (*target.shape, *source.shape), for each source; None for an unconnected one."""
        target_leaves(target)
        self._use()
        xs = leaves(sources)
        found = jacobian(target, xs, lambda unit: self._gradients([target], [unit], xs, retain=True))
        if unconnected_gradients == "zero":
            found = [zeros_like(x).broadcast_to(target.shape + x.shape) if b is None else b for b, x in zip(found, xs)]
        return unflatten_like(sources, iter(found))

    def batch_jacobian(self, target: Tensor, source: Tensor, unconnected_gradients: str = "none") -> Any:
        """∂target[n]/∂source[n] for each n of a batch whose members do not interact.

        The result has the shape (N, *target.shape[1:], *source.shape[1:]).
        """
        target_leaves(target)
        if not target.shape or not source.shape or target.shape[0] != source.shape[0]:
            raise ShapeError(f"batch_jacobian needs a batch of one length, and got {target.spec} by {source.spec}")
        full = self.jacobian(target, source, unconnected_gradients)
        return None if full is None else full.diagonal(0, 0, target.ndim).movedim(-1, 0)

    # -- as a watcher: note which leaves are used -----------------------------------------

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        for x in xs if self.automatic and y.tracked and self in _open.tapes else ():
            if x.tracked and isinstance(x.node, Source):
                self.seen.setdefault(id(x), x)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass

    # -- internals ------------------------------------------------------------------------

    def _listen(self) -> None:
        for other in _open.tapes:
            self.shared = other.shared = True
        _open.tapes.append(self)
        self.spans.append([now(), float("inf")])

    def _pause(self) -> None:
        _open.tapes.remove(self)
        self.spans[-1][1] = now()

    def _release(self) -> None:
        """Reset requires_grad of the switched tensors, or hand a tensor over to another open tape that watches it."""
        switched, self.switched = self.switched, []
        for x in switched:
            heirs = [t for t in _open.tapes if t is not self and any(x is watched for watched, _ in t.watched)]
            if heirs:
                heirs[0].switched.append(x)
            else:
                x.requires_grad_(False)

    def _use(self) -> None:
        if self.used and not self.persistent:
            raise FreedError("a tape gives one gradient and lets go: open GradientTape(persistent=True) for more")
        self.used = True

    def _was_listening(self, record: Record) -> bool:
        """Whether the op of a record ran while the tape was recording."""
        return any(start < record.born < stop for start, stop in self.spans)

    def _node(self, x: Tensor) -> Any:
        """The node of x while it was watched; None if it was not watched."""
        for watched, node in reversed(self.watched):
            if watched is x:
                return node
        if not self.automatic and isinstance(x.node, Source):
            return None
        if isinstance(x, Symbol):
            return x.node if depends(x, {node for _, node in self.watched}, self.automatic) else None
        return x.node if x.tracked else None

    def _gradients(self, ys: list[Tensor], gys: list[Any], xs: list[Tensor], retain: bool) -> list[Any]:
        """Σ ⟨gy, ∂y/∂x⟩ over the ys, for each x, through the ops that the tape recorded."""
        arriving = [ones_like(y) if gy is None else gy for y, gy in zip(ys, gys)]
        return gradients(ys, [self._node(x) for x in xs], arriving, retain, bool(_open.tapes), self._was_listening)


def target_leaves(target: Any) -> list[Any]:
    """The targets as a list. Raises NoGradientError if a target is None."""
    ys = leaves(target)
    if any(y is None for y in ys):
        causes = "is a return missing, or did an inner tape record nothing?"
        raise NoGradientError(f"a gradient starts from tensors, and the target is None: {causes}")
    return ys


def fill_unconnected(gxs: list[Any], xs: list[Tensor], unconnected: str) -> list[Any]:
    """The gradients, with zeros in place of None if unconnected is "zero"."""
    if unconnected not in ("none", "zero"):
        raise ValueError(f'unconnected_gradients is "none" or "zero", and got {unconnected!r}')
    return [zeros_like(x) if gx is None and unconnected == "zero" else gx for gx, x in zip(gxs, xs)]


def depends(x: Any, watched: set[Any], automatic: bool) -> bool:
    """Whether a symbol depends on a watched node; if `automatic`, on any tensor that requires a gradient.

    For a symbol captured from an outer graph, the outer graph is searched. The variables of a loop count as watched.
    """
    outside = x.builder.origins
    seen: set[Any] = set()
    stack = [x.node]
    while stack:
        node = stack.pop()
        if node in watched:
            return True
        if node in outside:
            given = outside[node]
            if depends(given, watched, automatic) if isinstance(given, Symbol) else automatic and given.tracked:
                return True
        elif isinstance(node.op, Input):
            return True
        elif isinstance(node.op, Read):
            state = x.builder.states[node.op.variable]
            if automatic and getattr(state, "trainable", state.tracked):
                return True
        elif node not in seen:
            seen.add(node)
            stack += node.inputs
    return False
