"""PyTorch's eager runs, and the graphs of torch.export with the values of a run, for StaticVsDynamic."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from inspect import unwrap
from io import StringIO
from operator import getitem
from typing import Any, cast

import torch
from torch import Tensor, fx
from torch.nn import Module, Parameter
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ...engine.base.pytree import leaves
from ..listing_of import modules_of
from ..names import names_in
from ..picture import Box
from ..static_run import SIGNS, Saw, StaticRun, code_of, own_line, reachable
from ..tensors import format_array
from ..words import number
from .pytorch_calls import preserve
from .pytorch_run import array_of
from .pytorch_tensors import memory_of, spec_of, tensors_in

title, branch = "torch.export: built once, run often", "torch.cond"
ALIKE = {"slice": "getitem", "select": "getitem", "index": "getitem", "numpy_T": "T", "true_divide": "div",
         "wrap_with_set_grad_enabled": "set_grad_enabled"}  # fmt: skip
BINARY = {*SIGNS.values(), "pow"} - {"[ ]"}


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def describe(x: Any) -> Box:
    if not isinstance(x, Tensor):
        return Box("", "constant", "", "", "", number(x), "")
    try:
        return Box("", "leaf", "", "", spec_of(x), format_array(array_of(x)), "")
    except (TypeError, ValueError):  # complex, sparse, empty, or on the meta device
        return Box("", "leaf", "", "", spec_of(x), "…", "")


def names(f: Any) -> dict[int, str]:
    return names_in(reachable(f), lambda x: id(x) if isinstance(x, Tensor) else None)


class watch(TorchFunctionMode):
    """Reports each op as the user wrote it."""

    def __init__(self, saw: Saw):
        super().__init__()
        self.saw = saw

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        y = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", type(func).__name__)
        if ys := [*tensors_in(args[:1] if name == "__setitem__" else y)]:
            sign, xs = sign_and_operands(func.__self__.__name__ if name == "__get__" else name, args, kwargs or {})
            self.saw(sign, ys, xs)
        return y


def sign_and_operands(name: str, args: Sequence[Any], kwargs: Any) -> tuple[str, list[Any]]:
    """The symbol of an op, and the operands to show: no parameter of a layer; a number only as in x * 2."""
    base = name.strip("_")
    is_swapped = base[:1] == "r" and base[1:] in SIGNS  # rsub(x, 1) is 1 − x
    base = ALIKE.get(base, base[1:] if is_swapped else base)
    in_place = f"i{base}" if name.endswith("_") and not name.startswith("_") else base
    sign = SIGNS.get(in_place, SIGNS.get(base, base))
    leaves = tree_leaves([args, kwargs])
    shown: list[Any] = [x for x in leaves if isinstance(x, Tensor | fx.Node) and not is_parameter(x)]
    if sign in BINARY and len(args) == 2:
        shown = [x for x in args if isinstance(x, Tensor | fx.Node | float | int)]
    return sign, shown[::-1] if is_swapped else shown


def is_parameter(x: Tensor | fx.Node) -> bool:
    if isinstance(x, fx.Node):
        return x.op == "get_attr" and x.target in dict(cast(Module, x.graph.owning_module).named_parameters())
    return isinstance(x, Parameter)


@contextmanager
def prepare(f: Any, args: Sequence[Any]) -> Iterator[Sequence[Any]]:
    with preserve(f, args), torch.compiler.set_stance("force_eager"):  # torch.cond compiles, else
        yield copies(args)


def copies(args: Sequence[Any]) -> Any:
    """Copies of tensors, so that an op in place changes no tensor of the user."""
    return tree_map_only(Tensor, lambda x: x.detach().clone().requires_grad_(x.requires_grad), tuple(args))


class ExportTraces:
    """A function, and its exported programs: one for each list of shapes, dtypes and other arguments."""

    def __init__(self, f: Any):
        self.f, self.trace_count, self.programs = (f := getattr(f, "forward", f)), 0, dict[str, Any]()
        self.module = cast(Any, getattr(f, "__self__", None))
        if not isinstance(self.module, Module) or f.__name__ != "forward":
            self.module = Module()
            self.module.forward = f
            for name, part in modules_of(f, Module).items():
                self.module.add_module(name.replace(".", "_"), part)

    def trace_for(self, *args: Any) -> Any:
        key = str(tree_map_only(Tensor, lambda x: f"{spec_of(x)} on {x.device}", args))
        if key not in self.programs:
            with prepare(self.f, args) as given, exporting(self.f):
                self.programs[key] = torch.export.export(self.module, tuple(given)).module()
            self.trace_count += 1
        return self.programs[key]

    def run(self, *args: Any) -> StaticRun:
        module = self.trace_for(*args)
        with prepare(self.f, args) as given, preserve(module, ()):
            runner = GraphRunner(module, self.f)
            runner.found.results = copies(leaves(runner.run(*given)))
        return runner.found


Traces = ExportTraces


@contextmanager
def exporting(f: Any) -> Iterator[None]:
    """A block that hides what torch.export logs. In it, f is called forward: PyTorch records such functions' lines."""
    inner, before = unwrap(f), logging.root.manager.disable
    inner, code = getattr(inner, "__func__", inner), inner.__code__
    inner.__code__ = code.replace(co_name="forward")
    logging.disable(logging.WARNING)
    try:
        with redirect_stderr(StringIO()), warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)
        inner.__code__ = code


class GraphRunner(fx.Interpreter):
    """Runs a graph node by node, and makes a box for each op. Results of an op that has several share its box."""

    def __init__(self, module: fx.GraphModule, f: Any):
        super().__init__(module)
        self.code, self.found = code_of(f), StaticRun()
        self.names = names_in(reachable(f), lambda x: memory_of(x) if isinstance(x, Tensor) else None)

    def run_node(self, node: fx.Node) -> Any:
        box_of, before = self.found.box_of, cast(Any, node.args[0] if node.target is getitem else None)
        is_part = isinstance(before, fx.Node) and isinstance(self.env[before], list | tuple)
        y = super().run_node(node)
        if is_part:
            box_of[node] = box_of[before]
        elif node.op == "call_function" and [*tensors_in(y)]:
            self.add_op(node, [describe(x) for x in tensors_in(y)])
        elif isinstance(y, Tensor):
            name = node.name if node.op == "placeholder" else self.names.get(memory_of(y), node.name)
            self.found.unused[node] = replace(describe(y), name=name)
        return y

    def add_op(self, node: fx.Node, results: list[Box]) -> None:
        sign, xs = operands_of(node)
        operands = [x if isinstance(x, fx.Node) else describe(x) for x in xs if not self.is_graph(x)]
        box = self.found.run_op(sign, [node], results, operands, self.line_of(node))
        if sign == "set_grad_enabled":
            self.found.inner[box] = {*map(self.line_of, cast(Any, self.env[xs[0]]).graph.nodes)}
        if sign == "cond":
            test, *graphs = map(self.env.get, cast(Any, node.args[:3]))
            signs = dict(zip(("true", "false"), map(signs_of, graphs)))
            self.found.add_branches(box, str(bool(test)).lower(), signs)

    def line_of(self, node: fx.Node) -> int:
        frames = re.findall(r'File "(.+)", line (\d+)', node.stack_trace or "")
        return own_line([(file, int(n)) for file, n in frames], self.code)

    def is_graph(self, x: Any) -> bool:
        return isinstance(x, fx.Node) and isinstance(self.env[x], fx.GraphModule)


def operands_of(node: fx.Node) -> tuple[str, list[Any]]:
    target: Any = node.target
    return sign_and_operands(getattr(target, "overloadpacket", target).__name__, node.args, node.kwargs)


def signs_of(module: Any) -> list[str]:
    """The symbols of a graph's ops, with numbers: + 1."""
    ops = [operands_of(node) for node in module.graph.nodes if node.op == "call_function"]
    return [" ".join([sign, *(describe(x).value for x in xs if not isinstance(x, fx.Node))]) for sign, xs in ops]
