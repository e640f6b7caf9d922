"""Which answers are nearly the same, whatever their names are called.

An answer is read as a list of tokens, in which every name of its own is the same word; its fingerprint is the set of
runs of tokens in it (Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting", 2003,
without the winnowing: exercises are short). Two are compared by the share of runs that they have in common.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections.abc import Iterator
from itertools import combinations, islice

RUN = 8  # tokens
SHORTEST = 60  # tokens; below, everybody writes the same
LONGEST = 20_000  # tokens; a program of so many is nobody's answer
ALIKE = 0.85  # of the runs in both, to those in either
KNOWN = {*keyword.kwlist, *dir(builtins)}
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def groups(sources: dict[str, str]) -> list[tuple[set[str], float]]:
    """(who, the least share in common with the nearest of the group), the largest groups first."""
    prints = {who: runs for who, source in sources.items() if (runs := fingerprint(source))}
    group = {who: frozenset([who]) for who in prints}
    nearest: dict[str, float] = {}
    for a, b in combinations(prints, 2):
        both = len(prints[a] & prints[b])
        share = both / (len(prints[a]) + len(prints[b]) - both)
        if share >= ALIKE:
            nearest |= {who: max(share, nearest.get(who, 0)) for who in (a, b)}
            if group[a] is not group[b]:
                group |= dict.fromkeys(union := group[a] | group[b], union)
    found = [({*each}, min(nearest[who] for who in each)) for each in dict.fromkeys(group.values()) if len(each) > 1]
    return sorted(found, key=lambda each: (-len(each[0]), -each[1]))


def fingerprint(source: str) -> set[int]:
    """The runs of tokens of an answer; empty where it is short, or no Python."""
    try:
        words = list(islice(tokens(source.encode("utf-8", "backslashreplace").decode()), LONGEST))
    except Exception:  # what is no Python, each version refuses in its own way
        return set()
    return {hash(tuple(words[i : i + RUN])) for i in range(len(words) - RUN + 1)} if len(words) >= SHORTEST else set()


def tokens(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SPACE:
            yield "name" if token.type == tokenize.NAME and token.string not in KNOWN else token.string
