"""What a call of a PyTorch module or function does, operation by operation, as the user wrote it.

PyTorch reports every call of its functions to a `TorchFunctionMode`. So the function runs as usual, once, with these
arguments, and takes its usual branches. No gradient is needed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import PurePath
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from ...engine.core.node import Place
from ..listing import Entry, Listing, Path, Scope
from ..listing_of import modules_of
from ..listing_readers import line_of
from ..words import shorten
from .pytorch_tensors import entry_of, facts_of, fill_values, memory_of, names_of, saved_by, tensors_in, version_of

MINE = str(PurePath(torch.__file__).parent), str(PurePath(__file__).parents[2])  # folders without the user's code
line_at = cache(line_of)
HIDDEN = "A result comes from code that PyTorch does not report, such as NumPy or vmap, so no arrow leads to it."


def listing_of_call(f: Any, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The operations that a call runs, up to its results. Raises TypeError if the call returns no tensor."""
    name, modules = getattr(f, "__name__", type(f).__name__), modules_of(f, Module, args)
    if len(modules) == 1:  # its submodules are the outermost groups: blocks.0, not net.blocks.0
        modules = {"": next(iter(modules.values()))}
    with preserve(modules, trains=not isinstance(f, Module)), ExitStack() as hooks:
        call = CallRecorder(modules, args, namespace)
        hooks.callback(register_module_forward_pre_hook(call.enter_module).remove)
        hooks.callback(register_module_forward_hook(call.leave_module, always_call=True).remove)
        with call:
            y = f(*args)
        ys = [*tensors_in(y)]
        if not ys:
            raise TypeError(f"{name} returned {shorten(repr(y), 80)}, which contains no tensor")
        return Listing(f"a call of {name}", *call.finish(ys))


@contextmanager
def preserve(modules: Mapping[str, Module], trains: bool) -> Iterator[None]:
    """Restore afterwards what a call changes: buffers and attributes of modules, and the state of random generators.

    trains    whether the call may train; if so, parameters and gradients are restored too, but no optimiser's state
    """
    parts = [*dict.fromkeys(part for module in modules.values() for part in module.modules())]
    parameters = [x for part in parts for x in part.parameters(recurse=False)]
    if any(map(torch.nn.parameter.is_lazy, parameters)):
        raise ValueError("a lazy module gets its parameters at its first call: call it once, then draw it")
    numbers = random.getstate()
    with torch.random.fork_rng(range(torch.cuda.device_count())), ExitStack() as restore:
        restore.callback(random.setstate, numbers)
        give_copies(parts, restore)
        for x in parameters if trains else ():
            restore.callback(set_data, x, x.data, x.grad)
            set_data(x, x.data.clone(), None if x.grad is None else x.grad.clone())
        yield


def give_copies(parts: Sequence[Module], restore: ExitStack) -> None:
    """Until `restore` is closed, give modules copies of their buffers, and hide what compile() made of the modules."""
    copies: dict[Any, Tensor] = {x: x.detach().clone() for part in parts for x in part.buffers(recurse=False)}
    for part in parts:
        restore.callback(vars(part).update, dict(vars(part)))
        restore.callback(vars(part).clear)  # runs first
        vars(part)["_buffers"] = {name: copies.get(x) for name, x in part._buffers.items()}
        vars(part).pop("_compiled_call_impl", None)


def set_data(x: Tensor, data: Tensor, grad: Tensor | None) -> None:
    x.data, x.grad = data, grad


class CallRecorder(TorchFunctionMode):
    """Records operations while they run.

    names      id of a tensor → its name; `own` has those of parameters and buffers only
    results    (tensors, their versions, their Nodes) of each entry, kept alive so that ids stay unique
    places     id of a tensor → the number of its entry
    changes    memory → the number of the last entry that changed it in place
    """

    def __init__(self, modules: Mapping[str, Module], args: Sequence[Any], namespace: Mapping[str, object]):
        super().__init__()
        parts = [each for at, part in modules.items() for each in (part.named_parameters(at), part.named_buffers(at))]
        self.own, given = {id(x): name for pairs in parts for name, x in pairs}, [*tensors_in([*args])]
        inputs = {id(x): "input" if len(given) == 1 else f"input {n}" for n, x in [*enumerate(given, 1)][::-1]}
        self.names = {**{id(x): name for x, name in names_of(namespace).items()}, **self.own, **inputs}
        self.labels = {id(x): name for at, part in modules.items() for name, x in part.named_modules(prefix=at)}
        self.asked = find_user_line()
        self.entries: list[Entry] = []
        self.results: list[tuple[list[Tensor], list[int], list[Any]]] = []
        self.places: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        self.seen: set[Any] = {None}  # autograd Nodes to skip: made before this call, or listed already
        self.paths: list[Path] = [()]  # of the open calls of modules

    def enter_module(self, module: Module, xs: Any) -> None:
        kind = type(module).__name__
        label = self.labels.get(id(module), kind)  # "" for the module that is drawn
        self.paths.append((*self.paths[-1], *[Scope("module", label, kind, module)] * bool(label)))

    def leave_module(self, module: Module, xs: Any, y: Any) -> None:
        self.paths.pop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [*tensors_in([args, kwargs])]
        inputs, before = tuple(map(self.number, given)), [version_of(x) for x in given]
        y = func(*args, **(kwargs or {}))
        changed = [x for x, version in zip(given, before) if version_of(x) != version]
        if results := [*tensors_in(y)] or changed:
            name = getattr(func, "__name__", type(func).__name__)
            op = func.__self__.__name__ if name == "__get__" else name  # the name of an attribute, such as T
            others = [x for x in [*args, *(kwargs or {}).values()] if isinstance(x, int | float | str | tuple)]
            options = [str(x) for x in others if not [*tensors_in(x)]]
            facts = (*[f"with {shorten(', '.join(options), 60)}"] * bool(options), *facts_of(results[0]))
            place = find_user_line()
            line = "" if place == self.asked else line_at(place)
            self.add(results, op, path=self.paths[-1], inputs=inputs, line=line, facts=facts)
            self.changes |= {memory_of(x): len(self.entries) - 1 for x in changed}
        return y

    def add(self, results: list[Tensor], op: str = "", **rest: Any) -> int:
        """Add an entry. Returns its number."""
        self.places |= {id(x): len(self.entries) for x in results}
        self.results.append((results, [*map(version_of, results)], [x.grad_fn for x in results]))
        thing = results[0] if len(results) == 1 else tuple(results)
        self.entries.append(entry_of(results, op, name="", thing=thing, **rest))
        return len(self.entries) - 1

    def number(self, x: Tensor) -> int:
        """The number of the entry that last wrote a tensor. If no entry did, adds a leaf."""
        changed = self.changes.get(memory_of(x), -1) if self.changes else -1
        made = self.places.get(id(x), -1)
        if made == changed == -1:
            self.seen.add(x.grad_fn)
            return self.add([x], path=None if id(x) in self.own else ())
        return max(made, changed)

    def finish(self, ys: Sequence[Tensor]) -> tuple[list[Entry], list[str]]:
        """The entries that the results depend on, with names, values and what backward keeps; and notes."""
        is_hidden = any(id(y) not in self.places and id(y) not in self.names for y in ys)
        ends = [self.number(y) for y in ys]
        place = {n: i for i, n in enumerate(range(len(self.entries)) if is_hidden else self.needed_by(ends))}
        kept, current = set[int](), dict[int, Tensor]()
        for n, i in place.items():
            entry, (results, versions, nodes) = self.entries[n], self.results[n]
            entry.name = ", ".join(dict.fromkeys(self.names[id(x)] for x in results if id(x) in self.names))
            entry.inputs = tuple(place[x] for x in entry.inputs)
            if versions != [*map(version_of, results)]:
                entry.facts += ("changed in place afterwards",)
            elif len(results) == 1:
                current[i] = results[0]
            entry.facts += tuple(saved_before(nodes, self.seen, kept))
        entries = [self.entries[n] for n in place]
        for i, x in current.items():
            entries[i].kept = memory_of(x) in kept
        fill_values(entries, current)
        return entries, [HIDDEN] * is_hidden

    def needed_by(self, ends: Sequence[int]) -> list[int]:
        """The numbers `ends`, and those of all entries that these entries were computed from."""
        needed, stack = set[int](), [*ends]
        while stack:
            if (n := stack.pop()) not in needed:
                needed.add(n)
                stack += self.entries[n].inputs
        return sorted(needed)


def saved_before(nodes: Sequence[Any], seen: set[Any], kept: set[int]) -> Iterator[str]:
    """What an operation saved, also if it has several Nodes. Adds the Nodes to `seen`, and saved memory to `kept`."""
    stack = [*nodes]
    while stack:
        if (node := stack.pop()) not in seen:
            seen.add(node)
            stack += [each for each, _ in node.next_functions]
            for words, x in saved_by(node):
                kept |= set() if x is None else {memory_of(x)}
                yield f"{node.name()} {words}"


def find_user_line() -> Place | None:
    """The line of the user's code that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(MINE):
        frame = frame.f_back
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
