"""Questions before answers: what gradient arrives here? Asked before a step of the backward pass shows it.

A number is asked for where the learner can work it out: the gradient itself, or one entry of a small array. Of a large
array the shape is asked for, among some that are near it; and of what is no number, which kind of no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any

from ...draw.picture import Picture, Share
from ...draw.words import listed, number

NEAR = 0.01  # of the right number: so far off a guess may be
KINDS = ("a finite number", *(number(x) for x in (inf, -inf, nan)))


@dataclass(frozen=True)
class Question:
    """What is asked before a step.

    ask       the question
    right     the answer: a number, or one of the choices
    shown     the answer in words
    choices   () where a number is asked for
    veil      words in the box that would give the answer away
    """

    ask: str
    right: float | str
    shown: str
    choices: tuple[str, ...] = ()
    veil: str = ""


def of_seed(y: str, seed: str) -> Question:
    return Question(f"Backward starts at {y}. What is ∂{y}/∂{y}?", 1.0, seed)


def of_share(picture: Picture, share: Share) -> Question:
    """The question before one arrow carries its share back."""
    arrow = picture.arrow[share.arrow]
    head, tail = picture.box[arrow.head], picture.box[arrow.tail]
    arrives = f"{share.incoming} arrives at {head.called} = {picture.formula(head)}."
    entry = share.entry
    if entry is None:
        choices = shapes(tail.spec, head.spec)
        return Question(
            f"{arrives} What shape has the gradient of {tail.called}?", tail.spec, tail.spec, choices, tail.spec
        )
    gradient = f"gradient of {tail.called}" + f" at {entry.where}" * bool(entry.where)
    if entry.before is None:
        ask = f"{arrives} What is the {gradient}, as far as it comes this way?"
    else:
        ask = f"{arrives} The {gradient} is {number(entry.before)} so far. What is it with this share?"
    if isfinite(entry.after):
        return Question(ask, entry.after, number(entry.after))
    shown = number(nan if isnan(entry.after) else entry.after)
    return Question(f"{ask} Of which kind is it?", shown, shown, KINDS)


def shapes(right: str, incoming: str) -> tuple[str, ...]:
    """The right shape among three or so that are near it: that of the gradient that arrives, turned around, none."""
    dtype, _, inside = right.removesuffix("]").partition("[")
    turned = ", ".join(reversed(inside.split(", ")))
    return tuple(sorted({right, incoming, f"{dtype}[{turned}]", f"{dtype}[{inside}, 1]", f"{dtype}[]"}))


def checked(answers: Any, steps: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Answers by step, as the browser writes them down. Raises ValueError for what answers no question."""
    found = {}
    for key, answer in dict(answers).items():
        step = int(key)
        if not 0 <= step < len(steps) or "question" not in steps[step]:
            asked = [n for n, each in enumerate(steps) if "question" in each]
            raise ValueError(f"answers has a key for each step that asks, which are {asked}, and not {key}")
        if not isinstance(answer, dict) or set(answer) != {"guess", "right", "gap", "close"}:
            raise ValueError(f"an answer is a guess, what is right, the gap, and whether that is close: got {answer!r}")
        found[step] = dict(answer)
    return found


def verdict(answer: dict[str, Any] | None) -> str:
    """What became of a question, in a few words."""
    match answer:
        case None:
            return "not yet answered"
        case {"guess": None}:
            return "skipped"
        case {"guess": str(guess), "close": close}:
            return f"you said {guess}: {'right' if close else 'wrong'}"
        case {"guess": guess, "gap": gap, "close": close}:
            return f"you said {number(guess)}: " + ("right" if close else f"off by {number(gap)}")
    raise AssertionError(answer)


def listed_questions(steps: list[dict[str, Any]], answers: dict[int, dict[str, Any]]) -> str:
    """All questions in words, without their answers: what there is to work out before reading on."""
    asked = [(n, step["question"]) for n, step in enumerate(steps) if "question" in step]
    lines = (
        f"{n:2} {question['ask']} {listed(list(question['choices'])) + ' ' if question['choices'] else ''}"
        f"({verdict(answers.get(n))})"
        for n, question in asked
    )
    return "\n".join(["Questions, to be answered before reading on:", *lines])
