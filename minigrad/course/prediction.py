"""predict and reveal: commit yourself to a number, run, and measure the gap.

A guess that was written down before the answer teaches; one made up after it does not. So a guess may be changed until
the answer is shown, and never after.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minigrad.course.memory import Guess, memory
from minigrad.course.probe import Odd, equal, plain

AGAIN = "To predict again, restart the kernel and run from the top, cell by cell."


@dataclass(frozen=True)
class Prediction:
    """A sentence on a prediction, and what was guessed; shown as text or as a box."""

    sentence: str
    guess: Any = ...

    def __repr__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        style = "border-left:4px solid #6d6d6d;padding:.3em .8em;max-width:50em"
        return {"text/plain": self.sentence, "text/html": f'<div style="{style}">{html.escape(self.sentence)}</div>'}


def predict(name: str, guess: Any, options: Sequence[Any] | None = None) -> Prediction:
    """Write down a guess: a number, or one of the options. `...` is no guess yet."""
    kept = memory(sys._getframe(1).f_globals).guesses.setdefault(name, Guess())
    if isinstance(options, int | float):
        return Prediction(
            f"{name}: {guess},{options} is two numbers to Python. A decimal fraction has a point: {guess}.{options}"
        )
    choices = None if options is None else tuple(options)
    if guess is ...:
        if kept.revealed:
            return Prediction(f"{name}: the answer has been shown{yours(kept)}.", kept.value)
        wanted = "a number" if choices is None else f"one of {listed(choices)}"
        return Prediction(f"{name}: not predicted yet. Put {wanted} in place of the dots, and run this cell.")
    problem = misfit(guess, choices)
    if problem:
        return Prediction(f"{name}: {problem}", kept.value)
    guess = plain(guess)
    if kept.revealed and not equal(kept.value, guess):
        late = f"{name}: the answer has been shown{yours(kept)}; {shown(guess)} comes too late. {AGAIN}"
        return Prediction(late, kept.value)
    kept.value, kept.options = guess, choices
    return Prediction(f"{name}: you predict {shown(guess)}.", guess)


def reveal(name: str, actual: Any) -> Prediction:
    """Set the guess beside what came out. From now on the guess stays what it is."""
    kept = memory(sys._getframe(1).f_globals).guesses.setdefault(name, Guess())
    kept.revealed = True
    came = number_in(actual)
    if kept.value is ...:
        return Prediction(f"{name}: it is {shown(came)}. You made no prediction.")
    return Prediction(f"{name}: you predicted {shown(kept.value)}; {gap(kept.value, came)}", kept.value)


def misfit(guess: Any, choices: tuple[Any, ...] | None) -> str:
    """Why a guess cannot be taken; nothing if it can."""
    given = f"{guess!r:.60} is {article(type(guess).__name__)}"
    try:
        value = plain(guess)
    except Odd:
        value = None
    if choices is not None:
        fits = any(equal(choice, value) for choice in choices)
        return "" if fits else f"{guess!r:.60} is not one of {listed(choices)}. Choose one of them."
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{given}, and the prediction is a number, such as 2 or 0.5."
    return (
        ""
        if isinstance(value, int) or math.isfinite(value)
        else f"{shown(value)} is no finite number, such as 2 or 0.5."
    )


def gap(guess: Any, came: Any) -> str:
    """How far a guess is from what came, in words."""
    if equal(came, guess):
        return "and so it is."
    numbers = [x for x in (guess, came) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) < 2:
        return f"it is {shown(came)}."
    if not math.isfinite(came):
        return f"it is {came}."
    away = guess - came
    whole = isinstance(guess, int) and float(came).is_integer()
    side = ("too many" if away > 0 else "too few") if whole else ("too much" if away > 0 else "too little")
    words = [f"{shown(abs(away))} {side}"]
    if guess * came < 0:
        words.append("and of the other sign")
    elif guess * came > 0:
        words.append(f"a factor of {shown(max(guess / came, came / guess))}")
    return f"it is {shown(came)}: {', '.join(words)}."


def number_in(actual: Any) -> Any:
    """What came out as plain data: a tensor's array, a Value's number, and else as it is."""
    if hasattr(actual, "numpy"):
        actual = actual.numpy()
    try:
        return plain(actual)
    except Odd:
        return getattr(actual, "data", repr(actual))


def yours(kept: Guess) -> str:
    return "" if kept.value is ... else f", your prediction stays {shown(kept.value)}"


def shown(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def listed(choices: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, choices))


def article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiouAEIOU' else 'a'} {noun}"
