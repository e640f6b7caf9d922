"""What a room was asked and has answered: a state made of events, each stored as a line of JSON before it counts.

An event does something. `ask` shows questions on the phones, `go` another of them; those of a quiz have `right` and
`shows`. `open` lets the room vote, or vote again, until `close`, `show` (the answers) or `reveal` (what is right). A
`vote` has a hash of the phone that differs for each vote: the file does not tell which votes are of the same phone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from minigrad.course.grading.tables import table
from minigrad.course.journal import Record
from minigrad.course.question import Question, question

FEWEST = 4  # votes of a round before its answers are shown: fewer would tell who gave them
HEAD = ("question", "text", "round", "answer", "confidence", "votes", "right", "shows")


@dataclass
class Poll:
    """A question. Each of `rounds` maps a phone's hash to (answer, confidence)."""

    question: Question
    confidences: Sequence[str]
    right: Any = None
    shows: Sequence[tuple[Any, str]] = ()  # wrong answers, and the misconception that each shows
    rounds: list[dict[str, tuple[Any, str]]] = field(default_factory=lambda: [{}])
    is_open: bool = True
    is_shown: bool = False
    is_revealed: bool = False

    def rows(self) -> list[Record]:
        """The rows of the table: equal votes of a round, counted."""
        rows: list[Record] = []
        for n, votes in enumerate(self.rounds, 1):
            counted = Counter((self.question.format_answer(answer), sure) for answer, sure in votes.values())
            answers = {self.question.format_answer(answer): answer for answer, _ in votes.values()}
            for (words, sure), count in counted.items() if len(votes) >= FEWEST else ():
                right = self.question.right(answers[words], self.right) if self.is_revealed else None
                known = [s for wrong, s in self.shows if right is False and self.question.right(answers[words], wrong)]
                facts = self.question.name, self.question.text, n, words, sure, count, right, "".join(known[:1])
                rows.append(dict(zip(HEAD, facts)))
        return rows


@dataclass
class Room:
    """All polls, and the number of the one that is shown. `version` rises with each event but a vote."""

    polls: list[Poll] = field(default_factory=list)
    at: int = -1
    version: int = 0

    def apply(self, event: Record) -> None:
        """Change the state by an event. Raises IndexError, KeyError, TypeError or ValueError if it is not valid."""
        deed, poll = event["do"], self.polls[self.at] if self.polls else None
        if deed == "vote":
            votes = self.polls[event["poll"]].rounds[event["round"] - 1]
            votes.setdefault(event["phone"], (event["answer"], event["confidence"]))
            return
        self.version += 1
        if deed == "ask":
            self.add(event)
        elif deed == "go":
            self.at = min(max(event["poll"], 0), len(self.polls) - 1)
        elif deed == "reveal":
            for each in [each for each in self.polls if each.question.name == event["name"]][-1:]:
                each.is_open, each.is_revealed, each.right = False, True, event.get("right", each.right)
        elif poll is not None:
            poll.rounds += [{}] if deed == "open" and poll.rounds[-1] else []
            poll.is_open, poll.is_shown = deed == "open", deed == "show" or (deed == "close" and poll.is_shown)

    def add(self, event: Record) -> None:
        """Add the questions of an `ask` that are new, and show the first of all."""
        known = [poll.question for poll in self.polls]
        asked = [Poll(question(each), event["confidences"], each.get("right"), each.get("shows", ()))
                 for each in event["questions"]]  # fmt: skip
        self.polls += [poll for poll in asked if poll.question not in known]
        self.at = [poll.question for poll in self.polls].index(asked[0].question)

    def vote(self, phone: str, given: Record) -> Record:
        """The event of a phone's vote. Raises as `apply` does if it is not valid, or the vote is closed."""
        poll = self.polls[self.at] if self.polls else None
        if poll is None or (given["poll"], given["round"]) != (self.at, len(poll.rounds)) or not poll.is_open:
            raise ValueError("this vote is closed")
        if poll.question.kind in ("number", "shape") and not isinstance(given["answer"], str):
            raise ValueError(f"the answer must be a text, for {poll.question.expected_form}")  # of limited length
        if given["confidence"] not in poll.confidences:
            raise ValueError(f"say how sure you are: {', '.join(poll.confidences)}")
        event = {"poll": self.at, "round": len(poll.rounds), "confidence": given["confidence"]}
        return event | {"do": "vote", "phone": self.phone_hash(phone), "answer": poll.question.read(given["answer"])}

    def phone_hash(self, phone: str) -> str:
        poll = self.polls[self.at]
        return sha256(f"{phone} {len(poll.rounds)} {poll.question}".encode()).hexdigest()[:20]

    def for_phone(self, phone: str) -> Record:
        """What a phone gets: the question and its own answer, and nothing about the result."""
        if not self.polls:
            return {"version": self.version}
        poll, mine = self.polls[self.at], self.polls[self.at].rounds[-1].get(self.phone_hash(phone))
        asked = {key: getattr(poll.question, key) for key in ("name", "text", "kind", "options", "unit")}
        facts = {"poll": self.at, "round": len(poll.rounds), "open": poll.is_open, "confidences": poll.confidences}
        locked = {"answer": mine[0], "confidence": mine[1]} if mine else {}
        return {"version": self.version, "question": asked, "locked": locked, **facts}

    def for_lecturer(self) -> Record:
        """What the lecturer's page gets besides: counts, and the answers once they are shown."""
        poll = self.polls[self.at]
        right = poll.question.format_answer(poll.right) if poll.is_revealed else ""
        counts = {"polls": len(self.polls), "answered": [len(votes) for votes in poll.rounds], "few": FEWEST}
        shown = {"shown": poll.is_shown, "rows": poll.rows() if poll.is_shown else [], "right": right}
        return counts | shown | {"keyed": poll.right is not None and not poll.is_revealed}

    def table(self) -> str:
        """All rows as CSV, for the class report."""
        return table(HEAD, [row for poll in self.polls for row in poll.rows()])
