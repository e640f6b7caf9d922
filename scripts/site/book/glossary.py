"""Explains glossary words where they occur: the first one in a page is a link with its definition."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes

HOME = "lessons/GLOSSARY"
TEXT = (Path(__file__).resolve().parents[3] / f"{HOME}.md").read_text("utf-8")
ENTRY = re.compile(r"^\*\*(.+?)\*\*: (.+?) \[\d+\]\(", re.MULTILINE)
EVERYDAY = {  # also used in everyday senses, which cannot be told apart
    "captured", "carry", "edge", "feed", "fetch", "gate", "in place", "launch", "pass", "probe", "rank", "registers",
    "scale", "scan", "segment", "serving", "shape", "span", "stage", "state", "view", "work",
}  # fmt: skip
MEANINGS = {term.lower(): escape(meaning.replace("`", "")) for term, meaning in ENTRY.findall(TEXT)}
LONGEST_FIRST = "|".join(map(re.escape, sorted(MEANINGS.keys() - EVERYDAY, key=len, reverse=True)))
WORDS = re.compile(rf"(?<![\w-])({LONGEST_FIRST})s?(?![\w-])", re.IGNORECASE)
APART = (
    *(nodes.FixedTextElement, nodes.literal, nodes.math, nodes.raw),
    *(nodes.reference, nodes.title, nodes.strong, nodes.table),
)


def anchor(term: str) -> str:
    return "term-" + re.sub(r"\W+", "-", term.lower())


def page() -> str:
    """The glossary itself, with an anchor for each word."""
    return ENTRY.sub(lambda entry: f"({anchor(entry[1])})=\n{entry[0]}", TEXT)


def explain(_: object, page: nodes.document, name: str) -> None:
    """Link the glossary words in a lesson, except those that it explains itself, in bold."""
    if not name.startswith("lessons/") or name == HOME:
        return
    known = {strong.astext().lower() for strong in page.findall(nodes.strong)}

    def link(word: re.Match[str]) -> str:
        term = word[1].lower()
        if term in known:
            return word[0]
        known.add(term)
        return f'<a class="term" href="GLOSSARY.html#{anchor(term)}" data-meaning="{MEANINGS[term]}">{word[0]}</a>'

    for text in list(page.findall(nodes.Text)):
        if not is_apart(text):
            html = WORDS.sub(link, escape(text))
            if "</a>" in html:
                text.parent.replace(text, nodes.raw("", html, format="html"))


def is_apart(node: nodes.Node) -> bool:
    return node is not None and (isinstance(node, APART) or is_apart(node.parent))
