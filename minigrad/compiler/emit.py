"""From a plan to Python that a student can read.

    b0 = at(0, (32, 16), float32)                   memory that is kept between calls, and views of it: made once
    v0 = b0.transpose((1, 0))

    def program(x, W):                              one line per step, each array written where the plan has put it
        dot(x, W, b0)
        y0 = empty((32, 16), float32)               what is handed out is new at each call
        tanh(b0, y0)
        return y0,

A loop over blocks is two functions more: what is done with one block, and with a range of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..node import Node, Staged
from .buffers import Plan
from .loops import Loop
from .steps import Step, Value

LARGE = 1 << 16  # bytes: an array as large is let go as soon as nobody reads it


@dataclass
class Text:
    """A program's source, and what it needs to run.

    kept      lines that set up what is kept between calls
    defined   lines of the functions
    scope     names the lines use
    size      bytes of workspace
    places    line of the source → the node it is part of
    whole     arguments whose arrays have to be contiguous, being written through a view
    """

    kept: list[str] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    size: int = 0
    nodes: dict[int, Node] = field(default_factory=dict)
    whole: set[Value] = field(default_factory=set)
    constants: dict[Any, str] = field(default_factory=dict)
    loops: int = 0

    @property
    def source(self) -> str:
        return "\n".join([*self.kept, *([""] if self.kept else []), *self.defined, ""])

    def bind(self, name: str, thing: Any) -> None:
        """The name means the thing, everywhere in the text."""
        assert self.scope.setdefault(name, thing) is thing, f"two things are called {name}"

    def constant(self, value: Value) -> str:
        """The name of a constant: equal numbers have one."""
        array = value.array
        key = (array.dtype, array.item().hex() if array.dtype.kind == "f" and not array.ndim else str(array)) \
            if not array.ndim else id(value)
        if key not in self.constants:
            self.constants[key] = f"c{len(self.constants)}"
            self.scope[self.constants[key]] = array
            comment = f"{array.dtype} {array}" if not array.ndim else f"{array.dtype}{[*array.shape]}"
            self.kept.append(f"# {self.constants[key]} = {comment}")
        return self.constants[key]


def text_of(plan: Plan, arguments: Sequence[Value], names: Sequence[str], threads: int) -> Text:
    """The program of a plan."""
    text = Text(size=plan.size)
    text.scope |= {"empty": np.empty, "errstate": np.errstate}
    body = Lines(text, plan, dict(zip(arguments, names)), threads)
    lines = [f"def program({', '.join(names)}):", *body.lines(plan.steps)]
    returned = "".join(f"{'None' if y is None else body.name(y)}, " for y in plan.outputs)
    start = len(text.kept) + bool(text.kept) + len(text.defined) + 1
    text.nodes |= {start + i + 1: node for i, node in enumerate(body.nodes) if node is not None}
    text.defined += [*lines, f"    return {returned.strip() or '()'}"]
    return text


class Lines:
    """The lines of one function.

    names     value → what it is called
    static    names of what is kept between calls
    """

    def __init__(self, text: Text, plan: Plan, names: dict[Value, str], threads: int):
        self.text, self.plan, self.names, self.threads = text, plan, names, threads
        self.static: dict[str, str] = {}  # what makes it → its name
        self.kept: set[str] = set()
        self.fresh: dict[Any, str] = {}
        self.made = 0
        self.nodes: list[Node | None] = []

    def lines(self, steps: Iterable[Step]) -> list[str]:
        """A line per step, those that expect the same floating-point errors under one `with`."""
        out: list[str] = []
        quiet: frozenset[str] = frozenset()
        self.nodes = []
        for k, step in enumerate(steps):
            written = self.line(step)
            if written is not None:
                now = self.quiet(step)
                if now != quiet:
                    quiet = now
                    if quiet:
                        ignored = ", ".join(f"{error}='ignore'" for error in sorted(quiet))
                        out.append(f"    with errstate({ignored}):")
                        self.nodes.append(None)
                out += [f"{'    ' * (1 + bool(quiet))}{line}" for line in written]
                self.nodes += [step.node] * len(written)
            done = [r for v in step.operands for r in dict.fromkeys(v.roots) if self.plan.last.get(r) == k]
            gone = [self.names[r] for r in dict.fromkeys(done) if r.kind == "made" and r in self.names]
            if gone and self.leaves_nothing(done):
                out.append(f"{'    ' * (1 + bool(quiet))}del {', '.join(gone)}")
                self.nodes.append(step.node)
        return out or ["    pass"]

    def quiet(self, step: Step) -> frozenset[str]:
        """The floating-point errors that a step expects; of a loop, those that some step of it does."""
        if step.loop is None:
            return step.quiet
        return frozenset().union(*(s.quiet for s in step.loop.plan.steps))

    def leaves_nothing(self, roots: Iterable[Value]) -> bool:
        """Whether large arrays that a step brought along are not handed out."""
        kept = {r for y in self.plan.outputs if y is not None for r in y.roots}
        made = [r for r in roots if r.kind == "made"]
        return all(r not in kept for r in made) and any(r.nbytes >= LARGE for r in made)

    def line(self, step: Step) -> list[str] | None:
        """The line of a step, and before it those that make what it writes into; None if there is nothing to do now."""
        before = [line for v in step.operands if (line := self.made_for(v.root))]
        operands = [self.name(v) for v in step.operands]
        for name, thing in step.scope.items():
            self.text.bind(name, thing)
        if step.loop is not None:
            return [*before, self.loop(step.loop, operands, step.node)]
        line = step.text.format(*operands)
        if step.result is None:
            shown = step.written[0].shell
            return [*before, f"{line:<52}# {shown_as(shown)}{place(step.node)}"]
        if step.is_view and (operands[0] in self.text.scope or operands[0] in self.kept):
            self.names[step.result] = self.keep("v", line)
            return before or None
        if step.is_view and step.operands[0].root in self.plan.tenants and ".reshape(" in line:
            argument = self.plan.tenants[step.operands[0].root].argument
            if argument is not None:
                self.text.whole.add(argument)
        self.names[step.result] = name = f"t{self.made}"
        self.made += 1
        return [*before, f"{f'{name} = {line}':<52}# {shown_as(step.result.shell)}{place(step.node)}"]

    def made_for(self, root: Value) -> str | None:
        """The line that makes an array to be handed out, before it is first written into."""
        tenant = self.plan.tenants.get(root)
        if tenant is None or tenant.last is not None or tenant.argument is not None or tenant in self.fresh:
            return None
        self.fresh[tenant] = name = f"y{len(self.fresh)}"
        return f"{name} = {new_array(self.text, root.shell)}"

    def name(self, value: Value) -> str:
        """What a value is called."""
        if value not in self.names:
            if value.kind == "constant":
                return self.text.constant(value)
            tenant = self.plan.tenants[value.root]
            if tenant.argument is not None:
                return self.name(tenant.argument)
            if tenant.last is None:
                return self.fresh[tenant]
            self.names[value] = self.workspace(value, (tenant.offset or 0) + value.offset)
        return self.names[value]

    def workspace(self, value: Value, offset: int) -> str:
        """An array in the workspace."""
        return self.keep("b", at(self.text, value.shell, offset))

    def keep(self, letter: str, made: str) -> str:
        """The name of something that is made once: equal things have one."""
        if made not in self.static:
            self.static[made] = f"{letter}{len(self.static)}"
            self.kept.add(self.static[made])
            self.text.kept.append(f"{self.static[made]} = {made}")
        return self.static[made]

    # -- loops ----------------------------------------------------------------------------------------

    def loop(self, loop: Loop, operands: list[str], node: Node | None) -> str:
        """The call of a loop, whose functions are written before."""
        text, k = self.text, self.text.loops
        text.loops += 1
        reading = len(loop.cut)
        blocks = [f"a{i}" for i in range(len(loop.arguments))]
        body = Block(text, loop.plan, dict(zip(loop.arguments, blocks)), 1)
        lines = body.lines(loop.plan.steps)
        scratch = list(body.scratch.values())
        text.defined += [f"def block{k}({', '.join([*blocks, *scratch])}):", *lines, ""]

        wholes, sums = blocks[:reading], [f"p{i}" for i in range(len(loop.terms))]
        names = [*wholes, *sums, "start", "stop", *scratch]
        cut = [f"{a}[i:j]" if has else a for a, has in zip(wholes, loop.cut)]
        numbers = [f"{p}[k, {t}, ...]" for p, terms in zip(sums, loop.terms) for t in range(terms)]
        text.defined += [
            f"def blocks{k}({', '.join(names)}):",
            "    for k in range(start, stop):",
            f"        i, j = k * {loop.rows}, (k + 1) * {loop.rows}",
            f"        block{k}({', '.join([*cut, *numbers, *scratch])})",
            "",
        ]
        evenly, rest = divmod(loop.length, loop.rows)
        workers = max(1, min(self.threads, evenly // 2))
        arrays = [[self.scratch(text, v, loop, w) for v in body.values] for w in range(workers)]
        bounds = [evenly * w // workers for w in range(workers + 1)]
        shares = [
            ", ".join([*wholes, *sums, str(bounds[w]), str(bounds[w + 1]), *arrays[w]]) for w in range(workers)
        ]
        calls = [f"    blocks{k}({shares[0]})"]
        if workers > 1:
            calls = [f"    together(blocks{k}, {', '.join(f'({share})' for share in shares)})"]
        if rest:
            ends = [f"{a}[{evenly * loop.rows}:]" if has else a for a, has in zip(wholes, loop.cut)]
            ends += [n.replace("[k,", f"[{evenly},") for n in numbers]
            tails = [
                self.kept_tail(text, name, rest) if loop.is_cut(v) else name for v, name in zip(body.values, arrays[0])
            ]
            calls.append(f"    block{k}({', '.join([*ends, *tails])})")
        text.defined += [f"def loop{k}({', '.join([*wholes, *sums])}):", *calls, ""]
        call = f"loop{k}({', '.join(operands)})"
        return f"{call:<52}# {loop.blocks} blocks: {node.op if node else ''}"

    def scratch(self, text: Text, value: Value, loop: Loop, worker: int) -> str:
        """An array for one worker's blocks, behind all that the program keeps."""
        size = -(-loop.plan.size // 64) * 64
        text.size = max(text.size, self.plan.size + size * (worker + 1))
        offset = self.plan.size + size * worker + (loop.plan.tenants[value.root].offset or 0) + value.offset
        return self.keep("b", at(text, value.shell, offset))

    def kept_tail(self, text: Text, name: str, rest: int) -> str:
        return self.keep("v", f"{name}[:{rest}]")


class Block(Lines):
    """The lines of a loop's body: its workspace arrives as arguments, since every worker has its own."""

    def __init__(self, text: Text, plan: Plan, names: dict[Value, str], threads: int):
        super().__init__(text, plan, names, threads)
        self.scratch: dict[Any, str] = {}
        self.values: list[Value] = []

    def quiet(self, step: Step) -> frozenset[str]:
        """The call of the loop has seen to it."""
        return frozenset()

    def workspace(self, value: Value, offset: int) -> str:
        key = (offset, value.shell.shape, value.shell.strides, value.shell.dtype)
        if key not in self.scratch:
            self.scratch[key] = f"w{len(self.scratch)}"
            self.values.append(value)
        return self.scratch[key]


def at(text: Text, x: np.ndarray, offset: int) -> str:
    """An array of the workspace, as it is made."""
    strides = "" if x.flags.c_contiguous else f", {x.strides}"
    return f"at({offset}, {x.shape}, {dtype_name(text, x.dtype)}{strides})"


def new_array(text: Text, x: np.ndarray) -> str:
    """An array for the caller, as it is made."""
    if x.nbytes >= RECYCLED:
        name = f"new{sum(n.startswith('new') for n in text.scope) + sum('= handed(' in line for line in text.kept)}"
        text.kept.append(f"{name} = handed({x.shape}, {dtype_name(text, x.dtype)}, {x.strides})")
        return f"{name}()"
    made = f"empty({x.shape}, {dtype_name(text, x.dtype)})"
    if x.flags.c_contiguous:
        return made
    order = sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))
    back = tuple(sorted(range(x.ndim), key=order.__getitem__))
    return f"empty({tuple(x.shape[a] for a in order)}, {dtype_name(text, x.dtype)}).transpose({back})"


RECYCLED = 1 << 20  # bytes: an array as large is handed out again once the caller has let go of it


def dtype_name(text: Text, dtype: np.dtype) -> str:
    """A dtype in the text: bound under its own name."""
    name = "boolean" if dtype.kind == "b" else dtype.name
    text.scope[name] = dtype
    return name


def shown_as(x: np.ndarray) -> str:
    """A spec as it is shown in comments."""
    kind = "bool" if x.dtype.kind == "b" else f"{x.dtype.kind}{8 * x.dtype.itemsize}"
    return f"{kind}[{', '.join(map(str, x.shape))}]"


def place(node: Node | None) -> str:
    """Where in the user's code the node was built, if it knows."""
    if not isinstance(node, Staged):
        return ""
    return f" {node.name}" + (f", {node.place.file}:{node.place.line}" if node.place else "")
