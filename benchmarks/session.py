"""The overhead of Session.run above its arithmetic: µs a call, best of many rounds. Prints JSON.

The program alone shows the cost of a call without the session.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.graph import Graph
from minigrad.graph.placeholder import placeholder
from minigrad.graph.session import Session
from minigrad.graph.variable import Variable

ROUNDS, CALLS = 20, 500


def best(call: Callable[[], Any]) -> float:
    """µs of CPU time."""
    call()
    spent = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        for _ in range(CALLS):
            call()
        spent.append((time.process_time() - start) / CALLS)
    return 1e6 * min(spent)


def figures() -> dict[str, dict[str, float]]:
    with Graph().as_default() as graph:
        x = placeholder("float32", (3,))
        y = x + 1.0
        v = Variable(np.zeros(3, "f4"))
        moved = v.assign_add(np.ones(3, "f4"))
    given = {x: np.zeros(3, "f4")}
    with Session(graph) as session:
        session.run(v.initializer)
        calls: dict[str, Callable[[], Any]] = {
            "y = x + 1, x fed": lambda: session.run(y, given),
            "[y, y], x fed": lambda: session.run([y, y], given),
            "{…} of a variable": lambda: session.run({"v": v}),
            "v ← v + 1": lambda: session.run(moved),
        }
        rows = {name: {"µs": best(call)} for name, call in calls.items()}
        session.run(y, given)
        program, array = session.last_run.run.program, given[x]
    return rows | {"the first's program alone": {"µs": best(lambda: program(array))}}


if __name__ == "__main__":
    print(json.dumps(figures()))
