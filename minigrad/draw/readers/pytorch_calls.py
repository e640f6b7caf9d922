"""What a call of a PyTorch module or function does, operation by operation, as the user wrote it.

PyTorch reports every call of its functions to a `TorchFunctionMode`. So the function runs as usual, once, with these
arguments, and takes its usual branches. No gradient is needed.
"""

from __future__ import annotations

import random
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache, partial
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.nn import Module, Parameter
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode

from ...engine.core.node import ENGINE, place
from ..listing import Entry, Listing, Path, Scope
from ..listing_of import modules_of
from ..listing_readers import line_of
from ..names import LONGEST_LIST
from ..words import join_names, pluralize, shorten
from . import arguments_of, name_of
from .pytorch_aten import op_name, options_of
from .pytorch_tensors import entry_of, facts_of, fill_values, memory_of, names_of, saved_by, tensors_in, version_of

LIBRARY = *ENGINE, str(PurePath(torch.__file__).parent)  # folders without the user's code
UNCHANGED = vars(Module()).keys() - {"_buffers", "_parameters"}  # attributes that every module has
READING = "__bool__", "__float__", "__int__", "__index__", "item", "numpy", "tolist"
Reach = tuple[dict[str, Module], dict[Tensor, None]]  # the modules by name, and the tensors, that a call can reach
line_at = cache(line_of)
HIDDEN = "A value comes from code that PyTorch does not report, such as NumPy, vmap or jacrev, so no arrow leads to it."
READ = "Python reads values of a tensor, so no arrow leads to what it does with them: {}."


def listing_of_call(f: Any, args: Sequence[Any], namespace: Mapping[str, object]) -> Listing:
    """The operations that a call runs, up to its results. Raises TypeError if the call returns no tensor."""
    with preserve(f, args) as (modules, tensors), ExitStack() as hooks:
        if len(modules) == 1:  # its submodules are the outermost groups: blocks.0, not net.blocks.0
            modules = {"": next(iter(modules.values()))}
        call = CallRecorder((modules, tensors), f, args, namespace)
        hooks.enter_context(torch.compiler.set_stance("force_eager"))
        hooks.callback(register_module_forward_pre_hook(call.enter_module).remove)
        hooks.callback(register_module_forward_hook(call.leave_module, always_call=True).remove)
        with call:
            y = f(*args)
        ys = [*tensors_in(y)]
        if not ys:
            raise TypeError(f"{name_of(f)} returned {shorten(repr(y), 80)}, which contains no tensor")
        return Listing(f"a call of {name_of(f)}", *call.finish(ys))


@contextmanager
def preserve(f: Any, args: Sequence[Any]) -> Iterator[Reach]:
    """The modules, by name, and the tensors that a call f(*args) can reach. Restores afterwards what the call changes.

    These are the arguments, other tensors in reach, and the state of modules, optimisers and random generators. A
    module is assumed not to train when it is called: if f is a module, its parameters are not copied.
    """
    held = modules_of(f, (Module, Optimizer, torch.Generator, Tensor), args)
    modules = {name: x for name, x in held.items() if isinstance(x, Module)}
    parts = [*dict.fromkeys(part for module in modules.values() for part in module.modules())]
    owners = parts + [x for x in held.values() if isinstance(x, Optimizer)]
    states = [{key: y for key, y in vars(x).items() if key not in UNCHANGED} for x in owners]
    tensors = dict.fromkeys(tensors_in([*args, *arguments_of(f), *held.values(), *states]))
    if any(map(torch.nn.parameter.is_lazy, tensors)):
        raise ValueError("a lazy module gets its parameters at its first call: call it once, then draw it")
    with torch.random.fork_rng(range(torch.cuda.device_count())), ExitStack() as restore:
        restore.callback(random.setstate, random.getstate())
        restore.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        for each in [x for x in held.values() if isinstance(x, torch.Generator)]:
            restore.callback(each.set_state, each.get_state())
        for tensor in [x for x in tensors if not (isinstance(f, Module) and isinstance(x, Parameter))]:
            restore.enter_context(preserve_data(tensor))
        for x, own in zip(owners, states):
            restore.callback(vars(x).update, dict(vars(x)))
            restore.callback(vars(x).clear)  # runs first
            vars(x).update(copy_of(own))
            vars(x).pop("_compiled_call_impl", None)  # of model.compile()
        yield modules, tensors


def copy_of(x: Any) -> Any:
    """A copy of the containers in x, which share their items; of a long container, only the container itself."""
    if type(x) not in (list, deque, set, dict, OrderedDict, defaultdict):
        return x
    found = x.copy()
    if type(x) is not set and len(x) <= LONGEST_LIST:
        for key, item in x.items() if isinstance(x, dict) else enumerate(x):
            found[key] = copy_of(item)
    return found


@contextmanager
def preserve_data(x: Tensor) -> Iterator[None]:
    """A block that restores a tensor's numbers, its gradient and requires_grad. The memory stays: views share it."""
    is_inference, grad, needs = x.is_inference(), x.grad if x.is_leaf else None, x.requires_grad
    data, memory = x if is_inference else x.data, raw_memory(x)
    before = data if memory is None else memory.clone()
    with ExitStack() as restore:
        restore.enter_context(nullcontext() if is_inference else _unsafe_preserve_version_counter(x))
        restore.enter_context(nullcontext() if grad is None else preserve_data(grad))
        try:
            if memory is None and not is_inference:
                x.data = data.clone()
            yield
        finally:
            if not is_inference:
                x.data = data
            if memory is not None and not torch.equal(memory, before):
                memory.copy_(before)
            if x.grad_fn is not None and not needs and not x._is_view():
                x.detach_()
            if x.is_leaf:
                x.requires_grad_(needs).grad = grad


def raw_memory(x: Tensor) -> Tensor | None:
    """The memory of a tensor, from its first to its last number; None if it has no memory of its own."""
    try:
        size = 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride())) if x.numel() else 0
        dtype = {2: torch.int16, 4: torch.int32, 8: torch.int64}.get(x.element_size(), torch.uint8)
        scale, storage = x.element_size() // dtype.itemsize, x.untyped_storage()
        memory = torch.empty(0, dtype=dtype, device=x.device)
        return memory.set_(storage, x.storage_offset() * scale, (size * scale,), (1,)) if storage.data_ptr() else None
    except (NotImplementedError, RuntimeError):  # sparse or nested, or of a subclass that wraps other tensors
        return None


class CallRecorder(TorchFunctionMode):
    """Records operations while they run.

    names      id of a tensor → its name; `own` has parameters and buffers only
    given      ids of the tensors that were there before the call
    results    (tensors, their versions, their Nodes) of each entry, kept alive so that ids stay unique
    places     id of a tensor → the number of its entry
    changes    memory → the number of the last entry that changed it in place
    """

    def __init__(self, reach: Reach, f: Any, args: Sequence[Any], namespace: Mapping[str, object]):
        super().__init__()
        modules, tensors = reach
        keywords = f.keywords if isinstance(f, partial) else {}
        names = {id(x): name for x, name in names_of({**keywords, **namespace, **keywords}).items()}
        parts = [pair for at, module in modules.items() for pair in module.named_modules(prefix=at)]
        own = [each for at, part in modules.items() for each in (part.named_parameters(at), part.named_buffers(at))]
        self.own = {id(x): name for pairs in own for name, x in pairs}
        self.names = {**attributes(parts), **names, **self.own, **inputs_of(args)}
        self.given = {*map(id, tensors), *self.names}
        self.labels = {id(part): at for at, part in parts}
        self.asked = place(LIBRARY)
        self.entries: list[Entry] = []
        self.results: list[tuple[list[Tensor], list[int], list[Any]]] = []
        self.places: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        self.read: dict[str, None] = {}  # the lines in which Python reads a tensor's values
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
        kwargs = kwargs or {}
        y = func(*args, **kwargs)
        changed = [x for x, version in zip(given, before) if version_of(x) != version]
        op, at = op_name(func), place(LIBRARY)
        line = "" if at == self.asked else line_at(at)
        if results := [*tensors_in(y)] or changed:
            facts = (*options_of(func, args, kwargs), *facts_of(results[0]))
            self.add(results, op, path=self.paths[-1], inputs=inputs, line=line, facts=facts)
            self.changes |= {memory_of(x): len(self.entries) - 1 for x in changed}
        elif op in READING and not sys._getframe(1).f_code.co_filename.startswith(LIBRARY):
            self.read[line or op] = None
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
        needed = self.needed_by([self.number(y) for y in ys])
        is_hidden = any(self.entries[n].kind == "leaf" and id(self.results[n][0][0]) not in self.given for n in needed)
        place = {n: i for i, n in enumerate(range(len(self.entries)) if is_hidden else needed)}
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
        return entries, [HIDDEN] * is_hidden + [READ.format(line) for line in self.read] + self.describe_hidden(place)

    def describe_hidden(self, place: Container[int]) -> list[str]:
        """A sentence about the operations that are not shown, if there are any."""
        signs = [entry.sign for n, entry in enumerate(self.entries) if n not in place and entry.kind == "op"]
        which = shorten(join_names([*dict.fromkeys(signs)]), 120)
        count = pluralize(len(signs), "op", "ops")
        return [f"Not shown, as no result needs them: {count} ({which})."] * bool(signs)

    def needed_by(self, ends: Sequence[int]) -> list[int]:
        """The numbers `ends`, and those of all entries that these entries were computed from."""
        needed = {*ends}
        for n in range(max(ends), -1, -1):
            needed.update(self.entries[n].inputs if n in needed else ())
        return sorted(needed)


def attributes(parts: Iterable[tuple[str, Module]]) -> dict[int, str]:
    """id → name of each tensor that is an attribute of a module."""
    held = [(f"{at}.{key}".lstrip("."), x) for at, part in parts for key, x in vars(part).items()]
    return {id(x): name for name, x in held if isinstance(x, Tensor)}


def inputs_of(args: Sequence[Any]) -> dict[int, str]:
    """id → name of each tensor among the arguments: "input", or "input 1", "input 2" of several."""
    given = [*tensors_in([*args])]
    return {id(x): "input" if len(given) == 1 else f"input {n}" for n, x in [*enumerate(given, 1)][::-1]}


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
