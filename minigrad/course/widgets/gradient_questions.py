"""Questions before a step of the backward pass, about the gradient that the step will show.

The answer is a number where the learner can work it out: the gradient itself, or one entry of a small array. For a
large array, the learner chooses its shape among similar ones; for NaN or infinity, which of them it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any

from ...draw.picture import Picture, Share
from ...draw.words import join_names, number

NEAR = 0.01  # tolerance of a guess, relative to the right number
KINDS = ("a finite number", *(number(x) for x in (inf, -inf, nan)))


@dataclass(frozen=True)
class StepQuestion:
    """The question before a step.

    ask       the question
    right     the answer: a number, or one of the choices
    shown     the answer in words
    choices   the choices; () if the answer is a number
    veil      the text in the box to hide, because it would give the answer away
    """

    ask: str
    right: float | str
    shown: str
    choices: tuple[str, ...] = ()
    veil: str = ""


def share_question(picture: Picture, share: Share) -> StepQuestion:
    """The question about the gradient that one arrow carries back."""
    arrow = picture.arrow[share.arrow]
    head, tail = picture.box[arrow.head], picture.box[arrow.tail]
    arrives = f"{share.incoming} arrives at {head.display_name} = {picture.formula(head)}."
    entry = share.entry
    if entry is None:
        ask = f"{arrives} What shape has the gradient of {tail.display_name}?"
        return StepQuestion(ask, tail.spec, tail.spec, shapes(tail.spec, head.spec), tail.spec)
    gradient = f"gradient of {tail.display_name}" + f" at {entry.where}" * bool(entry.where)
    if entry.before is None:
        ask = f"{arrives} What is the {gradient}, as far as it comes this way?"
    else:
        ask = f"{arrives} The {gradient} is {number(entry.before)} so far. What is it with this share?"
    if isfinite(entry.after):
        return StepQuestion(ask, entry.after, number(entry.after))
    shown = number(nan if isnan(entry.after) else entry.after)
    return StepQuestion(f"{ask} Of which kind is it?", shown, shown, KINDS)


def shapes(right: str, incoming: str) -> tuple[str, ...]:
    """The right shape and some wrong ones: that of the arriving gradient, transposed, with an extra 1, of a scalar."""
    dtype, _, inside = right.removesuffix("]").partition("[")
    turned = ", ".join(reversed(inside.split(", ")))
    return tuple(sorted({right, incoming, f"{dtype}[{turned}]", f"{dtype}[{inside}, 1]", f"{dtype}[]"}))


def validate_answers(answers: Any, steps: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The answers by step, as the browser stores them. Raises ValueError for a step without a question."""
    found = {}
    for key, answer in dict(answers).items():
        step = int(key)
        if not 0 <= step < len(steps) or "question" not in steps[step]:
            asked = [n for n, each in enumerate(steps) if "question" in each]
            raise ValueError(f"answers has keys for the steps with a question, {asked}; got {key}")
        if not isinstance(answer, dict) or set(answer) != {"guess", "right", "gap", "close"}:
            raise ValueError(f"an answer is a dict with the keys guess, right, gap and close; got {answer!r}")
        found[step] = dict(answer)
    return found


def verdict(answer: dict[str, Any] | None) -> str:
    """The state of a question, in a few words."""
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
    """All questions in words, without the right answers, for a reader to work out first."""
    asked = [(n, step["question"]) for n, step in enumerate(steps) if "question" in step]
    lines = ["Questions, to be answered before reading on:"]
    for n, question in asked:
        choices = f"{join_names(list(question['choices']))} " if question["choices"] else ""
        lines.append(f"{n:2} {question['ask']} {choices}({verdict(answers.get(n))})")
    return "\n".join(lines)
