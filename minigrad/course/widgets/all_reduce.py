"""How workers add up their gradients by messages, so that each has the sum: in a ring, along a tree, by halves.

Each worker's vector is cut into as many chunks as there are workers. What is shown is a run of the algorithms of
distributed/algorithms.py on these vectors, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...distributed.algorithms import ALL_REDUCE, Message, messages, stepped
from ...draw.words import counted, listed, number
from .blocks import Block, grid
from .film import Choice, Cut, Film, Panel, Reel, combinations

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "add up", "hand on", "done")


class AllReduce(Film):
    """An all-reduce, round by round, for 2 to 6 workers, by the algorithm that is chosen.

    gradients    a vector for each worker, all of one length; by default worker i has i, i, …

    Vectors that are given fix the number of workers. Raises ValueError where they differ in length or are not 2 to 6.
    """

    def __init__(self, gradients: Sequence[Sequence[float]] | None = None):
        if gradients is None:
            vectors = [[[float(i + 1)] * n for i in range(n)] for n in WORKERS]
        else:
            vectors = [checked(gradients)]
        choices = [Choice("workers", [str(len(each)) for each in vectors]), Choice("algorithm", [*ALL_REDUCE])]
        reels = [reel(vectors[w], [*ALL_REDUCE][a]) for w, a in combinations(choices)]
        shown = choices if gradients is None else choices[1:]
        super().__init__("All-reduce by messages", PHASES, reels, shown)
        if gradients is None:
            self.choice = [WORKERS.index(4), 0]


def checked(gradients: Sequence[Sequence[float]]) -> list[list[float]]:
    """The vectors, cut into one number for each chunk: the sum of what is in it."""
    n = len(gradients)
    lengths = {len(vector) for vector in gradients}
    if n not in WORKERS or len(lengths) != 1:
        raise ValueError(f"there are 2 to 6 workers with vectors of one length, and got {n}, of lengths {lengths}")
    if min(lengths) < n:
        raise ValueError(f"a vector is cut into a chunk for each of {n} workers, and has only {min(lengths)} numbers")
    return [[float(chunk.sum()) for chunk in np.array_split(np.asarray(vector, float), n)] for vector in gradients]


@np.errstate(all="ignore")  # what is no number is shown as what it is
def reel(vectors: list[list[float]], algorithm: str) -> Reel:
    """The film of one run."""
    n = len(vectors)
    blocks = [Block(part(i, c), i, c, number(vectors[i][c])) for i in range(n) for c in range(n)]
    rows, columns = [f"worker {i}" for i in range(n)], [f"chunk {c}" for c in range(n)]
    picture = grid(blocks, rows, columns, (78, 34), "What each worker holds of each chunk")
    return Reel([Panel("What each worker holds", picture, wide=True)], list(cuts(vectors, algorithm)))


def part(worker: int, chunk: int) -> str:
    """The block of what a worker holds of a chunk."""
    return f"w{worker}c{chunk}"


def cuts(vectors: list[list[float]], algorithm: str) -> Iterator[Cut]:
    """Each round, and what it all came to."""
    n, held = len(vectors), np.array(vectors)
    total, rows = held.sum(0), [*held]
    rounds = [*messages(ALL_REDUCE[algorithm], n, n)]
    say = f"{n} workers, each with a gradient of its own, cut into {n} chunks. Each wants the sum."
    yield Cut(PHASES[0], say, text={part(i, c): number(held[i, c]) for i in range(n) for c in range(n)})
    for r, sent in enumerate(stepped(ALL_REDUCE[algorithm], rows), 1):
        came = {(m.to, c): number(held[m.to, c]) for m in sent for c in range(n)[m.part]}
        ready = [part(i, c) for i, c in came if np.isclose(held[i, c], total[c], equal_nan=True)]
        yield Cut(
            PHASES[1] if any(m.add for m in sent) else PHASES[2],
            f"Round {r} of {len(rounds)}, {counted(len(sent), 'message', 'messages')}: {told(sent[0], n)}",
            text={part(*where): words for where, words in came.items()},
            on={"forward": ready},
            hot={
                "hot": [part(*where) for where in came],
                "source": [part(m.source, c) for m in sent for c in range(n)[m.part]],
            },
        )
    assert np.allclose(held, total, equal_nan=True)
    yield Cut(PHASES[3], summed_up([m for sent in rounds for m in sent], n, len(rounds)))


def told(m: Message, n: int) -> str:
    """What happens to one message of a round; the others are like it."""
    chunks = [str(c) for c in range(n)[m.part]]
    verb = "is added to what is there" if m.add else "takes the place of what is there"
    return f"worker {m.source} sends worker {m.to} its chunk {listed(chunks)}, which {verb}."


def summed_up(sent: Sequence[Message], n: int, rounds: int) -> str:
    """What a run came to: rounds cost waiting, and what the busiest worker sends costs bandwidth."""
    busiest = max(([m.size for m in sent if m.source == i] for i in range(n)), key=sum)
    return (
        f"Each has the sum, after {rounds} rounds and {len(sent)} messages. No worker sent more than "
        f"{counted(len(busiest), 'message', 'messages')} with {sum(busiest)} chunks of 1/{n}, which is "
        f"{number(sum(busiest) / n)} times its vector. Had all sent their vectors to one, that one would have received "
        f"{counted(n - 1, 'whole vector', 'whole vectors')}, and sent as many."
    )
