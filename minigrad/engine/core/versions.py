"""One clock for ops and in-place edits. It shows which came first, and which arrays were edited since.

An op is younger than everything it reads, so the order of birth is a topological order. If an array was
edited after an op saved it, the op's derivative can no longer use the array.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Any
from weakref import ref

now = itertools.count(1).__next__


@dataclass(slots=True)
class Edits:
    """The in-place edits of one piece of memory.

    memory    a weak reference to the array that owns the memory
    count     the number of edits: PyTorch's `_version`
    last      the time of the last edit
    """

    memory: ref[Any]
    count: int = 0
    last: int = 0


_counting = Lock()  # two threads may edit the same array, and both edits count
edited: dict[int, Edits] = {}  # id of the owning array → its edits; the entry is removed with the array


def edit(*arrays: Any) -> None:
    """Record that these arrays were edited in place."""
    with _counting:
        moment = now()
        for array in arrays:
            memory = array if array.base is None else owner(array)
            edits = edited.get(id(memory)) or track_edits(memory)
            edits.count += 1
            edits.last = moment


def track_edits(memory: Any) -> Edits:
    """Start counting the edits of an array. The entry is removed when the array is freed."""
    key = id(memory)
    edits = edited[key] = Edits(ref(memory, partial(edited.pop, key)))
    return edits


def edits_of(array: Any) -> int:
    """How often the array's memory was edited, through any view."""
    edits = edited.get(id(owner(array)))
    return 0 if edits is None else edits.count


def any_edit_since(birth: int) -> bool:
    """Whether any array was edited after the moment `birth`."""
    return max(map(attrgetter("last"), [*edited.values()]), default=0) > birth


def edited_since(array: Any, birth: int) -> bool:
    """Whether the array's memory was edited after the moment `birth`."""
    edits = edited.get(id(owner(array)))
    return edits is not None and edits.last > birth


def owner(array: Any) -> Any:
    """The array that owns the memory of a view; the array itself if it is not a view."""
    kind = type(array)
    while (base := array.base) is not None:
        if type(base) is not kind:
            base = getattr(base, "base", None)  # as_strided puts another object in between
            if type(base) is not kind:
                break
        array = base
    return array
