"""Where one step of minigrad spends its time: by op, and by function.

By op: the engine tells a watcher of each op and of each derivative as it is done, and the time since the last news is
laid to its account: the array's arithmetic, the engine's own work and the watcher's price (about a microsecond)
together; the first derivative of a backward bears the sorting of the graph as well. Beside it, the bytes that the op
was the first to keep for backward, leaves not counted. By function: cProfile, which charges every Python call some
tenths of a microsecond, so that it overstates what is made of many small calls. Both are maps; the plain time above
them is the measure.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from minigrad.core.modes import watching

from . import engines
from .workloads import WORKLOADS

FUNCTIONS = 25


class Account:
    """A watcher that keeps, by op and specs: how often it came, how long it took, what it kept.

    arrays    id → each array that is kept or is a leaf's, held so that the id stays its own
    """

    def __init__(self) -> None:
        self.count: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, dict[str, float]] = defaultdict(lambda: {"forward": 0.0, "backward": 0.0})
        self.kept: dict[str, int] = defaultdict(int)
        self.arrays: dict[int, Any] = {}
        self.last = time.process_time()

    def saw(self, op: Any, y: Any, xs: tuple[Any, ...]) -> None:
        label = self.charge("forward", op, xs)
        self.count[label] += 1
        for x in xs:
            if x.is_leaf:
                self.first_seen(x.value)
        if y.node is not None:
            self.kept[label] += sum(self.first_seen(array) for array in y.node.saved or ())
        self.last = time.process_time()

    def pulled(self, node: Any, gy: Any, gxs: Any) -> None:
        self.charge("backward", node.op, node.inputs)
        self.last = time.process_time()

    def charge(self, phase: str, op: Any, operands: tuple[Any, ...]) -> str:
        """Lays the time since the last news to an op on operands of such specs, and gives that name."""
        spent = time.process_time() - self.last
        label = f"{op}({', '.join(str(x.spec) for x in operands)})"
        self.seconds[label][phase] += spent
        return label

    def first_seen(self, array: Any) -> int:
        """Bytes of the array's memory, if it has not been met."""
        while getattr(array, "base", None) is not None:
            array = array.base
        if id(array) in self.arrays:
            return 0
        self.arrays[id(array)] = array
        return int(getattr(array, "nbytes", 0))


def by_op(step: Callable[[], Any], repeats: int) -> str:
    """A line for each op and its operands, with what a step pays for it."""
    account = Account()
    with watching(account):
        for _ in range(repeats):
            account.arrays.clear()
            account.last = time.process_time()
            step()
    lines = [f"{'op':<64}{'count':>7}{'forward µs':>12}{'backward µs':>13}{'sum':>10}{'keeps kB':>10}"]
    for label, seconds in sorted(account.seconds.items(), key=lambda pair: -sum(pair[1].values())):
        forward, backward = (seconds[phase] / repeats * 1e6 for phase in ("forward", "backward"))
        name = label if len(label) < 64 else label[:62] + "…"
        times = f"{forward:>12.1f}{backward:>13.1f}{forward + backward:>10.1f}"
        kept = account.kept[label] / repeats / 1000
        lines.append(f"{name:<64}{account.count[label] / repeats:>7.0f}{times}{kept:>10.1f}")
    return "\n".join(lines)


def by_function(step: Callable[[], Any], repeats: int) -> str:
    """A line for each function, by the time spent in itself."""
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(repeats):
        step()
    profiler.disable()
    stats: Any = pstats.Stats(profiler)
    rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:FUNCTIONS]
    lines = [f"{'calls':>8}{'own µs':>10}{'with calls':>12}  function"]
    for (file, line, name), (_, calls, own, inclusive, _) in rows:
        where = name if file == "~" else f"{'/'.join(file.split('/')[-2:])}:{line} {name}"
        lines.append(f"{calls / repeats:>8.0f}{own / repeats * 1e6:>10.1f}{inclusive / repeats * 1e6:>12.1f}  {where}")
    return "\n".join(lines)


def plain(step: Callable[[], Any], rounds: int = 15) -> float:
    """Best CPU seconds of an undisturbed step."""
    step()
    start = time.process_time()
    step()
    steps = max(1, int(0.05 / (time.process_time() - start)))
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        for _ in range(steps):
            step()
        best = min(best, (time.process_time() - start) / steps)
    return best


def profile(name: str) -> str:
    """The whole account of a workload on minigrad; backward is what forward and update leave of a step."""
    run = engines.run("minigrad", WORKLOADS[name])

    def step() -> None:
        for stage in run.stages.values():
            stage()

    seconds = {"step": plain(step)} | {part: plain(f) for part, f in run.parts.items()}
    if run.parts:
        seconds["backward"] = seconds["step"] - sum(seconds[part] for part in run.parts)
    repeats = max(1, int(0.25 / seconds["step"]))
    plainly = ", ".join(f"{part} {s * 1e6:.1f}" for part, s in seconds.items())
    return "\n\n".join([f"{name}, µs a step: {plainly}", by_op(step, repeats), by_function(step, repeats)])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(profile(sys.argv[1]))
