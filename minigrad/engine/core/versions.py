"""One clock for ops and edits: what happened first, and what was written to since.

An op is younger than all it reads, so the order of birth is a topological order; and an array that was
edited after an op kept it is no longer what that op's derivative needs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any
from weakref import ref

now = itertools.count(1).__next__


@dataclass(slots=True)
class Edits:
    """The edits of one piece of memory.

    memory    a weak reference to the array that owns it
    count     how many there were: PyTorch's `_version`
    last      when the last one was
    """

    memory: ref[Any]
    count: int = 0
    last: int = 0


_counting = Lock()  # two threads may edit one array, and both edits count
edited: dict[int, Edits] = {}  # id of the owning array → its edits; the entry goes when the array does


def edit(*arrays: Any) -> None:
    """Note that arrays were written to in place."""
    with _counting:
        moment = now()
        for array in arrays:
            memory = array if array.base is None else owner(array)
            edits = edited.get(id(memory)) or begun(memory)
            edits.count += 1
            edits.last = moment


def begun(memory: Any) -> Edits:
    """The edits of memory that had none: they are forgotten when it goes."""
    key = id(memory)
    edits = edited[key] = Edits(ref(memory, partial(edited.pop, key)))
    return edits


def edits_of(array: Any) -> int:
    """How often the array's memory was edited, through whatever view."""
    edits = edited.get(id(owner(array)))
    return 0 if edits is None else edits.count


def any_edit_since(birth: int) -> bool:
    """Whether anything at all was edited after that moment."""
    return any(edits.last > birth for edits in [*edited.values()])


def edited_since(array: Any, birth: int) -> bool:
    """Whether the array's memory was edited after that moment."""
    edits = edited.get(id(owner(array)))
    return edits is not None and edits.last > birth


def owner(array: Any) -> Any:
    """The array whose memory a view looks at; the array itself if it is no view."""
    kind = type(array)
    while (base := array.base) is not None:
        if type(base) is not kind:
            base = getattr(base, "base", None)  # what NumPy's as_strided puts between
            if type(base) is not kind:
                break
        array = base
    return array
