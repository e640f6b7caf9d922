"""What a notebook has beside Python, as far as its cells need it here: magics, commands, `display`, `check`.

A `%` is a magic where a statement begins, and a remainder elsewhere. So a cell is read as Python reads it, as far as
texts, comments, brackets and joined lines go. IPython's own way takes 0.3 s to load.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

TOKEN = re.compile(
    r"""(?P<whole>(?P<three>\"{3}|'{3})(?:\\.|.)*?(?P=three)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*|\\\n)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n)|.""",
    re.DOTALL,
)
TIMED = re.compile(r"([ \t]*(?:[\w.]+[ \t]*=[ \t]*)?)%time[ \t]+(?=\S)")
COMMAND = re.compile(r"([ \t]*)(?:[%!?]|%?[\w.*]+\?{1,2}[ \t]*$)(?:\\\n|[^\n])*", re.MULTILINE)
ASSIGNED = re.compile(r"([ \t]*\w[\w., \t\[\]\"']+=[ \t]*)([!%])(?:\\\n|[^\n])*")
RUN = ("time", "capture", "prun")  # magics of a cell that run what is below them
PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)


def python_of(source: str) -> str:
    """A cell without what only a notebook understands; its lines stay where they are."""
    source = flush(source)
    first = re.match(r"(\s*)%%(\w*)[^\n]*", source)
    if first:
        source = first[1] + source[first.end() :] if first[2] in RUN else ""
    return "".join(plain(source))


def flush(source: str) -> str:
    """A cell that was pasted with its prompts, or as deep as it stood elsewhere, from the margin."""
    if source.startswith(">>>"):
        source = PROMPT.sub("", source)
    margin = re.match(r"\n*([ \t]*)", source)
    return re.sub(rf"^{margin[1]}", "", source, flags=re.MULTILINE) if margin and margin[1] else source


def plain(source: str) -> Iterator[str]:
    """Statement by statement."""
    at = 0
    while at < len(source):
        if timed := TIMED.match(source, at):
            yield timed[1]
            at = timed.end()
        if magic := COMMAND.match(source, at):
            yield f"{magic[1]}pass{kept(magic)}"
        elif magic := ASSIGNED.match(source, at):
            yield f"{magic[1]}{'[]' if magic[2] == '!' else 'None'}{kept(magic)}"
        end = statement_end(source, magic.end() if magic else at)
        yield source[magic.end() if magic else at : end]
        at = end


def kept(magic: re.Match[str]) -> str:
    return "\n" * magic[0].count("\n")


def statement_end(source: str, at: int) -> int:
    """Where the line ends in which a statement does."""
    depth = 0
    for token in TOKEN.finditer(source, at):
        depth += bool(token["open"]) - bool(token["close"])
        if token["end"] and depth <= 0:
            return token.end()
    return len(source)


class Silent:
    """What does nothing, whatever it is asked."""

    def __call__(self, *args: Any, **named: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Silent:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def stand_in() -> None:
    """Let there be what a cell can call only in a notebook; `check` has nothing to say where there are no answers."""
    silent = Silent()
    for name in ("display", "get_ipython"):
        setattr(builtins, name, silent)
    for name in ("minigrad.course", "IPython.core.getipython"):
        sys.modules[name] = module = ModuleType(name)
        module.__getattr__ = silent.__getattr__  # type: ignore[method-assign]
