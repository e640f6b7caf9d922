"""The AllReduce widget: workers exchange messages until each has the sum of all gradients.

Each worker's vector is cut into one chunk per worker. The widget runs the algorithms of distributed/algorithms.py
(ring, tree, halving) on these vectors and shows each round: the messages on their way, what each worker holds, and the
bytes that it has sent. A chunk is drawn as a glass, filled by the share of the workers whose gradients are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, pi, sin

import numpy as np

from ...distributed.algorithms import ALL_REDUCE, Message, messages, parts, stepped
from ...draw.charts import picture
from ...draw.svg import STYLE, text
from ...draw.words import join_names, number, pluralize
from .film import Choice, Cut, Film, Panel, Reel, combinations
from .stills import compact, state_after, still
from .widget import HERE

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "add up", "hand on", "done")
HALF, LABEL, ROW, THIN, BAR = 22, 66, 32, 20, 240  # pixels: half a worker's height; then, sizes in the table
LEGEND = {"k1": "part of the sum", "k1 mg-source": "sent", "k1 mg-hot": "received", "forward": "complete"}
Rounds = Sequence[Sequence[Message]]


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
        choices = [Choice("workers", [str(len(sizes)) for _, sizes, _ in runs]), Choice("algorithm", [*ALL_REDUCE])]
        reels = [reel(*runs[w], [*ALL_REDUCE][a]) for w, a in combinations(choices)]
        super().__init__("All-reduce by messages", PHASES, reels, choices if gradients is None else choices[1:])
        if gradients is None:
            self.choice = [WORKERS.index(4), 0]

    @property
    def svg(self) -> str:
        """Both pictures after the last round in which chunks are added up."""
        state = state_after([step for step in self.steps if step["phase"] in PHASES[:2]])
        drawn = [("", still(panel["html"], *state)) for panel in self.film["panels"]]
        return self.place_in_rows(drawn)


def cut_up(gradients: Sequence[Sequence[float]]) -> tuple[np.ndarray, list[int], bool]:
    """The sum of each chunk of each vector, the bytes of each chunk, and whether a chunk has several elements.

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
    return np.array(sums), [vectors[0][chunk].nbytes for chunk in chunks], length > n


@np.errstate(all="ignore")  # the widget shows NaN and infinity
def reel(held: np.ndarray, sizes: list[int], is_summed: bool, algorithm: str) -> Reel:
    """The film of one run."""
    n = len(held)
    order = [i for i in (4, 0, 2, 3, 1, 5) if i < n] if algorithm == "halving" else range(n)  # partners are neighbours
    rounds, words = [*messages(ALL_REDUCE[algorithm], n, n)], [[*map(short, row)] for row in held]
    panels = Panel("", network(rounds, order, words)), Panel("", holdings(rounds, words, sizes))
    return Reel(panels, list(cuts(held.copy(), sizes, algorithm, rounds, is_summed)))


def short(x: float) -> str:
    """x in the width of a cell: all digits of a whole number below a million, else three."""
    return number(x, 6 if x % 1 == 0 else 3)


def part(worker: int, chunk: int) -> str:
    """The id of the blocks for one worker's copy of a chunk."""
    return f"w{worker}c{chunk}"


def cuts(held: np.ndarray, sizes: list[int], algorithm: str, rounds: Rounds, is_summed: bool) -> Iterator[Cut]:
    """A cut for each round, then a summary. `is_summed`: a chunk has several elements, and its number is their sum."""
    n, counts, gone = len(held), np.ones(held.shape, int), [0] * len(held)  # gone: the bytes that each has sent
    total = sum(sum(sizes[m.part]) for sent in rounds for m in sent)
    say = f"{n} workers, each with a gradient of its own, cut into {n} chunks. Each wants the sum."
    yield Cut(PHASES[0], say + " The number of a chunk is the sum of its elements." * is_summed)
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
    past = {"past": [f"r{r}" for r in range(1, len(rounds) + 1)]}
    say = summed_up(sum(map(len, rounds)), len(rounds), max(gone), sum(sizes), n)
    yield Cut(PHASES[3], say, text=done, hot=past)


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


def summed_up(sent: int, rounds: int, most: int, whole: int, n: int) -> str:
    """The cost of a run in words: rounds cost latency, and the most bytes that a worker sent cost bandwidth."""
    return (
        f"Each has the sum, after {rounds} rounds and {sent} messages. No worker sent more than {most:,} bytes, "
        f"{number(most / whole)} times its vector. Had all sent theirs to worker 0, it would have received "
        f"{(n - 1) * whole:,} bytes, and sent as many."
    )


# -- the pictures ---------------------------------------------------------------------------------------


def glass(id: str, frame: tuple[float, ...], words: str, look: str = "k1") -> str:
    path = "M{:g},{:g}h{:g}v{:g}H{:g}z".format(*frame, frame[0])
    paths = f'<path class="mg-glass" d="{path}"/><path class="mg-frame" d="{path}"/>'
    return f'<g class="mg-{look}" data-id="{id}">{paths}{words}</g>'


def network(rounds: Rounds, order: Sequence[int], held: Sequence[Sequence[str]]) -> str:
    """The workers in this order around a ring, and the messages of each round."""
    n = len(order)
    step, angles = max(14, 64 // n), {worker: 2 * pi * k / n for k, worker in enumerate(order)}
    half = n * step / 2 + 7
    at = [complex(240 + 190 * sin(angles[i]), 202 - 135 * cos(angles[i])) for i in range(n)]
    pairs = sorted({(min(m.source, m.to), max(m.source, m.to)) for sent in rounds for m in sent})
    drawn = [f'<path class="mg-wire" d="{"".join(f"M{xy(at[a])}L{xy(at[b])}" for a, b in pairs)}"/>']
    for i, z in enumerate(at):
        x, y = z.real - half, z.imag - HALF
        drawn.append(f'<path class="mg-worker" d="M{x:.0f},{y:.0f}h{2 * half:.0f}v{2 * HALF}H{x:.0f}z"/>')
        drawn.append(text("mg-name mg-sign", z.real, y + 15, f"worker {i}"))
        for c, words in enumerate(held[i]):
            frame = round(x) + 8 + c * step, round(y) + 20, step - 3, 19
            drawn.append(glass(part(i, c), frame, f'<title class="mg-value">{words}</title>'))
    for r, sent in enumerate(rounds, 1):
        drawn.append(f'<g class="mg-round" data-id="r{r}">{"".join(message(m, at, half) for m in sent)}</g>')
    drawn.append('<text class="mg-name" data-id="round" x="4" y="16">before round 1</text>')
    drawn.append('<text class="mg-dim" data-id="does" x="4" y="34">each has its own</text>')
    return finish("Who sends what to whom", 480, 362, drawn, n)


def message(m: Message, at: Sequence[complex], half: float) -> str:
    """An arrow beside the line between two workers, the name of what it carries, and a token that travels."""
    n, ahead = len(at), (at[m.to] - at[m.source]) / abs(at[m.to] - at[m.source])
    gap = 4 + min(half / (abs(ahead.real) or 1e-9), HALF / (abs(ahead.imag) or 1e-9))
    tail, tip = at[m.source] + ahead * (gap - 8j), at[m.to] - ahead * (gap + 8j)
    chunks = [*map(str, range(n)[m.part])]
    words = f"chunks {chunks[0]}–{chunks[-1]}" if len(chunks) > 1 else f"chunk {chunks[0]}"
    name, way, wide = tail + 0.28 * (tip - tail), tail - tip, 6.2 * len(words) - 4
    head = "L".join(xy(tip - ahead * each) for each in (9 + 5j, 0, 9 - 5j))
    return (
        f'<path class="mg-sends" d="M{xy(tail)}L{xy(tip)}M{head}"/>'
        f'<path class="mg-cargo" d="M{xy(name - wide / 2)}h{wide:.0f}"/>'
        f"{text('mg-sign', name.real, name.imag + 4, words)}"
        f'<circle class="mg-token" cx="{tip.real:.0f}" cy="{tip.imag:.0f}" '
        f'style="--dx:{way.real:.0f}px;--dy:{way.imag:.0f}px"/>'
    )


def xy(z: complex) -> str:
    return f"{z.real:.0f},{z.imag:.0f}"


def holdings(rounds: Rounds, held: Sequence[Sequence[str]], sizes: Sequence[int]) -> str:
    """What each worker holds of each chunk, a legend, and the bytes that each has sent."""
    n, wide = len(held), min(86, 352 // len(held))
    drawn = [text("mg-sign mg-dim", LABEL + (c + 0.5) * wide, 14, f"chunk {c}") for c in range(n)]
    for i, row in enumerate(held):
        y = 22 + i * ROW
        drawn.append(text("mg-number", LABEL - 8, y + 18, f"worker {i}"))
        for c, words in enumerate(row):
            label = text("mg-sign mg-value", LABEL + (c + 0.5) * wide, y + 18, words)
            drawn.append(glass(part(i, c), (LABEL + c * wide + 2, y, wide - 4, ROW - 4), label))
    y = 32 + n * ROW
    for k, (look, words) in enumerate(LEGEND.items()):
        x = (4, 140, 216, 318)[k]
        drawn.append(glass("legend", (x, y, 16, 16), text("mg-dim", x + 21, y + 12, words), look))
    drawn += wire(rounds, sizes, y + 46)
    return finish("What each worker holds, and has sent", LABEL + BAR + 184, y + 68 + n * THIN, drawn, n)


def finish(title: str, wide: float, high: float, drawn: Sequence[str], n: int) -> str:
    return compact(picture(title, wide, high, drawn).replace('mg-chart"', f'mg-exchange" style="--n: {n}"', 1))


def wire(rounds: Rounds, sizes: Sequence[int], top: float) -> list[str]:
    """A bar for each worker: the bytes of each round. The outline: worker 0's bytes if it sent the sum to all."""
    n = len(sizes)
    naive = sum(sizes) * (n - 1)
    sent = [[sum(sum(sizes[m.part]) for m in each if m.source == i) for each in rounds] for i in range(n)]
    most = max(map(sum, sent))
    scale = BAR / max(naive, most)
    total = f'<tspan class="mg-name" data-id="total">0 of {sum(map(sum, sent)):,} bytes sent</tspan>'
    alone = f'<tspan class="mg-dim">; if worker 0 sent all: {naive:,}</tspan>' * (most < naive)
    drawn = [f'<text class="mg-message" x="4" y="{top - 8}">Each sends ≤ {most:,} bytes{alone}</text>']
    outline = f'<rect class="mg-naive" x="{LABEL}" y="{top}" width="{naive * scale:.1f}" height="16"/>'
    for i, row in enumerate(sent):
        y, x = top + i * THIN, float(LABEL)
        drawn.append(text("mg-number", LABEL - 8, y + 13, f"worker {i}"))
        for r, size in enumerate(row, 1):
            if size:
                path = f"M{x:.0f},{y + 8}h{size * scale - 1:.1f}"
                drawn.append(f'<path class="mg-sent" data-id="s{r}" d="{path}"/>')
            x += size * scale
        drawn.append(f'<text data-id="b{i}" x="{LABEL + BAR + 8}" y="{y + 13}">0</text>')
    note = '<tspan class="mg-dim"> (dashed: if worker 0 sent all)</tspan>'
    return [*drawn, outline, f'<text x="4" y="{top + n * THIN + 16}">{total}{note}</text>']
