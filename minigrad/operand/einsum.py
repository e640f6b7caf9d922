"""Einstein's summation: `einsum("bij,bjk->bik", x, y)`, letters for axes, those not in the result summed over.

An equation is brought to what one op can say, letter by letter:

    …                 becomes letters of its own, lined up from the right
    ii                the diagonal is taken
    length 1          an axis that broadcasts is dropped
    only one has it   and the result has not: summed at once

Then operands are contracted in pairs, from the left, each pair one matrix product (ops/einsum.py).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from .. import ops
from ..errors import ShapeError


def einsum(equation: str, *xs: Any) -> Any:
    """Σ of products of elements of xs, as the equation says. Raises ShapeError where it does not fit them."""
    terms, out = parsed(equation, tuple([x.ndim for x in xs]))
    sizes: dict[str, int] = {}
    for term, x in zip(terms, xs):
        for letter, n in zip(term, x.spec.shape):
            if sizes.setdefault(letter, n) not in (n, 1) and n != 1:
                raise ShapeError(f"einsum {equation!r}: {letter} is {sizes[letter]} long, and {n} in {x.spec}")
            sizes[letter] = n if sizes[letter] == 1 else sizes[letter]
    prepared = [single(term, x, sizes) for term, x in zip(terms, xs)]

    term, x = prepared[0]
    for i, (other, y) in enumerate(prepared[1:], 2):
        later = {letter for name, _ in prepared[i:] for letter in name} | set(out)
        made = "".join(letter for letter in dict.fromkeys(term + other) if letter in later)
        made = out if set(made) == set(out) else made
        x, term = contracted(term, x, other, y, made), made
    return arranged(term, x, out, sizes)


def contracted(left: str, x: Any, right: str, y: Any, out: str) -> Any:
    """x and y contracted, after letters that only one of them has, and the result has not, are summed."""
    left, x = without(left, x, [i for i in left if i not in right + out])
    right, y = without(right, y, [i for i in right if i not in left + out])
    return x.apply(ops.Contract(left, right, out), y)


def without(term: str, x: Any, gone: list[str]) -> tuple[str, Any]:
    """x summed over the letters that go."""
    if not gone:
        return term, x
    return "".join(i for i in term if i not in gone), x.sum(tuple(term.index(i) for i in gone))


def single(term: str, x: Any, sizes: dict[str, int]) -> tuple[str, Any]:
    """x with each letter once, and no axis that broadcasts."""
    while len(set(term)) < len(term):
        letter = next(i for i in term if term.count(i) > 1)
        i, j = term.index(letter), term.rindex(letter)
        rest = [a for a in range(x.ndim) if a not in (i, j)]
        if x.shape[i] != x.shape[j]:
            raise ShapeError(f"einsum: a diagonal {letter}{letter} needs equal lengths, and got {x.spec}")
        x = x.permute(*rest, i, j).apply(ops.Diagonal())
        term = "".join(term[a] for a in rest) + letter
    kept = [a for a, letter in enumerate(term) if x.shape[a] == sizes[letter]]
    if len(kept) == x.ndim:
        return term, x
    return "".join(term[a] for a in kept), x.reshape(tuple(x.shape[a] for a in kept))


def arranged(term: str, x: Any, out: str, sizes: dict[str, int]) -> Any:
    """x with the axes of the result, in their order."""
    if term == out:
        return x
    term, x = without(term, x, [i for i in term if i not in out])
    order = [term.index(i) for i in out if i in term]
    x = x if order == sorted(order) else x.permute(*order)
    lined = x.reshape(tuple(sizes[i] if i in term else 1 for i in out))
    return lined.broadcast_to(tuple(sizes[i] for i in out))


@lru_cache(maxsize=1024)
def parsed(equation: str, ndims: tuple[int, ...]) -> tuple[list[str], str]:
    """The letters of each operand, and of the result, with an ellipsis written as letters. Raises ShapeError."""
    left, arrow, right = equation.replace(" ", "").replace("...", "…").partition("->")
    terms = left.split(",")
    got = f"einsum {equation!r} of operands with {', '.join(map(str, ndims))} axes"
    if len(terms) != len(ndims):
        raise ShapeError(f"{got}: there are {len(terms)} terms, and {len(ndims)} operands")
    if not all(i == "…" or i == "," or (i.isascii() and i.isalpha()) for i in left + right):
        raise ShapeError(f"{got}: axes are named by the letters a to z and A to Z")
    most = max((n - len(t) + 1 for t, n in zip(terms, ndims) if "…" in t), default=0)
    dots = "".join(chr(0x3B1 + i) for i in range(max(most, 0)))  # Greek, which no equation uses
    written = []
    for term, n in zip(terms, ndims):
        spare = n - len(term.replace("…", ""))
        if term.count("…") > 1 or spare < 0 or (spare and "…" not in term):
            raise ShapeError(f"{got}: {term.replace('…', '...')!r} does not name {n} axes")
        written.append(term.replace("…", dots[len(dots) - spare :]))
    if not arrow:
        count = Counter("".join(written))
        return written, dots + "".join(sorted(i for i, times in count.items() if times == 1 and i not in dots))
    out = right.replace("…", dots)
    if len(set(out)) != len(out) or set(out) - set("".join(written)):
        raise ShapeError(f"{got}: each letter of the result {right!r} stands in it once, and in some operand")
    return written, out
