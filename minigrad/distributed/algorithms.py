"""How p processes add up their vectors by messages alone: ring, tree, and recursive halving.

An algorithm is what one rank does: round by round, what it sends and receives at once, () where it has nothing to do.
It names parts of a vector of n elements and sees none of them. So one text runs between processes (reference.py), is
stepped for all ranks in one of them (`stepped`), and is counted without any vector (`messages`).

             rounds           elements that a rank sends, at most
    ring     2 (p − 1)        2 n (p − 1) / p
    tree     2 ⌈log₂ p⌉       n ⌈log₂ p⌉, of the root
    halving  2 log₂ p         2 n (p − 1) / p; where p is no power of two, two rounds and n more

Patarasuk & Yuan 2009, “Bandwidth optimal all-reduce algorithms for clusters of workstations”: the ring. Thakur,
Rabenseifner & Gropp 2005, “Optimization of collective communication operations in MPICH”, sections 4.1 to 4.5: the
others; Rabenseifner's is halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# -- what a rank says -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Send:
    """A part of the vector goes to a rank."""

    to: int
    part: slice


@dataclass(frozen=True)
class Recv:
    """A part comes from a rank: it is added to what is here, or takes its place."""

    source: int
    part: slice
    add: bool = False


Round = tuple[Send | Recv, ...]
Rounds = Iterator[Round]
Algorithm = Callable[[int, int, int], Rounds]  # of rank, of p ranks, for n elements


def parts(n: int, p: int, first: int, count: int = 1) -> slice:
    """Part `first` of p, and those behind it, of n elements: as long as each other, or one element longer."""
    return slice(n * first // p, n * (first + count) // p)


def powers(p: int) -> list[int]:
    """1, 2, 4, … below p: how far apart are who talk to each other."""
    return [1 << i for i in range((p - 1).bit_length())]


# -- the ring: each talks to its neighbours -----------------------------------------------------------


def ring(rank: int, p: int, n: int) -> Rounds:
    yield from ring_reduce_scatter(rank, p, n)
    yield from ring_all_gather(rank, p, n)


def ring_reduce_scatter(rank: int, p: int, n: int) -> Rounds:
    """Part i of the sum in rank i: it sets out behind rank i, and all whom it passes add their own."""
    for r in range(1, p):
        gone, comes = parts(n, p, (rank - r) % p), parts(n, p, (rank - r - 1) % p)
        yield Send((rank + 1) % p, gone), Recv((rank - 1) % p, comes, add=True)


def ring_all_gather(rank: int, p: int, n: int) -> Rounds:
    """From part i in rank i, all parts in all ranks: each hands on what came last."""
    for r in range(p - 1):
        gone, comes = parts(n, p, (rank - r) % p), parts(n, p, (rank - r - 1) % p)
        yield Send((rank + 1) % p, gone), Recv((rank - 1) % p, comes)


# -- the tree: half of those that are left give theirs away --------------------------------------------


def tree(rank: int, p: int, n: int) -> Rounds:
    yield from tree_reduce(rank, p, n)
    yield from tree_broadcast(rank, p, n)


def tree_reduce(rank: int, p: int, n: int, root: int = 0) -> Rounds:
    """The sum in the root, along a binomial tree."""
    place, whole = (rank - root) % p, slice(0, n)
    for step in powers(p):
        if place % step == 0 and place & step:
            yield (Send((rank - step) % p, whole),)
        elif place % step == 0 and place + step < p:
            yield (Recv((rank + step) % p, whole, add=True),)
        else:
            yield ()


def tree_broadcast(rank: int, p: int, n: int, root: int = 0) -> Rounds:
    """What the root has in all ranks: the way back down the tree."""
    for messages in reversed([*tree_reduce(rank, p, n, root)]):
        yield tuple(Recv(m.to, m.part) if isinstance(m, Send) else Send(m.source, m.part) for m in messages)


# -- recursive halving: partners exchange halves of what they still care for ----------------------------


def halving(rank: int, p: int, n: int) -> Rounds:
    """Where p is no power of two, the ranks beyond one give away their vectors first, and get the sum at the end."""
    q, whole = 1 << (p.bit_length() - 1), slice(0, n)
    beyond = rank >= q
    helped = rank + q < p
    if p > q:
        yield (Send(rank - q, whole),) if beyond else (Recv(rank + q, whole, add=True),) if helped else ()
    if beyond:
        yield from [()] * 2 * len(powers(q))
    else:
        yield from halving_reduce_scatter(rank, q, n)
        yield from doubling_all_gather(rank, q, n)
    if p > q:
        yield (Recv(rank - q, whole),) if beyond else (Send(rank + q, whole),) if helped else ()


def halving_reduce_scatter(rank: int, p: int, n: int) -> Rounds:
    """Part i of the sum in rank i; p is a power of two. Each gives its partner that half in which the partner lies."""
    for step in reversed(powers(p)):
        partner = rank ^ step
        yield Send(partner, block(n, p, partner, step)), Recv(partner, block(n, p, rank, step), add=True)


def doubling_all_gather(rank: int, p: int, n: int) -> Rounds:
    """From part i in rank i, all parts in all ranks: the same exchanges backwards."""
    for step in powers(p):
        partner = rank ^ step
        yield Send(partner, block(n, p, rank, step)), Recv(partner, block(n, p, partner, step))


def block(n: int, p: int, rank: int, step: int) -> slice:
    """Of blocks of `step` parts that one in which part `rank` lies."""
    return parts(n, p, rank // step * step, step)


ALL_REDUCE: dict[str, Algorithm] = {"ring": ring, "tree": tree, "halving": halving}

# -- all ranks in one process ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A part that goes from one rank to another in a round.

    add    whether it is added to what is there, or takes its place
    """

    source: int
    to: int
    part: slice
    add: bool

    @property
    def size(self) -> int:
        """How many elements it has."""
        return len(range(self.part.stop)[self.part])


def messages(algorithm: Algorithm, p: int, n: int) -> Iterator[list[Message]]:
    """What p ranks send each other, round by round. Whatever is sent is received, or it raises."""
    for rounds in zip(*(algorithm(rank, p, n) for rank in range(p)), strict=True):
        sent = {(rank, m.to): m.part for rank, said in enumerate(rounds) for m in said if isinstance(m, Send)}
        received = {(m.source, rank): m for rank, said in enumerate(rounds) for m in said if isinstance(m, Recv)}
        assert sent == {pair: m.part for pair, m in received.items()}, "whatever is sent is received"
        yield [Message(*pair, m.part, m.add) for pair, m in received.items()]


def stepped(
    algorithm: Algorithm, xs: Sequence[np.ndarray], add: Callable[[Any, Any], Any] = np.add
) -> Iterator[list[Message]]:
    """Run it on the vectors of all ranks, in place: the messages of each round, when they have arrived."""
    for sent in messages(algorithm, len(xs), len(xs[0])):
        came = [xs[m.source][m.part].copy() for m in sent]
        for m, part in zip(sent, came):
            xs[m.to][m.part] = add(xs[m.to][m.part], part) if m.add else part
        yield sent


def traffic(algorithm: Algorithm, p: int, n: int) -> list[tuple[int, int]]:
    """Of each rank, how many messages it sends, and how many elements in them."""
    sent = [m for each in messages(algorithm, p, n) for m in each]
    return [(sum(m.source == r for m in sent), sum(m.size for m in sent if m.source == r)) for r in range(p)]
