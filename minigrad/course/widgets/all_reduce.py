"""The AllReduce widget: workers exchange messages until each has the sum of all gradients.

Each worker's vector is cut into one chunk per worker. The widget runs the algorithms of distributed/algorithms.py
(ring, tree, halving) on these vectors and shows each round: the messages on their way, what each worker holds, and the
bytes that it has sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...distributed.algorithms import ALL_REDUCE, Message, messages, parts, stepped
from ...draw.svg import STYLE
from ...draw.words import join_names, number, pluralize
from .exchange import Rounds, holdings, network
from .film import Choice, Cut, Film, Panel, Reel, combinations
from .stills import side_by_side
from .widget import HERE

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "add up", "hand on", "done")


class AllReduce(Film):
    """An all-reduce, round by round, for 2 to 6 workers, with the chosen algorithm.

    gradients    one vector per worker, all of equal length. By default, the reader chooses the number of workers, and
                 chunk c of worker i is (c + 1) × 10^i: the digits of a partial sum tell whose gradients are in it
    Raises ValueError if the vectors differ in length, or if there are fewer than 2 or more than 6.
    """

    looks = STYLE + (HERE / "all_reduce.css").read_text(encoding="utf-8")

    def __init__(self, gradients: Sequence[Sequence[float]] | None = None):
        chosen = [[[(c + 1.0) * 10**i for c in range(n)] for i in range(n)] for n in WORKERS]
        runs = [cut_up(vectors) for vectors in (chosen if gradients is None else [gradients])]
        choices = [Choice("workers", [str(len(sizes)) for _, sizes in runs]), Choice("algorithm", [*ALL_REDUCE])]
        reels = [reel(*runs[w], [*ALL_REDUCE][a]) for w, a in combinations(choices)]
        super().__init__("All-reduce by messages", PHASES, reels, choices if gradients is None else choices[1:])
        if gradients is None:
            self.choice = [WORKERS.index(4), 0]

    @property
    def svg(self) -> str:
        """Both pictures after the last round in which chunks are added up."""
        added = [step for step in self.steps if step["phase"] in PHASES[:2]]
        return side_by_side([panel["html"] for panel in self.film["panels"]], added, self.looks)


def cut_up(gradients: Sequence[Sequence[float]]) -> tuple[np.ndarray, list[int]]:
    """The sum of each chunk of each vector, and the bytes of each chunk.

    Raises ValueError for vectors that cannot be cut into chunks."""
    n = len(gradients)
    lengths = {len(vector) for vector in gradients}
    if n not in WORKERS or len(lengths) != 1:
        raise ValueError(f"gradients: expected 2 to 6 vectors of equal length, got {n} of lengths {sorted(lengths)}")
    (length,) = lengths
    if length < n:
        raise ValueError(f"each vector is cut into {n} chunks, one per worker, but has only {length} elements")
    vectors, chunks = [*map(np.asarray, gradients)], [parts(length, n, c) for c in range(n)]
    sums = [[float(vector[chunk].sum()) for chunk in chunks] for vector in vectors]
    return np.array(sums), [vectors[0][chunk].nbytes for chunk in chunks]


@np.errstate(all="ignore")  # the widget shows NaN and infinity
def reel(held: np.ndarray, sizes: list[int], algorithm: str) -> Reel:
    """The film of one run."""
    n = len(held)
    order = [i for i in (4, 0, 2, 3, 1, 5) if i < n] if algorithm == "halving" else range(n)  # partners are neighbours
    rounds, words = [*messages(ALL_REDUCE[algorithm], n, n)], [[*map(short, row)] for row in held]
    panels = Panel("", network(rounds, order, words)), Panel("", holdings(rounds, words, sizes))
    return Reel(panels, list(cuts(held.copy(), sizes, algorithm, rounds)))


def short(x: float) -> str:
    """x in the width of a cell: all digits of a whole number below a million, else three."""
    return number(x, 6 if x % 1 == 0 else 3)


def part(worker: int, chunk: int) -> str:
    """The id of the blocks for one worker's copy of a chunk."""
    return f"w{worker}c{chunk}"


def cuts(held: np.ndarray, sizes: list[int], algorithm: str, rounds: Rounds) -> Iterator[Cut]:
    """A cut for each round, then a summary."""
    n, counts, gone = len(held), np.ones(held.shape, int), [0] * len(held)  # gone: the bytes that each has sent
    total = sum(sum(sizes[m.part]) for sent in rounds for m in sent)
    yield Cut(PHASES[0], f"{n} workers, each with a gradient of its own, cut into {n} chunks. Each wants the sum.")
    runs = stepped(ALL_REDUCE[algorithm], [*held]), stepped(ALL_REDUCE[algorithm], [*counts])
    for r, (sent, _) in enumerate(zip(*runs), 1):
        for m in sent:
            gone[m.source] += sum(sizes[m.part])
        name = f"Round {r} of {len(rounds)}"
        texts = {"round": name, "total": f"{sum(gone):,} of {total:,} bytes sent"}
        texts |= {f"b{m.source}": f"{gone[m.source]:,}" for m in sent}
        say = f"{name}, {pluralize(len(sent), 'message', 'messages')}: {describe_message(sent[0], n)}"
        yield round_cut(r, say, texts, sent, held, counts)
    assert (counts == n).all()
    done = {"round": f"after {len(rounds)} rounds", "does": "each has the sum"}
    yield Cut(PHASES[3], summed_up([m for sent in rounds for m in sent], n, len(rounds)), text=done)


def round_cut(
    r: int, say: str, texts: dict[str, str], sent: Sequence[Message], held: np.ndarray, counts: np.ndarray
) -> Cut:
    """The cut after one round: the chunks that changed, how full they are, and which of them are complete."""
    n, adds = len(held), any(m.add for m in sent)
    to = {part(m.to, c): (m.to, c) for m in sent for c in range(n)[m.part]}
    source = [part(m.source, c) for m in sent for c in range(n)[m.part]]
    texts["does"] = "what comes is added" if adds else "what comes is complete"
    texts |= {id: short(held[at]) for id, at in to.items()}
    on = {"shown": [f"s{r}"]}
    for id, at in to.items():
        on.setdefault("forward" if counts[at] == n else f"k{counts[at]}", []).append(id)
    hot = {"hot": [*to], "source": source, "on": [f"r{r}"]}
    return Cut(PHASES[1 if adds else 2], say, text=texts, on=on, hot=hot)


def describe_message(m: Message, n: int) -> str:
    """A sentence about one message of a round. The other messages of the round are like it."""
    chunks = [str(c) for c in range(n)[m.part]]
    verb = "added to what is there" if m.add else "put in the place of what is there"
    name = "chunk" if len(chunks) == 1 else "chunks"
    return f"worker {m.source} sends worker {m.to} its {name} {join_names(chunks)}, to be {verb}."


def summed_up(sent: Sequence[Message], n: int, rounds: int) -> str:
    """The cost of a run in words: rounds cost latency, and the busiest worker's messages cost bandwidth."""
    busiest = max(([m.size for m in sent if m.source == i] for i in range(n)), key=sum)
    return (
        f"Each has the sum, after {rounds} rounds and {len(sent)} messages. No worker sent more than "
        f"{pluralize(len(busiest), 'message', 'messages')} with {sum(busiest)} chunks of 1/{n}, which is "
        f"{number(sum(busiest) / n)} times its vector. Had all sent their vectors to one, that one would have received "
        f"{pluralize(n - 1, 'whole vector', 'whole vectors')}, and sent as many."
    )
