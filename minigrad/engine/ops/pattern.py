"""Parse the index of `x[index]` into a hashable pattern, and the integer arrays that replace its ARRAY entries."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from ..base.device import CPU, device_of
from ..base.dimension import Dimension, Length, bounds, clamped, formula, is_unknown, require_known
from ..base.errors import BoundsError, DTypeError, ShapeError
from ..base.spec import Spec, broadcast_shape


class Slice(NamedTuple):
    """A hashable slice; Python's own slices are not hashable before 3.12."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None


WHOLE = (int, Length)  # types of integers in a pattern
ARRAY = "array"  # stands for an operand in a pattern
PLACES = "places"  # stands for an operand made from a mask: its places are all different

Pattern = tuple[Slice | int | EllipsisType | str | None, ...]


# -- reading an index ---------------------------------------------------------------------------


def pattern_of(index: Any, shape: tuple[int, ...]) -> tuple[Pattern, list[Any]]:
    """Parse the index of `x[index]`, for x of that shape: its pattern, and its arrays in order."""
    parts, arrays = list[Any](), list[Any]()
    whole = index if isinstance(index, tuple) else (index,)
    for position, part in enumerate(whole):
        if isinstance(part, slice):
            parts.append(Slice(place(part.start), place(part.stop), place(part.step)))
        elif part is None or part is Ellipsis:
            parts.append(part)
        elif isinstance(part, int | np.integer | Dimension) and not isinstance(part, bool):
            parts.append(place(part) if isinstance(part, Dimension) else int(part))
        else:
            mark, found = arrays_of(part, whole, position, shape)
            parts.extend([mark] * len(found))
            arrays.extend(found)
    if arrays and sum(p is not None and p is not Ellipsis for p in parts) == len(shape):
        parts = [p for p in parts if p is not Ellipsis]  # empty ellipsis: for NumPy it would separate the arrays
    return tuple(parts), arrays


def arrays_of(part: Any, whole: tuple[Any, ...], position: int, shape: tuple[int, ...]) -> tuple[str, tuple[Any, ...]]:
    """The arrays that a mask or an integer array adds to an index, and their mark in the pattern: PLACES or ARRAY."""
    part = part if hasattr(part, "dtype") else np.asarray(part, dtype=None if np.size(part) else np.int64)
    if part.dtype.kind == "b" and part.ndim:
        return PLACES, places_of(part, whole, position, shape)
    if part.dtype == np.uint8:
        raise DTypeError("an index of uint8 could be a mask, as in PyTorch: use .astype(bool) or .astype(int)")
    if part.dtype.kind not in "iu":
        raise DTypeError(f"an index consists of integers, slices or masks, and this one is {part.dtype}: {part!r}")
    return ARRAY, (part,)


def place(n: Any) -> Any:
    """A place or a slice bound, which may be an unknown length. Raises GraphError for an unknown float."""
    if isinstance(n, Dimension):
        return n.number if is_unknown(n.number) else operator.index(n)
    return n


def steps_of(index: Any, shape: tuple[int, ...]) -> list[tuple[Pattern, list[Any]]]:
    """As pattern_of, but in two steps if there are 0-d and longer arrays: 0-d arrays apply first, as integers do."""
    pattern, arrays = pattern_of(index, shape)
    sizes = iter([array.ndim for array in arrays])
    is_number = [isinstance(p, WHOLE) or (isinstance(p, str) and not next(sizes)) for p in pattern]
    numbers, rest = [a for a in arrays if not a.ndim], [a for a in arrays if a.ndim]
    if not numbers or not rest:
        return [(pattern, arrays)]
    parts = list(zip(pattern, is_number))
    first = tuple(p if number or p is Ellipsis else Slice() for p, number in parts if p is not None)
    return [(first, numbers), (tuple(p for p, number in parts if not number), rest)]


def places_of(mask: Any, whole: tuple[Any, ...], position: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The places where the mask at a position of an index is True: one integer array per axis of the mask."""
    taken = [axes_taken(part) for part in whole]
    axis = sum(taken[:position])
    if any(part is Ellipsis for part in whole[:position]):
        axis += len(shape) - sum(taken)
    if shape[axis : axis + mask.ndim] != mask.shape:
        raise BoundsError(
            f"a boolean index must have the shape of the axes it selects from, {shape[axis : axis + mask.ndim]} "
            f"in shape {shape}, and this mask is {mask.shape}"
        )
    require_known("choosing by a mask, to count the elements,", *mask.shape)
    array = mask if isinstance(mask, np.ndarray) else mask.value if hasattr(mask, "value") else mask.numpy()
    return tuple(array.nonzero())


def axes_taken(part: Any) -> int:
    """The number of axes that one part of an index consumes; 0 for the ellipsis, which takes the remaining axes."""
    if part is None or part is Ellipsis:
        return 0
    dtype = getattr(part, "dtype", None) or np.asarray(part).dtype
    return np.ndim(part) if dtype.kind == "b" else 1


def integers_first(pattern: Pattern) -> tuple[Any, ...] | None:
    """The index with only the integers, if there are arrays too; otherwise None.

    The integers of an index are applied before its arrays, as in PyTorch. NumPy would treat an integer as one more
    array, and move the axes of arrays that are not adjacent to the front.
    """
    kinds = {int if isinstance(p, Length) else type(p) for p in pattern}
    if not {int, str} <= kinds:
        return None
    return tuple(p if p is Ellipsis or isinstance(p, WHOLE) else slice(None) for p in pattern if p is not None)


def fill(pattern: Pattern, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index in NumPy's form. If there are arrays, it omits the integers, which are applied before."""
    return index_of(tuple(p for p in pattern if not isinstance(p, WHOLE)) if arrays else pattern, arrays)


def index_of(pattern: Pattern, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as the user gave it: the pattern with its arrays."""
    rest = iter(arrays)
    return tuple(next(rest) if isinstance(p, str) else slice(*p) if isinstance(p, Slice) else p for p in pattern)


def index_text(pattern: Pattern) -> str:
    """The index as text: x[:, 2, i]."""
    signs: dict[Any, str] = {None: "None", Ellipsis: "…", ARRAY: "i", PLACES: "mask"}
    return f"x[{', '.join(format_slice(p) if isinstance(p, Slice) else str(signs.get(p, p)) for p in pattern)}]"


def format_slice(part: Slice) -> str:
    """A slice as text: 2:5, ::-1."""
    start, stop, step = ("" if n is None else str(n) for n in part)
    return f"{start}:{stop}" + (f":{step}" if step else "")


# -- integers outside their axis ------------------------------------------------------------------


def array_axes(pattern: Pattern, ndim: int) -> list[int]:
    """For each array of an index, the axis of x that it indexes."""
    taken = [p is not None and p is not Ellipsis for p in pattern]
    rest = ndim - sum(taken)
    return [
        sum(taken[:i]) + (rest if Ellipsis in pattern[:i] else 0) for i, p in enumerate(pattern) if isinstance(p, str)
    ]


def refuse_outside(name: str, index: Any, axis: int, size: int, lowest: int = 0) -> None:
    """Raises BoundsError if an index lies outside lowest … size − 1; on a GPU, only when the result is read."""
    allowed = f"axis {axis} with size {size}, which allows {f'{lowest} to {size - 1}' if size else 'none'}"
    if (home := device_of(index)) is not CPU:
        home.check_range(index, lowest, size - 1, BoundsError, f"{name}: an index is out of bounds for {allowed}")
    # After subtracting `lowest`, a number that is too small becomes a very large unsigned number.
    elif (counted := (index.astype(np.int64, copy=False) - lowest).view("u8")).size and counted.max() >= size - lowest:
        raise BoundsError(f"{name}: index {index.reshape(-1)[int(counted.argmax())]} is out of bounds for {allowed}")


def region(pattern: Pattern, x: Spec, arrays: tuple[Spec, ...]) -> tuple[int, ...]:
    """The shape of x[pattern]. Raises BoundsError if the specs alone show that an index is out of bounds."""
    bounds = [n for p in pattern if isinstance(p, Slice) for n in p]
    if not all(spec.is_known for spec in (x, *arrays)) or any(map(is_unknown, bounds)):
        return open_region(pattern, x, arrays)
    along = array_axes(pattern, x.ndim)  # the values of arrays are checked only when they are used
    shape = tuple(max(n, 1) if axis in along else n for axis, n in enumerate(x.shape))
    shell = np.broadcast_to(np.empty((), x.dtype), shape)
    first = integers_first(pattern)
    try:
        shell = shell if first is None else shell[first]
        found: tuple[int, ...] = shell[fill(pattern, tuple(np.zeros(a.shape, np.intp) for a in arrays))].shape
    except IndexError as reason:
        raise BoundsError(f"{index_text(pattern)} of {x}: {reason}") from None
    return found


def open_region(pattern: Pattern, x: Spec, arrays: tuple[Spec, ...]) -> tuple[int, ...]:
    """As region, for unknown lengths: NumPy decides where the arrays' axes go, and the other lengths are computed."""
    try:
        where = chosen_at(pattern, x.ndim)
    except IndexError as reason:
        raise BoundsError(f"{index_text(pattern)} of {x}: {reason}") from None
    chosen = broadcast_shape(*(a.shape for a in arrays))
    if chosen is None:
        raise BoundsError(f"{index_text(pattern)} of {x}: its index arrays, {arrays}, do not broadcast")
    rest = remaining_lengths(pattern, x)
    return (*rest[:where], *chosen, *rest[where:])


def chosen_at(pattern: Pattern, ndim: int) -> int:
    """The first axis of x[pattern] that comes from its arrays, for x with that many axes; 0 without arrays."""
    whole: Pattern = tuple(Slice() if isinstance(p, Slice) else 0 if isinstance(p, WHOLE) else p for p in pattern)
    shell, first = np.empty((1,) * ndim), integers_first(whole)
    arrays = tuple(np.zeros(2, np.intp) for p in pattern if isinstance(p, str))
    found = (shell if first is None else shell[first])[fill(whole, arrays)].shape
    return found.index(2) if arrays else 0


def remaining_lengths(pattern: Pattern, x: Spec) -> list[int]:
    """The lengths of the axes of x[pattern] that do not come from arrays. Raises BoundsError for a bad integer."""
    lengths: list[int] = []
    axes = iter(enumerate(x.shape))
    untold = x.ndim - sum(p is not None and p is not Ellipsis for p in pattern)
    for p in pattern if Ellipsis in pattern else (*pattern, Ellipsis):
        if p is None:
            lengths.append(1)
        elif p is Ellipsis:
            lengths.extend(next(axes)[1] for _ in range(untold))
        else:
            axis, n = next(axes)
            if isinstance(p, Slice):
                lengths.append(extent(n, *p))
            elif isinstance(p, WHOLE) and not -n <= p < n:
                where = f"{index_text(pattern)} of {x}"
                raise BoundsError(f"{where}: index {p} is out of bounds for axis {axis} of {n}")
    return lengths


def extent(n: Any, start: Any, stop: Any, step: Any) -> Any:
    """The number of places that a slice selects out of n; a Length with a formula if the number depends on the run."""
    if not any(map(is_unknown, (n, start, stop, step))):
        return len(range(*slice(start, stop, step).indices(n)))
    if start is stop is None and step == -1:
        return n
    y = run_length(n, start, stop) if step in (None, 1) else None
    return formula(f"{n}[{format_slice(Slice(start, stop, step))}]", extent, n, start, stop, step) if y is None else y


def run_length(n: Any, start: Any, stop: Any) -> Any:
    """As extent, for step 1; None if it needs a formula. An unknown stop is assumed to be inside; runs check this."""
    before, whole = 0 if start is None else start, n if stop is None else stop
    if all(bounds(m)[0] >= 0 for m in (before, whole - before, n - whole)):
        return whole - before
    first, end = from_end(start, n, 0), from_end(stop, n, n)
    if first is not None and end is not None:
        (left, from_right), (right, to_right) = first, end
        if to_right and not from_right:
            return clamped(n - left - right)
        if to_right == from_right:
            most = left - right if from_right else right - left
            return clamped(n - (right if from_right else left), 0, most) if most > 0 else 0
    ends_inside = is_unknown(whole) and bounds(whole)[0] >= 0
    return whole - first[0] if ends_inside and first is not None and not first[1] else None


def from_end(bound: int | None, n: int, whole: int) -> tuple[int, bool] | None:
    """A slice bound as (distance from the start, False) or (distance from the end, True); None if neither is known."""
    bound = whole if bound is None else bound
    if not is_unknown(bound):
        return abs(bound), bound < 0
    return None if is_unknown(after := n - bound) else (max(after, 0), True)


def fits_region(pattern: Pattern, x: Spec, value: Spec, arrays: tuple[Spec, ...]) -> None:
    """Raises ShapeError if a value does not broadcast to x[pattern]."""
    there = region(pattern, x, arrays)
    if broadcast_shape(value.shape, there) != there:
        raise ShapeError(f"{index_text(pattern)} of {x} has shape {there}, to which {value} does not broadcast")
