"""Bars for the class report, as SVG with the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, GAP = 520, 160, 0.2


def bars(title: str, what: str, counts: Sequence[tuple[str, int]]) -> str:
    """A bar for each count."""
    if not counts:
        return ""
    step, most = WIDTH / len(counts), max(1, *(n for _, n in counts))
    marks = [
        f'<rect x="{i * step + GAP * step / 2:.1f}" y="{HEIGHT * (1 - n / most) + 16:.1f}" '
        f'width="{step * (1 - GAP):.1f}" height="{HEIGHT * n / most:.1f}" fill="#0072b2"/>'
        f'<text x="{(i + 0.5) * step:.1f}" y="{HEIGHT * (1 - n / most) + 12:.1f}">{n or ""}</text>'
        f'<text x="{(i + 0.5) * step:.1f}" y="{HEIGHT + 34}">{escape(label)}</text>'
        for i, (label, n) in enumerate(counts)
    ]
    words = ", ".join(f"{label}: {n}" for label, n in counts if n) or "none"
    look = 'font-size="14" text-anchor="middle" fill="currentColor"'
    return (
        f'<h3>{escape(title)}</h3><svg role="img" aria-label="{escape(what)}: {escape(words)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + 44}" {look} style="max-width:{WIDTH}px;width:100%">{"".join(marks)}</svg>'
    )
