"""Make untrusted text safe to show in a terminal, a table or a page.

A text may contain sequences that move a terminal's cursor, marks that change the direction of reading, or a spreadsheet
formula after a separator. All text that leaves the grader passes through here.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from pathlib import Path
from typing import Any

LONGEST = 2_000  # characters of each text in a result
MOST = 80  # bytes of a name in a path
IDENTITY = {"student", "where", "file"}
NO_LETTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")
PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
INDENT = re.compile(r"^ +", re.MULTILINE)  # Markdown reads an indent as a code block
COMMAND = re.compile(r"\\([A-Za-z]+)")
MATHEMATICS = {*Path(__file__).with_name("mathematics.txt").read_text("utf-8").split()}  # TeX's harmless commands


def escape_unprintable(text: str) -> str:
    """Escape control and format characters, except tabs and line ends: ESC becomes \\x1b."""
    return NO_LETTER.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def cut(text: str, most: int = LONGEST) -> str:
    """Cut a text to at most `most` characters, with a note on how many are missing."""
    return text if len(text) <= most else f"{text[: most - 40]} … ({len(text) - most + 40} characters more)"


def sanitize(value: Any) -> Any:
    """Escape and cut every text in plain data, except the keys that identify a submission."""
    match value:
        case str():
            return cut(escape_unprintable(value))
        case list():
            return [sanitize(each) for each in value]
        case dict():
            return {key: each if key in IDENTITY else sanitize(each) for key, each in value.items()}
    return value


def in_a_line(text: str) -> str:
    return re.sub(r"[\t\n]+", " ", escape_unprintable(text))


def as_markdown(text: str) -> str:
    """Markdown that shows a text with its lines and formulas, but ignores any Markdown or HTML in it.

    All punctuation is written as numeric entities such as &#60;, so no link, tag or picture can be parsed. MathJax
    reads formulas from the rendered page. TeX commands outside the list of mathematics lose their backslash, because
    some MathJax commands make links or load extensions.
    """
    known = COMMAND.sub(lambda found: found[0] if found[1] in MATHEMATICS else f"∖{found[1]}", escape_unprintable(text))
    lines = "\n".join(line.rstrip() for line in known.expandtabs(4).split("\n"))
    by_number = PUNCTUATION.sub(lambda found: f"&#{ord(found[0])};", lines)
    return INDENT.sub(lambda found: "&nbsp;" * len(found[0]), by_number).replace("\n", "  \n")


def safe_name(text: str) -> str:
    """A safe form of a text for paths, URLs and pages: letters, digits and a few marks.

    If this changes the text, a hash after a ~ keeps the name unique.
    """
    letters = re.sub(r"[^\w@. -]+", "_", unicodedata.normalize("NFC", text)).encode()[:MOST].decode(errors="ignore")
    plain = letters.strip(" ._-@")
    number = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return plain if text and plain == text else f"{plain or '_'}~{number}"


def as_a_name(text: str) -> str:
    """A person's name without characters that are special in a page or table; an apostrophe becomes ’."""
    letters = (c if c in " .’()-" or unicodedata.category(c)[0] in "LMN" else "_" for c in text.replace("'", "’"))
    return "".join(letters).lstrip(" -")[:80]
