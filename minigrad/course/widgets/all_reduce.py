"""The AllReduce widget: workers exchange messages until each has the sum of all gradients.

Each worker's vector is cut into one chunk per worker. The widget runs the algorithms of distributed/algorithms.py
(ring, tree, halving) on these vectors and shows each round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...distributed.algorithms import ALL_REDUCE, Message, messages, stepped
from ...draw.words import join_names, number, pluralize
from .blocks import Block, grid
from .film import Choice, Cut, Film, Panel, Reel, combinations

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "add up", "hand on", "done")


class AllReduce(Film):
    """An all-reduce, round by round, for 2 to 6 workers, with the chosen algorithm.

    gradients    one vector per worker, all of equal length. By default, the reader chooses the number of workers, and
                 every element of the vector of worker i is i + 1
    Raises ValueError if the vectors differ in length, or if there are fewer than 2 or more than 6.
    """

    def __init__(self, gradients: Sequence[Sequence[float]] | None = None):
        vectors = [[[i + 1.0] * n for i in range(n)] for n in WORKERS] if gradients is None else [chunk_sums(gradients)]
        choices = [Choice("workers", [str(len(each)) for each in vectors]), Choice("algorithm", [*ALL_REDUCE])]
        reels = [reel(vectors[w], [*ALL_REDUCE][a]) for w, a in combinations(choices)]
        super().__init__("All-reduce by messages", PHASES, reels, choices if gradients is None else choices[1:])
        if gradients is None:
            self.choice = [WORKERS.index(4), 0]


def chunk_sums(gradients: Sequence[Sequence[float]]) -> list[list[float]]:
    """The sum of each chunk of each vector. Raises ValueError for vectors that cannot be cut into chunks."""
    n = len(gradients)
    lengths = {len(vector) for vector in gradients}
    if n not in WORKERS or len(lengths) != 1:
        raise ValueError(f"gradients: expected 2 to 6 vectors of equal length, got {n} of lengths {sorted(lengths)}")
    if min(lengths) < n:
        raise ValueError(f"each vector is cut into {n} chunks, one per worker, but has only {min(lengths)} elements")
    return [[float(chunk.sum()) for chunk in np.array_split(np.asarray(vector, float), n)] for vector in gradients]


@np.errstate(all="ignore")  # the widget shows NaN and infinity
def reel(vectors: list[list[float]], algorithm: str) -> Reel:
    """The film of one run."""
    n = len(vectors)
    blocks = [Block(part(i, c), i, c, number(vectors[i][c])) for i in range(n) for c in range(n)]
    rows, columns = [f"worker {i}" for i in range(n)], [f"chunk {c}" for c in range(n)]
    picture = grid(blocks, rows, columns, (78, 34), "What each worker holds of each chunk")
    return Reel([Panel("What each worker holds", picture, wide=True)], list(cuts(vectors, algorithm)))


def part(worker: int, chunk: int) -> str:
    """The id of the block for one worker's copy of a chunk."""
    return f"w{worker}c{chunk}"


def cuts(vectors: list[list[float]], algorithm: str) -> Iterator[Cut]:
    """A cut for each round, then a summary."""
    n, held = len(vectors), np.array(vectors)
    total, rows = held.sum(0), [*held]
    rounds = [*messages(ALL_REDUCE[algorithm], n, n)]
    say = f"{n} workers, each with a gradient of its own, cut into {n} chunks. Each wants the sum."
    yield Cut(PHASES[0], say, text={part(i, c): number(vectors[i][c]) for i, c in np.ndindex(n, n)})
    for r, sent in enumerate(stepped(ALL_REDUCE[algorithm], rows), 1):
        say = (
            f"Round {r} of {len(rounds)}, {pluralize(len(sent), 'message', 'messages')}: {describe_message(sent[0], n)}"
        )
        yield round_cut(say, sent, held, total)
    assert np.allclose(held, total, equal_nan=True)
    yield Cut(PHASES[3], summed_up([m for sent in rounds for m in sent], n, len(rounds)))


def round_cut(say: str, sent: Sequence[Message], held: np.ndarray, total: np.ndarray) -> Cut:
    """The cut after one round: the chunks that changed, and which of them are complete."""
    to = dict.fromkeys((m.to, c) for m in sent for c in range(len(held))[m.part])
    source = [part(m.source, c) for m in sent for c in range(len(held))[m.part]]
    phase, text = PHASES[1 if any(m.add for m in sent) else 2], {part(i, c): number(held[i, c]) for i, c in to}
    complete = [part(i, c) for i, c in to if np.isclose(held[i, c], total[c], equal_nan=True)]
    return Cut(phase, say, text=text, on={"forward": complete}, hot={"hot": [*text], "source": source})


def describe_message(m: Message, n: int) -> str:
    """A sentence about one message of a round. The other messages of the round are like it."""
    chunks = [str(c) for c in range(n)[m.part]]
    verb = "is added to what is there" if m.add else "takes the place of what is there"
    return f"worker {m.source} sends worker {m.to} its chunk {join_names(chunks)}, which {verb}."


def summed_up(sent: Sequence[Message], n: int, rounds: int) -> str:
    """The cost of a run in words: rounds cost latency, and the busiest worker's messages cost bandwidth."""
    busiest = max(([m.size for m in sent if m.source == i] for i in range(n)), key=sum)
    return (
        f"Each has the sum, after {rounds} rounds and {len(sent)} messages. No worker sent more than "
        f"{pluralize(len(busiest), 'message', 'messages')} with {sum(busiest)} chunks of 1/{n}, which is "
        f"{number(sum(busiest) / n)} times its vector. Had all sent their vectors to one, that one would have received "
        f"{pluralize(n - 1, 'whole vector', 'whole vectors')}, and sent as many."
    )
