"""A simulated GPU made of NumPy: its arrays obey CuPy's rules, and count what is expensive on a GPU.

    launches    kernel launches: an op on one number costs as much as one on ten thousand
    copies      transfers between host and device, and their bytes
    syncs       waits: reading a value (float, bool, item, get) waits for everything before it

The rules are CuPy's, or stricter. Nothing converts to NumPy implicitly. Host arrays and lists do not mix with device
arrays. A reduction returns a 0-d array, never a number. A name or a parameter that CuPy lacks (cupy.txt) raises an
error, and so does an index out of range, which CuPy would wrap round.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NoReturn

import numpy as np

from ...engine.base.errors import DeviceError


@cache
def contract() -> dict[str, list[str]]:
    """CuPy's names: name → its parameters (* for any number), or ['ufunc'], or ['value']."""
    lines = files(__package__).joinpath("cupy.txt").read_text("utf-8").splitlines()
    return {name: parameters for name, *parameters in (line.split() for line in lines[1:])}


def check_parameters(name: str, parameters: list[str], args: Any, options: Any) -> None:
    """Raises TypeError for a parameter that CuPy's function lacks."""
    unknown = set(options) - set(parameters)
    if unknown and parameters.count("*") < 2 and parameters != ["*"]:
        raise TypeError(f"CuPy's {name} has no parameter {', '.join(sorted(unknown))}")
    if "*" not in parameters and len(args) > len(parameters):
        raise TypeError(f"CuPy's {name} takes {len(parameters)} arguments, got {len(args)}")


@dataclass
class Counts:
    """The device's work in a block of code.

    launches    kernel launches
    copies      transfers between host and device, and their bytes
    syncs       values read, each of which waits for everything before it
    """

    launches: int = 0
    copies: int = 0
    bytes: int = 0
    syncs: int = 0


ACTIVE: list[Counts] = []  # shared by all threads, as the device is

Tape = list[Callable[[], Any]]


class Thread(threading.local):
    """How a thread treats its launches.

    tapes     the active recordings, innermost last; per thread, because CUDA records one stream
    inside    whether the thread is simulating the inside of a kernel
    """

    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        self.inside = False

    counts = property(lambda self: [] if self.inside else ACTIVE, doc="The counts to update; none inside a kernel.")


THREAD = Thread()


@contextmanager
def counting() -> Iterator[Counts]:
    """Count the work of a block. Blocks nest; outer ones count inner work too."""
    counts = Counts()
    ACTIVE.append(counts)
    try:
        yield counts
    finally:
        ACTIVE[:] = [c for c in ACTIVE if c is not counts]


@contextmanager
def recording() -> Iterator[Tape]:
    """Record the launches of a block on a tape. Assignments, kernels and products do not run; NumPy functions do."""
    tape: Tape = []
    THREAD.tapes.append(tape)
    try:
        yield tape
    finally:
        THREAD.tapes.pop()


@contextmanager
def as_one_kernel() -> Iterator[None]:
    """A block that counts as the inside of one kernel: nothing in it is counted or recorded."""
    before = THREAD.inside, THREAD.tapes
    THREAD.inside, THREAD.tapes = True, []
    try:
        yield
    finally:
        THREAD.inside, THREAD.tapes = before


def launch_kernel(again: Callable[[], Any], run: bool = False) -> None:
    """Record or count one kernel launch.

    again    repeats the kernel's work
    run      whether to do the work now, unless the launch is recorded
    """
    if THREAD.tapes:
        THREAD.tapes[-1].append(again)
        return
    for counts in THREAD.counts:
        counts.launches += 1
    if run:
        again()


def refuse_while_recording(what: str) -> None:
    """Raises DeviceError inside a recording: CUDA, or CuPy, cannot record this operation."""
    if THREAD.tapes:
        raise DeviceError(f"{what} cannot be recorded: a stream that is being captured accepts only launches")


def count_copy(host: np.ndarray) -> None:
    """Count one copy between host and device."""
    refuse_while_recording("a copy between host and device")
    for counts in THREAD.counts:
        counts.copies += 1
        counts.bytes += host.nbytes


def read(host: np.ndarray) -> np.ndarray:
    """Count the wait and the copy that reading an array takes; return the array."""
    count_sync()
    count_copy(host)
    return host


def count_sync() -> None:
    """Count one wait of the host for the device."""
    refuse_while_recording("reading a value")
    for counts in THREAD.counts:
        counts.syncs += 1


# -- arrays -----------------------------------------------------------------------------------------


class Array:
    """An array on the simulated device."""

    __slots__ = ("__weakref__", "base", "host")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: np.ndarray, base: Array | None = None):
        self.host = host
        self.base = base  # the array whose memory this one is a view of

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return read(self.host).copy()

    def item(self) -> Any:
        return read(self.host).item()

    def tolist(self) -> Any:
        return read(self.host).tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"simulated.{self.host!r}"

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError("a device array does not convert to a NumPy array implicitly: call .get()")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return call(name, getattr(ufunc, method), args, options)

    def __array_function__(self, f: Any, types: Any, args: Any, options: Any) -> Any:
        return getattr(xp, f.__name__)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        parameters = contract().get(f".{name}")
        if parameters is None:
            raise AttributeError(f"CuPy arrays have no attribute .{name}")
        value = getattr(self.host, name)
        if parameters == ["value"]:
            return wrap_result(value, [self])

        def method(*args: Any, **options: Any) -> Any:
            check_parameters(f"ndarray.{name}", parameters, args, options)
            return call(name, getattr(type(self.host), name), (self, *args), options)

        return method

    def __getitem__(self, index: Any) -> Any:
        return call("getitem", np.ndarray.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse_host((index, value), "setitem")
        if holds(index, "biu") and not isinstance(value, Array):
            count_copy(np.asarray(value))  # a number is copied as an array
        if holds(index, "b"):
            count_sync()
        launch_kernel(lambda: self.host.__setitem__(unwrap_arrays(index), unwrap_arrays(value)), run=True)


def operator(name: str) -> Callable[..., Any]:
    """Python's operator of that name, on device arrays."""
    ours = getattr(np.ndarray, name)

    def method(self: Array, *others: Any) -> Any:
        if any(isinstance(o, list | tuple) or hasattr(o, "__array_priority__") for o in others):
            return NotImplemented
        y = call(name, ours, (self, *others), {})
        return self if name.startswith("__i") and name != "__invert__" else y

    return method


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
UNARY = ["neg", "pos", "abs", "invert"]
COMPARED = ["lt", "le", "gt", "ge", "eq", "ne"]
for _name in [*BINARY, *UNARY, *COMPARED, *(f"r{n}" for n in BINARY), *(f"i{n}" for n in BINARY)]:
    setattr(Array, f"__{_name}__", operator(f"__{_name}__"))


# -- the module ------------------------------------------------------------------------------------------


class Namespace:
    """The module in place of `cupy`: it has CuPy's names and no others."""

    def __init__(self, numpy: Any, prefix: str = ""):
        self.numpy = numpy
        self.prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = self.prefix + name
        parameters = contract().get(full)
        if name.startswith("_") or parameters is None:
            raise AttributeError(f"CuPy has no {full}: ops must run on every device, so they cannot use it")
        value = getattr(self.numpy, name)
        if parameters == ["value"]:
            made = value
        elif parameters == ["ufunc"]:
            made = Ufunc(value)
        else:
            made = function(full, value, parameters)
        setattr(self, name, made)  # later lookups find the attribute
        return made

    @cached_property
    def linalg(self) -> Namespace:
        return Namespace(self.numpy.linalg, "linalg.")

    @cached_property
    def lib(self) -> Any:
        return Lib()

    def asarray(self, a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None) -> Array:
        """Copy a host array to the device; return a device array as it is."""
        if isinstance(a, Array) and not copy and (dtype is None or a.host.dtype == dtype):
            return a
        if isinstance(a, Array):
            return call("asarray", np.array, (a,), {"dtype": dtype, "order": order})  # type: ignore[no-any-return]
        if isinstance(a, list | tuple) and any(isinstance(element, Array) for element in a):
            return xp.stack([xp.asarray(element, dtype) for element in a])  # type: ignore[no-any-return]
        host = np.array(a, dtype, order=order)
        count_copy(host)
        return Array(host)

    def array(self, obj: Any, dtype: Any = None, copy: bool = True, order: Any = None) -> Array:
        return self.asarray(obj, dtype, order, copy=copy)

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> Array:
        return self.asarray(a, dtype, "C") if not isinstance(a, Array) else call("", np.ascontiguousarray, (a,), {})

    def asnumpy(self, a: Any) -> np.ndarray:
        return a.get() if isinstance(a, Array) else np.asarray(a)


class Lib:
    """The part of `cupy.lib` that is simulated."""

    stride_tricks = Namespace(np.lib.stride_tricks, "lib.stride_tricks.")


class Ufunc:
    """An elementwise function with the parameters and methods that CuPy has."""

    def __init__(self, ours: np.ufunc):
        self.ours = ours
        self.__name__ = ours.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        check_parameters(self.__name__, ["*", "out", "dtype", "casting"], args, options)
        if any(isinstance(x, list) for x in args):
            raise TypeError(f"CuPy's {self.__name__} takes arrays and numbers, got a list")
        return call(self.__name__, self.ours, args, options)

    def at(self, a: Array, indices: Any, b: Any = None) -> None:
        """Unbuffered a[indices] ∘= b: atomic operations on a GPU, only for the dtypes that have them."""
        atomic = {"add": "iIlLqQefd", "subtract": "iIlLqQ", "maximum": "iIlLqQfd", "minimum": "iIlLqQfd"}
        if self.__name__ not in atomic:
            raise NotImplementedError(f"CuPy has no {self.__name__}.at")
        if a.dtype.char not in atomic[self.__name__]:
            raise TypeError(f"CuPy has no {self.__name__}.at for {a.dtype}")
        refuse_host((indices, b), f"{self.__name__}.at")
        if not isinstance(b, Array):
            count_copy(np.asarray(b))
        launch_kernel(lambda: self.ours.at(a.host, unwrap_arrays(indices), unwrap_arrays(b)), run=True)

    def __getattr__(self, name: str) -> Any:
        if name not in ("reduce", "accumulate", "reduceat", "outer"):
            raise AttributeError(f"CuPy has no {self.__name__}.{name}")
        return function(f"{self.__name__}.{name}", getattr(self.ours, name), ["*", "axis", "dtype", "out", "keepdims"])


def function(name: str, ours: Callable[..., Any], parameters: list[str]) -> Callable[..., Any]:
    """A NumPy function restricted to the parameters of CuPy's."""

    def call_numpy(*args: Any, **options: Any) -> Any:
        check_parameters(name, parameters, args, options)
        return call(name, ours, args, options)

    call_numpy.__name__ = name
    return call_numpy


# -- a call -----------------------------------------------------------------------------------------------

FREE = {"empty", "empty_like", "broadcast_arrays"}  # these only allocate or make views: no kernel
UNRECORDED = {"matmul", "dot", "vdot", "inner", "tensordot", "einsum", "rmatmul", "sort", "argsort"}  # cuBLAS, thrust
UNRECORDED |= {"nan_to_num"}  # copies its numbers from the host
JOINED, FEW = {"concatenate", "stack"}, 8  # for more arrays, CuPy copies their addresses to the device
INDEXED = {"getitem", "take", "take_along_axis"}
SIZED = {"nonzero", "flatnonzero", "argwhere", "unique", "compress", "extract"}  # the host must learn the length
WAITS = SIZED | {"lib.stride_tricks.sliding_window_view"}  # CuPy copies the window's length to the device and reads it


def call(name: str, ours: Callable[..., Any], args: Any, options: Any) -> Any:
    """Run a NumPy function on device arrays: one launch, unless the result is a view."""
    given = (*args, *options.values())
    refuse_host(given, name)

    def compute(bare_index: Callable[[Any], Any] = unwrap_arrays) -> Any:
        first, *others = map(unwrap_arrays, args[:1]), *map(bare_index, args[1:])
        return ours(*first, *others, **{key: bare_index(value) for key, value in options.items()})

    y = compute(zero_indices if THREAD.tapes and name in INDEXED else unwrap_arrays)
    sources = [x for x in given if isinstance(x, Array)]
    written = next((x for x in sources if y is x.host), None)
    results = y if isinstance(y, list | tuple) else [y]
    computed = any(isinstance(r, np.ndarray | np.generic) and source_of(r, sources) is None for r in results)
    made = wrap_result(y, sources) if written is None else written
    if written is not None or (computed and name not in FREE):
        launch_kernel(lambda: renew(made, compute()))
    if name in WAITS or (name == "getitem" and holds(args[1], "b")):
        count_sync()
    if name.strip("_") in UNRECORDED or name.startswith("linalg.") or (name in JOINED and len(args[0]) > FEW):
        refuse_while_recording(f"CuPy's {name}")
    return made


def renew(made: Any, ys: Any) -> None:
    """Write the new results of a launch into the arrays that the launch made when it was recorded."""
    if isinstance(made, Array):
        np.copyto(made.host, ys)
    else:
        for old, y in zip(made, ys, strict=True):
            np.copyto(old.host, y)


def source_of(y: Any, sources: list[Array]) -> Array | None:
    """The array whose memory y shares, if y is a view."""
    seen = (x for x in sources if isinstance(y, np.ndarray) and np.may_share_memory(y, x.host))
    return next((x if x.base is None else x.base for x in seen), None)


def refuse_host(values: Any, name: str) -> None:
    """Raises TypeError if a host array is among the values."""
    for value in values:
        if isinstance(value, np.ndarray):
            raise TypeError(f"{name} on the device got a host array of shape {value.shape}: move it there first")
        if isinstance(value, tuple | list):
            refuse_host(value, name)


def holds(index: Any, kinds: str) -> bool:
    """Whether an index contains an array of one of these dtype kinds."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Array) and part.dtype.kind in kinds for part in parts)


def unwrap_arrays(x: Any) -> Any:
    """x with device arrays replaced by the NumPy arrays inside."""
    if isinstance(x, Array):
        return x.host
    if isinstance(x, Ufunc):
        return x.ours
    return type(x)(map(unwrap_arrays, x)) if type(x) in (list, tuple) else x


def zero_indices(x: Any) -> Any:
    """x unwrapped while recording. Integer arrays, which may be indices that nothing has computed yet, become 0."""
    if isinstance(x, tuple):
        return tuple(map(zero_indices, x))
    host = unwrap_arrays(x)
    return np.zeros_like(host) if isinstance(x, Array) and host.dtype.kind in "iu" else host


def wrap_result(y: Any, sources: list[Array]) -> Any:
    """A result as device arrays; numbers become 0-d arrays."""
    if isinstance(y, np.ndarray | np.generic):
        return Array(np.asarray(y), source_of(y, sources))
    if isinstance(y, tuple):  # CuPy returns plain tuples where NumPy returns named ones
        return tuple(wrap_result(element, sources) for element in y)
    return [wrap_result(element, sources) for element in y] if isinstance(y, list) else y


xp = Namespace(np)
