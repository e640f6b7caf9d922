"""Find answers that are nearly equal, even if their names differ.

An answer is split into tokens. All names except builtins become the same word. Its fingerprint is the set of
its runs of RUN tokens (Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting", 2003,
without the winnowing: exercises are short). The similarity of two answers is the share of runs that both have.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections.abc import Iterator
from itertools import combinations, islice

RUN = 8  # tokens
SHORTEST = 60  # tokens; shorter answers are all alike
LONGEST = 20_000  # tokens; no real answer is longer
ALIKE = 0.85  # answers are similar from this ratio of the runs in both to the runs in either
KNOWN = {*keyword.kwlist, *dir(builtins)}
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def groups(sources: dict[str, str]) -> list[tuple[set[str], float]]:
    """Groups of similar answers, the largest first: (their keys, a member's least similarity to its nearest member)."""
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
    """The hashes of the token runs in an answer; empty if it is short or not Python."""
    try:
        words = list(islice(tokens(source.encode("utf-8", "backslashreplace").decode()), LONGEST))
    except Exception:  # Python versions raise different exceptions for invalid source
        return set()
    return {hash(tuple(words[i : i + RUN])) for i in range(len(words) - RUN + 1)} if len(words) >= SHORTEST else set()


def tokens(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SPACE:
            yield "name" if token.type == tokenize.NAME and token.string not in KNOWN else token.string
