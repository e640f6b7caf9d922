"""Formatting for drawings and reports: numbers, formulas, lists."""

from __future__ import annotations

import re

NUMBER = re.compile(r"−?(\d+(\.\d+)?(e[+−]\d+)?|inf|nan)")


def number(x: float, digits: int = 4) -> str:
    """x in a few significant digits, with a true minus sign: −0.002935."""
    return f"{x + 0.0:.{digits}g}".replace("-", "−")  # + 0.0 turns −0 into 0


def took(seconds: float) -> str:
    """A time in µs, ms or s, with three significant digits."""
    size, unit = next((each for each in ((1.0, "s"), (1e-3, "ms")) if seconds >= each[0]), (1e-6, "µs"))
    return f"{number(seconds / size, 3)} {unit}"


def is_number(text: str) -> bool:
    """Whether a text is one number, as `number` writes it."""
    return NUMBER.fullmatch(text) is not None


def format_op(op: str, operands: list[str]) -> str:
    """An operation in mathematical notation: x × y, x^2, −x, tanh(x), 2 × (−3)."""
    if op == "neg":
        return f"−{parenthesize_minus(operands[0])}"
    if op == "transpose":
        return f"{operands[0]}ᵀ"
    if op == "[ ]":
        return f"{operands[0]}[{', '.join(operands[1:]) or '…'}]"
    if op.startswith("^") and len(operands) == 1:
        return f"{parenthesize_minus(operands[0])}{op}"
    if len(operands) == 2 and not op.isidentifier():
        return f"{operands[0]} {op} {parenthesize_minus(operands[1])}"
    return f"{op}({', '.join(operands)})"


def parenthesize_minus(operand: str) -> str:
    """The operand, in brackets if it starts with a minus sign."""
    return f"({operand})" if operand.startswith("−") else operand


def join_names(names: list[str]) -> str:
    """x, y and z."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def pluralize(n: int, one: str, many: str) -> str:
    """1 box, 2 boxes, 1,000 boxes."""
    return f"{n:,} {one if n == 1 else many}"


def shorten(text: str, longest: int) -> str:
    """The text, cut and ended with an ellipsis if it is longer than `longest`."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
