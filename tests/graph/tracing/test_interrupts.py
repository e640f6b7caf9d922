"""A run that a signal handler interrupts ends at once: it is not run again, op by op, to find what failed."""

import io
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError
from tests.support.table import table

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")


class TimeLimit(Exception):
    """The error that a time limit raises."""


class Handler:
    """Handlers of each kind, which count their calls and stop the run at the first one that comes during a turn."""

    def method(self, signum, frame):
        raise TimeLimit

    def __call__(self, *given):
        self.helper()

    def helper(self):
        raise TimeLimit


def stop(signum, frame, error=TimeLimit):
    raise error("stop")


HANDLERS = {
    "a function": (stop, TimeLimit),
    "a method": (Handler().method, TimeLimit),
    "an object": (Handler(), TimeLimit),
    "a lambda": (lambda *given: stop(14, None), TimeLimit),
    "an error that ops raise too": (partial(stop, error=ValueError), ValueError),
    "an error of the engine": (partial(stop, error=GraphError), GraphError),
    "TimeoutError": (partial(stop, error=TimeoutError), TimeoutError),
    "Ctrl-C": (signal.default_int_handler, KeyboardInterrupt),
}


class Turns:
    """Counts the turns of a loop, and sends the signal in the third; fails if there are many more."""

    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        if self.count == 3:
            signal.raise_signal(signal.SIGALRM)
        assert self.count < 9, "the loop runs again"
        return x


class File(io.StringIO):
    """A slow file: the signal arrives while it is written to."""

    def __init__(self, turn):
        super().__init__()
        self.turn = turn

    def write(self, text):
        self.turn(text)
        return len(text)


def endless(turn, x):
    return mg.while_loop(lambda a: a.sum() > 0, lambda a: (mg.graph.py_func(turn, [a]) * 1,), (x,))[0]


def by_function(loop, turn, **options):
    return mg.function(lambda x: loop(turn, x), **options)(mg.ones(64))


def by_session(loop, turn, **options):
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (64,))
        y = loop(turn, x)
    with mg.Session(graph, **options) as session:
        return session.run(y, {x: np.ones(64)})


def by_gradient(loop, turn):
    x = mg.ones(64, requires_grad=True)
    return mg.function(lambda x: loop(turn, x))(x).sum().backward()


def fori(turn, x):
    return mg.lax.fori_loop(0, 10**9, lambda i, a: mg.graph.py_func(turn, [a]) * 1, x)


def scan(turn, x):
    return mg.lax.scan(lambda a, _: (mg.graph.py_func(turn, [a]) * 1, None), x, length=10**9)[0]


def printing(turn, x):
    return mg.while_loop(lambda a: a.sum() > 0, lambda a: (mg.print(a, file=File(turn)) * 1,), (x,))[0]


def in_a_branch(turn, x):
    return mg.cond(x.sum() > 0, lambda: endless(turn, x), lambda: x)


RUNS = {
    "while_loop": partial(by_function, endless), "fori_loop": partial(by_function, fori),
    "scan": partial(by_function, scan), "a branch": partial(by_function, in_a_branch),
    "a print": partial(by_function, printing), "compiled": partial(by_function, endless, jit_compile=True),
    "a gradient": partial(by_gradient, endless), "a session": partial(by_session, endless),
    "a session that traps NaN": partial(by_session, endless, trap_nan=True),
}  # fmt: skip


@pytest.fixture
def alarm():
    """A function that installs a handler, until the end of the test."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    before = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.signal(signal.SIGALRM, before)


@table("run", RUNS)
def test_a_loop_that_a_handler_stops_is_not_run_again(alarm, run):
    """The run was repeated, op by op, to find the op that failed; an endless loop then never ended."""
    alarm(stop)
    turn = Turns()
    with pytest.raises(TimeLimit):
        RUNS[run](turn)
    assert turn.count == 3


@table("handler", HANDLERS)
def test_the_error_that_a_handler_raises_is_not_changed(alarm, handler):
    raising, error = HANDLERS[handler]
    alarm(raising)
    turn = Turns()
    with pytest.raises(error) as caught:
        by_function(endless, turn)
    assert type(caught.value) is error
    assert turn.count == 3


def test_a_loop_without_effects_ends_at_a_time_limit(alarm):
    alarm(stop)
    loop = mg.function(lambda x, n: mg.while_loop(lambda a: a.sum() < n, lambda a: (a + 1,), (x,))[0])
    loop(mg.zeros(4), mg.tensor(8.0))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(TimeLimit):
        loop(mg.zeros(4), mg.tensor(np.inf))


def test_the_search_for_what_failed_can_be_interrupted(alarm):
    alarm(stop)
    calls = []

    def failing(x):
        calls.append(time.perf_counter())
        if len(calls) > 1:
            signal.raise_signal(signal.SIGALRM)
        raise ValueError("bad")

    with pytest.raises(TimeLimit):
        mg.function(lambda x: mg.graph.py_func(failing, [x]))(mg.tensor(1.0))
    assert len(calls) == 2


def test_an_error_of_an_op_still_names_the_op():
    def failing(x):
        raise ValueError("bad")

    with pytest.raises(GraphError, match=r"py_func\(failing\).* failed: bad"):
        mg.function(lambda x: mg.graph.py_func(failing, [x]))(mg.tensor(1.0))
