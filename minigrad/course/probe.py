"""Probes in, plain data out: how a learner's work is looked at, and never trusted.

A probe is an expression over the learner's names, as `product(3, -2)`. What it gives is copied into plain data
(numbers, strings, lists, dictionaries) through the base types themselves, and everything after that is a comparison of
data. So a class that claims to be equal to everything is just a class, and a verdict can be reached far from the code
that is judged.

Each probe runs on a thread of its own, in a scope of its own, with its output discarded and nobody to ask, and is
stopped when its time is up; where no thread can be started, as in a browser, it looks at the clock itself. What cannot
be stopped so: one call into C that never returns, code that catches every exception for ever, and os._exit. Whoever
looks does so in a process that can be ended: apart.py does it in a notebook, and the grader in its sandbox. There
this file is loaded for each submission, so it imports no typing, ast or traceback: they take longer than most probes.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import io
import math
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUSY = 10  # times as long by the clock as in work, at most
SLEEPING = 0.02  # of a core: less has a thread that waits, and not one that others keep waiting
SECONDS = 2.0  # for a probe: they take milliseconds, and a slow disk may have to load a module first
GRACE = 2.0  # seconds of work that code may take to stop when told to: so long does it take to leave 10⁵ calls
UNENDED = ("endless", "stuck", "died")  # kinds of outcomes: it was stopped, could not be, or ended its process
MOST_ITEMS = 10_000
MOST_BITS = 4096  # of a whole number
DEEPEST = 20
BASES: Any = ((int, int.__int__), (float, float.__float__), (str, str.__str__))
SEQUENCES = (list, tuple)
compile_cached = lru_cache(2)(compile)  # probes of one part share their preparation


class Outcome(namedtuple("Outcome", ("kind", "value", "told"), defaults=(None, ""))):
    """What became of a probe.

    kind     gave, raised, odd (no plain data), todo (not written yet), endless (stopped), stuck (could not be stopped),
             died (it ended the process it ran in)
    value    what it gave; or the name of the exception, or of the odd type
    told     the exception's own words, and where in the learner's code it came from
    """

    __slots__ = ()

    def matches(self, other: Outcome) -> bool:
        """Whether both came out the same, whatever words an exception had."""
        return self.kind == other.kind and equal(self.value, other.value)


class Probe(namedtuple("Probe", ("preparation", "expression"))):
    """An expression, and the statements that it needs to have run; texts, both."""

    __slots__ = ()


class Stop(BaseException):
    """Raised inside a probe whose time is up."""


class Odd(Exception):
    """A value that is no plain data; its argument is the name of its type."""


class Nowhere(io.TextIOBase):
    """A stream that keeps nothing, however much is printed."""

    def write(self, text: str) -> int:
        return len(text)


def observe(probes: Iterable[Probe], namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """What each probe gives on these names. After one that had to be stopped, the rest are not run."""
    outcomes: list[Outcome] = []
    for probe in probes:
        outcomes.append(limited(partial(evaluated, probe, namespace), seconds))
        if outcomes[-1].kind in UNENDED:
            break
    return outcomes


def evaluated(probe: Probe, namespace: dict[str, Any]) -> Outcome:
    """One probe. A name such as `sum` is Python's own here, whatever the learner has put under it."""
    scope = {name: value for name, value in namespace.items() if not hasattr(builtins, name)}
    try:
        exec(compile_cached(probe.preparation, "<probe>", "exec"), scope)
        value = eval(compile_cached(probe.expression, "<probe>", "eval"), scope)
        return Outcome("todo") if value is ... else Outcome("gave", plain(value))
    except Odd as odd:
        return Outcome("odd", str(odd))
    except Stop:
        return Outcome("endless")
    except BaseException as error:  # sys.exit in an answer must end neither the kernel nor the check
        if type(error) is NotImplementedError and not error.args:  # a stub's; the engine's own says what is missing
            return Outcome("todo", None, place(error, namespace)[0])
        return Outcome("raised", type(error).__name__, words(error, namespace))


def words(error: BaseException, namespace: dict[str, Any]) -> str:
    """What an exception says, and the line of the learner's code it came from."""
    try:
        said = " ".join(str(error).split())[:300]
    except Exception:
        said = ""
    said = said.encode("utf-8", "backslashreplace").decode()  # half a character cannot be shown, or sent
    function, line = place(error, namespace)
    where = f"in line {line} of the cell of `{function}`" if function else ""
    return ", ".join(filter(None, [said, where]))


def place(error: BaseException, namespace: dict[str, Any]) -> tuple[str, int]:
    """The innermost function of the learner's that an exception came through, and the line; "" if there is none."""
    calls = [(frame.f_code.co_name, line) for frame, line in walk(error.__traceback__) if frame.f_globals is namespace]
    return calls[-1] if calls else ("", 0)


def walk(traceback: Any) -> Iterator[tuple[Any, int]]:
    """The frames that an exception came through, the outermost first, each with its line."""
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def limited(call: Callable[[], Outcome], seconds: float, enough: Callable[[], bool] = bool) -> Outcome:
    """What the call gives on a thread of its own, silently; `endless` if it had to be stopped.

    seconds    of work, where the system counts a thread's: on a busy machine it may take longer by the clock
    enough     whether to stop it before
    """
    outcomes: list[Outcome] = []
    clocks: list[int] = []
    done = threading.Event()  # a join that is interrupted takes the thread for ended, and so cannot be relied on

    def work() -> None:
        try:
            if hasattr(time, "pthread_getcpuclockid"):
                clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
            outcomes.append(call())
        except BaseException:
            outcomes.append(Outcome("endless"))  # the word to stop came a moment after the end
        finally:
            done.set()

    if sys.excepthook is None:  # a learner's code set it; threading cannot start a thread without it
        sys.excepthook = sys.__excepthook__
    thread = threading.Thread(target=work, daemon=True)
    with silent(), said_again():
        try:
            thread.start()
        except RuntimeError:  # there is no other thread, as in a browser
            return timed(call, seconds)
        try:
            wait(done, clocks, seconds, enough)
        finally:  # also when the learner interrupts the kernel
            for _ in range(5):
                if not done.is_set():
                    stop(thread)
                    wait(done, clocks, GRACE / 5)
    return outcomes[0] if outcomes else Outcome("stuck")


def timed(call: Callable[[], Outcome], seconds: float) -> Outcome:
    """The same where there is but one thread: it looks at the clock before each line. Code that catches all goes on."""
    until = time.monotonic() + seconds

    def look(frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and time.monotonic() > until:
            raise Stop
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        return call()
    except Stop:
        return Outcome("endless")
    finally:
        sys.settrace(before)


def wait(done: threading.Event, clocks: list[int], seconds: float, enough: Callable[[], bool] = bool) -> None:
    """Until it is done, or has had so many seconds; what sleeps, or waits for others, has them by the wall clock.

    Where a thread's work is known, a look that comes ten times too late tells that the machine stood still.
    """
    look, most = seconds / 40, seconds / 4 if hasattr(time, "pthread_getcpuclockid") else math.inf
    past, looked, before = 0.0, time.monotonic(), worked(clocks) if clocks else 0.0
    while not done.wait(look) and not enough():
        now, work = time.monotonic(), worked(clocks) - before
        past, looked = past + min(now - looked, most), now
        waits = past >= seconds and not SLEEPING * past < work < seconds
        if waits or past >= BUSY * seconds or seconds <= work < math.inf:
            return


def worked(clocks: list[int]) -> float:
    """Seconds that a thread has had of a core; infinite where that is not known."""
    try:
        return time.clock_gettime(clocks[0]) if clocks else float("inf")
    except OSError:  # it has ended in this moment
        return float("inf")


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """A block in which what is printed is kept nowhere, and `input` raises as it does in a sandbox.

    A box in the notebook would outlive the probe.
    """

    def ask(prompt: object = "") -> str:
        raise EOFError("input() has nobody to ask in a check: what a function needs comes in as its arguments")

    before, builtins.input = builtins.input, ask
    try:
        with contextlib.redirect_stdout(Nowhere()), contextlib.redirect_stderr(Nowhere()):
            yield
    finally:
        builtins.input = before


def stop(thread: threading.Thread) -> None:
    """Raise Stop in another thread, at its next step in Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Stop))


def halt(thread: threading.Thread, seconds: float) -> None:
    """Stop another thread: it is told again and again for so many seconds, for it may catch the word and go on."""
    with said_again():
        for _ in range(5):
            if thread.is_alive():
                stop(thread)
                thread.join(seconds / 5)


@contextlib.contextmanager
def said_again() -> Iterator[None]:
    """A block in which a Stop that arrives in a finalizer, where Python drops it, is not reported: another follows."""

    def report(dropped: Any) -> None:
        if dropped.exc_type is not Stop:
            before(dropped)

    before, sys.unraisablehook = sys.unraisablehook, report
    try:
        yield
    finally:
        sys.unraisablehook = before


# -- plain data -------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A copy of the value in base types. Raises Odd for what is none: an object, a class, too much of anything."""
    return copied(value, count(), 0)


def copied(x: Any, items: Iterator[int], depth: int) -> Any:
    kind = type(x)  # the true one: x.__class__ is the learner's to write
    if next(items) > MOST_ITEMS or depth > DEEPEST:
        raise Odd(f"{kind.__name__} of more than {MOST_ITEMS} items or {DEEPEST} levels")
    if kind is float or x is None or kind is bool:
        return x
    if kind is int or kind is str:  # as most are
        return short(x)
    if issubclass(kind, SEQUENCES):
        return [copied(y, items, depth + 1) for y in (list if issubclass(kind, list) else tuple).__iter__(x)]
    for base, copy in BASES:
        if issubclass(kind, base):
            return short(copy(x))
    if issubclass(kind, dict):
        return {str(copied(k, items, DEEPEST)): copied(v, items, depth + 1) for k, v in dict.items(x)}
    return copied(from_numpy(x), items, depth)


def short(x: Any) -> Any:
    """A number or a text, of no more than can be written down. Raises Odd."""
    if isinstance(x, int) and x.bit_length() > MOST_BITS:
        raise Odd(f"int of {x.bit_length()} bits")
    if isinstance(x, str) and len(x) > MOST_ITEMS:
        raise Odd(f"str of {len(x)} characters")
    return x


def from_numpy(x: Any) -> Any:
    """A NumPy number or array as Python numbers. Raises Odd if it is neither."""
    np = sys.modules.get("numpy")
    if np is not None and issubclass(type(x), np.ndarray) and np.ndarray.size.__get__(x) <= MOST_ITEMS:
        return np.ndarray.tolist(x)
    if np is not None and issubclass(type(x), np.generic) and not issubclass(type(x), np.void | np.longdouble):
        return np.generic.item(x)
    raise Odd(type(x).__name__)


def equal(expected: Any, came: Any) -> bool:
    """Whether two plain data are the same: numbers to six digits, whole numbers exactly, True not 1, NaN only NaN."""
    if isinstance(expected, bool) or isinstance(came, bool):
        return expected is came
    if isinstance(expected, int | float) and isinstance(came, int | float):
        return close(expected, came)
    if isinstance(expected, list) and isinstance(came, list):
        return len(expected) == len(came) and all(map(equal, expected, came))
    if isinstance(expected, dict) and isinstance(came, dict):
        return expected.keys() == came.keys() and all(equal(expected[key], came[key]) for key in expected)
    return type(expected) is type(came) and bool(expected == came)


def close(a: float, b: float) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    try:
        a, b = float(a), float(b)
    except OverflowError:
        return False
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
