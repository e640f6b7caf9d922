"""Emit a plan as Python that a student can read.

    b0 = at(0, (32, 16), float32)                   memory kept between calls, and views of it: made once
    v1 = b0.transpose(1, 0)

    def program(x, W):                              one line per step; each array lies where the plan has put it
        dot(x, W, b0)
        tanh(b0, b0)
        y0 = empty((16, 8), float32)                returned arrays are new at each call
        dot(v1, x, y0)
        return (y0,)

A loop over blocks adds three functions: for one block, for a range of blocks, and for all blocks. Branches and loops
of the graph become Python's `if`, `while` and `for`: see source.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from .buffer import Buffer, ProgramStep, roots_of
from .lower import BLOCK
from .memory_plan import Allocation, MemoryPlan
from .source import LARGE, Line, Text, add_comment, control, indent_lines
from .tiling import TiledLoop

FEW = 256  # elements: below this, the overhead of the call dominates


def text_of(plan: MemoryPlan, arguments: Sequence[Buffer], names: Sequence[str], program: Any) -> Text:
    """The text of a program with this plan. The program's class of Lines emits it."""
    text = Text(plan.size)
    body = program.lines(text, plan, dict(zip(arguments, names)), program)
    lines = indent_lines(body.lines(plan.steps))
    returned = ", ".join("None" if y is None else body.name(y) for y in plan.outputs)
    first = len(text.kept) + bool(text.kept) + len(text.defined) + 2
    text.nodes |= {first + i: node for i, (_, node) in enumerate(lines) if node is not None}
    text.defined += [f"def program({', '.join(names)}):", *[line for line, _ in lines]]
    text.defined.append(f"    return ({returned}{',' * bool(returned)})")
    return text


class Lines:
    """Emits the lines of one function, or of a branch or a loop in it.

    names    value → its name
    fresh    returned array that has been made → its name
    wanted   returned array → the name it should get
    base     where the workspace of these lines starts, after that of the surrounding lines
    counts   letter → number of names in the function that start with it
    """

    def __init__(
        self, text: Text, plan: MemoryPlan, names: dict[Buffer, str], program: Any, outside: Lines | None = None
    ) -> None:
        self.text, self.plan, self.names, self.program = text, plan, names, program
        self.fresh: dict[Allocation, str] = {}
        self.wanted: dict[Allocation, str] = {}
        self.base = 0 if outside is None else outside.end
        self.counts: Counter[str] = Counter() if outside is None else outside.counts
        self.kept = {r for y in plan.outputs if y is not None for r in y.roots}
        text.size = max(text.size, self.base + plan.size)

    @property
    def end(self) -> int:
        """Where the workspace of these lines ends."""
        return self.base + -(-self.plan.size // 64) * 64

    def new(self, letter: str) -> str:
        """A name that is unused in the function."""
        self.counts[letter] += 1
        return f"{letter}{self.counts[letter] - 1}"

    def lines(self, steps: Iterable[ProgramStep]) -> list[Line]:
        """The lines of the steps. Consecutive steps that ignore the same floating-point errors share one `with`."""
        out: list[Line] = []
        quiet: frozenset[str] = frozenset()
        is_any_made = "made" in map(attrgetter("kind"), self.plan.last)
        for k, step in self.number_steps(steps):
            self.text.steps.append(step)
            lines = self.step(step)
            if lines and self.quiet(step) != quiet:
                quiet = self.quiet(step)
                if quiet:
                    errors = ", ".join(f"{error}='ignore'" for error in sorted(quiet))
                    out.append((f"with errstate({errors}):", None))
            lines += self.emit_del(step, k) if is_any_made else []
            out += indent_lines(lines) if quiet else lines
        return out

    def number_steps(self, steps: Iterable[ProgramStep]) -> Iterable[tuple[int, ProgramStep]]:
        """The steps with their numbers in the plan."""
        return enumerate(steps)

    def among(self, plan: MemoryPlan, names: dict[Buffer, str]) -> Lines:
        """The emitter for a branch or a loop inside these lines."""
        return type(self)(self.text, plan, names, self.program, self)

    def quiet(self, step: ProgramStep) -> frozenset[str]:
        """The floating-point errors that a step ignores; for a loop, those of all its steps."""
        if step.loop is None:
            return step.quiet
        return frozenset().union(*(s.quiet for s in step.loop.plan.steps))

    def step(self, step: ProgramStep) -> list[Line]:
        """The line of a step, after lines that allocate its arrays; none for a view of kept memory."""
        lines = self.hand_out(step)
        if step.results:
            return [*lines, *control(self, step)]
        line = self.line(step)
        return [*lines, (line, step.node)] if line else lines

    def line(self, step: ProgramStep) -> str:
        """The source line of a step."""
        operands = self.operands(step)
        if step.loop is not None:
            call = f"{loop_functions(self, step.loop)}({', '.join(operands)})"
            return f"{call:<52}# {step.loop.blocks} blocks: {step.node.op if step.node else ''}"
        line = self.bind_names(step).format(*operands)
        if step.result is None:
            return add_comment(line, step.write_operands[0].shell, step.node)
        if step.is_view and self.text.is_kept(operands[0]):
            self.names[step.result] = self.text.keep("v", line)
            return ""
        if ".reshape(" in line and (argument := self.adopter(step.operands[0])):
            self.text.whole.add(argument)
        y = step.result
        return add_comment(f"{self.result(y)} = {line}", y.shell if y.spec is None else y.spec, step.node)

    def bind_names(self, step: ProgramStep) -> str:
        """The step's text, with names that are bound to the objects of its scope."""
        text = step.text
        for name, thing in step.scope.items():
            called = self.text.bind(name, thing)
            text = text if called == name else re.sub(rf"\b{name}\b", called, text)
        return text

    def is_read(self, value: Buffer) -> bool:
        """Whether a step reads the value, or it is an output."""
        return value in self.plan.last or value in self.kept

    def result(self, value: Buffer) -> str:
        """The name of a value, created if it has none."""
        if value not in self.names:
            self.names[value] = self.new("t")
        return self.names[value]

    def operands(self, step: ProgramStep) -> list[str]:
        """The names of a step's operands."""
        named = [self.names.get(v) or self.name(v) for v in step.operands]
        if step.scope.keys() & {"maximum", "minimum"} and step.write_operands[0].shell.size >= FEW:
            # NumPy is 5 times as fast here with an array of equal numbers as with one number.
            out = step.write_operands[0].shell
            numbers = [i for i, v in enumerate(step.operands) if v.kind == "constant" and not v.shell.ndim]
            for i in numbers if out.size <= BLOCK and ".reduce" not in step.text else ():
                named[i] = self.fit_length(self.text.constant_array(step.operands[i], out), named[-1])
        return named

    def fit_length(self, number: str, out: str) -> str:
        """An array of equal numbers, cut to the length of the written array `out`."""
        return number

    def hand_out(self, step: ProgramStep) -> list[Line]:
        """The lines that allocate arrays for the caller, each before the first step that uses the array."""
        lines: list[Line] = []
        for root in map(attrgetter("root"), step.operands):
            t = self.plan.allocations.get(root)
            if t is not None and t.last is None and t.argument is None and t not in self.fresh:
                self.fresh[t] = name = self.wanted.get(t) or self.new("y")
                lines.append((f"{name} = {self.text.new(root.shell)}", step.node))
        return lines

    def adopter(self, value: Buffer) -> Buffer | None:
        """The argument whose array holds this value, if the plan put it there."""
        allocation = self.plan.allocations.get(value.root)
        return allocation.argument if allocation else None

    def emit_del(self, step: ProgramStep, k: int) -> list[Line]:
        """The `del` line for large made arrays whose last use is step k."""
        roots = roots_of(step.operands)
        done = [r for r in roots if r.kind == "made" and self.plan.last.get(r, k + 1) <= k and r not in self.kept]
        is_large = any(r.nbytes >= LARGE for r in done)
        return [(f"del {', '.join(self.names[r] for r in done)}", None)] if is_large else []

    def name(self, value: Buffer) -> str:
        """The name of a value."""
        if value not in self.names:
            self.names[value] = self.resolve_name(value)
        return self.names[value]

    def resolve_name(self, value: Buffer) -> str:
        """The name of a value that no line has made: a constant, an argument, a returned array or workspace."""
        if value.kind == "constant":
            return self.text.constant(value)
        allocation = self.plan.allocations[value.root]
        if allocation.argument is not None:
            return self.name(allocation.argument)
        return self.fresh[allocation] if allocation.last is None else self.workspace(value, allocation)

    def workspace(self, value: Buffer, allocation: Allocation) -> str:
        """The name of an array in the workspace."""
        return self.text.at(value.shell, self.base + (allocation.offset or 0) + value.offset)


# -- loops --------------------------------------------------------------------------------------------


class LoopBody(Lines):
    """Emits a loop's body. Its workspace arrives as arguments, because every thread has its own.

    scratch    name of an array in the workspace → the value in it; w0, w1, … are the names in the body
    """

    def __init__(self, lines: Lines, loop: TiledLoop):
        super().__init__(lines.text, loop.plan, {a: f"a{i}" for i, a in enumerate(loop.arguments)}, None, lines)
        self.counts = Counter()
        self.scratch: dict[str, Buffer] = {}

    def quiet(self, step: ProgramStep) -> frozenset[str]:
        """No errors: the call of the loop is already inside errstate."""
        return frozenset()

    def fit_length(self, number: str, out: str) -> str:
        return f"{number}[:len({out})]"  # the last block is shorter

    def workspace(self, value: Buffer, allocation: Allocation) -> str:
        self.scratch.setdefault(kept := super().workspace(value, allocation), value)
        return f"w{[*self.scratch].index(kept)}"


def loop_functions(lines: Lines, loop: TiledLoop) -> str:
    """Emit the functions of a loop: one block, a range of blocks, all blocks. Return the name of the last."""
    text, k = lines.text, lines.text.loops
    text.loops += 1
    body = LoopBody(lines, loop)
    of_block = body.lines(loop.plan.steps)
    scratch = [f"w{i}" for i in range(len(body.scratch))]
    arrays = [f"a{i}" for i in range(len(loop.cut))]
    sums = [f"p{i}" for i in range(len(loop.terms))]

    def part(span: str, number: str) -> list[str]:
        """The arguments of one block: its part of each array, and the place for each partial sum."""
        parts = [f"{a}[{span}]" if cut else a for a, cut in zip(arrays, loop.cut)]
        return parts + [f"{p}[{number}, {t}, ...]" for p, terms in zip(sums, loop.terms) for t in range(terms)]

    evenly, rest = divmod(loop.length, loop.rows)
    last = [f"share(blocks{k}, {evenly}, [{', '.join([*arrays, *sums])}], [{', '.join(body.scratch)}])"]
    if rest:
        short = [text.keep("v", f"{m}[:{rest}]") if loop.is_cut(v) else m for m, v in body.scratch.items()]
        last.append(f"block{k}({', '.join([*part(f'{evenly * loop.rows}:', str(evenly)), *short])})")
    if any("dot" in step.scope for step in loop.plan.steps):  # several threads of BLAS would add in another order
        last = ["with one_thread:", *(f"    {line}" for line in last)]
    text.defined += [
        f"def block{k}({', '.join([*(body.names[a] for a in loop.arguments), *scratch])}):",
        *(line for line, _ in indent_lines(of_block or [("pass", None)])),
        "",
        f"def blocks{k}({', '.join([*arrays, *sums, 'start', 'stop', *scratch])}):",
        "    for k in range(start, stop):",
        f"        i, j = k * {loop.rows}, (k + 1) * {loop.rows}",
        f"        block{k}({', '.join([*part('i:j', 'k'), *scratch])})",
        "",
        f"def loop{k}({', '.join([*arrays, *sums])}):",
        *(f"    {line}" for line in last),
        "",
    ]
    return f"loop{k}"
