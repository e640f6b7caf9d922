"""Where no thread can be started, as in a browser, everything works all the same, and gives the same."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.probe import Outcome, run_limited
from minigrad.course.widgets import TrainingView
from minigrad.engine.base.spec import Spec
from minigrad.engine.base.threads import AtOnce, can_start, helpers, pool
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.program import program
from minigrad.graph.compiler.schedule import Workers

START = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"


def refuse_to_start(*args, **options):
    raise RuntimeError("can't start new thread")


@pytest.fixture
def alone(monkeypatch):
    """A system that starts no thread, and a function that runs a coroutine in one that is there already.

    The refusal is `threading`'s, raised in its place: after a true one, CPython up to 3.11 no longer delivers
    PyThreadState_SetAsyncExc to the thread that asked, and later tests of this process would never be stopped.
    """
    with ThreadPoolExecutor(1) as other:
        other.submit(int).result()
        monkeypatch.setattr(threading, START, refuse_to_start)
        helpers.cache_clear()
        yield lambda coroutine: other.submit(asyncio.run, coroutine).result()
        helpers.cache_clear()


def test_a_thread_can_be_started():
    assert can_start()


def test_a_system_without_room_for_another_stack_starts_no_thread():
    """In a process of its own, for what the refusal leaves behind."""
    code = """if True:
        import threading
        from minigrad.course.probe import run_limited
        from minigrad.engine.base.threads import AtOnce, can_start, pool

        threading.stack_size(1 << 46)
        assert not can_start()
        assert isinstance(pool(2, "nobody"), AtOnce)
        assert run_limited(lambda: [0 for _ in iter(int, 1)], 0.1).kind == "endless"
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_submitted_is_done_at_once(alone):
    done = []

    with pool(2, "nobody") as threads:
        one, other = threads.submit(done.append, 1), threads.submit(int, "x")

    assert isinstance(threads, AtOnce)
    assert done == [1]
    assert one.result() is None
    with pytest.raises(ValueError, match="invalid literal"):
        other.result()


def test_batches_come_in_order(alone):
    rows = list(range(10))

    batches = mg.data.DataLoader(rows, batch_size=4, num_workers=3)

    assert [b.tolist() for b in batches] == [rows[:4], rows[4:8], rows[8:]]


def test_a_graph_on_workers_and_blocks_on_threads_give_what_they_give_with_threads(alone):
    x = np.random.default_rng(0).standard_normal((512, 256))
    given = placeholder("x", Spec(x.shape, "f8"))
    both = given.exp()  # one worker would wait for it
    graph = Graph((given.node,), (((both * 2).tanh() + (both * 3).tanh()).sum().node,))

    assert Workers(graph, 2, lambda node: 1e-2)(x) == program.Program(graph)(x)
    assert program.Program(graph, threads=2)(x) == program.Program(graph)(x)


def endless():
    n = 0
    while True:
        n += 1


def test_an_endless_answer_is_stopped(alone):
    assert run_limited(endless, 0.2).kind == "endless"


def test_an_answer_that_ends_gives_what_it_gives(alone, capsys):
    def answer():
        print("not shown")
        return Outcome("gave", 3)

    assert run_limited(answer, 5.0) == Outcome("gave", 3)
    assert sys.gettrace() is None
    assert capsys.readouterr().out == ""


def view():
    rng = np.random.default_rng(0)
    model = mg.nn.Linear(2, 2, rng=rng)
    data = mg.tensor(rng.normal(size=(8, 2))), rng.integers(0, 2, 8)
    return TrainingView(model, mg.cross_entropy, data, mg.optim.SGD(model.parameters(), lr=0.3))


def test_training_has_its_turn_in_the_loop_and_hears_the_buttons(alone):
    async def buttons():
        shown = view().run(40)
        await asyncio.sleep(0)
        assert shown.alive
        shown.pause()
        while shown.state != "paused":
            await asyncio.sleep(0.01)
        paused = len(shown.losses)
        await asyncio.sleep(0.1)
        assert len(shown.losses) == paused
        shown.resume()
        while shown.alive:
            await asyncio.sleep(0.01)
        return shown

    shown = alone(buttons())

    assert shown.state == "finished"
    assert len(shown.losses) == 40


def test_waiting_for_a_training_is_to_do_it(alone, monkeypatch):
    async def waited():
        return view().run(40).wait()

    threaded, here = view(), alone(waited())
    monkeypatch.undo()
    threaded.run(40).wait()

    assert here.losses == threaded.losses
    assert here.state == threaded.state == "finished"
