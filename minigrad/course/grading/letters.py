"""What strangers have written, made fit to be shown: in a terminal, a table, a page.

A text may hold what is no letter: sequences that move a terminal's cursor, marks that turn the direction of what
follows, a formula behind a separator. Whatever leaves the grader comes through here first.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from pathlib import Path
from typing import Any

LONGEST = 2_000  # characters of any one text in a result
MOST = 80  # bytes of what stands in a path
IDENTITY = {"student", "where", "file"}
NO_LETTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")
PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
INDENT = re.compile(r"^ +", re.MULTILINE)  # which Markdown takes for a block of code
COMMAND = re.compile(r"\\([A-Za-z]+)")
MATHEMATICS = {*Path(__file__).with_name("mathematics.txt").read_text("utf-8").split()}  # TeX's harmless commands


def spelled(text: str) -> str:
    """A text in letters: what is none, but for tabs and ends of lines, is written as its number, as \\x1b is."""
    return NO_LETTER.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def cut(text: str, most: int = LONGEST) -> str:
    """A text of at most so many characters, with a mark where the rest was."""
    return text if len(text) <= most else f"{text[: most - 40]} … ({len(text) - most + 40} characters more)"


def fit(value: Any) -> Any:
    """Plain data in which every text is spelled and cut, but for what tells a submission from others."""
    match value:
        case str():
            return cut(spelled(value))
        case list():
            return [fit(each) for each in value]
        case dict():
            return {key: each if key in IDENTITY else fit(each) for key, each in value.items()}
    return value


def in_a_line(text: str) -> str:
    return re.sub(r"[\t\n]+", " ", spelled(text))


def as_markdown(text: str) -> str:
    """Markdown that shows a text, its lines and its formulas, and holds no Markdown and no HTML of the text's own.

    All that either is made of is written by number, as &#60; is; then no link, no tag and no picture is left to be
    read. Formulas are made of what the page shows. A command that is none of mathematics loses its backslash: some
    of MathJax's make links, or load more of it.
    """
    known = COMMAND.sub(lambda found: found[0] if found[1] in MATHEMATICS else f"∖{found[1]}", spelled(text))
    lines = "\n".join(line.rstrip() for line in known.expandtabs(4).split("\n"))
    by_number = PUNCTUATION.sub(lambda found: f"&#{ord(found[0])};", lines)
    return INDENT.sub(lambda found: "&nbsp;" * len(found[0]), by_number).replace("\n", "  \n")


def tame(text: str) -> str:
    """What stands for a text in a path, an address and a page: letters, digits and a few marks.

    Where it had to be changed, a number behind a ~, which no other has, keeps it apart from all others.
    """
    letters = re.sub(r"[^\w@. -]+", "_", unicodedata.normalize("NFC", text)).encode()[:MOST].decode(errors="ignore")
    plain = letters.strip(" ._-@")
    number = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return plain if text and plain == text else f"{plain or '_'}~{number}"


def as_a_name(text: str) -> str:
    """A person's name without the marks that mean something on a page or in a table; its apostrophe becomes ’."""
    letters = (c if c in " .’()-" or unicodedata.category(c)[0] in "LMN" else "_" for c in text.replace("'", "’"))
    return "".join(letters).lstrip(" -")[:80]
