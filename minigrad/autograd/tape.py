"""GradientTape: derivatives in TensorFlow 2's words.

    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)

A tape is a span of time in which some tensors are watched: they require a gradient as long as it is open. Leaves
that require one anyway, as parameters do, are watched without asking. What is recorded is the one graph
(engine/core/node.py), in which each op knows when it ran; so a tape need only know when it was listening.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..engine.base.errors import DTypeError, FreedError, NoGradientError, ShapeError
from ..engine.base.pytree import leaves, leaves_beside, planted
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
    """The tapes that are listening in this thread."""

    def __init__(self) -> None:
        self.tapes: list[GradientTape] = []


_open = OpenTapes()


class GradientTape:
    """A block that records for `gradient`.

    persistent                  gradient may be asked more than once
    watch_accessed_variables    leaves that require a gradient are watched without asking
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self.persistent, self.automatic = persistent, watch_accessed_variables
        self.spans: list[list[float]] = []  # from when to when it listened
        self.shared = False  # whether another tape has listened at the same time
        self.switched: list[Tensor] = []  # made to require a gradient here, and so until the tape closes
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.watched: list[tuple[Tensor, Any]] = []  # tensor, and its node while it was watched
        self.seen: dict[int, Tensor] = {}  # leaves that were watched without asking
        self.used = False

    def reset(self) -> None:
        """Forget what was watched and recorded, as if the block began here."""
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
        del self._mode  # which knows this tape
        self._release()

    def watch(self, tensor: Any) -> None:
        """Record what is done with these tensors from here on."""
        for x in leaves(tensor):
            if not is_floating(x):
                raise DTypeError(f"a tape watches tensors of floating point numbers, and got {x!r}")
            if not x.tracked and modes.current.mode.builder is None:
                x.requires_grad_()
                self.switched.append(x)
            self.watched.append((x, x.node))

    def watched_variables(self) -> tuple[Tensor, ...]:
        """The tensors that are watched: those watch() was called on, then the leaves that were used, in order."""
        asked = {id(x): x for x, _ in self.watched}
        return tuple((asked | self.seen).values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block inside the tape that it does not record. Tapes around it do; without one, nothing does."""
        self._pause()
        try:
            with modes.in_mode(recording=bool(_open.tapes)):
                yield
        finally:
            self._listen()

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """∂(Σ target)/∂source for each source, in the structure of `sources`; None where there is none.

        output_gradients         what arrives at each target; 1 everywhere if None
        unconnected_gradients    "none", or "zero" for zeros in place of None

        Raises FreedError on a second call, unless the tape is persistent; NoGradientError where a target is None.
        """
        ys = given(target)
        self._use()
        gys = [None] * len(ys) if output_gradients is None else leaves_beside(target, output_gradients)
        gxs = self._pulled(ys, gys, leaves(sources), self.persistent or self.shared)
        return planted(sources, iter(connected(gxs, leaves(sources), unconnected_gradients)))

    def jacobian(self, target: Tensor, sources: Any, unconnected_gradients: str = "none") -> Any:
        """∂target/∂source, of shape (*target.shape, *source.shape), for each source; None where there is none."""
        given(target)
        self._use()
        xs = leaves(sources)
        found = jacobian(target, xs, lambda unit: self._pulled([target], [unit], xs, retain=True))
        if unconnected_gradients == "zero":
            found = [zeros_like(x).broadcast_to(target.shape + x.shape) if b is None else b for b, x in zip(found, xs)]
        return planted(sources, iter(found))

    def batch_jacobian(self, target: Tensor, source: Tensor, unconnected_gradients: str = "none") -> Any:
        """∂target[n]/∂source[n] for each n of a batch whose members do not touch.

        Of shape (N, *target.shape[1:], *source.shape[1:]).
        """
        given(target)
        if not target.shape or not source.shape or target.shape[0] != source.shape[0]:
            raise ShapeError(f"batch_jacobian needs a batch of one length, and got {target.spec} by {source.spec}")
        full = self.jacobian(target, source, unconnected_gradients)
        if full is None:
            return None
        return full.diagonal(0, 0, target.ndim).movedim(-1, 0)

    # -- as a watcher: which leaves are used ----------------------------------------------

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        for x in xs if self.automatic and y.tracked and self in _open.tapes else ():
            if x.tracked and isinstance(x.node, Source):
                self.seen.setdefault(id(x), x)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass

    # -- what it knows --------------------------------------------------------------------

    def _listen(self) -> None:
        for other in _open.tapes:
            self.shared = other.shared = True
        _open.tapes.append(self)
        self.spans.append([now(), float("inf")])

    def _pause(self) -> None:
        _open.tapes.remove(self)
        self.spans[-1][1] = now()

    def _release(self) -> None:
        """Let the tensors that were switched on be as they were, but for those that another tape watches."""
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

    def _heard(self, record: Record) -> bool:
        """Whether an op ran while the tape was listening."""
        return any(start < record.born < stop for start, stop in self.spans)

    def _node(self, x: Tensor) -> Any:
        """Where x stood in the graph while it was watched; None if it was not."""
        for watched, node in reversed(self.watched):
            if watched is x:
                return node
        if not self.automatic and isinstance(x.node, Source):
            return None
        if isinstance(x, Symbol):
            return x.node if depends(x, {node for _, node in self.watched}, self.automatic) else None
        return x.node if x.tracked else None

    def _pulled(self, ys: list[Tensor], gys: list[Any], xs: list[Tensor], retain: bool) -> list[Any]:
        """The gradients of the ys together by each x, through what the tape has heard."""
        arriving = [ones_like(y) if gy is None else gy for y, gy in zip(ys, gys)]
        return gradients(ys, [self._node(x) for x in xs], arriving, retain, bool(_open.tapes), self._heard)


def given(target: Any) -> list[Any]:
    """The targets. Raises NoGradientError where one is None."""
    ys = leaves(target)
    if any(y is None for y in ys):
        raise NoGradientError(
            "a gradient starts from tensors, and the target is None: is a return missing, or has an inner tape heard "
            "nothing?"
        )
    return ys


def connected(gxs: list[Any], xs: list[Tensor], unconnected: str) -> list[Any]:
    """The gradients, with zeros for those that are missing if that is wanted."""
    if unconnected not in ("none", "zero"):
        raise ValueError(f'unconnected_gradients is "none" or "zero", and got {unconnected!r}')
    return [zeros_like(x) if gx is None and unconnected == "zero" else gx for gx, x in zip(gxs, xs)]


def depends(x: Any, watched: set[Any], automatic: bool) -> bool:
    """Whether a symbol is computed from what is watched: these nodes, and what requires a gradient if it is automatic.

    Of what comes from another graph around this one that is asked again; what a loop carries counts as watched.
    """
    outside = x.builder.origins()
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


def is_floating(x: Any) -> bool:
    """Whether it is a tensor that a gradient can be asked of."""
    return isinstance(x, Operand) and x.spec.is_float
