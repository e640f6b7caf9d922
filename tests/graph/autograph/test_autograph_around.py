"""What stands around a tensor's `if`s and loops: numbers they change, handlers, functions they call, objects."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, ShapeError
from tests.support.autograph_programs import line
from tests.support.table import table

total = 0


def refusal(f, *args):
    with pytest.raises(ConversionError) as raised:
        mg.function(f)(*args)
    return str(raised.value)


# -- Python's numbers ----------------------------------------------------------------------------------


def added(x):
    s = 0
    for v in x:
        s += v
    return s


def multiplied(x):
    s = 1
    for v in x:
        s *= v
    return s


def doubled(x):
    s = 1
    while x.sum() < 10:
        s += x[0] * 0.5
        x = x * 2
    return s


def chosen(x):
    s = 0
    for v in x:
        if v > 0:
            s += v
    return s


def otherwise(x):
    s = 0
    for v in x:
        if v > 0:
            pass
        else:
            s -= v
    return s


def after_a_branch(x):
    n = 0
    if x.sum() > 0:
        n = 1
    n += x
    return n


def after_a_loop(x):
    n = 0
    while x.sum() < 10:
        n += 1
        x = x * 2
    n += 0.5
    return n


def after_a_loop_in_another(x):
    n = 0
    while x.sum() < 10:
        n += 1
        x = x * 2
    for v in x:
        n += v
    return n


def by_name(x):
    s = 0
    for i, v in enumerate(x):
        i += 0.5
        s += i * v
    return s


NUMBERS = [
    *(added, multiplied, doubled, chosen, otherwise),  # whose results have one dtype, run by Python or traced
    *(after_a_branch, after_a_loop, after_a_loop_in_another, by_name),
]


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["float32", "float64", "int64"])
def test_a_number_takes_in_an_augmented_assignment_the_dtype_it_takes_in_a_sum(f, name):
    x = mg.tensor(np.array([1.5, -2.5, 3.5], name))
    expected = f(x)

    got = mg.function(f)(x)

    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)
    if f in NUMBERS[:5]:
        assert got.dtype == expected.dtype


def test_a_tensor_is_edited_in_place_as_before():
    def f(x):
        s = x.sum()
        same = s
        if s > 0:
            s += 1
        return same

    assert mg.function(f)(mg.tensor([1.0, 2.0])) == 4.0


# -- handlers ------------------------------------------------------------------------------------------


def fails(x):
    raise ValueError(x)


def by_raise(x):
    try:
        if x > 0:
            y = x
        else:
            raise ValueError("negative")
    except ValueError:
        y = x * 100
    return y


def by_shape(x):
    try:
        if x > 0:
            y = x * mg.ones(2) @ mg.ones(3)
        else:
            y = x
    except ShapeError:
        y = x - 1000
    return y


def by_loop(x):
    try:
        while x > 0:
            x = fails(x)
    except Exception:
        x = x * 100
    return x


def by_expression(x):
    try:
        y = x if x > 0 else fails(x)
    except ValueError:
        y = x * 100
    return y


def by_and(x):
    try:
        y = x > 0 and fails(x)
    except ValueError:
        y = x * 100
    return y


def by_two(x):
    try:
        try:
            if x > 0:
                fails(x)
        except ValueError:
            x = x * 100
    except Exception:
        x = x * 1000
    return x


HANDLERS = [by_raise, by_shape, by_loop, by_expression, by_and, by_two]


@table("f", HANDLERS, ids=lambda f: f.__name__)
def test_a_handler_does_not_catch_what_only_writing_down_a_branch_raised(f):
    said = refusal(f, mg.tensor(1.0))

    assert said.startswith(f"{line(f, 'except')}: this `except` catches ")
    assert "raised even if no run would reach that line" in said
    assert "Without `try`" in said


def test_a_handler_within_a_branch_and_one_where_python_decides_work():
    def inside(x):
        if x > 0:
            try:
                fails(x)
            except ValueError:
                x = x * 2
        return x

    def around(x, flag):
        try:
            if flag:
                fails(x)
            if x > 0:
                x = x + 1
        except ValueError:
            x = x * 3
        return x

    assert mg.function(inside)(mg.tensor(2.0)) == 4.0
    assert mg.function(around)(mg.tensor(2.0), True) == 6.0
    assert mg.function(around)(mg.tensor(2.0), False) == 3.0


def test_a_refusal_is_not_caught_by_a_handler():
    def f(x):
        try:
            if x > 0:
                y = 1.0
            x = y
        except TypeError:
            x = x * 100
        return x

    assert "`y` is used" in refusal(f, mg.tensor(1.0))


# -- functions that a block calls ------------------------------------------------------------------------


def counts(x):
    n = 0

    def count():
        nonlocal n
        n = n + 1

    while x < 10:
        count()
        x = x * 2
    return n


def counts_for_all():
    global total  # noqa: PLW0603
    total += 1


def of_the_module(x):
    while x < 10:
        counts_for_all()
        x = x * 2
    return x


class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1


def of_an_object(x):
    counter = Counter()
    while x < 10:
        counter.count()
        x = x * 2
    return counter.n


def in_a_branch(x):
    n = 0

    def count():
        nonlocal n
        n = n + 1

    if x > 0:
        count()
    return n


def made_inside(x):
    n = 0
    while x < 10:

        def count():
            nonlocal n
            n = n + 1

        count()
        x = x * 2
    return n


CALLS = [counts, of_the_module, of_an_object, in_a_branch, made_inside]


@table("f", CALLS, ids=lambda f: f.__name__)
def test_what_a_function_called_in_a_block_assigns_outside_itself_is_refused(f):
    said = refusal(f, mg.tensor(1.0))

    assert said.startswith(line(f, "if x" if f is in_a_branch else "while"))
    assert "is assigned by " in said
    assert "Let the function return the new value" in said


def test_what_a_function_called_in_a_block_assigns_is_right_where_the_block_assigns_it_too():
    def f(x):
        n = 0

        def count():
            nonlocal n
            n = n + 1

        while x < 10:
            count()
            n = n + 1
            x = x * 2
        return n

    assert mg.function(f)(mg.tensor(1.0)) == f(mg.tensor(1.0)) == 8


# -- no turns at all -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_loop_over_an_open_axis_may_have_no_turns(n):
    xs = mg.tensor(np.arange(3.0 * n).reshape(n, 3))

    def forwards(xs):
        s = mg.zeros(3)
        for x in xs:
            s = s + x * 2
        return s

    def backwards(xs):
        s = mg.zeros(3)
        for (i, x), y in zip(enumerate(xs), reversed(xs)):
            s = s + x * y * i
        return s

    for f in (forwards, backwards):
        got = mg.function(f, input_signature=[mg.TensorSpec((None, 3), "float64")])(xs)
        np.testing.assert_allclose(got.numpy(), f(xs).numpy())


def test_a_loop_of_no_turns_has_a_gradient():
    @mg.function(input_signature=[mg.TensorSpec((None, 3), "float64")])
    def f(xs):
        s = mg.zeros(3)
        for x in xs:
            s = s + x * x
        return s.sum()

    for n in (0, 2):
        xs = mg.ones(n, 3, requires_grad=True)
        f(xs).backward()
        np.testing.assert_allclose(xs.grad.numpy(), 2 * np.ones((n, 3)))


# -- comprehensions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: sum(v for v in x if v > 0), lambda x: [v for v in x if v > 0],
    lambda x: {i: v for i, v in enumerate(x) if v > 0}, lambda x: [v for v in x if not v > 0],
])  # fmt: skip
def test_a_filter_on_tensors_in_a_comprehension_is_refused(f):
    said = refusal(f, mg.tensor([1.0, -2.0]))

    assert "the `if` of a comprehension decides how many items there are" in said
    assert "[v if v > 0 else 0 for v in x]" in said


def test_a_filter_that_python_decides_works():
    f = mg.function(lambda x: sum(v for i, v in enumerate(x) if i != 1 and i < 3))

    assert f(mg.tensor([1.0, 2.0, 4.0, 8.0])) == 5.0


# -- objects ---------------------------------------------------------------------------------------------


def warned(f, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = mg.function(f)(*args)
    return result, found


def test_an_attribute_or_global_that_is_left_holding_a_symbol_is_told_of():
    global total  # noqa: PLW0603
    counter = Counter()

    def in_a_loop(x):
        while x < 10:
            counter.n += 1
            x = x * 2
        return counter.n

    def in_a_branch(x):
        global total  # noqa: PLW0603
        if x > 0:
            total = total + 1
        return total

    for f, text, path in ((in_a_loop, "while", "counter.n"), (in_a_branch, "if x", "total")):
        total = 0
        result, (warning,) = warned(f, mg.tensor(1.0))
        assert result == (4 if f is in_a_loop else 1)
        assert f"`{path}` is assigned in the `{text[:5].split()[0]}` over tensors here" in str(warning.message)
        assert f"{Path(warning.filename)}:{warning.lineno}" == line(f, text)
    total = 0


def test_an_object_that_goes_with_the_trace_and_one_put_right_are_not_told_of():
    counter = Counter()

    def f(x):
        own = Counter()
        while x < 10:
            own.n += 1
            counter.n += 1
            x = x * 2
        counter.n = 0
        return own.n

    result, found = warned(f, mg.tensor(1.0))

    assert result == 4
    assert not found


def test_a_list_that_a_called_function_fills_in_a_loop_is_refused():
    seen = []

    def note(x):
        seen.append(1)
        return x * 2

    def f(x):
        for _ in range(x.astype(int)):
            x = note(x)
        return x

    with pytest.raises(ConversionError, match="`seen` is a Python list, and grows in a loop"):
        mg.function(f)(mg.tensor(2.0))


def test_a_traced_function_that_counts_is_refused_in_a_loop():
    count = 0

    @mg.function
    def counting(x):
        nonlocal count
        count += 1
        return x * 2

    def f(x):
        for _ in range(x.astype(int)):
            x = counting(x)
        return x

    with pytest.raises(ConversionError, match=r"`count` is assigned by .*counting"):
        mg.function(f)(mg.tensor(2.0))


class OnObjects:
    """A descriptor that has no value on the class."""

    def __get__(self, it, kind):
        return vars(it)["kept"]


class Lazy:
    factor = OnObjects()

    def __init__(self):
        self.kept = 3.0


def test_a_branch_does_not_read_a_descriptor_on_the_class():
    held = Lazy()

    @mg.function
    def f(x):
        if x.sum() > 0:
            x = x * held.factor
        return x

    assert f(mg.tensor([1.0])).tolist() == [3.0]
