"""A server's metrics for Prometheus, in its client library prometheus_client, which JupyterLab installs too.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = tuple(float(1 << power) for power in range(11))
COUNTERS = {
    "minigrad_requests_total": ("Inference requests, by status.", "status"),
    "minigrad_reloads_total": ("Versions loaded, by result.", "result"),
}
HISTOGRAMS = {
    "minigrad_request_seconds": ("Time from the first byte of a request to its answer.", SECONDS),
    "minigrad_queue_seconds": ("Time a request waited for its batch to begin.", SECONDS),
    "minigrad_run_seconds": ("Time a batch took in the model.", SECONDS),
    "minigrad_batch_rows": ("Rows in a batch.", ROWS),
}


class Metrics:
    """Counters and histograms of one server, with one series per model and other label."""

    def __init__(self) -> None:
        self.registry, kinds = CollectorRegistry(), dict[str, Any]()
        for name, (about, by) in COUNTERS.items():
            kinds[name] = Counter(name, about, ["model", by], registry=self.registry)
        for name, (about, limits) in HISTOGRAMS.items():
            kinds[name] = Histogram(name, about, ["model"], registry=self.registry, buckets=limits)
        self.series = cache(lambda name, **labels: kinds[name].labels(**labels))  # a look-up is as slow as counting

    def count(self, name: str, **labels: str) -> None:
        self.series(name, **labels).inc()

    def observe(self, name: str, value: float, **labels: str) -> None:
        self.series(name, **labels).observe(value)

    def __str__(self) -> str:
        return generate_latest(self.registry).decode()
