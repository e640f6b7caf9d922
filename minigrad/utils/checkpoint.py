"""Checkpointing: keep the inputs of a part of the graph, and run it again when backward comes by.

Chen et al. 2016, “Training deep nets with sublinear memory cost”, §4: with √n parts of a chain of n ops,
memory falls from n to 2√n, for one more forward pass. https://arxiv.org/abs/1604.06174

What the part keeps is replaced by numbers (autograd/graph.py). The first number that backward reads runs the part
once more, and this time keeps; each array is let go when it has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import modes, random
from ..autograd.graph import saved_tensors_hooks
from ..errors import NoGradientError
from ..tensor import Tensor


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    **options: Any,
) -> Any:
    """function(*args, **options), of which only the arguments are kept for backward; it runs again there.

    preserve_rng_state    draw the same random numbers the second time

    Raises NoGradientError in backward if the function does not do the same the second time.
    """
    if use_reentrant:
        raise ValueError("checkpoint has one form here, PyTorch's use_reentrant=False: leave the argument out")
    part = Part(function, args, options, random.default_generator.get_state() if preserve_rng_state else None)
    with saved_tensors_hooks(part.numbered, part.again):
        return function(*args, **options)


def checkpoint_sequential(functions: Sequence[Callable[..., Any]], segments: int, input: Any) -> Any:
    """The functions one after the other, in so many checkpoints of about equal length."""
    modules = list(functions)
    size = -(-len(modules) // segments)
    for start in range(0, len(modules), size):
        input = checkpoint(in_turn, modules[start : start + size], input)
    return input


def in_turn(functions: list[Callable[..., Any]], x: Any) -> Any:
    """x through each function."""
    for function in functions:
        x = function(x)
    return x


class Part:
    """A call that can be made again, and what it keeps when it is."""

    def __init__(self, function: Callable[..., Any], args: Any, options: Any, rng: Any):
        self.function, self.args, self.options, self.rng = function, args, options, rng
        self.kept = 0  # how many arrays the first run would have kept
        self.arrays: dict[int, Tensor] = {}

    def numbered(self, x: Tensor) -> int:
        """A number for what would be kept."""
        self.kept += 1
        return self.kept - 1

    def again(self, number: int) -> Tensor:
        """What the number stands for, from a second run; each is given once, unless the graph is retained."""
        if number not in self.arrays:
            self.run()
        return self.arrays.pop(number)

    def run(self) -> None:
        """The call once more, on arguments of which no gradient goes further, keeping."""
        found: list[Tensor] = []

        def keep(x: Tensor) -> Tensor:
            found.append(x)
            return x

        with random.fork_rng(), modes.in_mode(recording=True, watchers=()), saved_tensors_hooks(keep, lambda x: x):
            if self.rng is not None:
                random.default_generator.set_state(self.rng)
            self.function(*map(cut, self.args), **{name: cut(x) for name, x in self.options.items()})
        if len(found) != self.kept:
            raise NoGradientError(
                f"checkpoint: {self.function} kept {self.kept} arrays the first time and {len(found)} the second. It must "
                "do the same whenever it is called: let nothing but its arguments decide"
            )
        self.arrays = dict(enumerate(found))


def cut(x: Any) -> Any:
    """A tensor with the same value and no history; anything else as it is."""
    return x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
