"""Loops over `mg.arange(n)`, and lists and dictionaries that a branch or a loop over tensors changes."""

import copy
import csv
import random
import re
from collections import UserDict, deque
from contextlib import suppress
from functools import partial
from io import StringIO
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError
from minigrad.engine.base.pytree import leaves
from tests.support.all_close import assert_all_close
from tests.support.table import table


def with_break_and_else(x, n):
    total = 0.0
    for i in mg.arange(n * 2):
        if i == 1:
            continue
        if i > 4:
            break
        total = total + i * x[0]
    else:
        total = total - 100
    return total


def with_return(x, n):
    for i in mg.arange(n, 20):
        if i * i > 10:
            return i * x
    return x


def down(x, n):
    total = 0
    for i in mg.arange(n, 0, -1):
        for j in reversed(mg.arange(i)):
            total = total * 2 + j
    return total


def of_floats(x, n):
    total = 0.0
    for k, (v, w) in enumerate(zip(mg.arange(0.0, n, 0.5), x)):
        total = total + k * v * w
    return total


def of_a_dtype(x, n):
    total = mg.zeros((), dtype=mg.float32)
    for v in mg.arange(n, dtype=mg.float32):
        total = total + v
    return total


def rows_edited(x, n):
    y = mg.zeros(3)
    for i in mg.arange(n):
        y[i] = x[i] * i
    return y


def beside_a_range(x, n):
    total = x * 0
    for i, k in zip(mg.arange(n), range(5, 100, 2)):
        total = total + i * k * x
    return total


def membership(x, n):
    return mg.where(n in [1, 3], x, -x), n not in (0, 2), 2.0 in x


def both_branches_append(x, n):
    seen = [x]
    if x.sum() > n:
        seen.append(x * 2)
        seen.extend([x, x * 3])
    else:
        seen += [x * 5, -x]
        seen.insert(0, x * 7)
    return mg.stack(seen)


def a_branch_pops(x, n):
    rest = [x, x * 2]
    if n > 1:
        y = rest.pop() * 2
    else:
        y = rest.pop(0)
    return y, rest[0], len(rest)


def a_branch_fills_a_dictionary(x, n):
    made = {"a": x}
    if n > 1:
        made["a"], made["b"] = x * 2, x
    else:
        made["b"] = x * 3
    return made


def every_turn_appends(x, n):
    rows, squares = [], [x[0]]
    for v in x:
        rows.append(v * 2)
        squares.append(v * v + squares[-1])
    return mg.stack(rows), squares, len(rows)


def a_branch_of_a_turn_appends(x, n):
    found = []
    for i, v in enumerate(x):
        for w in x:
            if v > w:
                found.append(v * i)
            else:
                found.append(w)
    return mg.stack(found)


def a_function_appends(x, n):
    found = []

    def note(v):
        found.append(v.tanh())

    for v in x:
        note(v)
    return mg.stack(found)


def an_entry_is_state(x, n):
    state = {"h": x * 0, "n": 0}
    while n > 0:
        state["h"] = (state["h"] + x).tanh()
        state["n"] += 1
        n = n - 1
    return state


def none_at_first(x, n):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best


def named_in_the_body(x, n):
    for v in x:
        y = v * 2
    return y + v


PROGRAMS = (
    *(with_break_and_else, with_return, down, of_floats, of_a_dtype, rows_edited, beside_a_range, membership),
    *(both_branches_append, a_branch_pops, a_branch_fills_a_dictionary, every_turn_appends, an_entry_is_state),
    *(a_branch_of_a_turn_appends, a_function_appends, none_at_first, named_in_the_body),
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_gives_traced_what_it_gives_in_eager_mode(f):
    g = mg.function(f)
    for n in (0, 1, 3):
        found = []
        for run in (f, g):
            x = mg.tensor([1.0, -2.0, 3.0], requires_grad=True)
            ys = leaves(run(x, mg.tensor(n)))
            slopes = [y for y in ys if isinstance(y, mg.Tensor) and y.requires_grad]
            sum((y.sum() * k for k, y in enumerate(slopes, 1)), x.sum()).backward()
            found.append([*ys, x.grad])
        assert_all_close(found[1], found[0], rtol=1e-14)


def test_mg_arange_of_a_symbol_is_no_tensor():
    for f in (lambda n: mg.arange(n) * 2, lambda n: mg.arange(n).sum(), lambda n: mg.arange(n)[0]):
        with pytest.raises(ConversionError, match=r"this mg.arange\(\) is known only when the graph runs"):
            mg.function(f)(mg.tensor(3))


def test_a_list_that_grows_a_number_of_times_that_only_the_run_knows_is_refused():
    def f(x, n):
        rows = []
        for i in mg.arange(n):
            rows.append(x * i)
        return mg.stack(rows)

    with pytest.raises(ConversionError, match=r"`rows` is a list of 0 before .*out\[i\] = y, or mg.lax.scan"):
        mg.function(f)(mg.ones(2), mg.tensor(3))


def test_a_list_that_one_side_of_an_expression_changes_is_refused():
    """Both sides ran, and both popped."""

    def f(x):
        rest = [x, x * 2]
        y = rest.pop() if x > 0 else x
        return y + len(rest)

    with pytest.raises(ConversionError, match="`rest` is a Python list, and changes in one side of an `if` expression"):
        mg.function(f)(mg.tensor(1.0))


def test_a_list_from_before_the_trace_is_left_as_it_was():
    seen = []

    def f(x):
        for v in x:
            seen.append(v)
        return x

    with pytest.raises(ConversionError, match="`seen` is a Python list, and grows"):
        mg.function(f)(mg.ones(2))
    assert not seen
    np.testing.assert_array_equal(mg.function(every_turn_appends)(mg.ones(2), mg.tensor(1))[0], [2, 2])


class Table(dict):
    def clear(self):
        raise AssertionError("another thread would find it empty")


def test_a_dictionary_that_a_branch_only_reads_stays_as_it_is_when_the_branch_is_refused():
    """Every list and dictionary that it named was emptied and filled again, a global one such as sys.modules too."""
    table, grown = Table(a=2.0), []

    def f(x):
        if x.sum() > 0:
            grown.append(x * table["a"])
        return x

    with pytest.raises(ConversionError, match="`grown`"):
        mg.function(f)(mg.ones(2))
    assert not grown


class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    count = Counter.count


# what a variable holds, how a block changes what is in it, and what is read of it afterwards
def squares(i=0):
    while True:
        yield i * i
        i += 1


def goes_on(its):
    yield from its


class SlottedIterator:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return self.n


PARTS = {
    "a number in a dictionary in a dictionary": ({"c": {"n": 0}}, lambda a: a["c"].update(n=1), lambda a: a["c"]["n"]),
    "a list in a list": ([[0]], lambda a: a[0].append(1), lambda a: len(a[0])),
    "a list in a tuple": (([0],), lambda a: a[0].append(1), lambda a: len(a[0])),
    "30 lists in lists": (eval("[" * 30 + "0" + "]" * 30), lambda a: inner(a).append(1), lambda a: len(inner(a))),
    "an attribute of an object in a list": ([SimpleNamespace(n=0)], lambda a: setattr(a[0], "n", 1), lambda a: a[0].n),
    "a method of an object in a list": ([Counter()], lambda a: a[0].count(), lambda a: a[0].n),
    "a deque": (deque([0]), lambda a: a.append(1), len), "an array": (np.zeros(2), lambda a: a.fill(1), lambda a: a[0]),
    "a long array in a list": ([np.zeros(999)], lambda a: a[0].fill(1), lambda a: a[0][0]),
    "bytes": (bytearray(2), lambda a: a.append(1), len),
    "random numbers in a list": ([random.Random(0)], lambda a: a[0].random(), lambda a: a[0].random()),
    "an attribute of an object": (SimpleNamespace(n=0), lambda a: setattr(a, "n", 1), lambda a: a.n),
    "an object with slots": (Slotted(), lambda a: a.count(), lambda a: a.n),
    "the dictionary of an object": (Counter(), lambda a: vars(a).update(n=1), lambda a: a.n),
    "a list of a class": (type("Kind", (), {"all": []}), lambda a: a.all.append(1), lambda a: len(a.all)),
    "a default argument": (lambda a=[0]: a, lambda a: a().append(1), lambda a: len(a())),
    "a method of a list": ([0].append, lambda a: a(1), lambda a: len(a.__self__)),
    "a partial": (partial(lambda a: a.append(1), []), lambda a: a(), lambda a: len(a.args[0])),
    "a dictionary of the user's": (UserDict(n=0), lambda a: a.update(n=1), lambda a: a["n"]),
    "an iterator": (iter(range(1, 99)), lambda a: print(next(a)), next),
    "pairs of iterators": (zip(iter([1, 2, 3] * 9), "a" * 27, strict=True), lambda a: [*a] and None, len),
    "a generator": ((i * i for i in range(99)), lambda a: next(a) and None, next),
    "an endless generator": (squares(1), lambda a: print(next(a)), next),
    "an iterator in a list": ([iter(range(1, 99))], lambda a: print(next(a[0])), lambda a: next(a[0])),
    "an iterator with slots": (SlottedIterator(), next, next),
    "what a generator goes on to": (goes_on(iter(range(1, 99))), next, next),
    "a file that is read": (StringIO("1 2 3 4 5 6 7 8 9\n" * 9), lambda a: a.read(2), lambda a: int(a.read(2))),
    "an iterator that hides its place": (csv.reader("1234"), next, lambda a: int(next(a)[0])),
    "one that calls a method made in C": (re.finditer(r"\d", "1234"), next, lambda a: int(next(a)[0])),
    "one that another hides": (chain(csv.reader("1234")), next, lambda a: int(next(a)[0])),
    "a list beside an iterator": ({"a": [0], "i": iter(())}, lambda a: a["a"].append(1), lambda a: len(a["a"])),
    "a list beside a number that becomes state":
        ({"n": 0, "a": [0]}, lambda a: (a.update(n=1), a["a"].__setitem__(0, 1)), lambda a: a["n"] + a["a"][0]),
}  # fmt: skip


def inner(a):
    return a if a[0] == 0 else inner(a[0])


def in_branch(x, held, change):
    if x.sum() > 0:
        change(held)


def in_loop(x, held, change):
    for _ in x:
        change(held)


def in_expression(x, held, change):
    return change(held) if x.sum() > 0 else None


@pytest.mark.parametrize("block", [in_branch, in_loop, in_expression])
@table("name", PARTS)
def test_a_change_in_place_of_what_is_no_state_is_refused(name, block):
    """The change was made once, while tracing: a branch that was not taken had it too, and a loop only one of them."""
    held, change, read = PARTS[name]
    with suppress(TypeError):  # a generator cannot be copied
        held = copy.deepcopy(held)

    def f(x):
        block(x, held, change)
        return x * read(held)

    with pytest.raises(
        ConversionError, match=r"something in `held` changes|names `held`|`held` is a Python|`self.n` is assigned"
    ):
        mg.function(f)(mg.ones(2))


def test_an_attribute_that_is_state_may_belong_to_an_object_in_a_list():
    held = [SimpleNamespace(n=0), [lambda: held], iter(())]

    def f(x):
        first = held[0]
        first.n = x
        if x.sum() > 0:
            first.n = first.n * len(held)
        y, first.n = first.n, 0
        return y

    assert [mg.function(f)(x).tolist() for x in (mg.ones(2), -mg.ones(2))] == [[3, 3], [-1, -1]]
