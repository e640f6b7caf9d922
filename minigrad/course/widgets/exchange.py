"""The two pictures of AllReduce: the workers with their messages, and a table of what each holds and has sent.

A chunk is drawn as a glass, filled by the share of the workers whose gradients are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from ...distributed.algorithms import Message
from ...draw.charts import picture
from ...draw.svg import text
from .stills import compact

Rounds = Sequence[Sequence[Message]]
HALF, LABEL, ROW, THIN, BAR = 22, 66, 32, 20, 240  # pixels: half a worker's height; then, sizes in the table
LEGEND = {"k1": "part of the sum", "k1 mg-source": "sent", "k1 mg-hot": "received", "forward": "complete"}


def glass(id: str, frame: tuple[float, ...], words: str, look: str = "k1") -> str:
    drawn = "M{:g},{:g}h{:g}v{:g}H{:g}z".format(*frame, frame[0])
    paths = f'<path class="mg-glass" d="{drawn}"/><path class="mg-frame" d="{drawn}"/>'
    return f'<g class="mg-{look}" data-id="{id}">{paths}{words}</g>'


def network(rounds: Rounds, order: Sequence[int], held: Sequence[Sequence[str]]) -> str:
    """The workers in this order around a ring, and the messages of each round."""
    n = len(order)
    step, angles = max(14, 64 // n), {worker: 2 * pi * k / n for k, worker in enumerate(order)}
    half = n * step / 2 + 7
    at = [complex(240 + 190 * sin(angles[i]), 202 - 135 * cos(angles[i])) for i in range(n)]
    lines = {
        f"M{xy(at[min(pair)])}L{xy(at[max(pair)])}" for sent in rounds for pair in ((m.source, m.to) for m in sent)
    }
    parts = [f'<path class="mg-wire" d="{"".join(sorted(lines))}"/>']
    for i, z in enumerate(at):
        x, y = z.real - half, z.imag - HALF
        parts += [
            f'<rect class="mg-worker" x="{x:.0f}" y="{y:.0f}" width="{2 * half:.0f}" height="{2 * HALF}" rx="8"/>'
        ]
        parts += [text("mg-name mg-sign", z.real, y + 15, f"worker {i}")]
        for c, words in enumerate(held[i]):
            frame = round(x) + 8 + c * step, round(y) + 20, step - 3, 19
            parts.append(glass(f"w{i}c{c}", frame, f'<title class="mg-value">{words}</title>'))
    for r, sent in enumerate(rounds, 1):
        parts.append(f'<g class="mg-round" data-id="r{r}">{"".join(message(m, at, half) for m in sent)}</g>')
    words = '<text class="mg-{}" data-id="{}" x="4" y="{}">{}</text>'
    parts += [words.format("name", "round", 16, "before round 1"), words.format("dim", "does", 34, "each has its own")]
    return finish("Who sends what to whom", 480, 362, parts, n)


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
    parts = [text("mg-sign mg-dim", LABEL + (c + 0.5) * wide, 14, f"chunk {c}") for c in range(n)]
    for i, row in enumerate(held):
        y = 22 + i * ROW
        parts.append(text("mg-number", LABEL - 8, y + 18, f"worker {i}"))
        for c, words in enumerate(row):
            label = text("mg-sign mg-value", LABEL + (c + 0.5) * wide, y + 18, words)
            parts.append(glass(f"w{i}c{c}", (LABEL + c * wide + 2, y, wide - 4, ROW - 4), label))
    y = 32 + n * ROW
    for k, (look, words) in enumerate(LEGEND.items()):
        x = (4, 128, 200, 296)[k]
        parts.append(glass("legend", (x, y, 16, 16), text("mg-dim", x + 21, y + 12, words), look))
    parts += wire(rounds, sizes, y + 42)
    return finish("What each worker holds, and has sent", LABEL + BAR + 114, y + 64 + n * THIN, parts, n)


def finish(title: str, wide: float, high: float, parts: Sequence[str], n: int) -> str:
    drawn = picture(title, wide, high, parts)
    return compact(drawn.replace('mg-chart"', f'mg-exchange" style="--n: {n}"', 1))


def wire(rounds: Rounds, sizes: Sequence[int], top: float) -> list[str]:
    """A bar for each worker, of what it sends in each round; and in outline, what it would send the naive way."""
    n, whole = len(sizes), sum(sizes)
    naive = [whole * (n - 1 if i == 0 else 1) for i in range(n)]
    sent = [[sum(sum(sizes[m.part]) for m in each if m.source == i) for each in rounds] for i in range(n)]
    scale = BAR / max(*naive, *map(sum, sent))
    parts = [text("mg-dim", 4, top - 8, "bytes sent (dashed: if worker 0 collected all, and sent the sum back)")]
    for i, row in enumerate(sent):
        y, x = top + i * THIN, float(LABEL)
        parts.append(text("mg-number", LABEL - 8, y + 13, f"worker {i}"))
        parts.append(f'<rect class="mg-naive" x="{x:g}" y="{y}" width="{naive[i] * scale:.1f}" height="16"/>')
        for r, size in enumerate(row, 1):
            if size:
                drawn = f"M{x:.0f},{y + 8}h{size * scale - 1:.1f}"
                parts.append(f'<path class="mg-sent" data-id="s{r}" d="{drawn}"/>')
            x += size * scale
        parts.append(f'<text data-id="b{i}" x="{LABEL + BAR + 8}" y="{y + 13}">0</text>')
    y = top + n * THIN + 16
    parts.append(f'<text class="mg-name" data-id="total" x="4" y="{y}">0 of {sum(map(sum, sent)):,} bytes sent</text>')
    return [*parts, text("mg-dim", 206, y, f"dashed: {sum(naive):,}, all by way of worker 0")]
