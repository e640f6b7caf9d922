"""How workers in a ring add up their gradients, so that each has the sum: reduce-scatter, then all-gather.

Each worker's vector is cut into as many chunks as there are workers. In each round every worker sends one chunk to the
next, all at once. After n − 1 rounds each worker has the sum of one chunk; after n − 1 more, of all.

Patarasuk & Yuan 2009, “Bandwidth optimal all-reduce algorithms for clusters of workstations”.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..draw.words import counted, number
from .blocks import Block, grid
from .film import Choice, Cut, Film, Panel, Reel

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "reduce-scatter", "all-gather", "done")
Message = tuple[int, int, int]  # from worker, to worker, chunk


class AllReduce(Film):
    """The ring, round by round, for 2 to 6 workers.

    gradients    a vector for each worker, all of one length; by default worker i has i, i, …

    Vectors that are given fix the number of workers. Raises ValueError where they differ in length or are not 2 to 6.
    """

    def __init__(self, gradients: Sequence[Sequence[float]] | None = None):
        if gradients is None:
            vectors = [[[float(i + 1)] * n for i in range(n)] for n in WORKERS]
        else:
            vectors = [checked(gradients)]
        choices = [Choice("workers", [str(len(each)) for each in vectors])] if len(vectors) > 1 else []
        super().__init__("All-reduce in a ring", PHASES, [reel(each) for each in vectors], choices)
        if choices:
            self.choice = [WORKERS.index(4)]


def checked(gradients: Sequence[Sequence[float]]) -> list[list[float]]:
    """The vectors, cut into one number for each chunk: the sum of what is in it."""
    n = len(gradients)
    lengths = {len(vector) for vector in gradients}
    if n not in WORKERS or len(lengths) != 1:
        raise ValueError(f"a ring has 2 to 6 workers with vectors of one length, and got {n}, of lengths {lengths}")
    if min(lengths) < n:
        raise ValueError(f"a vector is cut into a chunk for each of {n} workers, and has only {min(lengths)} numbers")
    return [[float(chunk.sum()) for chunk in np.array_split(np.asarray(vector, float), n)] for vector in gradients]


def rounds(n: int) -> list[tuple[str, list[Message]]]:
    """(phase, who sends which chunk to whom) for each round."""
    scatter = [[(i, (i + 1) % n, (i - s) % n) for i in range(n)] for s in range(n - 1)]
    gather = [[(i, (i + 1) % n, (i + 1 - s) % n) for i in range(n)] for s in range(n - 1)]
    return [(PHASES[1], sent) for sent in scatter] + [(PHASES[2], sent) for sent in gather]


@np.errstate(all="ignore")  # what is no number is shown as what it is
def reel(vectors: list[list[float]]) -> Reel:
    """The film of one ring."""
    n = len(vectors)
    blocks = [Block(part(i, c), i, c, number(vectors[i][c])) for i in range(n) for c in range(n)]
    rows, columns = [f"worker {i}" for i in range(n)], [f"chunk {c}" for c in range(n)]
    picture = grid(blocks, rows, columns, (78, 34), "What each worker holds of each chunk")
    return Reel([Panel("What each worker holds", picture, wide=True)], list(cuts(vectors)))


def part(worker: int, chunk: int) -> str:
    """The block of what a worker holds of a chunk."""
    return f"w{worker}c{chunk}"


def cuts(vectors: list[list[float]]) -> Iterator[Cut]:
    """Each round, and what it cost."""
    n, held = len(vectors), np.array(vectors)
    total = held.sum(0)
    say = f"{n} workers, each with a gradient of its own, cut into {n} chunks. Each wants the sum."
    yield Cut(PHASES[0], say, text={part(i, c): number(held[i, c]) for i in range(n) for c in range(n)})
    for r, (phase, sent) in enumerate(rounds(n)):
        values = {(to, c): held[i, c] + (held[to, c] if phase == PHASES[1] else 0) for i, to, c in sent}
        for (to, c), value in values.items():
            held[to, c] = value
        verb = "which adds it to its own" if phase == PHASES[1] else "which takes it in the place of its own"
        i, to, c = sent[0]
        yield Cut(
            phase,
            f"Round {r % (n - 1) + 1} of {n - 1}: each worker sends one chunk to the next, {verb}. Worker {i} sends "
            f"chunk {c}, and worker {to} has {number(held[to, c])}.",
            text={part(to, c): number(value) for (to, c), value in values.items()},
            on={"forward": [part(to, c) for to, c in values if np.isclose(held[to, c], total[c], equal_nan=True)]},
            hot={"hot": [part(to, c) for to, c in values], "source": [part(i, c) for i, _, c in sent]},
        )
    assert np.allclose(held, total, equal_nan=True)
    yield Cut(
        PHASES[3],
        f"Each has the sum. Each has sent {2 * (n - 1)} chunks of 1/{n}: {number(2 * (n - 1) / n)} times its vector, "
        "which is below 2 for any number of workers. Through one of them, that one would have received "
        f"{counted(n - 1, 'whole vector', 'whole vectors')}, and sent as many.",
    )
