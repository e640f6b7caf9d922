"""Readings of ONNX's control flow, sequences (as lists) and optional values (as None or the value).

If the condition is known, Python runs the branch. If not, in a traced function, it becomes an op, as with mg.cond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api.functions.movement import cat, stack
from ...engine.methods import Operand
from ...graph import control
from .readings import READINGS, constant, is_known, number, numbers, reads, require_supported


@reads("If")
def branch(condition: Any, then_branch: Any, else_branch: Any) -> Any:
    if is_known(condition):
        return then_branch() if number(condition) else else_branch()
    return tuple(control.cond(condition.reshape(()), then_branch, else_branch))


@reads("Loop")
def loop(most: Any, going: Any, *states: Any, body: Any, outputs: int = 0) -> Any:
    """Run the body in turns. Returns the final states, then for each other output its values in all turns, stacked."""
    n = len(states)
    going = constant(True) if going is None else going
    if not all(map(is_known, (most, going, *states))) and outputs <= n and all(isinstance(x, Operand) for x in states):
        return traced_loop(most, going, states, body)
    turn = 0
    stacks: list[list[Any]] = [[] for _ in range(outputs - n)]
    while (most is None or turn < number(most)) and number(going):
        going, *ys = body(constant(turn), going, *states)
        states, turn = tuple(ys[:n]), turn + 1
        for rows, y in zip(stacks, ys[n:]):
            rows.append(y)
    require_supported(all(stacks), "a loop of no turns with stacked outputs")
    return (*states, *map(stack, stacks))


def traced_loop(most: Any, going: Any, states: Sequence[Any], body: Any) -> Any:
    """Trace a while loop; the first result of the body says whether to go on."""

    def test(turn: Any, going: Any, *_: Any) -> Any:
        return going if most is None else going & (turn < most.reshape(()))

    def step(turn: Any, going: Any, *states: Any) -> Any:
        going, *ys = body(turn, going, *states)
        return (turn + 1, going.reshape(()), *ys[: len(states)])

    return tuple(control.while_loop(test, step, (constant(0), going.reshape(()), *states))[2:])


@reads("Scan")
def scan(*xs: Any, body: Any, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
         scan_output_axes: Any = None, scan_output_directions: Any = None, version: int = 9) -> Any:  # fmt: skip
    require_supported(version >= 9, "a scan of opset 8, over a batch,")
    n = len(xs) - num_scan_inputs
    rows = [x.movedim(a, 0) for x, a in zip(xs[n:], scan_input_axes or [0] * num_scan_inputs)]
    rows = [x.flip(0) if back else x for x, back in zip(rows, scan_input_directions or [0] * num_scan_inputs)]

    def step(states: Any, slices: Any) -> Any:
        ys = body(*states, *slices)
        return tuple(ys[:n]), tuple(ys[n:])

    states, stacks = control.scan(step, tuple(xs[:n]), tuple(rows))
    stacks = [y.flip(0) if back else y for y, back in zip(stacks, scan_output_directions or [0] * len(stacks))]
    return (*states, *(y.movedim(0, a) for y, a in zip(stacks, scan_output_axes or [0] * len(stacks))))


# -- sequences and optional values: lists, and None -------------------------------------------------


@reads("SequenceInsert")
def sequence_insert(sequence: Any, x: Any, i: Any = None) -> Any:
    at = len(sequence) if i is None else number(i)
    return [*sequence[:at], x, *sequence[at:]]


@reads("SequenceErase")
def sequence_erase(sequence: Any, i: Any = None) -> Any:
    at = (-1 if i is None else number(i)) % len(sequence)
    return [*sequence[:at], *sequence[at + 1 :]]


@reads("SplitToSequence")
def split_to_sequence(x: Any, lengths: Any = None, axis: int = 0, keepdims: int = 1) -> Any:
    n = x.shape[axis]
    if lengths is None:
        parts = [x.narrow(axis, i, 1) for i in range(n)]
        return parts if keepdims else [part.squeeze(axis) for part in parts]
    each = numbers(lengths)
    if not lengths.ndim:
        each = [min(each[0], n - i) for i in range(0, n, each[0])]
    return [x.narrow(axis, sum(each[:i]), m) for i, m in enumerate(each)]


READINGS |= {
    "SequenceEmpty": lambda dtype=None: [],
    "SequenceConstruct": lambda *xs: [*xs],
    "SequenceAt": lambda sequence, i: sequence[number(i)],
    "SequenceLength": lambda sequence: constant(len(sequence), np.int64),
    "ConcatFromSequence": lambda xs, axis, new_axis=0: stack(xs, axis) if new_axis else cat(xs, axis),
    "Optional": lambda x=None, type=None: x,
    "OptionalHasElement": lambda x=None: constant(x is not None),
    "OptionalGetElement": lambda x: x,
}  # fmt: skip
