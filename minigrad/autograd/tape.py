"""GradientTape: derivatives in TensorFlow 2's words.

    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)

A tape is a block in which some tensors are watched: they require a gradient as long as it is open. Leaves
that require one anyway, as parameters do, are watched without asking. What is recorded is the same graph.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from .. import modes
from ..errors import DTypeError, FreedError
from ..node import Source, history
from ..tensor import Tensor
from ..tree import leaves, planted
from .functional import jacobian_rows, stacked
from .gradient import gradients, ones_like, zeros_like


class Open(threading.local):
    """How many tapes are open in this thread: under an open tape, gradients are themselves recorded."""

    count = 0


_open = Open()


class GradientTape:
    """A block that records for `gradient`.

    persistent                  gradient may be asked more than once
    watch_accessed_variables    leaves that require a gradient are watched without asking
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self.persistent, self.automatic = persistent, watch_accessed_variables
        self.reset()

    def reset(self) -> None:
        """Forget what was watched, and allow another gradient."""
        self.watched: list[tuple[Tensor, Any]] = []  # tensor, and its node while it was watched
        self.switched: list[Tensor] = []  # made to require a gradient here, and so until the tape closes
        self.used = False

    def __enter__(self) -> Self:
        _open.count += 1
        self._mode = modes.in_mode(recording=True)
        self._mode.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        _open.count -= 1
        self._mode.__exit__(*raised)
        for x in self.switched:
            x.tracked = False
        self.switched = []

    def watch(self, tensor: Any) -> None:
        """Record what is done with these tensors from here on."""
        for x in leaves(tensor):
            if not isinstance(x, Tensor) or not x.spec.is_float:
                raise DTypeError(f"a tape watches tensors of floating point numbers, and got {x!r}")
            if not x.tracked:
                x.node = None
                x.requires_grad_()
                self.switched.append(x)
            self.watched.append((x, x.node))

    def watched_variables(self) -> tuple[Tensor, ...]:
        """The tensors watch() was called on, in order."""
        return tuple(x for x, _ in self.watched)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block inside the tape that is not recorded."""
        with modes.no_grad():
            yield

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """∂(Σ target)/∂source for each source, in the structure of `sources`; None where there is none.

        output_gradients         what arrives at each target; 1 everywhere if None
        unconnected_gradients    "none", or "zero" for zeros in place of None

        Raises FreedError on a second call, unless the tape is persistent.
        """
        if unconnected_gradients not in ("none", "zero"):
            raise ValueError(f'unconnected_gradients is "none" or "zero", and got {unconnected_gradients!r}')
        self._use()
        ys = leaves(target)
        gys = leaves(output_gradients) if output_gradients is not None else [ones_like(y) for y in ys]
        xs = leaves(sources)
        pairs = [(y, gy) for y, gy in zip(ys, gys, strict=True) if y.tracked]
        gxs: list[Any] = [None] * len(xs)
        if pairs:
            nodes = [self._node(x) for x in xs]
            gxs = gradients([y for y, _ in pairs], nodes, [gy for _, gy in pairs], self.persistent, _open.count > 0)
        if unconnected_gradients == "zero":
            gxs = [zeros_like(x) if gx is None else gx for x, gx in zip(xs, gxs)]
        return planted(sources, iter(gxs))

    def jacobian(self, target: Tensor, sources: Any) -> Any:
        """∂target/∂source, of shape (*target.shape, *source.shape), for each source."""
        self._use()
        xs = [x.placed(x.value, self._node(x)) for x in leaves(sources)]
        return planted(sources, iter(jacobian_rows(xs, target, _open.count > 0, strict=False)))

    def batch_jacobian(self, target: Tensor, source: Tensor) -> Tensor:
        """∂target[n]/∂source[n] for each n of a batch whose members do not touch: (N, *target.shape[1:], *source.shape[1:])."""
        full = self.jacobian(target, source)
        return stacked([full[n].select(target.ndim - 1, n) for n in range(target.shape[0])], full)

    def _use(self) -> None:
        if self.used and not self.persistent:
            raise FreedError("a tape gives one gradient and lets go: open it with GradientTape(persistent=True) for more")
        self.used = True

    def _node(self, x: Tensor) -> Any:
        """Where x stood in the graph while it was watched."""
        for watched, node in reversed(self.watched):
            if watched is x:
                return node
        if not self.automatic and isinstance(x.node, Source):
            return None
        return x.node if x.tracked else None
