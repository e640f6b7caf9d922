"""Checkpointing: save only the inputs of a segment of the graph, and run the segment again in backward.

Chen et al. 2016, “Training deep nets with sublinear memory cost”, §4: with √n segments of a chain of n ops,
memory falls from n to 2√n, for one more forward pass. https://arxiv.org/abs/1604.06174

A promise replaces each tensor that the segment would save (autograd/graph.py). When backward reads the first promise,
the segment runs again and saves these tensors. Each is freed once it is read, and the segment with its last promise.
Segments nest: the outer segment treats the arguments of the inner one as tensors that it would save itself.

In a graph that is being built, nothing runs again: the nodes of the segment are marked, and backward reads copies of
these nodes (tracing/gradients.py). selective.py chooses results that are saved anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf
from typing import Any

from ..autograd.graph import innermost, saved_tensors_hooks
from ..engine import random
from ..engine.base.errors import EditedError, NoGradientError
from ..engine.base.pytree import leaves, tree_map
from ..engine.base.spec import Spec
from ..engine.core import modes, versions
from ..engine.core.op import Op
from ..engine.tensor.tensor import Tensor
from .selective import Caching, Recall
from .selective import CheckpointPolicy as CheckpointPolicy
from .selective import SelectiveCheckpointContext as SelectiveCheckpointContext
from .selective import create_selective_checkpoint_contexts as create_selective_checkpoint_contexts
from .selective import keep_products as keep_products

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the default context_fn."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any, use_reentrant: bool | None = False, preserve_rng_state: bool = True,
    context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default", **options: Any,
) -> Any:  # fmt: skip
    """Call function(*args, **options), and save only the arguments for backward, which runs the function again.

    preserve_rng_state    draw the same random numbers in the second run; in a graph they are always the same
    context_fn            returns the contexts for the first and the second run; see selective.py
    determinism_check     "default": the second run must save arrays of the same specs; "none": as many arrays

    The second run has the modes of the first. Its in-place edits of outside memory are undone, so the running
    statistics of a batch norm change only once.

    Raises, in backward, NoGradientError if the second run saves other arrays, and EditedError if an argument, or a
    parameter that the function reads, was edited in place since the first run.
    """
    if use_reentrant:
        raise ValueError("checkpoint only supports PyTorch's use_reentrant=False: omit the argument")
    if determinism_check not in ("default", "none"):
        raise ValueError(f'determinism_check must be "default" or "none", not {determinism_check!r}')
    first, again = context_fn()
    builder = modes.current.mode.builder
    if builder is not None:
        return checkpoint_in_graph(builder, first, function, args, options)
    rng = random.default_generator.get_state() if preserve_rng_state else None
    part = Segment(function, (args, options), rng, again, determinism_check == "default")
    with saved_tensors_hooks(part.promise, Promise.fetch_tensor), first:
        y = function(*args, **options)
    part.end()
    return y


def checkpoint_in_graph(builder: Any, first: Any, function: Callable[..., Any], args: Any, options: Any) -> Any:
    """Call the function while a graph is built, and mark its nodes as those of a checkpoint."""
    if not isinstance(first, Caching | nullcontext):
        raise ValueError(
            "a graph that is being built runs nothing a second time, so its only context_fn is one that returns "
            "create_selective_checkpoint_contexts(policy)"
        )
    with builder.checkpointing(), first:
        return function(*args, **options)


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]], segments: int, input: Any,
    use_reentrant: bool | None = False, preserve_rng_state: bool = True,
) -> Any:  # fmt: skip
    """Call the functions in order, in `segments` parts of about equal length. All parts but the last are checkpoints.

    A checkpoint of the last part would not save memory, since backward would run it again immediately.
    """
    every = list(functions)
    if not 1 <= segments <= len(every):
        raise ValueError(f"{len(every)} functions can have 1 to {len(every)} segments, got {segments}")
    ends = [len(every) * i // segments for i in range(segments + 1)]
    *parts, last = [every[start:end] for start, end in pairwise(ends)]
    for part in parts:
        input = checkpoint(in_turn, part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return in_turn(last, input)


def in_turn(functions: list[Callable[..., Any]], x: Any) -> Any:
    """Pass x through the functions, one after another."""
    for function in functions:
        x = function(x)
    return x


@dataclass(eq=False, slots=True)
class Argument:
    """A tensor argument of a segment: detached, or packed by an outer segment; and whether it requires a gradient."""

    held: Any
    wanted: bool


class Segment:
    """A call that can run a second time, and the tensors that the second run saves. It is a watcher of the second run.

    around    the hooks around this segment, which pack its arguments; None if the segment holds them itself
    mode      the mode of both runs; the watchers of the second are this segment, and `again` of each active watcher
    specs     the specs of the tensors that the first run would have saved
    ended     the time when the first run ended; until then infinity, as a gradient inside it may start the second run
    outside   the memory that the first run edited in place
    changed   id of memory → its edits between the two runs; without the memory of arguments
    found     (tensor, time) for each tensor that the second run has saved so far
    arrays    number → (tensor, time) for each saved tensor that backward has not read yet
    """

    def __init__(self, function: Callable[..., Any], arguments: Any, rng: Any, again: Any, checked: bool):
        self.function, self.rng, self.born, self.ended = function, rng, versions.now(), inf
        self.context, self.checked = again, checked
        self.mode = {field.name: getattr(modes.current.mode, field.name) for field in fields(modes.Mode) if field.init}
        self.outside: list[Any] = []
        self.around = innermost()
        self.arguments = tree_map(self.save_argument, arguments)
        self.specs: list[Spec] = []
        self.changed: dict[int, versions.Edits] = {}
        self.found: list[tuple[Tensor, int]] = []
        self.arrays: dict[int, tuple[Tensor, int]] = {}

    def save_argument(self, x: Any) -> Any:
        """A tensor as an Argument, saved for the second run; anything else unchanged."""
        if not isinstance(x, Tensor):
            return x
        return Argument(x.detach() if self.around is None else self.around.pack(x.detach()), x.requires_grad)

    def restore_argument(self, x: Any) -> Any:
        """The tensor of an Argument, for the second run; anything else unchanged. Raises EditedError after an edit."""
        if not isinstance(x, Argument):
            return x
        if self.around is None and versions.edited_since(x.held.value, self.born):
            raise self.stale(x.held)
        bare = x.held if self.around is None else self.around.unpack(x.held)
        return bare.detach().requires_grad_(x.wanted)

    def promise(self, x: Tensor) -> Promise:
        """The promise that replaces x among the saved tensors."""
        self.specs.append(x.spec)
        return Promise(self, len(self.specs) - 1)

    def live_arrays(self) -> dict[Any, Any]:
        """The arrays that the segment holds now, each under a unique key."""
        given = [x.held.value for x in leaves(self.arguments) if isinstance(x, Argument) and self.around is None]
        chosen = self.context.kept.results.values() if isinstance(self.context, Recall) else ()
        saved = [array for results in chosen for array, _ in filter(None, results)]
        return {i: x.value for i, (x, _) in self.arrays.items()} | {id(array): array for array in (*given, *saved)}

    def end(self) -> None:
        """End the first run, and note which outside memory it edited, so that the second run can undo its edits."""
        self.ended = versions.now()
        self.outside = [edits.memory for edits in [*versions.edited.values()] if edits.last > self.born]

    def run(self) -> None:
        """Run the function again, and save its tensors."""
        args, options = given = tree_map(self.restore_argument, self.arguments)
        own = {id(versions.owner(x.value)) for x in leaves(given) if isinstance(x, Tensor)}
        since = [(key, edits) for key, edits in [*versions.edited.items()] if edits.last > self.ended]
        self.changed = {key: edits for key, edits in since if key not in own}
        told = tuple(watcher.again for watcher in modes.current.mode.watchers if hasattr(watcher, "again"))
        mode = modes.in_mode(**{**self.mode, "watchers": (*told, self)})
        with suppress(EnoughError), random.fork_rng(), restore_memory(self.outside), mode:
            if self.rng is not None:
                random.default_generator.set_state(self.rng)
            with saved_tensors_hooks(self.keep, lambda x: x), self.context:
                self.function(*args, **options)
        specs = [x.spec for x, _ in self.found]
        if specs != self.specs and (self.checked or len(specs) != len(self.specs)):
            raise NoGradientError(
                f"checkpoint: {self.function} kept {listing(self.specs)} the first time and {listing(specs)} the "
                "second. It must do the same whenever it is called: let nothing but its arguments decide"
            )
        self.arrays, self.found = dict(enumerate(self.found)), []

    def keep(self, x: Tensor) -> Tensor:
        """Save x for backward, and return x."""
        self.check_unedited(x)
        self.found.append((x, versions.now()))
        if self.ended == inf and len(self.found) == len(self.specs):
            raise EnoughError
        return x

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        for x in xs:
            if x.tracked and x.is_leaf:
                self.check_unedited(x)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass

    def check_unedited(self, x: Tensor) -> None:
        """Raises EditedError if x was edited since the first run read it."""
        key = id(versions.owner(x.value))
        if key in self.changed and self.changed[key] is versions.edited.get(key):
            raise self.stale(x)

    def stale(self, x: Tensor) -> EditedError:
        return EditedError(
            f"checkpoint: {x.spec}, which {self.function} reads, was edited in place since it was called, and it "
            "cannot be called again with the old value: edit a copy, as in x.clone().add_(1)"
        )


@contextmanager
def restore_memory(memory: Sequence[Any]) -> Iterator[None]:
    """A block after which memory, given as weak references, has its old values and edit counts again."""
    before = [(array, array.copy(), versions.edited[id(array)]) for array in (m() for m in memory) if array is not None]
    moments = [(edits.count, edits.last) for *_, edits in before]
    try:
        yield
    finally:
        for (array, values, edits), moment in zip(before, moments):
            if edits.count != moment[0]:
                array[...] = values
                edits.count, edits.last = moment


class EnoughError(BaseException):
    """Stops a second run that has saved enough."""


@dataclass(eq=False, slots=True)
class Promise:
    """Replaces a tensor that a segment would have saved, and has its number in the order of saving."""

    part: Segment
    number: int

    def fetch_tensor(self) -> Tensor:
        """The tensor, from a second run of the segment. The tensor is freed once read: a second read runs again."""
        if self.number not in self.part.arrays:
            self.part.run()
        x, born = self.part.arrays.pop(self.number)
        if versions.edited_since(x.value, born):
            raise EditedError(
                f"checkpoint: {self.part.function} edits {x.spec} in place, which backward reads: edit a copy, as in "
                "x.clone().add_(1)"
            )
        return x


def listing(specs: list[Spec]) -> str:
    """The number of arrays, and the specs of the first four."""
    named = ", ".join(map(str, specs[:4]))
    return f"{len(specs)} arrays ({named}{', …' if len(specs) > 4 else ''})"
