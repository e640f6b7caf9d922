"""Evaluate probes on a learner's work, which is never trusted, and return plain data.

A probe is an expression over the learner's names, such as `product(3, -2)`. Its value is copied into plain data
(numbers, strings, lists, dictionaries) by the methods of the base types, and only that data is compared later. So a
class that claims to be equal to everything gains nothing, and the verdict can be computed far from the code that is
judged.

Each probe runs on its own thread, in its own scope, without output or input, and is stopped when its time is up. Where
no thread can be started, as in a browser, a trace function checks the clock. Three things cannot be stopped this way:
a call into C that never returns, code that catches every exception for ever, and os._exit. So callers use a process
that can be killed: a fork in a notebook (fork.py), the sandbox in the grader. The sandbox loads this file for each
submission, so it does not import typing, ast or traceback: importing them takes longer than most probes.
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

BUSY = 10  # the wall-clock limit, as a multiple of the limit on CPU time
SLEEPING = 0.02  # share of a core below which a thread is blocked, not starved
SECONDS = 6.0  # limit for a probe: most take milliseconds, but a right answer may be slow
GRACE = 2.0  # CPU seconds for code to unwind after Stop is raised: unwinding 10⁵ calls takes that long
MOST_ITEMS = 10_000
MOST_BITS = 4096  # of an integer
DEEPEST = 20
LONGEST = 300  # characters of an exception's message
BASES: Any = ((int, int.__int__), (float, float.__float__), (str, str.__str__))
SEQUENCES = (list, tuple)
compile_cached = lru_cache(2)(compile)  # probes of one part share their preparation


class Outcome(namedtuple("Outcome", ("kind", "value", "told"), defaults=(None, ""))):
    """The outcome of a probe.

    kind     gave, raised, odd (not plain data), todo (not written yet), endless (stopped), stuck (could not be
             stopped), died (it ended the process it ran in)
    value    the value; or the name of the exception, or of the odd type
    told     the exception's message, and the line of the learner's code that raised it
    """

    __slots__ = ()

    def matches(self, other: Outcome) -> bool:
        """Whether both outcomes are equal; the messages of exceptions do not count."""
        return self.kind == other.kind and equal(self.value, other.value)

    @property
    def did_not_end(self) -> bool:
        """Whether the probe was stopped, could not be stopped, or ended its process."""
        return self.kind in ("endless", "stuck", "died")


class ProbeSource(namedtuple("ProbeSource", ("preparation", "expression"))):
    """An expression, and the statements to run before it, both as source text."""

    __slots__ = ()


class Stop(BaseException):
    """Raised inside a probe whose time is up."""


class Odd(Exception):
    """Raised for a value that is not plain data. The argument is the name of its type."""


class Nowhere(io.TextIOBase):
    """A stream that discards all output."""

    def write(self, text: str) -> int:
        return len(text)


def observe(probes: Iterable[ProbeSource], namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """Evaluate the probes on these names, in order, until one must be stopped. Returns their outcomes."""
    outcomes: list[Outcome] = []
    for probe in probes:
        outcomes.append(run_limited(partial(evaluate_probe, probe, namespace), seconds))
        if outcomes[-1].did_not_end:
            break
    return outcomes


def evaluate_probe(probe: ProbeSource, namespace: dict[str, Any]) -> Outcome:
    """Evaluate one probe. A builtin name such as `sum` is Python's here, even if the learner has redefined it."""
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
        if type(error) is NotImplementedError and not error.args:  # of a stub: the engine's has arguments
            return Outcome("todo", None, place(error, namespace)[0])
        return Outcome("raised", type(error).__name__, words(error, namespace))


def words(error: BaseException, namespace: dict[str, Any]) -> str:
    """The message of an exception, and the line of the learner's code that raised it."""
    try:
        said = cut(" ".join(str(error).split()))
    except Exception:
        said = ""
    said = said.encode("utf-8", "backslashreplace").decode()  # a lone surrogate cannot be shown or sent
    function, line = place(error, namespace)
    where = f"in line {line} of the cell of `{function}`" if function else ""
    return ", ".join(filter(None, [said, where]))


def cut(message: str) -> str:
    """The message, cut after a word if it is too long."""
    return message if len(message) <= LONGEST else f"{message[:LONGEST].rsplit(' ', 1)[0]} …"


def place(error: BaseException, namespace: dict[str, Any]) -> tuple[str, int]:
    """The learner's innermost named function that the exception passed through, and the innermost line.

    ("", 0) if there is none.
    """
    calls = [(frame.f_code.co_name, line) for frame, line in walk(error.__traceback__) if frame.f_globals is namespace]
    names = [name for name, _ in calls if not name.startswith("<")]  # a <lambda> is in the function around it
    return ((names or [calls[-1][0]])[-1], calls[-1][1]) if calls else ("", 0)


def walk(traceback: Any) -> Iterator[tuple[Any, int]]:
    """The frames of a traceback with their lines, the outermost first."""
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def run_limited(call: Callable[[], Outcome], seconds: float, enough: Callable[[], bool] = bool) -> Outcome:
    """Run a call on its own thread, without output. Returns its outcome; `endless` if it had to be stopped.

    seconds    of CPU time, if the system counts it for each thread: on a busy machine it may take longer by the clock
    enough     a function that returns whether to stop the call earlier
    """
    outcomes: list[Outcome] = []
    clocks: list[int] = []
    done = threading.Event()  # not join(): after an interrupt it takes the thread for ended

    def work() -> None:
        try:
            if hasattr(time, "pthread_getcpuclockid"):
                clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
            outcomes.append(call())
        except BaseException:
            outcomes.append(Outcome("endless"))  # Stop arrived just after the call ended
        finally:
            done.set()

    if sys.excepthook is None:  # the learner's code set it to None; threading needs it to start a thread
        sys.excepthook = sys.__excepthook__
    thread = threading.Thread(target=work, daemon=True)
    with silent(), ignore_late_stops():
        try:
            thread.start()
        except RuntimeError:  # no thread can be started, as in a browser
            return run_with_tracer(call, seconds)
        try:
            wait(done, clocks, seconds, enough)
        finally:  # also if the learner interrupts the kernel
            for _ in range(5):
                if not done.is_set():
                    stop(thread)
                    wait(done, clocks, GRACE / 5)
    return outcomes[0] if outcomes else Outcome("stuck")


def run_with_tracer(call: Callable[[], Outcome], seconds: float) -> Outcome:
    """run_limited() without a thread: check the clock before each line. Code that catches every exception goes on."""
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
    """Wait until the call is done or has used up its seconds of CPU time, or of wall time if it mostly sleeps.

    If CPU time is known, a gap of over ten intervals counts as ten, because the machine itself was suspended.
    """
    look, most = seconds / 40, seconds / 4 if hasattr(time, "pthread_getcpuclockid") else math.inf
    past, looked, before = 0.0, time.monotonic(), thread_cpu_seconds(clocks) if clocks else 0.0
    while not done.wait(look) and not enough():
        now, work = time.monotonic(), thread_cpu_seconds(clocks) - before
        past, looked = past + min(now - looked, most), now
        waits = past >= seconds and not SLEEPING * past < work < seconds
        if waits or past >= BUSY * seconds or seconds <= work < math.inf:
            return


def thread_cpu_seconds(clocks: list[int]) -> float:
    """The CPU seconds of a thread; infinite if unknown."""
    try:
        return time.clock_gettime(clocks[0]) if clocks else float("inf")
    except OSError:  # the thread has just ended
        return float("inf")


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """A block without output, in which `input` raises, as it does in the sandbox.

    An input box in the notebook would outlive the probe.
    """

    def ask(prompt: object = "") -> str:
        raise EOFError("input() does not work in a check: pass what the function needs as arguments")

    before, builtins.input = builtins.input, ask
    try:
        with contextlib.redirect_stdout(Nowhere()), contextlib.redirect_stderr(Nowhere()):
            yield
    finally:
        builtins.input = before


def stop(thread: threading.Thread) -> None:
    """Raise Stop in another thread, at its next bytecode."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Stop))


def halt(thread: threading.Thread, seconds: float) -> None:
    """Stop another thread. It may catch Stop and go on, so Stop is raised up to five times within `seconds`."""
    with ignore_late_stops():
        for _ in range(5):
            if thread.is_alive():
                stop(thread)
                thread.join(seconds / 5)


@contextlib.contextmanager
def ignore_late_stops() -> Iterator[None]:
    """Silence Python's report of a Stop that struck in a finalizer and so was lost: another Stop follows."""

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
    """Copy a value into base types. Raises Odd for anything else: an object, a class, too many items."""
    return copy_plain(value, count(), 0)


def copy_plain(x: Any, items: Iterator[int], depth: int) -> Any:
    kind = type(x)  # not x.__class__, which a learner's class can fake
    if next(items) > MOST_ITEMS or depth > DEEPEST:
        raise Odd(f"{kind.__name__} of more than {MOST_ITEMS} items or {DEEPEST} levels")
    if kind is float or x is None or kind is bool:
        return x
    if kind is int or kind is str:  # the most common types
        return short(x)
    if issubclass(kind, SEQUENCES):
        return [copy_plain(y, items, depth + 1) for y in (list if issubclass(kind, list) else tuple).__iter__(x)]
    for base, copy in BASES:
        if issubclass(kind, base):
            return short(copy(x))
    if issubclass(kind, dict):
        return {str(copy_plain(k, items, DEEPEST)): copy_plain(v, items, depth + 1) for k, v in dict.items(x)}
    return copy_plain(from_engine(x), items, depth)


def short(x: Any) -> Any:
    """The number or text itself. Raises Odd if it is too long."""
    if isinstance(x, int) and x.bit_length() > MOST_BITS:
        raise Odd(f"int of {x.bit_length()} bits")
    if isinstance(x, str) and len(x) > MOST_ITEMS:
        raise Odd(f"str of {len(x)} characters")
    return x


def from_engine(x: Any) -> Any:
    """The number in a Fraction, a Decimal or a Value, or the numbers in a Tensor. Raises Odd for any other object."""
    kind, module = type(x), sys.modules.get
    if kind is getattr(module("fractions"), "Fraction", None) or kind is getattr(module("decimal"), "Decimal", None):
        return int(x) if x == x and abs(x) < 1e30 and x == int(x) else float(x)
    if kind is getattr(module("minigrad.scalar.value"), "Value", None):
        return kind.data.__get__(x)
    if kind.__name__ in ("Tensor", "Parameter") and kind.__module__.startswith("minigrad."):
        try:
            return x.detach().numpy()
        except Exception:  # it has no numbers yet: it stands in a graph
            raise Odd(kind.__name__) from None
    return from_numpy(x)


def from_numpy(x: Any) -> Any:
    """A NumPy number or array as Python numbers. Raises Odd if it is neither."""
    np = sys.modules.get("numpy")
    if np is not None and issubclass(type(x), np.ndarray) and np.ndarray.size.__get__(x) <= MOST_ITEMS:
        return np.ndarray.tolist(x)
    if np is not None and issubclass(type(x), np.generic) and not issubclass(type(x), np.void | np.longdouble):
        return np.generic.item(x)
    raise Odd(type(x).__name__)


def equal(expected: Any, came: Any) -> bool:
    """Whether two plain data are equal: floats to six digits, integers exactly; True is not 1; NaN equals only NaN."""
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
