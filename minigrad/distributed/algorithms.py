"""All-reduce of p processes by messages alone: ring, tree, and recursive halving.

An algorithm describes one rank: the messages that it sends and receives at the same time in each round; () if idle. It
names parts of a vector of n elements, and never reads the vector. So the same function runs between processes
(mpi.py), runs for all ranks in one process (`stepped`), and counts messages without any vector (`messages`).

             rounds           elements that a rank sends, at most
    ring     2 (p − 1)        2 n (p − 1) / p
    tree     2 ⌈log₂ p⌉       n ⌈log₂ p⌉, by the root
    halving  2 log₂ p         2 n (p − 1) / p; if p is no power of two, 2 more rounds and n more elements

Patarasuk & Yuan 2009, “Bandwidth optimal all-reduce algorithms for clusters of workstations”: the ring. Thakur,
Rabenseifner & Gropp 2005, “Optimization of collective communication operations in MPICH”, sections 4.1 to 4.5: the
tree, and halving, which is called Rabenseifner's algorithm there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# -- messages of a rank -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Send:
    """Send a part of the vector to a rank."""

    to: int
    part: slice


@dataclass(frozen=True)
class Recv:
    """Receive a part from a rank. With `add`, add it to the receiver's own part, otherwise replace that part."""

    source: int
    part: slice
    add: bool = False


Round = tuple[Send | Recv, ...]
Rounds = Iterator[Round]
Algorithm = Callable[[int, int, int], Rounds]  # rank, p ranks, n elements → its rounds


def parts(n: int, p: int, first: int, count: int = 1) -> slice:
    """The slice of parts first to first + count − 1, of n elements cut into p; part lengths differ by at most 1."""
    return slice(n * first // p, n * (first + count) // p)


def powers(p: int) -> list[int]:
    """1, 2, 4, … below p: the distances between communicating ranks."""
    return [1 << i for i in range((p - 1).bit_length())]


# -- the ring: messages between neighbours -----------------------------------------------------------


def ring(rank: int, p: int, n: int) -> Rounds:
    yield from ring_reduce_scatter(rank, p, n)
    yield from ring_all_gather(rank, p, n)


def ring_reduce_scatter(rank: int, p: int, n: int) -> Rounds:
    """Leave part i of the sum in rank i: it starts at rank i + 1, and each rank on its way adds its own part."""
    for r in range(1, p):
        gone, comes = parts(n, p, (rank - r) % p), parts(n, p, (rank - r - 1) % p)
        yield Send((rank + 1) % p, gone), Recv((rank - 1) % p, comes, add=True)


def ring_all_gather(rank: int, p: int, n: int) -> Rounds:
    """Give all parts to every rank. At first rank i has part i; each rank forwards the part that it received last."""
    for r in range(p - 1):
        gone, comes = parts(n, p, (rank - r) % p), parts(n, p, (rank - r - 1) % p)
        yield Send((rank + 1) % p, gone), Recv((rank - 1) % p, comes)


# -- the tree: in each round half of the remaining ranks send --------------------------------------------


def tree(rank: int, p: int, n: int) -> Rounds:
    yield from tree_reduce(rank, p, n)
    yield from tree_broadcast(rank, p, n)


def tree_reduce(rank: int, p: int, n: int, root: int = 0) -> Rounds:
    """Add up the vectors of all ranks in the root, along a binomial tree."""
    place, whole = (rank - root) % p, slice(0, n)
    for step in powers(p):
        if place % step == 0 and place & step:
            yield (Send((rank - step) % p, whole),)
        elif place % step == 0 and place + step < p:
            yield (Recv((rank + step) % p, whole, add=True),)
        else:
            yield ()


def tree_broadcast(rank: int, p: int, n: int, root: int = 0) -> Rounds:
    """Give the root's vector to all ranks: the messages of tree_reduce, backwards."""
    yield from backwards(tree_reduce(rank, p, n, root))


def backwards(rounds: Rounds) -> Rounds:
    """The rounds in reverse order, with receivers as senders: where parts were added up, the sum is returned."""
    for messages in reversed([*rounds]):
        yield tuple(Recv(m.to, m.part) if isinstance(m, Send) else Send(m.source, m.part) for m in messages)


# -- recursive halving: partners exchange halves of their remaining part ----------------------------


def halving(rank: int, p: int, n: int) -> Rounds:
    yield from halving_reduce_scatter(rank, p, n)
    yield from doubling_all_gather(rank, p, n)


def halving_reduce_scatter(rank: int, p: int, n: int) -> Rounds:
    """Leave part i of the sum in rank i, of as many parts as the largest power of two in p.

    Ranks beyond that number first send their vectors to the others. Then each sends its partner the partner's half.
    """
    q, whole = 1 << (p.bit_length() - 1), slice(0, n)
    if p > q:
        yield (Send(rank - q, whole),) if rank >= q else (Recv(rank + q, whole, add=True),) if rank + q < p else ()
    for step in reversed(powers(q)):
        partner = rank ^ step
        sends, keeps = block(n, q, partner, step), block(n, q, rank, step)
        yield (Send(partner, sends), Recv(partner, keeps, add=True)) if rank < q else ()


def doubling_all_gather(rank: int, p: int, n: int) -> Rounds:
    """Give all parts, which are as halving_reduce_scatter leaves them, to every rank: its messages, backwards."""
    yield from backwards(halving_reduce_scatter(rank, p, n))


def block(n: int, p: int, rank: int, step: int) -> slice:
    """The block of `step` parts that contains part `rank`."""
    return parts(n, p, rank // step * step, step)


ALL_REDUCE: dict[str, Algorithm] = {"ring": ring, "tree": tree, "halving": halving}

# -- all ranks in one process ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A part sent from one rank to another in a round.

    add    whether the receiver adds the part to its own; otherwise the part replaces its own
    """

    source: int
    to: int
    part: slice
    add: bool

    size = property(lambda self: len(range(self.part.stop)[self.part]), doc="The number of elements in the part.")


def messages(algorithm: Algorithm, p: int, n: int) -> Iterator[list[Message]]:
    """The messages of p ranks, round by round. Raises AssertionError if a message is not received."""
    for rounds in zip(*(algorithm(rank, p, n) for rank in range(p)), strict=True):
        sent = {(rank, m.to): m.part for rank, said in enumerate(rounds) for m in said if isinstance(m, Send)}
        received = {(m.source, rank): m for rank, said in enumerate(rounds) for m in said if isinstance(m, Recv)}
        assert sent == {pair: m.part for pair, m in received.items()}, "every message sent is received"
        yield [Message(*pair, m.part, m.add) for pair, m in received.items()]


def stepped(
    algorithm: Algorithm, xs: Sequence[np.ndarray], add: Callable[[Any, Any], Any] = np.add
) -> Iterator[list[Message]]:
    """Run the algorithm on all ranks' vectors, in place; yields the messages of each round after their delivery."""
    for sent in messages(algorithm, len(xs), len(xs[0])):
        came = [xs[m.source][m.part].copy() for m in sent]
        for m, part in zip(sent, came):
            xs[m.to][m.part] = add(xs[m.to][m.part], part) if m.add else part
        yield sent


def traffic(algorithm: Algorithm, p: int, n: int) -> list[tuple[int, int]]:
    """For each rank, the numbers of messages and elements that it sends."""
    sent = [m for each in messages(algorithm, p, n) for m in each]
    return [(sum(m.source == r for m in sent), sum(m.size for m in sent if m.source == r)) for r in range(p)]
