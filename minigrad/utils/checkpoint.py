"""Checkpointing: keep the inputs of a part of the graph, and run it again when backward comes by.

Chen et al. 2016, “Training deep nets with sublinear memory cost”, §4: with √n parts of a chain of n ops,
memory falls from n to 2√n, for one more forward pass. https://arxiv.org/abs/1604.06174

What the part keeps is replaced by promises (autograd/graph.py). The first that backward reads runs the part
once more, and this time keeps; each array is let go when it has been read, and the part with its last promise.
Parts nest: to the outer one, the arguments of the inner are what it keeps.

While a graph is built there is nothing to call again: its nodes are marked, and backward reads copies of them
(tracing/recompute.py). selective.py says how some results are kept all the same.
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
    """Nothing to enter, neither the first time nor the second."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    **options: Any,
) -> Any:
    """function(*args, **options), of which only the arguments are saved for backward; it runs again there.

    preserve_rng_state    draw the same random numbers the second time; in a graph they always are the same
    context_fn            gives what is entered the first time, and the second; see selective.py
    determinism_check     "default": the second time must keep arrays of the same specs; "none": as many will do

    The second run has the modes of the first, and edits in place of what is not its own are undone: a batch norm's
    running statistics move once.

    Raises, in backward, NoGradientError if the function does not do the same the second time, and EditedError
    if an argument, or a parameter that it reads, was edited in place since.
    """
    if use_reentrant:
        raise ValueError("checkpoint has one form here, PyTorch's use_reentrant=False: leave the argument out")
    if determinism_check not in ("default", "none"):
        raise ValueError(f'determinism_check is "default" or "none", and not {determinism_check!r}')
    first, again = context_fn()
    builder = modes.current.mode.builder
    if builder is not None:
        return marked(builder, first, function, args, options)
    rng = random.default_generator.get_state() if preserve_rng_state else None
    part = Segment(function, (args, options), rng, again, determinism_check == "default")
    with saved_tensors_hooks(part.promise, Promise.kept), first:
        y = function(*args, **options)
    part.end()
    return y


def marked(builder: Any, first: Any, function: Callable[..., Any], args: Any, options: Any) -> Any:
    """The call in a graph that is being built, its nodes marked."""
    if not isinstance(first, Caching | nullcontext):
        raise ValueError(
            "a graph that is being built runs nothing a second time, and has no use for a context_fn of one's own: "
            "only for one that gives create_selective_checkpoint_contexts(policy)"
        )
    with builder.checkpointing(), first:
        return function(*args, **options)


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions one after the other, in so many parts of about equal length, all but the last a checkpoint.

    The last would run again at once, with nothing saved.
    """
    every = list(functions)
    if not 1 <= segments <= len(every):
        raise ValueError(f"of {len(every)} functions there are 1 to {len(every)} segments, and {segments} were asked")
    ends = [len(every) * i // segments for i in range(segments + 1)]
    *parts, last = [every[start:end] for start, end in pairwise(ends)]
    for part in parts:
        input = checkpoint(in_turn, part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return in_turn(last, input)


def in_turn(functions: list[Callable[..., Any]], x: Any) -> Any:
    """x through each function."""
    for function in functions:
        x = function(x)
    return x


@dataclass(eq=False, slots=True)
class Argument:
    """A tensor that a part is called with, without its history; inside another part, what that makes of it."""

    held: Any
    wanted: bool


class Segment:
    """A call that can be made again, and what it keeps when it is. A watcher of that second run.

    around    what packs the arguments: that of the part around; None where they are held here
    mode      how the first run ran; of those who watch, the second is watched by who they say (`again`)
    specs     of what the first run would have kept
    ended     when the first run had; infinite before, for a gradient taken inside it asks for a run up to there
    outside   the memory that the first run edited in place
    changed   what was edited in place between the two runs, by id of its memory, but for the arguments
    found     what the second run keeps, and when
    arrays    what of it backward has not read yet, by number
    """

    def __init__(self, function: Callable[..., Any], arguments: Any, rng: Any, again: Any, checked: bool):
        self.function, self.rng, self.born, self.ended = function, rng, versions.now(), inf
        self.context, self.checked = again, checked
        self.mode = {field.name: getattr(modes.current.mode, field.name) for field in fields(modes.Mode) if field.init}
        self.outside: list[Any] = []
        self.around = innermost()
        self.arguments = tree_map(self.put_by, arguments)
        self.specs: list[Spec] = []
        self.changed: dict[int, versions.Edits] = {}
        self.found: list[tuple[Tensor, int]] = []
        self.arrays: dict[int, tuple[Tensor, int]] = {}

    def put_by(self, x: Any) -> Any:
        """A tensor as an argument that waits for the second run; anything else as it is."""
        if not isinstance(x, Tensor):
            return x
        return Argument(x.detach() if self.around is None else self.around.pack(x.detach()), x.requires_grad)

    def given(self, x: Any) -> Any:
        """The same for the second run."""
        if not isinstance(x, Argument):
            return x
        if self.around is None and versions.edited_since(x.held.value, self.born):
            raise self.stale(x.held)
        bare = x.held if self.around is None else self.around.unpack(x.held)
        return bare.detach().requires_grad_(x.wanted)

    def promise(self, x: Tensor) -> Promise:
        """What stands for x, which would be kept."""
        self.specs.append(x.spec)
        return Promise(self, len(self.specs) - 1)

    def held(self) -> dict[Any, Any]:
        """The arrays that it keeps just now, each under a name of its own."""
        given = [x.held.value for x in leaves(self.arguments) if isinstance(x, Argument) and self.around is None]
        chosen = self.context.kept.results.values() if isinstance(self.context, Recall) else ()
        saved = [array for results in chosen for array, _ in filter(None, results)]
        return {i: x.value for i, (x, _) in self.arrays.items()} | {id(array): array for array in (*given, *saved)}

    def end(self) -> None:
        """The first run is over. Of what it made itself the second run edits none."""
        self.ended = versions.now()
        self.outside = [edits.memory for edits in [*versions.edited.values()] if edits.last > self.born]

    def run(self) -> None:
        """The call once more, keeping."""
        args, options = given = tree_map(self.given, self.arguments)
        own = {id(versions.owner(x.value)) for x in leaves(given) if isinstance(x, Tensor)}
        since = [(key, edits) for key, edits in [*versions.edited.items()] if edits.last > self.ended]
        self.changed = {key: edits for key, edits in since if key not in own}
        told = tuple(watcher.again for watcher in modes.current.mode.watchers if hasattr(watcher, "again"))
        mode = modes.in_mode(**{**self.mode, "watchers": (*told, self)})
        with suppress(EnoughError), random.fork_rng(), undone(self.outside), mode:
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
        """x, which backward will read."""
        self.captured(x)
        self.found.append((x, versions.now()))
        if self.ended == inf and len(self.found) == len(self.specs):
            raise EnoughError
        return x

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        for x in xs:
            if x.tracked and x.is_leaf:
                self.captured(x)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass

    def captured(self, x: Tensor) -> None:
        """Raises EditedError if x is not what the first run read."""
        key = id(versions.owner(x.value))
        if key in self.changed and self.changed[key] is versions.edited.get(key):
            raise self.stale(x)

    def stale(self, x: Tensor) -> EditedError:
        return EditedError(
            f"checkpoint: {x.spec}, which {self.function} reads, was edited in place since it was called, and it "
            "cannot be called again with the old value: edit a copy, as in x.clone().add_(1)"
        )


@contextmanager
def undone(memory: Sequence[Any]) -> Iterator[None]:
    """A block after which memory, by weak references, holds what it held before, and counts as not edited."""
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
    """Stops a second run."""


@dataclass(eq=False, slots=True)
class Promise:
    """What a part would have kept, by number."""

    part: Segment
    number: int

    def kept(self) -> Tensor:
        """The tensor, given once for each run: backward reads it once, unless the graph is retained."""
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
    """How many arrays, and which."""
    named = ", ".join(map(str, specs[:4]))
    return f"{len(specs)} arrays ({named}{', …' if len(specs) > 4 else ''})"
