"""A recorded graph of Values as flat arrays, and C++ loops that run over them, forward and backward.

The loops are compiled once for all graphs, because compiling a graph as 65,000 lines of straight code would take 33 s.
RULES of scalar/replay.py defines each operation and its slopes; its formulas are valid C++ except for Python's `if`.
exp, log, tanh and pow are the C functions that Python itself calls, so results equal Python's to the last bit.
"""

from __future__ import annotations

import ctypes
import re
import sys
from array import array
from collections.abc import Sequence
from threading import Lock

from ....scalar.replay import RULES, SCOPE, rule_and_operands
from ....scalar.value import Value
from .toolchain import library


def cpp(formula: str) -> str:
    """A formula of RULES in C++."""
    return re.sub(r"(\(?)(.+) if (.+) else (.+)", r"\1\3 ? \2 : \4", formula).format(a="a", b="b", y="y", g="g")


def forward(value: str) -> str:
    """The `case` that computes y. If y is not finite, Python takes over: for some quotients and functions it raises."""
    left = " if (a * 0 + b * 0 + y * 0 != 0) return i;" * bool(re.search(r"[/(]", value))
    return f"y = {cpp(value)};{left} values[i] = y; continue;"  # jumping to shared code is 3 times slower: gcc 12


def backward(*shares: str) -> str:
    return " ".join(f"gs[{x}s[n]] += {cpp(share)};" for x, share in zip("ab", shares)) + " continue;"


IN_PYTHON = [eval(f"lambda a, b: {value.format(a='a', b='b')}", dict(SCOPE)) for value, *_ in RULES.values()]
CASE = "\n        case {}: {}"
TEXT = f"""\
typedef double One(double), Two(double, double);
static One *exp, *log, *tanh;
static Two *power;
extern "C" void bind(One *e, One *l, One *t, Two *p) {{ exp = e, log = l, tanh = t, power = p; }}

#define TAPE const unsigned char *ops, const int *as, const int *bs, double *values, double *gs

// Operations i to n - 1, up to the first that Python has to do, whose number is returned.
extern "C" int forward(int i, int n, TAPE)
{{
    for (; i < n; i++) {{
        const double a = values[as[i]], b = values[bs[i]];
        double y;
        switch (ops[i]) {{{"".join(CASE.format(k, forward(value)) for k, (value, *_) in enumerate(RULES.values()))}
        }}
    }}
    return n;
}}

// Operations n - 1 to i.
extern "C" void backward(int i, int n, TAPE)
{{
    while (n-- > i) {{
        const double a = values[as[n]], b = values[bs[n]], y = values[n], g = gs[n];
        switch (ops[n]) {{{"".join(CASE.format(k, backward(*shares)) for k, (_, *shares) in enumerate(RULES.values()))}
        }}
    }}
}}
"""


def interpreter() -> ctypes.CDLL | None:
    """The compiled C++, bound to the C library's functions; None if it cannot be compiled."""
    found = library(TEXT, "-ffp-contract=off")
    if found is not None:
        theirs = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        found.bind(theirs.exp, theirs.log, theirs.tanh, theirs.pow)
        for f in (found.forward, found.backward):
            f.argtypes = [ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 5]
    return found


class Tape:
    """A graph that can be run with new numbers at its inputs.

    ops          for each operation, the number of its rule
    a, b         for each operation, the indices of its operands in `values`; equal if it has one operand
    values       values of the operations, then of the inputs, then of the constants
    gradients    gradients in the same order
    """

    def __init__(self, interpreter: ctypes.CDLL, y: Value, computed: Sequence[Value], inputs: Sequence[Value]):
        self.interpreter, self.count, self.lock = interpreter, len(computed), Lock()
        place = {v: i for i, v in enumerate((*computed, *inputs))}
        self.inputs = slice(len(computed), len(place))
        self.ops, self.a, self.b = array("B"), array("i"), array("i")
        self.values = array("d", [0.0]) * len(place)

        def at(v: Value) -> int:
            if v not in place:
                place[v] = len(self.values)
                self.values.append(float(v.data))
            return place[v]

        number = {op: k for k, op in enumerate(RULES)}
        for op, operands in map(rule_and_operands, computed):
            self.ops.append(number[op])
            self.a.append(at(operands[0]))
            self.b.append(at(operands[-1]))
        self.y = at(y)
        self.gradients = array("d", [0.0]) * len(self.values)

    def __call__(self, *numbers: float) -> tuple[float, list[float]]:
        """The value of y, and its derivatives with respect to the inputs."""
        tape = [x.buffer_info()[0] for x in (self.ops, self.a, self.b, self.values, self.gradients)]
        with self.lock:  # the arrays are shared between threads
            self.values[self.inputs] = array("d", numbers)
            i = -1
            while (i := self.interpreter.forward(i + 1, self.count, *tape)) < self.count:
                self.values[i] = IN_PYTHON[self.ops[i]](self.values[self.a[i]], self.values[self.b[i]])  # may raise
            ctypes.memset(tape[-1], 0, 8 * len(self.gradients))
            self.gradients[self.y] = 1.0
            self.interpreter.backward(0, self.count, *tape)
            return self.values[self.y], self.gradients[self.inputs].tolist()
