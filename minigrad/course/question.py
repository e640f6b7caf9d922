"""A question with a structured answer: its kinds, how an answer is parsed, and how far off it was.

    number    a finite number, with a unit and a tolerance
    option    one of several
    truth     true or false
    shape     a tuple of whole numbers
    order     the options, sorted

There is no free text, because a program must compare answers. A question does not hold its right answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from minigrad.course.probe import Odd, equal, plain

KINDS = ("number", "option", "truth", "shape", "order")
CONFIDENCE = ("guess", "fairly sure", "certain")
LONGEST = 60  # characters of a typed answer
TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Question:
    """A question. Raises ValueError for a question that nobody could answer.

    name         the key of the stored answer
    options      the options to choose from, or to sort
    unit         the unit written after a number
    tolerance    the largest error of a number that still counts as right, in that unit
    counted      False for a guess at what the text does not let you know: it is left out of the learner's calibration
    """

    name: str
    text: str
    kind: str = "number"
    options: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float = 0.0
    counted: bool = True

    def __post_init__(self) -> None:
        asked = f"the question {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a question needs a name that is a non-empty string, got {self.name!r}")
        if self.kind not in KINDS:
            raise ValueError(f"{asked} must be one of {', '.join(KINDS)}, got {self.kind!r}")
        object.__setattr__(self, "options", tuple(map(str, self.options)))
        if self.kind in ("option", "order") and len(set(self.options)) != max(len(self.options), 2):
            raise ValueError(f"{asked} needs at least two options, all different; got {list(self.options)}")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"{asked} needs a finite tolerance of 0 or more, got {self.tolerance!r}")

    def answers_like(self, other: Question) -> bool:
        """Whether an answer to one question also fits the other, which may be the same question reworded."""
        return (self.kind, self.options, self.unit) == (other.kind, other.options, other.unit)

    def read(self, answer: Any) -> Any:
        """Parse an answer from text or a value into plain data. Raises ValueError that states the expected form."""
        try:
            given = plain(answer)
        except Odd:
            given = None
        is_typed = self.kind == "number" and isinstance(given, str)
        value = READERS[self.kind](numeral(given, f"{self.unit} {self.text}") if is_typed else given, self.options)
        if value is None:
            raise ValueError(f"{answer!r:.60} is not {self.expected_form}.{remark(given)}")
        return value

    @property
    def expected_form(self) -> str:
        """The expected form of an answer, in words."""
        wanted = {
            "number": "a number, such as 12 or 0.25",
            "option": f"one of {', '.join(map(repr, self.options))}",
            "truth": "true or false",
            "shape": "a shape, such as (2, 3), (4,) or ()",
            "order": f"all of {', '.join(map(repr, self.options))}, in an order",
        }
        return wanted[self.kind]

    def right(self, answer: Any, actual: Any) -> bool:
        """Whether an answer equals the result: numbers to six digits, or within the tolerance."""
        if equal(actual, answer):
            return True
        return are_numbers(answer, actual) and abs(answer - actual) <= self.tolerance

    def format_answer(self, value: Any) -> str:
        """An answer or a result as text."""
        if self.kind == "shape" and isinstance(value, list):
            return str(tuple(value))
        if self.kind == "order" and isinstance(value, list):
            return " → ".join(map(str, value))
        if isinstance(value, bool):
            return str(value).lower()
        words = f"{value:.6g}" if isinstance(value, float) else str(value)
        return f"{words} {self.unit}" if self.unit and are_numbers(value) else words

    def came(self, actual: Any) -> Any:
        """The result as plain data: a tensor's array, a Value's number, a shape as a list."""
        if hasattr(actual, "numpy"):
            actual = actual.numpy()
        try:
            value = plain(actual)
        except Odd:
            value = getattr(actual, "data", repr(actual))
        if self.kind == "option":
            return str(value)
        return list(value) if isinstance(value, tuple) else value

    def gap(self, answer: Any, actual: Any) -> str:
        """The difference between an answer and the result, in words."""
        it_is = f"it is {self.format_answer(actual)}"
        if equal(actual, answer):
            return "and so it is."
        if are_numbers(answer, actual) and math.isfinite(actual):
            return f"{it_is}: {distance(answer, actual)}."
        if isinstance(answer, list) and isinstance(actual, list):
            if len(answer) != len(actual):
                return f"{it_is}: {len(actual)} axes, and not {len(answer)}."
            at = next(i for i, (a, b) in enumerate(zip(answer, actual)) if a != b)
            place = f"axis {at}" if self.kind == "shape" else f"place {at + 1}"
            return f"{it_is}: {place} is {actual[at]}, and not {answer[at]}."
        return f"{it_is}."

    def plain(self) -> dict[str, Any]:
        """The question as data for JSON."""
        return {**asdict(self), "options": list(self.options)}


def question(said: dict[str, Any]) -> Question:
    """A question from the data of plain(). Other keys are ignored."""
    names = {field.name for field in fields(Question)}
    return Question(**{key: value for key, value in said.items() if key in names})


def numeral(text: str, question: str) -> str:
    """A typed number as Python writes it: "24,000 bytes" is 24000, and "7/4" is 1.75. question.js has the same rule.

    question    the unit and the text of the question: the word after a number must occur in it. A percent sign may
                follow if the question has one, or the word "percent".
    """
    text = text.strip()[: LONGEST + 1].replace("−", "-")
    words = set(re.findall(r"%|[^\W\d_]+", question.lower()))
    words |= {"%"} if "percent" in words else set()
    if (last := re.fullmatch(r"(.*\d[\d_.,]*)\s*(%|[^\W\d_]+)", text)) and last[2].lower() in words:
        text = last[1]
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", text, re.ASCII):
        return text.replace(",", "")
    if (fraction := re.fullmatch(r"([+-]?\d+)\s*/\s*(\d+)", text, re.ASCII)) and int(fraction[2]):
        above, below = int(fraction[1]), int(fraction[2])
        return str(above // below if above % below == 0 else above / below)
    return text


def number_read(given: Any, _: Sequence[str]) -> int | float | None:
    if isinstance(given, str):
        text = given.strip().replace("−", "-")
        if len(text) > LONGEST:
            return None
        for kind in (int, float):
            try:
                return number_read(kind(text), _)
            except ValueError:
                continue
        return None
    return given if are_numbers(given) and (isinstance(given, int) or math.isfinite(given)) else None


def truth_read(given: Any, _: Sequence[str]) -> bool | None:
    if isinstance(given, str):
        return TRUTH.get(given.strip().lower())
    return given if isinstance(given, bool) else None


def shape_read(given: Any, _: Sequence[str]) -> list[int] | None:
    if isinstance(given, str):
        inside = re.fullmatch(r"\s*[(\[]?([\d\s,x×]*)[)\]]?\s*", given[:LONGEST])
        if not inside or not given.strip():
            return None
        return [int(size) for size in re.findall(r"\d+", inside[1])]
    sizes = list(given) if isinstance(given, list | tuple) else [given]
    fits = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
    return sizes if fits else None


def option_read(given: Any, options: Sequence[str]) -> str | None:
    return str(given) if str(given) in options else None


def order_read(given: Any, options: Sequence[str]) -> list[str] | None:
    if not isinstance(given, list | tuple):
        return None
    order = [str(item) for item in given]
    return order if sorted(order) == sorted(options) else None


READERS = {"number": number_read, "option": option_read, "truth": truth_read, "shape": shape_read, "order": order_read}


def remark(given: Any) -> str:
    """A hint on a frequent mistake in a typed answer, or ""."""
    if isinstance(given, str) and re.fullmatch(r"\s*[-−]?\d+,\d+\s*", given):
        return f" A decimal fraction has a point: {given.strip().replace(',', '.')}."
    return ""


def are_numbers(*values: Any) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)


def distance(guess: float, came: float) -> str:
    """The difference of two numbers; if they are not both whole and have the same sign, also their ratio."""
    away = guess - came
    whole = isinstance(guess, int) and float(came).is_integer()
    side = ("too many" if away > 0 else "too few") if whole else ("too much" if away > 0 else "too little")
    words = [f"{brief(abs(away))} {side}"]
    if guess * came < 0:
        words.append("and of the other sign")
    elif guess * came > 0 and not whole:
        words.append(f"a factor of {brief(float(f'{max(guess / came, came / guess):.3g}'))}")
    return ", ".join(words)


def brief(x: float) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)
