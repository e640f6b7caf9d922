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
from ...draw.charts import compact as compact_number
from ...draw.charts import picture
from ...draw.svg import STYLE, text, text_width
from ...draw.words import join_names, number, pluralize
from .film import Choice, Cut, Film, Panel, Reel, combinations
from .stills import compact, state_after, still
from .widget import HERE

WORKERS = (2, 3, 4, 5, 6)
PHASES = ("given", "add up", "hand on", "done")
HALF, LABEL, ROW, THIN, BAR = 27, 66, 32, 20, 220  # pixels: half the height of a worker; sizes in the table
TANK = 9  # pixels: width of the gauge in a cell
HUES = [f'color="{hue}"' for hue in ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#8c564b", "#56b4e9")]  # of chunks
LEGEND = {"part": "part of the sum", "source": "sent", "hot": "received", "forward": "complete"}
Rounds = Sequence[Sequence[Message]]
Area = tuple[complex, float, float]  # its middle, width and height


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
        self.held = [runs[w][0] for w, _ in combinations(choices)]
        if gradients is None:
            self.choice = [WORKERS.index(4), 0]

    @property
    def text(self) -> str:
        """All steps in words, each followed by the numbers that each worker holds."""
        lines, held = super().text.splitlines(), self.held[self.number]
        for k in range(len(lines)):
            now = state_after(self.steps[: k + 1])[0]
            rows = ((now.get(part(i, c), short(x)) for c, x in enumerate(row)) for i, row in enumerate(held))
            lines[k] += "\n   " + "; ".join(f"worker {i}: {', '.join(row)}" for i, row in enumerate(rows))
        return "\n".join(lines)

    @property
    def svg(self) -> str:
        """Both pictures after the last round in which chunks are added up."""
        state = state_after([step for step in self.steps if step["phase"] in PHASES[:2]])
        drawn = [("", still(panel["html"], *state)) for panel in self.film["panels"]]
        return self.place_in_rows(drawn)


def cut_up(gradients: Sequence[Sequence[float]]) -> tuple[np.ndarray, list[int], list[int]]:
    """The sum of each chunk of each vector, the bytes of each chunk, and its elements if not all have one.

    Raises ValueError for vectors that cannot be cut into chunks."""
    n = len(gradients)
    found = {len(vector) for vector in gradients}
    if n not in WORKERS or len(found) != 1:
        raise ValueError(f"gradients: expected 2 to 6 vectors of equal length, got {n} of lengths {sorted(found)}")
    (length,) = found
    if length < n:
        raise ValueError(f"each vector is cut into {n} chunks, one per worker, but has only {length} elements")
    vectors, chunks = [*map(np.asarray, gradients)], [parts(length, n, c) for c in range(n)]
    sums = [[float(vector[chunk].sum()) for chunk in chunks] for vector in vectors]
    lengths = [len(vectors[0][chunk]) for chunk in chunks] * (length > n)
    return np.array(sums), [vectors[0][chunk].nbytes for chunk in chunks], lengths


@np.errstate(all="ignore")  # the widget shows NaN and infinity
def reel(held: np.ndarray, sizes: list[int], lengths: list[int], algorithm: str) -> Reel:
    """The film of one run."""
    n = len(held)
    order = [i for i in (4, 0, 2, 3, 1, 5) if i < n] if algorithm == "halving" else range(n)  # partners are neighbours
    rounds, words = [*messages(ALL_REDUCE[algorithm], n, n)], [[*map(short, row)] for row in held]
    sums = [*equations(held.copy(), algorithm)]
    panels = Panel("", network(rounds, order, words, sums)), Panel("", holdings(rounds, words, sizes, lengths))
    return Reel(panels, list(cuts(held.copy(), sizes, algorithm, rounds, bool(lengths))))


def equations(held: np.ndarray, algorithm: str) -> Iterator[list[str]]:
    """For each round, what each message does to its first chunk: 2200 + 2 → 2202, or the new number if it replaces."""
    before = held.copy()
    for sent in stepped(ALL_REDUCE[algorithm], [*held]):
        words = list[str]()
        for m in sent:
            c, more = m.part.start or 0, " …" * (m.part.stop - m.part.start > 1)
            adds = f"{short(before[m.source][c])} + {short(before[m.to][c])}".replace("+ −", "− ") * m.add
            words.append(f"{adds}{' → ' * m.add}{short(held[m.to][c])}{more}")
        before = held.copy()
        yield words


def short(x: float) -> str:
    """x in the width of a cell: all digits of a whole number below a million, else three."""
    return number(x, 6 if float(x).is_integer() else 3)


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
        example = "For example, " * (len(sent) > 1) + describe_message(sent[0], n)
        say = f"{name}, {pluralize(len(sent), 'message', 'messages')}. {example[0].upper()}{example[1:]}"
        yield round_cut(r, say, texts, sent, held, counts)
    assert (counts == n).all()
    done = {"round": f"after {len(rounds)} rounds", "does": "each has the sum"}
    say = summed_up(sum(map(len, rounds)), len(rounds), max(gone), sum(sizes), n)
    yield Cut(PHASES[3], say, text=done)


def round_cut(
    r: int, say: str, texts: dict[str, str], sent: Sequence[Message], held: np.ndarray, counts: np.ndarray
) -> Cut:
    """The cut after one round: the chunks that changed, how full they are, and which of them are complete."""
    n, adds = len(held), any(m.add for m in sent)
    to = {part(m.to, c): (m.to, c) for m in sent for c in range(n)[m.part]}
    source = [part(m.source, c) for m in sent for c in range(n)[m.part]]
    texts["does"] = "received chunks are added" if adds else "received chunks are complete"
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
        f"{number(most / whole)} times its vector. Had all sent theirs to worker 0, worker 0 would have "
        f"received {(n - 1) * whole:,} bytes, and sent as many back."
    )


# -- the pictures ---------------------------------------------------------------------------------------


def glass(look: str, frame: tuple[float, ...], words: str, tank: float = 0) -> str:
    """A frame with a gauge, `tank` pixels wide or as wide as the frame. At first the gauge is 1 / n full."""
    path = "M{0:g},{1:g}h{2:g}v{3:g}h-{2:g}z"
    around, inside = (path.format(*frame[:2], wide, frame[3]) for wide in (frame[2], tank or frame[2]))
    return f'<g {look}><path d="{around}"/><path d="{inside}"/>{words}</g>'


def network(rounds: Rounds, order: Sequence[int], held: Sequence[Sequence[str]], sums: Sequence[Sequence[str]]) -> str:
    """The workers in this order around a ring, and the messages of each round, which do `sums`."""
    n = len(order)
    step, angles = max(14, 64 // n), {worker: 2 * pi * k / n for k, worker in enumerate(order)}
    half = n * step / 2 + 7
    at = [complex(245 + 192 * sin(angles[i]), 212 - 142 * cos(angles[i])) for i in range(n)]
    ways = {(m.source, m.to) for sent in rounds for m in sent}
    pairs = sorted({(min(m.source, m.to), max(m.source, m.to)) for sent in rounds for m in sent})
    drawn = [f'<path class="mg-wire" d="{"".join(f"M{xy(at[a])}L{xy(at[b])}" for a, b in pairs)}"/>']
    for r, sent in enumerate(rounds, 1):
        labels = draw_messages(sent, at, half, ways, sums[r - 1])
        drawn.append(f'<g class="mg-round" data-id="r{r}">{labels}</g>')
    for i, z in enumerate(at):
        x, y = z.real - half, z.imag - HALF
        drawn.append(f'<path class="mg-worker" d="M{x:.0f},{y:.0f}h{2 * half:.0f}v{2 * HALF}H{x:.0f}z"/>')
        drawn.append(text("mg-name mg-sign", z.real, y + 15, f"worker {i}"))
        for c, words in enumerate(held[i]):
            frame = round(x) + 8 + c * step, round(y) + 20, step - 3, 17
            drawn.append(glass(f'{HUES[c]} data-id="{part(i, c)}"', frame, f'<title class="mg-value">{words}</title>'))
        places = ",".join(f"{round(x) + 8 + (c + 0.5) * step - 1.5:g}" for c in range(n))
        drawn.append(f'<text class="mg-sign" x="{places}" y="{y + 49:.0f}">{"".join(map(str, range(n)))}</text>')
    drawn.append('<text class="mg-name" data-id="round" x="4" y="16">before round 1</text>')
    drawn.append('<text class="mg-dim" data-id="does" x="4" y="34">each has its own</text>')
    return finish("Who sends what to whom", 490, 386, drawn, n)


def draw_messages(
    sent: Sequence[Message], at: Sequence[complex], half: float, ways: set[tuple[int, int]], sums: Sequence[str]
) -> str:
    """A round's messages between boxes with the middles `at`; an arrow is shifted if one of `ways` goes back."""
    routes = [route(at[m.source], at[m.to], half, 10 * ((m.to, m.source) in ways)) for m in sent]
    taken = [(82 + 19j, 170.0, 44.0), *((z, 2 * half + 8, 2.0 * HALF + 8) for z in at)]
    taken += [(edge - 5 * (tip - tail) / abs(tip - tail), 20.0, 20.0) for tail, tip, edge in routes]
    each, both = list[tuple[str, str]](), {(m.to, m.source) for m in sent}
    for m, way, does in zip(sent, routes, sums):
        each.append(message(range(len(at))[m.part], way, 14 * ((m.source, m.to) in both), does, taken, len(at)))
    return "".join(arrow for arrow, _ in each) + "".join(label for _, label in each)  # labels cover arrows


def route(tail: complex, tip: complex, half: float, shift: float) -> list[complex]:
    """An arrow between the middles of boxes, but `shift` pixels aside: its tail, its tip, and its end at the box."""
    ahead = (tip - tail) / abs(tip - tail)
    tail, tip = tail - shift * 1j * ahead, tip - shift * 1j * ahead
    return [tail, tip, tip - ahead * (3 + min(half / max(abs(ahead.real), 1e-9), HALF / max(abs(ahead.imag), 1e-9)))]


def message(chunks: range, way: list[complex], aside: float, does: str, taken: list[Area], n: int) -> tuple[str, str]:
    """An arrow; its label, about `aside` pixels beside it, outside of areas that are `taken`; and a moving token."""
    tail, tip, edge = way
    back, ahead = tail - tip, (tip - tail) / abs(tip - tail)
    does *= n < 5 or len(chunks) in (1, n)  # else there is no room for the sum
    words = f"{'chunks ' * bool(does)}{chunks[0]} to {chunks[-1]}" if len(chunks) > 1 else f"chunk {chunks[0]}"
    wide, high = (max(text_width(does, 12) - 22, text_width(words, 12) - 17), 34) if does else (26, 18)
    name = place_label((tail + tip) / 2 - aside * 1j * ahead, wide + high, high, taken)
    head = "L".join(xy(edge - ahead * each) for each in (9 + 6j, 0, 9 - 6j))
    x, y, hue = round(name.real), round(name.imag), HUES[chunks[0]] * (len(chunks) == 1)
    label = f'<text x="{x}" y="{y - 4 if does else y + 4}">{words}</text>'
    label += f'<text class="mg-name" x="{x}" y="{y + 11}">{does}</text>' * bool(does)
    label = f'<path class="mg-cargo{"" if does else " mg-thin"}" d="M{xy(name - wide / 2)}h{wide:.0f}"/>{label}'
    place = f'cx="{tip.real:.0f}" cy="{tip.imag:.0f}" style="--dx:{back.real:.0f}px;--dy:{back.imag:.0f}px"'
    arrow = f'<path {hue} class="mg-sends" d="M{xy(tail)}L{xy(tip)}M{head}"/>'
    return arrow, f'<g {hue}>{label}<circle class="mg-token" {place}/></g>'


def place_label(near: complex, wide: float, high: float, taken: list[Area]) -> complex:
    """The middle of a label of this size, near a point, but outside of the areas `taken`. Adds its own area to them."""
    x, y = np.meshgrid(np.arange(wide / 2, 490 - wide / 2, 4), np.arange(high / 2, 387 - high / 2, 4))
    cost = np.hypot(x - near.real, y - near.imag)
    for z, across, down in taken:
        over = (across + wide) / 2 - abs(x - z.real), (down + high) / 2 - abs(y - z.imag)
        cost += 9 * np.prod(np.clip(over, 0, None), axis=0)
    taken.append((complex(x.flat[cost.argmin()], y.flat[cost.argmin()]), wide + 4, high + 4))
    return taken[-1][0]


def xy(z: complex) -> str:
    return f"{z.real:.0f},{z.imag:.0f}"


def holdings(rounds: Rounds, held: Sequence[Sequence[str]], sizes: Sequence[int], lengths: Sequence[int]) -> str:
    """What each worker holds of each chunk, a legend, and the bytes that each has sent.

    lengths    how many elements a chunk's number is the sum of; empty if each is one element
    """
    n, wide = len(held), min(86, 352 // len(held))
    top = 38 if lengths else 22
    drawn = [text("mg-sign mg-dim", LABEL + (c + 0.5) * wide, 12, f"chunk {c}") for c in range(n)]
    for c, length in enumerate(lengths):
        fits = f"{length:,} numbers" if 7 * len(f"{length:,} numbers") < wide else compact_number(length)
        drawn.append(text("mg-sign mg-dim", LABEL + (c + 0.5) * wide, 27, fits))
    drawn.append(text("mg-number mg-dim", LABEL - 8, 27, "sum of" * bool(lengths)))
    drawn += [f'<path class="mg-bar" {HUES[c]} d="M{LABEL + c * wide + 2},{top - 4}h{wide - 4}"/>' for c in range(n)]
    for i, row in enumerate(held):
        y = top + i * ROW
        drawn.append(text("mg-number", LABEL - 8, y + 18, f"worker {i}"))
        for c, words in enumerate(row):
            label = text("mg-sign mg-value", LABEL + (c + 0.5) * wide + TANK / 2 - 2, y + 18, words)
            frame = LABEL + c * wide + 2, y, wide - 4, ROW - 4
            drawn.append(glass(f'{HUES[c]} data-id="{part(i, c)}"', frame, label, TANK))
    y = top + 10 + n * ROW
    for k, (look, words) in enumerate(LEGEND.items()):
        x = (4, 140, 216, 318)[k]
        drawn.append(glass(f'class="mg-{look}" data-id=""', (x, y, 16, 16), text("mg-dim", x + 21, y + 12, words)))
    drawn += wire(rounds, sizes, y + 46)
    return finish("What each worker holds, and has sent", LABEL + BAR + 164, y + 74 + n * THIN + THIN, drawn, n)


def finish(title: str, wide: float, high: float, drawn: Sequence[str], n: int) -> str:
    return compact(picture(title, wide, high, drawn).replace('mg-chart"', f'mg-exchange" style="--n: {n}"', 1))


def wire(rounds: Rounds, sizes: Sequence[int], top: float) -> list[str]:
    """A bar for each worker: the bytes of each round. Below: worker 0's bytes if it collected and sent all."""
    n = len(sizes)
    naive = sum(sizes) * (n - 1)
    sent = [[(r, m) for r, each in enumerate(rounds, 1) for m in each if m.source == i] for i in range(n)]
    most = max(sum(sum(sizes[m.part]) for _, m in row) for row in sent)
    scale, total = BAR / max(naive, most), sum(sum(sizes[m.part]) for each in rounds for m in each)
    rather = f'<tspan class="mg-dim">; naive: ≤ {naive:,}</tspan>' * (most < naive)
    drawn = [f'<text class="mg-message" x="4" y="{top - 8}">Each sends ≤ {most:,} bytes{rather}</text>']
    for i, row in enumerate(sent):
        y, x = top + i * THIN, float(LABEL)
        drawn.append(text("mg-number", LABEL - 8, y + 13, f"worker {i}"))
        for r, m in row:
            size = sum(sizes[m.part]) * scale
            hue = HUES[range(n)[m.part][0]] * (m.part.stop - m.part.start == 1)
            drawn.append(f'<path class="mg-sent" {hue} data-id="s{r}" d="M{x:.0f},{y + 8}h{size - 1:.1f}"/>')
            x += size
        drawn.append(f'<text data-id="b{i}" x="{LABEL + BAR + 8}" y="{y + 13}">0</text>')
    y = top + n * THIN + 2
    drawn.append(f'<rect class="mg-naive" x="{LABEL}" y="{y}" width="{naive * scale:.1f}" height="16"/>')
    drawn.append(text("mg-number mg-dim", LABEL - 8, y + 13, "naive"))
    drawn.append(text("mg-dim", LABEL + 6, y + 12, "if worker 0 sent all"))
    drawn.append(text("", LABEL + BAR + 8, y + 13, f"{naive:,}"))
    return [*drawn, f'<text class="mg-name" data-id="total" x="4" y="{y + 38}">0 of {total:,} bytes sent</text>']
