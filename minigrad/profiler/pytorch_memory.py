"""The ledger of a PyTorch run: the moments, consumers and tables that minigrad's own ops have (ledger.py).

PyTorch itself reports each op, also in derivatives and optimizers (a TorchDispatchMode), each tensor that autograd
saves and frees (saved_tensors_hooks), the calls of modules and the steps of optimizers (global hooks). Memory is
counted by storage, so views and tied weights count once; on any device, also on `meta`, whose tensors have no elements.

Autograd numbers its nodes: it takes the next number just before an op runs. This number tells which op saves a tensor,
and later which op a derivative belongs to.

What a derivative makes counts as gradients, what an optimizer makes counts as its state, and what a checkpoint computes
again counts as saved for backward. Temporaries inside a kernel and an allocator's reserve are not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from traceback import walk_stack
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.autograd.function import Function
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import checkpoint
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from ..draw.readers.pytorch_tensors import spec_of
from ..engine.base.pytree import leaves
from ..engine.core.calls import path_of
from ..engine.core.node import ENGINE, place
from .books import UNKNOWN, About, Books, Consumer, Holding
from .ledger import AGAIN, GIVES, Ledger
from .memory_table import Saving

LIBRARY = *ENGINE, str(Path(torch.__file__).parent)
MADE_IN = {"backward": Consumer.GRADIENTS, "update": Consumer.STATE}  # phase → the consumer of what ops make
IN_DERIVATIVE = "in the derivative of {3}, {0} gives {1}, {2:,} bytes"
CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: {} saved a {}, "
    "which has been changed since. Make the change out of place, as in x = x + 1"
)
next_number = torch._C._autograd._get_sequence_nr


class TorchLedger(Ledger):
    """The live memory of a PyTorch run, moment by moment.

    calls       the modules being called, each with its path
    abouts      autograd's number of an op → where it ran
    operands    records of the operands that autograd saves for the next op
    last        autograd's number at the last op; None if that op made no moment
    stepping    whether an optimizer's step is running
    """

    def __init__(self, model: Any, optimizer: Any, inputs: list[Any]):
        models, optimizers = ([] if x is None else [x] for x in (model, optimizer))
        kinds = {torch.nn.Module: models, torch.optim.Optimizer: optimizers, torch.Tensor: inputs}
        for x, kind in [(x, kind) for kind, given in kinds.items() for x in given]:
            if not isinstance(x, kind):
                raise TypeError(f"expected PyTorch's {kind.__name__}, as other arguments are PyTorch's; got {x!r}")
        super().__init__()
        self.books: StorageTracker = StorageTracker()
        self.calls: list[tuple[Any, str]] = []
        self.paths: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.abouts: dict[int, About] = {}
        self.operands: list[Saving] = []
        self.last: int | None = None
        self.stepping = False
        self.model, self.optimizers = model, {id(each): each for each in optimizers}
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
            register_optimizer_step_pre_hook(lambda *_: setattr(self, "stepping", True)),
            register_optimizer_step_post_hook(lambda optimizer, *_: self.on_step(optimizer)),
        ]
        try:
            with saved_tensors_hooks(self.pack, SavedTensor.unpack), Dispatch(self):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    # -- what PyTorch reports ----------------------------------------------------------------------------

    def ran(self, func: Any, given: Any, result: Any) -> About:
        """Record an op: it makes a moment if it took new memory.

        Returns where the op ran, or the op whose derivative it is part of.
        """
        books, number, is_again = self.books, next_number(), in_checkpoint()
        name = func._schema.name.rpartition("::")[2]
        self.enter_phase()
        is_derivative = self.phase == "backward" and not is_again
        about = self.about_now(name)
        if is_derivative:  # of the op that ran at this number in forward
            about = self.abouts.get(torch._C._current_autograd_node()._sequence_nr() + 1, UNKNOWN)
        self.abouts.setdefault(number, about)
        self.enter_operands(tensors_in(given), about)
        fresh = [y for y in tensors_in(result) if books.find_holding(y) is None]
        made = {books.find_or_add(y, about) for y in fresh}
        consumer = Consumer.SAVED if is_again else MADE_IN.get(self.phase, Consumer.OTHER)
        for holding in made if consumer != Consumer.OTHER else ():
            books.change_holders(holding, consumer, 1)
        if fresh:
            said = AGAIN if is_again else IN_DERIVATIVE if is_derivative and about.op else GIVES
            self.write((said, name, spec_of(fresh[0]), sum(each.nbytes for each in made), about.op), about)
        self.last = number if fresh else None
        return about

    def enter_phase(self) -> None:
        node = torch._C._current_autograd_node()
        phase = "update" if self.stepping else "forward" if node is None else "backward"
        if self.phase == "backward" != phase:
            self.sync()
        self.phase = phase

    def enter_operands(self, operands: list[Any], about: About) -> None:
        """Enter operands that no op has made: a leaf that requires a gradient is a parameter, any other an input."""
        for slot, x in enumerate(operands, 1):
            holding = self.books.find_or_add(x, about._replace(op=""))
            if not holding.about.op and holding.held.keys() <= {Consumer.SAVED}:
                is_parameter = x.requires_grad and x.is_leaf
                self.books.hold(x, Consumer.PARAMETERS if is_parameter else Consumer.INPUTS)
                if is_parameter:
                    self.leaves[id(x)] = x
            for saving in self.operands:
                saving.about, saving.slot = about, slot if saving.holding is holding else saving.slot
        self.operands.clear()

    def pack(self, x: Any) -> SavedTensor:
        """Record a tensor that autograd saves: an operand before its op runs, a result after it."""
        books, number, caller = self.books, next_number(), sys._getframe(1)
        is_function = caller.f_code is Function.apply.__func__.__code__  # type: ignore[attr-defined]
        if is_function:
            self.abouts[number] = self.about_now(caller.f_locals["cls"].__name__)
        about = self.abouts.get(number, UNKNOWN)
        holding, before = books.find_or_add(x, about), [*books.counted]
        is_result = number == self.last and holding.born < books.number
        books.number -= is_result  # so that the saving belongs to the moment of its op
        books.change_holders(holding, Consumer.SAVED, 1)
        saving = Saving(about, None if is_function else 0, spec_of(x), holding, books.number)
        books.number += is_result
        if is_result:
            live = [n + now - was for n, now, was in zip(self.moments[-1].live, books.counted, before)]
            self.moments[-1] = self.moments[-1]._replace(live=tuple(live))
        if number not in self.abouts:
            self.operands.append(saving)
        self.savings.append(saving)
        return SavedTensor(self, saving, x)

    def on_step(self, optimizer: Any) -> None:
        self.optimizers[id(optimizer)], name = optimizer, type(optimizer).__name__
        self.phase, self.stepping = "update", False
        self.note(f"{name} has moved the parameters", About(name, "", place(LIBRARY)))

    # -- modules and their tensors ----------------------------------------------------------------------

    def about_now(self, op: str) -> About:
        return About(op, self.calls[-1][1] if self.calls else "", place(LIBRARY))

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
            for grad in tensors_in([p.grad]):
                hold(grad, Consumer.GRADIENTS, about)
        for optimizer in self.optimizers.values():
            for p, state in optimizer.state.items():
                for x in tensors_in(state):
                    hold(x, Consumer.STATE)
                    self.books.find_or_add(x).about = About(module=self.books.find_or_add(p).about.module)


class Dispatch(TorchDispatchMode):
    """Reports each op to a ledger."""

    def __init__(self, ledger: TorchLedger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_op = func.namespace != "prim"  # prim: a query, such as for the device of a tensor without elements
        if is_op and torch.is_inference_mode_enabled():  # here composite ops arrive: record the ops inside
            with self:
                result = func.decompose(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        result = func(*args, **(kwargs or {}))
        if is_op:
            self.ledger.ran(func, [args, kwargs], result)
        return result


class StorageTracker(Books):
    """Books that count memory by PyTorch's storages, which views share."""

    def find_or_add(self, x: Any, about: About = UNKNOWN, is_new: bool = True) -> Holding:
        """The entry of the tensor's storage, added if it is missing, and corrected if the storage was resized."""
        storage, holding = storage_of(x), self.find_holding(x)
        if holding is None:
            return self.add_holding(storage, storage.nbytes(), about, is_new)
        self.counted[holding.story[-1][1]] += storage.nbytes() - holding.nbytes
        holding.nbytes = storage.nbytes()
        return holding

    def find_holding(self, x: Any) -> Holding | None:
        return self.holdings.get(id(storage_of(x)))


class SavedTensor:
    """Takes the place of a tensor that autograd saves. Reports to the ledger when autograd frees it."""

    __slots__ = ("ledger", "saving", "value", "version")

    def __init__(self, ledger: TorchLedger, saving: Saving, value: Any) -> None:
        self.ledger, self.saving, self.value, self.version = ledger, saving, value, value._version

    def unpack(self) -> Any:
        """The tensor. Raises RuntimeError if it was changed in place, as PyTorch does without hooks."""
        if self.value._version != self.version:
            raise RuntimeError(CHANGED.format(self.saving.about.op, self.saving.spec))
        return self.value

    def __del__(self) -> None:
        self.saving.last = self.ledger.books.number
        self.ledger.books.change_holders(self.saving.holding, Consumer.SAVED, -1)


def watch_steps(model: Any, loss_fn: Any, x: Any, y: Any, optimizer: Any, steps: int) -> TorchLedger:
    """Train a copy of the model for some steps, and return the ledger."""
    if not isinstance(model, torch.nn.Module) or not callable(loss_fn):
        raise TypeError(f"expected MemoryTimeline(model, loss_fn, x, y) of PyTorch; got {type(model)}, {type(loss_fn)}")
    model, optimizer = deepcopy((model, optimizer or torch.optim.Adam(model.parameters())))
    with torch.random.fork_rng(), TorchLedger(model, optimizer, [x, y]) as ledger:
        for _ in range(steps):
            loss_fn(model(x), y).backward()
            ledger.note("backward is done; the gradients are in .grad")
            optimizer.step()
            optimizer.zero_grad()
            ledger.note("the gradients are freed by zero_grad()")
    return ledger


def storage_of(x: Any) -> Any:
    """The memory of a tensor; of a sparse tensor, that of its values."""
    if x.layout is not torch.strided:
        x = x._values() if x.layout is torch.sparse_coo else x.values()
    return x.untyped_storage()


def tensors_in(tree: Any) -> list[Any]:
    """The tensors in nested lists, tuples and dictionaries; for a sparse tensor, its indices and values."""
    found = [x for x in leaves(tree) if isinstance(x, torch.Tensor)]
    parts = [[x._indices(), x._values()] if x.layout is torch.sparse_coo else [x] for x in found]
    return [x for part in parts for x in part if x.layout is torch.strided]


def in_checkpoint() -> bool:
    """Whether a checkpoint is recomputing its part during backward."""
    is_forward = torch._C._current_graph_task_id() == -1 or not torch.is_grad_enabled()
    return not is_forward and any(frame.f_code.co_filename == checkpoint.__file__ for frame, _ in walk_stack(None))
