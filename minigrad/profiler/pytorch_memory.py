"""The ledger of a PyTorch run: the moments, consumers and tables that minigrad's own ops have (ledger.py).

PyTorch itself reports what happens. A TorchDispatchMode sees each op, also in derivatives and in optimizers;
saved_tensors_hooks see each tensor that autograd saves, and when autograd frees it; global hooks see the calls of
modules and the steps of optimizers. Memory is counted by storage, so views and tied weights count once. It is counted
on every device, also on `meta`, where tensors have no elements.

Autograd numbers its nodes: it takes the next number just before an op runs. This number tells which op saves a tensor,
and later which op a derivative belongs to.

The books cannot see temporaries inside a kernel, such as a convolution's workspace, or memory that an allocator
reserves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.autograd.function import Function
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import checkpoint
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from ..engine.base.pytree import leaves
from ..engine.core.calls import path_of
from ..engine.core.node import ENGINE, Place
from .books import UNKNOWN, About, Books, Consumer, Holding
from .ledger import AGAIN, GIVES, Ledger
from .memory_table import Saving

LIBRARY = *ENGINE, str(Path(torch.__file__).parent)
IN_DERIVATIVE = "in the derivative of {3}, {0} gives {1}, {2:,} bytes"
CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: {} saved a {}, "
    "which has been changed since. Make the change out of place, as in x = x + 1"
)
SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


class TorchLedger(Ledger):
    """The live memory of a PyTorch run, moment by moment.

    calls         the modules being called, each with its path
    abouts        autograd's number of an op → where it ran
    operands      savings of operands of the op that is about to run
    last          autograd's number at the last op; None if that op left no moment
    recomputed    arrays that a checkpoint has computed again since the last derivative
    step_start    while an optimizer's step runs, the length of the books' log at its start
    """

    def __init__(self, model: Any = None, optimizer: Any = None, inputs: Iterable[Any] = ()):
        inputs, kinds = [*inputs], {torch.nn.Module: [model], torch.optim.Optimizer: [optimizer], torch.Tensor: inputs}
        for kind, given in kinds.items():
            for x in given:
                if not isinstance(x, kind | None):
                    raise TypeError(f"expected PyTorch's {kind.__name__}, as other arguments are PyTorch's; got {x!r}")
        super().__init__()
        self.books: StorageBooks = StorageBooks()
        self.calls: list[tuple[Any, str]] = []
        self.paths: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.abouts: dict[int, About] = {}
        self.operands: list[Saving] = []
        self.recomputed: list[Holding] = []
        self.last: int | None = None
        self.step_start: int | None = None
        self.model, self.optimizers = model, {id(each): each for each in [optimizer] if each is not None}
        for x in inputs:
            self.books.hold(x, Consumer.INPUTS)
        self.sync()

    def watchers(self) -> list[Any]:
        return [mode.ledger for mode in _get_current_dispatch_mode_stack() if isinstance(mode, Dispatch)]

    @contextmanager
    def watch(self) -> Iterator[None]:
        hooks = [
            register_module_forward_pre_hook(lambda module, _: self.calls.append((module, self.path(module)))),
            register_module_forward_hook(lambda *_: self.calls.pop() and None, always_call=True),
            register_optimizer_step_pre_hook(lambda *_: self.enter_step()),
            register_optimizer_step_post_hook(lambda optimizer, *_: self.on_step(optimizer)),
        ]
        try:
            with saved_tensors_hooks(self.pack, Packed.unpack), Dispatch(self):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    # -- what PyTorch reports ----------------------------------------------------------------------------

    def ran(self, func: Any, given: Any, result: Any) -> tuple[About, bool]:
        """Record an op: it makes a moment if it took new memory.

        Returns where the op, or the op whose derivative it is part of, ran in forward; and whether this is backward.
        """
        books, number, node = self.books, next_number(), torch._C._current_autograd_node()
        is_backward, again = node is not None and self.step_start is None, checkpoint_function()
        phase = "backward" if is_backward else "forward" if self.step_start is None else "update"
        if self.phase == "backward" != phase:
            self.sync()
        self.phase, name, operands = phase, func._schema.name.rpartition("::")[2], tensors_in(given)
        if is_backward and not again:
            about = self.abouts.get(node._sequence_nr() + 1, UNKNOWN)
            self.keep_recomputed()
        else:
            about = self.about_now(name)
            self.abouts.setdefault(number, about)
            for saving in self.operands:
                storages = [None, *map(books.find_holding, operands)]
                saving.about, saving.slot = about, storages.index(saving.holding)
            self.operands.clear()
        for x in operands:
            self.operand(x, about)
        fresh = [y for y in tensors_in(result) if books.find_holding(y) is None]
        made = {books.find_or_add(y, about) for y in fresh}
        if is_backward and not again:
            for y in fresh:
                books.hold(y, Consumer.GRADIENTS)
        self.recomputed += made if again == "recompute_fn" else ()
        if fresh:
            said = AGAIN if again else IN_DERIVATIVE if is_backward and about.op else GIVES
            self.write((said, name, spec(fresh[0]), sum(each.nbytes for each in made), about.op), about)
        self.last = number if fresh else None
        return about, is_backward

    def operand(self, x: Any, about: About) -> None:
        """Enter an operand: a leaf that requires a gradient is a parameter, any other unknown tensor an input."""
        if self.step_start is None and self.books.find_holding(x) is None:
            is_parameter = x.requires_grad and x.is_leaf
            self.books.find_or_add(x, about._replace(op=""))
            self.books.hold(x, Consumer.PARAMETERS if is_parameter else Consumer.INPUTS)
            if is_parameter:
                self.leaves[id(x)] = x

    def pack(self, x: Any) -> Packed:
        """Record a tensor that autograd saves: an operand before its op runs, a result after it."""
        books, number, caller = self.books, next_number(), sys._getframe(1)
        is_function = caller.f_code is Function.apply.__func__.__code__  # type: ignore[attr-defined]
        if is_function:
            self.abouts[number] = self.about_now(caller.f_locals["cls"].__name__)
        about = self.abouts.get(number, UNKNOWN)
        holding = books.find_or_add(x, about)
        is_result, before = number == self.last and holding.born < books.number, holding.story[-1][1]
        books.number -= is_result  # so that it belongs to the moment of its op
        books.change_holders(holding, Consumer.SAVED, 1)
        saving = Saving(about, None if is_function else 0, spec(x), holding, books.number)
        books.number += is_result
        if is_result:
            self.recount([holding], before, holding.story[-1][1], len(self.moments) - 1)
        if number not in self.abouts:
            self.operands.append(saving)
        self.savings.append(saving)
        return Packed(self, saving, x)

    def keep_recomputed(self) -> None:
        """What is still alive when a checkpoint has run its part again is kept for backward."""
        for holding in self.recomputed:
            self.books.change_holders(holding, Consumer.SAVED, 1)
        self.recomputed.clear()

    def enter_step(self) -> None:
        self.sync()
        self.step_start = len(self.books.log)

    def on_step(self, optimizer: Any) -> None:
        """An optimizer's step has ended: what it made and kept was its state from the start."""
        made, self.step_start = self.books.log[self.step_start :], None
        self.phase, self.optimizers[id(optimizer)] = "update", optimizer
        self.sync()
        kept = [each for each in made if each.died is None and each.story[-1][1] == Consumer.STATE]
        self.recount(kept, Consumer.OTHER, Consumer.STATE)
        for holding in kept:
            holding.story = [(holding.born, Consumer.STATE)]
        name = type(optimizer).__name__
        self.note(f"{name} has moved the parameters", About(name, "", place()))

    def recount(self, holdings: list[Holding], before: int, after: int, since: int = 0) -> None:
        """Move these holdings from one consumer to another in the moments that they were alive, from `since` on."""
        start = max(since, min([holding.born for holding in holdings], default=len(self.moments)))
        change = [0] * (len(self.moments) - start)
        for holding in holdings:
            change[max(holding.born - start, 0)] += holding.nbytes
        for k, nbytes in enumerate(accumulate(change), start):
            live = [*self.moments[k].live]
            live[before], live[after] = live[before] - nbytes, live[after] + nbytes
            self.moments[k] = self.moments[k]._replace(live=tuple(live))

    # -- modules and their tensors ----------------------------------------------------------------------

    def about_now(self, op: str) -> About:
        return About(op, self.calls[-1][1] if self.calls else "", place())

    def path(self, module: Any) -> str:
        """The module's path, as `GPT.blocks.0.mlp`."""
        if module not in self.paths:
            start = path_of(module, tuple(self.calls))
            for name, each in module.named_modules():
                self.paths.setdefault(each, f"{start}.{name}" if name else start)
        return self.paths[module]

    def sync(self) -> None:
        """Read what no op reports: parameters, buffers, gradients, optimizer state."""
        hold, parameters = self.books.hold, [(p, UNKNOWN) for p in self.leaves.values()]
        for module in [] if self.model is None else self.model.modules():
            about = About(module=self.path(module))
            parameters += [(p, about) for p in module.parameters(recurse=False)]
            for x in module.buffers(recurse=False):
                hold(x, Consumer.INPUTS, about)
        for p, about in parameters:
            hold(p, Consumer.PARAMETERS, about)
            if p.grad is not None:
                hold(p.grad, Consumer.GRADIENTS, about)
        for optimizer in self.optimizers.values():
            for p, state in optimizer.state.items():
                for x in tensors_in(state):
                    hold(x, Consumer.STATE)
                    self.books.find_or_add(x).about = About(module=self.books.find_or_add(p).about.module)


class Dispatch(TorchDispatchMode):
    """Reports each op to a ledger."""

    def __init__(self, ledger: TorchLedger) -> None:
        super().__init__()
        self.ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.is_inference_mode_enabled():  # where ops arrive that are made of others
            with self:
                result = func.decompose(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        result = func(*args, **(kwargs or {}))
        self.ledger.ran(func, [args, kwargs], result)
        return result


class StorageBooks(Books):
    """Books of PyTorch's storages."""

    def find_or_add(self, x: Any, about: About = UNKNOWN, is_new: bool = True) -> Holding:
        """The entry of the tensor's storage, added if it is missing, and brought up to date if it was resized."""
        storage = x.untyped_storage()
        nbytes, holding = storage.nbytes(), self.holdings.get(id(storage))
        if holding is None:
            return self.add_holding(storage, nbytes, about, True)
        self.counted[holding.story[-1][1]] += nbytes - holding.nbytes
        holding.nbytes = nbytes
        return holding

    def find_holding(self, x: Any) -> Holding | None:
        return self.holdings.get(id(x.untyped_storage()))


class Packed:
    """What autograd keeps in place of a saved tensor. The saving ends when autograd drops it."""

    __slots__ = ("ledger", "saving", "value", "version")

    def __init__(self, ledger: TorchLedger, saving: Saving, value: Any) -> None:
        self.ledger, self.saving, self.value, self.version = ledger, saving, value, value._version

    def unpack(self) -> Any:
        """The tensor. Raises RuntimeError if it was changed in place, as PyTorch does where nothing is watched."""
        if self.value._version != self.version:
            raise RuntimeError(CHANGED.format(self.saving.about.op, spec(self.value)))
        return self.value

    def __del__(self) -> None:
        self.saving.last = self.ledger.books.number
        self.ledger.books.change_holders(self.saving.holding, Consumer.SAVED, -1)


def tensors_in(tree: Any) -> list[Any]:
    """The tensors in nested lists, tuples and dictionaries; of a sparse tensor its indices and values."""
    found = [x for x in leaves(tree) if isinstance(x, torch.Tensor)]
    parts = [[x._indices(), x._values()] if x.layout is torch.sparse_coo else [x] for x in found]
    return [x for part in parts for x in part if x.layout is torch.strided]


def next_number() -> int:
    return torch._C._autograd._get_sequence_nr()


def checkpoint_function() -> str:
    """While a checkpoint runs its part again in backward: the name of PyTorch's function that does it; else empty."""
    frame: FrameType | None = sys._getframe(1)
    if torch._C._current_graph_task_id() == -1 or not torch.is_grad_enabled():
        return ""
    while frame is not None and frame.f_code.co_filename != checkpoint.__file__:
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_name


def place() -> Place | None:
    """The line of the user's code that is running: the innermost frame outside PyTorch and minigrad."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(LIBRARY):
        frame = frame.f_back
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def spec(x: Any) -> str:
    """A tensor's dtype and shape as minigrad writes them: f32[64, 10]."""
    dtype = re.sub(r"[a-z]+(?=\d)", lambda letters: SHORT.get(letters[0], letters[0]), str(x.dtype)[6:])
    return f"{dtype}[{', '.join(map(str, x.shape))}]"
