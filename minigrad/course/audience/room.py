"""The state of a room: the questions that it was asked, and its votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from minigrad.course.grading.tables import table
from minigrad.course.journal import Record
from minigrad.course.question import Question, question

FEWEST = 4  # votes in a round before its answers are shown: fewer could give away who voted how
HEAD = ("question", "text", "round", "answer", "confidence", "votes", "right", "shows")


@dataclass
class Poll:
    """A question. Each of `rounds` maps a phone's hash to (answer, confidence)."""

    question: Question
    confidences: Sequence[str]
    right: Any = None
    shows: Sequence[tuple[Any, str]] = ()  # (wrong answer, the misconception behind it)
    rounds: list[dict[str, tuple[Any, str]]] = field(default_factory=lambda: [{}])
    is_open: bool = True
    is_shown: bool = False
    is_revealed: bool = False

    def rows(self) -> list[Record]:
        """The rows of the table: for each round, how often each answer was given at each confidence."""
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
    """All polls, and the number of the one that is shown. `version` rises with each event but a vote.

    This state is made of events, each stored as a line of JSON before it counts. The key `do` of an event says what it
    does. `ask` adds questions and puts one on the phones; `go` switches to another. `open` starts a vote, or the next
    round of it. `close` ends the vote; so do `show` (the answers) and `reveal` (the right answer). A `vote` holds a
    hash of phone, round and question, so the file cannot link two votes of one phone.
    """

    polls: list[Poll] = field(default_factory=list)
    at: int = -1
    version: int = 0

    def apply(self, event: Record) -> None:
        """Change the state by an event. Raises IndexError, KeyError, TypeError or ValueError if it is not valid."""
        action, poll = event["do"], self.polls[self.at] if self.polls else None
        if action == "vote":
            votes = self.polls[event["poll"]].rounds[event["round"] - 1]
            votes.setdefault(event["phone"], (event["answer"], event["confidence"]))
            return
        self.version += 1
        if action == "ask":
            self.add(event)
        elif action == "go":
            self.at = min(max(event["poll"], 0), len(self.polls) - 1)
        elif action == "reveal":
            for each in [each for each in self.polls if each.question.name == event["name"]][-1:]:
                each.is_open, each.is_revealed, each.right = False, True, event.get("right", each.right)
        elif poll is not None:
            poll.rounds += [{}] if action == "open" and poll.rounds[-1] else []
            poll.is_open, poll.is_shown = action == "open", action == "show" or (action == "close" and poll.is_shown)

    def add(self, event: Record) -> None:
        """Add the new questions of an `ask` event, and show its first question."""
        known = [poll.question for poll in self.polls]
        asked = [Poll(question(each), event["confidences"], each.get("right"), each.get("shows", ()))
                 for each in event["questions"]]  # fmt: skip
        self.polls += [poll for poll in asked if poll.question not in known]
        self.at = [poll.question for poll in self.polls].index(asked[0].question)

    def vote(self, phone: str, given: Record) -> Record:
        """Make the event of a phone's vote. Raises like `apply` if the vote is invalid or closed."""
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
        """The data sent to a phone: the question and the phone's own answer, but no result."""
        if not self.polls:
            return {"version": self.version}
        poll, mine = self.polls[self.at], self.polls[self.at].rounds[-1].get(self.phone_hash(phone))
        asked = {key: getattr(poll.question, key) for key in ("name", "text", "kind", "options", "unit")}
        facts = {"poll": self.at, "round": len(poll.rounds), "open": poll.is_open, "confidences": poll.confidences}
        locked = {"answer": mine[0], "confidence": mine[1]} if mine else {}
        return {"version": self.version, "question": asked, "locked": locked, **facts}

    def for_lecturer(self) -> Record:
        """Further data for the lecturer's page: counts, and the answers once they are shown."""
        poll = self.polls[self.at]
        right = poll.question.format_answer(poll.right) if poll.is_revealed else ""
        counts = {"polls": len(self.polls), "answered": [len(votes) for votes in poll.rounds], "few": FEWEST}
        shown = {"shown": poll.is_shown, "rows": poll.rows() if poll.is_shown else [], "right": right}
        return counts | shown | {"keyed": poll.right is not None and not poll.is_revealed}

    def table(self) -> str:
        """All rows as CSV, for the class report."""
        return table(HEAD, [row for poll in self.polls for row in poll.rows()])
