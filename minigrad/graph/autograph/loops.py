"""while and for: run by Python while the condition has a value, written into the graph as soon as it has none.

`while True:` with a `break` on a tensor so runs its first turn here, and the rest in the graph. A loop over a Python
list is unrolled; one over a symbolic tensor, or range() of one, is a loop of the graph, whose body is written down
once: there the state has the same structure, shapes and dtypes after each turn as before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .branches import if_, ignored, nothing
from .fork import truth
from .loop import Loop
from .numbers import as_number
from .rows import Rows, rows
from .state import lifted, symbolic


def while_(
    test: Callable[[], Any],
    body: Callable[[], None],
    get: Callable[[], Sequence[Any]] = nothing,
    set_: Callable[[Any], None] = ignored,
    names: Sequence[str] = (),
    assigns: bool = False,
) -> None:
    """while test(): body()

    assigns    whether the test gives variables values, `while (y := f(x)) > 0:`
    """
    while not symbolic(going := test()):
        if not going:
            return
        body()

    def turn() -> None:
        if assigns:
            test()
        body()

    Loop("`while`", body, get, set_, names).run(lambda: truth(lifted(test()), "`while`"), turn)
    if assigns:
        test()


def for_(
    over: Any,
    body: Callable[[Any], None],
    get: Callable[[], Sequence[Any]] = nothing,
    set_: Callable[[Any], None] = ignored,
    names: Sequence[str] = (),
    test: Callable[[], Any] | None = None,
) -> None:
    """for item in over: body(item)

    test    whether it goes on after a turn: no break was met, and no return
    """
    items = rows(over)
    if isinstance(items, Rows):
        if items.most == 0:
            return
        counted(items, Loop("`for`", body, get, set_, names), body, test)
        return
    going: Any = True
    for item in items:
        if symbolic(going):
            if_(going, partial(body, item), None, get, set_, names)
        else:
            body(item)
        going = True if test is None else test()
        if not symbolic(going) and not going:
            return


def counted(items: Rows, loop: Loop, body: Callable[[Any], None], test: Callable[[], Any] | None) -> None:
    """The loop over the rows in the graph: a while loop that counts."""
    at: Any = 0
    get, set_ = loop.get, loop.set_

    def get_all() -> Sequence[Any]:
        return (at, *get())

    def set_all(state: Sequence[Any]) -> None:
        nonlocal at
        at = state[0]
        set_(state[1:])

    def turn() -> None:
        nonlocal at
        body(items.row(as_number(lifted(at))))
        at = at + 1

    def going() -> Any:
        more = lifted(at) < items.length
        on = True if test is None else test()
        return more if on is True else more & lifted(on)

    loop.get, loop.set_, loop.names = get_all, set_all, ("the turn", *loop.names)
    loop.run(going, turn)
