"""A computation with Values, recorded once and replayed for new numbers: its graph as straight-line Python.

    x, w = Value(2.0), Value(-3.0)
    step = replay((x * w).tanh(), [x, w])
    step(0.5, 1.0)  # (0.462, [0.786, 0.393]): the value, and its slope towards x and w

Each operation on Values makes an object, and backward() walks over all of them. Here that walk is made once, while
recording, and becomes Python source: one line for each operation and each arrow. This is `step.source`:

    def step(x0, x1):
        v0 = x0 * x1
        v1 = tanh(v0)
        gv0 = 1.0 * (1.0 - v1 * v1)
        gx0 = 0.0 + gv0 * x1
        gx1 = 0.0 + gv0 * x0
        return v1, [gx0, gx1]

It is the same arithmetic in the same order, so the answers are the same to the last bit, in a tenth of the time or
less. The price is that of every define-and-run system: decisions that Python made while recording are fixed. A loop
keeps its length, `if x.data > 0` keeps its branch, and a leaf that is not an input is a constant. (relu is not a branch
but an operation: each replay checks again whether its operand is positive.)

Python takes 300 times as long to compile such lines as to run them, and 6 kB for each operation. `backend="native"`
generates no Python: operations are numbers in arrays, and a C++ loop runs through these, forward and back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .value import Constant, Value, history, power, real

# Operation → its formula, and the share of its gradient g that goes to each operand. y is the result, a and b are the
# operands; for a power, b is the exponent. The formulas round as Value does: g * (1.0 / b) is not g / b.
RULES: dict[str, tuple[str, ...]] = {
    "+": ("{a} + {b}", "{g}", "{g}"),
    "−": ("{a} - {b}", "{g}", "-{g}"),
    "×": ("{a} * {b}", "{g} * {b}", "{g} * {a}"),
    "÷": ("{a} / {b}", "{g} * (1.0 / {b})", "{g} * (-{y} / {b})"),
    "neg": ("-{a}", "-{g}"),
    "exp": ("exp({a})", "{g} * {y}"),
    "log": ("log({a})", "{g} * (1.0 / {a})"),
    "tanh": ("tanh({a})", "{g} * (1.0 - {y} * {y})"),
    "relu": ("0.0 if {a} <= 0.0 else {a}", "({g} * 0.0 if {a} <= 0.0 else {g})"),
    "^": ("power({a}, {b})", "{g} * ({b} * power({a}, {b} - 1.0))"),
    "^0": ("1.0", "{g} * 0.0"),
}
SCOPE = {"exp": math.exp, "log": math.log, "tanh": math.tanh, "inf": math.inf, "nan": math.nan, "power": power}


@dataclass(frozen=True)
class Recording:
    """A function of numbers that returns y, and the slope of y towards each input.

    source    its source text: Python; with backend="native" C++, which is the same for every graph
    inputs    the number of its arguments
    run       the function itself: floats → (value, slopes)
    """

    source: str
    inputs: int
    run: Callable[..., tuple[float, list[float]]]

    def __call__(self, *numbers: float) -> tuple[float, list[float]]:
        if len(numbers) != self.inputs:
            raise TypeError(f"this recording has {self.inputs} inputs, and got {len(numbers)} numbers")
        return self.run(*[x if type(x) is float else real(x) for x in numbers])

    def __repr__(self) -> str:
        return f"Recording({self.inputs} inputs, {self.source.count(chr(10))} lines)"


def replay(y: Value, inputs: Sequence[Value], backend: str | None = None) -> Recording:
    """y's computation as a function of the numbers at `inputs`: see the head of this file.

    inputs     leaves that y depends on, each once; the recording takes its arguments in this order
    backend    "native" for a C++ loop, if there is a compiler: `source` shows it; numbers and errors are the same

    Raises ValueError for an input that y does not depend on or that was itself computed, for an operation that Value
    does not have, and for a cycle. No .grad is touched, now or later.
    """
    if backend not in (None, "native"):
        raise ValueError(f'backend is None or "native", and not {backend!r}')
    for x in (y, *inputs):
        if not isinstance(x, Value):
            raise TypeError(f"replay works with Values, and got {x!r} of type {type(x).__name__}")
    order = history(y)
    refuse_all_but_leaves(inputs, set(order))
    computed = computed_from(inputs, order)
    if backend is not None:
        native = import_module("minigrad.graph.backends.native.tape")  # loaded only if it is used
        interpreter = native.interpreter()
        if interpreter is not None:
            return Recording(native.TEXT, len(inputs), native.Tape(interpreter, y, computed, inputs))
    source = emit_source(y, computed, inputs)
    scope: dict[str, Any] = dict(SCOPE)
    exec(compile(source, "<minigrad replay>", "exec"), scope)
    return Recording(source, len(inputs), scope.pop("step"))  # popped, so no cycle is left


def refuse_all_but_leaves(inputs: Sequence[Value], graph: set[Value]) -> None:
    """Raises ValueError for the first input that is not a leaf of the graph, or occurs twice."""
    met: set[Value] = set()
    for i, x in enumerate(inputs):
        if x.parents:
            raise ValueError(f"input {i}, {x!r}, was computed, by {x.op!r}: the inputs of a replay are leaves")
        if x not in graph:
            raise ValueError(f"input {i}, {x!r}, is not in the graph: no replay could depend on it")
        if x in met:
            raise ValueError(f"input {i}, {x!r}, is given twice: a leaf takes one number")
        met.add(x)


def computed_from(inputs: Sequence[Value], order: list[Value]) -> list[Value]:
    """The computed values that depend on an input, in the given order. All other values are constants."""
    met = set(inputs)
    for v in order:
        if any(parent in met for parent, _ in v.parents):
            met.add(v)
    return [v for v in order if v in met and v.parents]


def emit_source(y: Value, computed: list[Value], inputs: Sequence[Value]) -> str:
    """The source of `step`: the forward pass, then the backward pass, arrow by arrow in the order of backward()."""
    name = {v: f"v{i}" for i, v in enumerate(computed)} | {x: f"x{i}" for i, x in enumerate(inputs)}
    head = f"def step({', '.join(name[x] for x in inputs)}):"
    forward = [f"{name[v]} = {formulas(v, name)[0]}" for v in computed]
    g = dict.fromkeys(inputs, "0.0") | {y: "1.0"}
    backward = gradients(computed, name, g)
    result = f"return {operand_text(y, name)}, [{', '.join(g[x] for x in inputs)}]"
    return "\n    ".join([head, *forward, *backward, result]) + "\n"


def gradients(computed: list[Value], name: dict[Value, str], g: dict[Value, str]) -> list[str]:
    """The lines of the backward pass. A gradient that a sum passes on unchanged needs no line.

    g    value → the expression of its gradient: at first 1.0 for the output and 0.0 for the inputs; completed here
    """
    lines = []
    for v in reversed(computed):
        for (parent, _), share in zip(v.parents, formulas(v, name, g[v])[1:]):
            if parent in name:
                total = f"{g[parent]} + {share}" if parent in g else share
                g[parent] = total if total == g[v] else f"g{name[parent]}"
                if total != g[v]:
                    lines.append(f"{g[parent]} = {total}")
    return lines


def formulas(v: Value, name: dict[Value, str], g: str = "") -> list[str]:
    """The formula of v, and the share of its gradient g that goes to each parent."""
    op, operands = rule_and_operands(v)
    letters = {letter: operand_text(x, name) for letter, x in zip("ab", operands)}
    return [part.format(**letters, y=name[v], g=g) for part in RULES[op]]


def rule_and_operands(v: Value) -> tuple[str, list[Value]]:
    """The operation that made v, as named in RULES, and its operands. Raises ValueError if it is not in RULES."""
    op, operands = v.op, [parent for parent, _ in v.parents]
    if op.startswith("^"):
        p = float(op[1:])
        op, operands = ("^", [*operands, Constant(p)]) if p else ("^0", operands)
    if len(RULES.get(op, ())) != 1 + len(v.parents):
        raise ValueError(
            f"replay has no formula for the operation {v.op!r}: a Value made by hand has slopes only for its present "
            "numbers, and not for others. Write it with the operations of Value"
        )
    return op, operands


def operand_text(v: Value, name: dict[Value, str]) -> str:
    """The name of v in the source; for a constant, its number."""
    return name[v] if v in name else repr(float(v.data))
