"""What a server counts, in the text that Prometheus reads.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = tuple(float(1 << power) for power in range(11))
COUNTERS = {
    "minigrad_requests_total": "Requests to infer, by the status that was answered.",
    "minigrad_reloads_total": "Versions loaded, by whether that went well.",
}
HISTOGRAMS = {
    "minigrad_request_seconds": ("From the first byte of a request to its answer.", SECONDS),
    "minigrad_queue_seconds": ("What a request waited for its batch to begin.", SECONDS),
    "minigrad_run_seconds": ("What a batch took in the model.", SECONDS),
    "minigrad_batch_rows": ("Rows of a batch.", ROWS),
}
Series = tuple[str, tuple[tuple[str, str], ...]]


class Metrics:
    """Counters and histograms, each a series for each set of labels. Used from one thread."""

    def __init__(self) -> None:
        self.counts: dict[Series, float] = {}
        self.seen: dict[Series, list[int]] = {}
        self.sums: dict[Series, float] = {}

    def count(self, name: str, **labels: str) -> None:
        series = name, (*labels.items(),)
        self.counts[series] = self.counts.get(series, 0) + 1

    def observe(self, name: str, value: float, **labels: str) -> None:
        series, limits = (name, (*labels.items(),)), HISTOGRAMS[name][1]
        if series not in self.seen:
            self.seen[series], self.sums[series] = [0] * (len(limits) + 1), 0.0
        self.seen[series][bisect_left(limits, value)] += 1
        self.sums[series] += value

    def lines(self) -> Iterator[str]:
        for name, about in COUNTERS.items():
            yield from (f"# HELP {name} {about}", f"# TYPE {name} counter")
            yield from (line(series, n) for series, n in self.counts.items() if series[0] == name)
        for name, (about, limits) in HISTOGRAMS.items():
            yield from (f"# HELP {name} {about}", f"# TYPE {name} histogram")
            for (of, labels), seen in self.seen.items():
                if of == name:
                    for limit, n in zip((*map(str, limits), "+Inf"), accumulate(seen)):
                        yield line((f"{name}_bucket", (*labels, ("le", limit))), n)
                    yield line((f"{name}_sum", labels), self.sums[name, labels])
                    yield line((f"{name}_count", labels), sum(seen))

    def __str__(self) -> str:
        return "\n".join([*self.lines(), ""])


def line(series: Series, value: float) -> str:
    name, labels = series
    text = ",".join(f'{label}="{escaped(said)}"' for label, said in labels)
    return f"{name}{{{text}}} {value}"


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
