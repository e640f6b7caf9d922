"""AutoGraph: a converted function gives what the function gives, run by Python and run as a graph."""

import functools
import inspect
import linecache
import os
import traceback
import warnings
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, EditedError, ShapeError
from minigrad.engine.base.pytree import leaves, unflatten_like
from minigrad.engine.tensor.symbol import Symbol
from minigrad.graph import Graph, Session, gradients, placeholder
from minigrad.graph.autograph import beside, code, convert, do_not_convert
from minigrad.graph.function import function
from tests.support.all_close import assert_all_close
from tests.support.autograph_programs import PROGRAMS, absolute, collatz, first_above, square_root
from tests.support.table import table

CASES = [pytest.param(f, args, id=f"{f.__name__}{args}") for f, several in PROGRAMS for args in several]
serial = count()


def in_graph(f, *args):
    """f of the arguments, converted, written into a graph and run there."""
    graph, arrays = Graph(), [np.asarray(x) for x in args]
    with graph.as_default():
        given = [placeholder(x.dtype, x.shape) for x in arrays]
        result = convert(f)(*(x * 1 for x in given))
    symbols = [x for x in leaves(result) if isinstance(x, Symbol)]
    with Session(graph) as session:
        values = iter(session.run(symbols, dict(zip(given, arrays))))
    return unflatten_like(result, iter([next(values) if isinstance(x, Symbol) else x for x in leaves(result)]))


def written(source):
    """The function of that source, which it keeps as one in a notebook cell does."""
    name = f"<cell {next(serial)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    names = {}
    exec(compile(source, name, "exec"), names)
    return names["f"]


# -- the same as Python --------------------------------------------------------------------------------


@table("f, args", CASES)
def test_on_numbers_a_converted_function_gives_what_the_function_gives(f, args):
    assert convert(f) is not f
    assert convert(f)(*args) == f(*args)


@table("f, args", CASES)
def test_in_a_graph_a_converted_function_gives_what_the_function_gives(f, args):
    expected = f(*(np.asarray(x) for x in args))

    assert_all_close(leaves(in_graph(f, *args)), leaves(expected), rtol=1e-12)  # the graph may fold NumPy's steps


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("start", [0, 0.0])
def test_a_number_that_a_loop_begins_with_takes_the_dtype_it_has_beside_a_tensor(name, start):
    def total(xs):
        y = start
        for x in xs:
            y = y + x
        return y

    xs = np.array([1, 2, 3], name)

    assert in_graph(total, xs).dtype == total(mg.tensor(xs)).dtype
    assert in_graph(total, xs) == 6


def recovered(x):
    y = 0
    try:
        if x > 0:
            y = x
        z = 1 / (x - 2)
        y = 5
    except ZeroDivisionError:
        return y
    return y + z


def lost(x):
    try:
        if x > 0:
            raise ValueError
        if x < -5:
            y = 1
        y = 2
    except ValueError:
        return y
    return y


def lost_without_a_branch(x):
    while x > 5:
        y = x = x - 1
    try:
        z = 1 / x
        y = z
    except ZeroDivisionError:
        return y
    return y


def named_inside(x):
    if (y := x + 1) > 0 and (z := y * 2) > 3:
        return z
    return y


pair = (lambda x: x + 1 if x > 0 else x), (lambda x: x + 2 if x > 0 else x)


@pytest.mark.parametrize("f", [recovered, named_inside, *pair])
@pytest.mark.parametrize("x", [-3, 0, 1, 2, 3])
def test_what_only_python_can_decide_is_decided_as_before(f, x):
    assert convert(f)(x) == f(x)


@pytest.mark.parametrize("body", ["if x > 0: return x", "while x > 0: return x", "for y in range(x): return y + 1"])
def test_a_function_that_comes_to_its_end_returns_none(body):
    f = written(f"def f(x):\n    {body}\n")

    assert [convert(f)(x) for x in (-1, 1)] == [None, 1]


def test_a_variable_that_an_exception_leaves_without_a_value_has_none():
    assert convert(lost)(-1) == lost(-1) == 2
    assert convert(lost_without_a_branch)(8) == lost_without_a_branch(8)
    for f, x in ((lost, 1), (lost_without_a_branch, 0)):
        for g in (f, convert(f)):
            with pytest.raises(UnboundLocalError, match="cannot access local variable 'y'"):
                g(x)


NAMES = ["a", "b", "c"]
names = st.sampled_from(NAMES)
values = st.one_of(
    names,
    st.integers(-2, 4).map(str),
    st.builds("({} {} {}) % 7".format, names, st.sampled_from("+-*"), st.sampled_from([*NAMES, "2"])),
)
tests = st.recursive(
    st.builds("{} {} {}".format, names, st.sampled_from(["<", ">", "==", "!="]), values)
    | st.builds("0 < {} <= {} < 5".format, names, names)
    | st.builds("not {} > 1".format, names),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
    max_leaves=3,
)
choices = values | st.builds("({} if {} else {})".format, values, tests, values)


def indented(block):
    return [f"    {line}" for line in block]


@st.composite
def blocks(draw, depth=0, in_loop=False):
    """Lines of a program on the whole numbers a, b, c and the list xs, which comes to an end."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statements(depth, in_loop))
    return lines


@st.composite
def statements(draw, depth, in_loop):
    kinds = ["assign", "assign", *(["if", "if", "for", "while", "try"] if depth < 3 else []), "return"]
    kind = draw(st.sampled_from(kinds + ["break", "continue"] * in_loop))
    n = next(serial)
    inner = lambda loop: indented(draw(blocks(depth + 1, loop)))  # noqa: E731
    otherwise = lambda: ["else:", *inner(in_loop)] if draw(st.booleans()) else []  # noqa: E731
    match kind:
        case "assign":
            return [f"{draw(names)} = {draw(choices)}"]
        case "if":
            return [f"if {draw(tests)}:", *inner(in_loop), *otherwise()]
        case "for":
            over = draw(st.sampled_from(["range(b % 4)", "range(3)", "xs", "reversed(xs)"]))
            return [f"for k{n} in {over}:", f"    a = a + k{n} % 3", *inner(True), *otherwise()]
        case "while":
            test = draw(st.just("True") | tests)
            return [f"w{n} = 0", f"while {test} and w{n} < 4:", f"    w{n} = w{n} + 1", *inner(True), *otherwise()]
        case "try":
            return ["try:", *inner(in_loop), "finally:", "    c = c + 1"]
        case "return":
            return [f"return {draw(choices)}"]
    return [kind]


programs = st.builds(
    lambda body: "\n".join(["def f(a, b, c, xs):", *indented(body), "    return (a + 2 * b + 3 * c) % 101", ""]),
    blocks(),
)
numbers = st.tuples(*[st.integers(-3, 5)] * 3, st.lists(st.integers(-3, 5), min_size=3, max_size=3))


@given(programs, st.lists(numbers, min_size=1, max_size=4))
@settings(max_examples=1500 if os.environ.get("NIGHTLY") else 60)
def test_any_program_gives_on_numbers_what_it_gave(source, several):
    f = written(source)

    assert [convert(f)(*args) for args in several] == [f(*args) for args in several]


@given(programs, numbers)
@settings(max_examples=25)
def test_any_program_gives_in_a_graph_what_it_gave(source, args):
    f = written(source)

    assert in_graph(f, *args) == f(*args)


# -- what a graph has of it ----------------------------------------------------------------------------


def test_a_branch_of_the_graph_is_chosen_when_it_runs():
    with Graph().as_default() as graph:
        x = placeholder("float64", ())
        y = convert(absolute)(x)

    with Session(graph) as session:
        assert [session.run(y, {x: value}) for value in (3.0, -4.0)] == [3.0, 4.0]


def test_a_loop_over_an_axis_of_unknown_length_runs_as_often_as_the_axis_is_long():
    def total(xs):
        y = 0.0
        for i in range(len(xs)):
            y = y + xs[i]
        for x in xs:
            y = y + x
        return y

    with Graph().as_default() as graph:
        xs = placeholder("float64", (None,))
        y = convert(total)(xs)

    with Session(graph) as session:
        assert [session.run(y, {xs: np.ones(n)}) for n in (1, 2, 5)] == [2, 4, 10]


def test_gradients_pass_through_what_was_converted():
    def power(x, n):
        y = x
        while n > 1:
            y = y * x if x > 0 else y * -x
            n = n - 1
        return y

    with Graph().as_default() as graph:
        x, n = placeholder("float64", ()), placeholder("int64", ())
        (gx,) = gradients(convert(power)(x, n), [x])

    with Session(graph) as session:
        assert session.run(gx, {x: 2.0, n: 3}) == pytest.approx(12)
        assert session.run(gx, {x: 2.0, n: 1}) == pytest.approx(1)


def test_assert_is_checked_when_the_graph_runs():
    def root(x):
        assert x >= 0, "no root of a negative number"
        return x.abs().sqrt()

    f = function(convert(root))

    assert f(mg.tensor(4.0)).item() == 2
    with pytest.raises(AssertionError, match=r"no root of a negative number \(.*test_autograph.py:\d+\)"):
        f(mg.tensor(-4.0))


def test_python_decides_what_has_a_value():
    asked = []

    def f(x, flag):
        for i in range(3):
            asked.append(i)
            if flag:
                x = x * 2
        return x

    assert in_graph(lambda x: f(x, True), 1.0) == 8
    assert asked == [0, 1, 2]


def test_a_number_on_which_both_branches_agree_stays_a_number():
    def f(x):
        if x > 0:
            pair = x + 1, 3
        else:
            pair = x - 1, 3
        x, n = pair
        powers = []
        for i in range(n):
            powers.append(x**i)
        return powers

    assert in_graph(f, 1.0) == [1, 2, 4]


def test_what_neither_branch_changes_is_the_same_object_after_them():
    class Bag(list):
        def __init__(self):
            super().__init__()

    def f(x):
        bag = Bag()
        same = bag
        if x > 0:
            bag = same
        return bag is same

    assert in_graph(f, 1.0) is True


def test_a_tensor_edited_in_place_in_a_branch_or_a_loop_is_the_same_tensor_after_it():
    def f(x, n):
        y = x * 1
        same = y
        if n > 2:
            y += 10
        for _ in range(n):
            same *= 2
        return y, same

    assert in_graph(f, 1.0, 3) == (88, 88)
    assert in_graph(f, 1.0, 2) == (4, 4)


def test_an_attribute_is_state_of_a_branch_and_of_a_loop():
    class Counter:
        def __init__(self):
            self.seen = 0

        def count(self, xs):
            for x in xs:
                if x > 0:
                    self.seen = self.seen + 1
            return self.seen

    assert in_graph(Counter().count, [1.0, -1.0, 2.0]) == 2
    assert convert(Counter().count)([1.0, -1.0, 2.0]) == 2


# -- functions of all kinds ----------------------------------------------------------------------------


class Clamp:
    """A method with a private name, a default, and super() in a branch."""

    def __init__(self, most):
        self.__most = most

    def __call__(self, x, *, least=0.0):
        if x > self.__most:
            return self.__most + 0 * x
        return x if x > least else least + 0 * x


class Louder(Clamp):
    def __call__(self, x, *, least=0.0):
        y = 0 * x
        if x > y:
            y = super().__call__(x, least=least) * 2
        return y


class Gate(mg.nn.Module):
    """A user's module whose forward asks a tensor."""

    def __init__(self):
        super().__init__()
        self.linear = mg.nn.Linear(1, 1)

    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return x


def twice(f):
    @functools.wraps(f)
    def doubled(*args):
        return f(*args) * 2

    return doubled


@twice
def decorated(x):
    if x > 0:
        return x
    return -x


def recursive(n, x):
    if n == 0:
        return x
    return recursive(n - 1, x + 1 if x > 0 else x - 1)


halved = lambda x: x / 2 if x > 1 else x  # noqa: E731


@pytest.mark.parametrize("x", [3.0, -3.0, 1.0])
@pytest.mark.parametrize("f", [Clamp(2.0), Louder(2.0), decorated, halved, functools.partial(recursive, 3)])
def test_methods_decorators_lambdas_and_recursion_are_converted(f, x):
    assert convert(f)(x) == f(x)
    assert in_graph(f, x) == f(x)


def test_modules_inside_modules_are_converted():
    net = mg.nn.Sequential(Gate(), mg.nn.ReLU(), Gate())
    x = np.array([[2.0]])

    # The graph may fold what NumPy did step by step.
    np.testing.assert_allclose(in_graph(net, x), net(mg.tensor(x)).detach().numpy(), rtol=1e-12)
    assert "forward" not in vars(net[0])


def test_functions_handed_to_minigrad_are_converted():
    def slope(x):
        return mg.func.grad(lambda y: absolute(y * 3))(x)

    def slope_by_name(x):
        return mg.func.grad(absolute)(x)

    assert code(slope_by_name).count("ag.call(absolute)") == 1
    assert "ag.call(mg.func.grad)" not in code(slope)
    assert in_graph(slope_by_name, -2.0) == -1
    assert in_graph(slope, -2.0) == -3


def test_closures_are_shared_and_not_copied():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x

    convert(counted)(1), counted(1), convert(counted)(1)

    assert count == 3


def test_global_names_are_assigned_in_the_module():
    f = written("total = 0\ndef f(x):\n    global total\n    if x > 0:\n        total = total + x\n    return total\n")

    convert(f)(3), f(4)

    assert f.__globals__["total"] == 7


def test_a_function_is_converted_once_and_keeps_its_face():
    g = convert(first_above)

    assert convert(first_above).__code__ is g.__code__
    assert (g.__name__, g.__doc__, inspect.signature(g)) == ("first_above", None, inspect.signature(first_above))
    assert convert(g) is g


def test_what_a_converted_function_defines_is_converted_with_it():
    def f():
        return lambda x: x if x > 0 else -x

    inner = convert(f)()

    assert inner.__code__ is not f().__code__
    assert convert(inner) is inner


def test_what_is_not_to_be_converted_is_called_as_it_is():
    @do_not_convert
    def asks(x):
        return 1 if isinstance(x, Symbol) else 0

    assert convert(asks) is asks
    for foreign in (np.sum, np.add, np.ndarray, mg.nn.functional.relu, functools.reduce, inspect.getsource):
        assert convert(foreign) is foreign
    assert in_graph(lambda x: x * asks(x), 2.0) == 2


@pytest.mark.parametrize(("source", "reason"), [
    ("def f(x):\n    yield x\n", "generator"), ("async def f(x):\n    return x\n", "async"),
    ("def f(x):\n    for i in x:\n        try:\n            pass\n        finally:\n            break\n", "finally"),
])  # fmt: skip
def test_a_function_that_cannot_be_converted_stays_as_it_is_with_a_warning(source, reason):
    f = written(source)

    with pytest.warns(UserWarning, match=f"f.. runs as it is written, without AutoGraph: .*{reason}"):
        assert convert(f) is f


def test_a_function_without_source_stays_as_it_is_with_a_warning():
    names = {}
    exec("def f(x):\n    return x\n", names)

    with pytest.warns(UserWarning, match="source cannot be found"):
        assert convert(names["f"]) is names["f"]


def test_generators_and_classes_inside_a_function_stay_as_they_are():
    def f(x):
        class Pair:
            def both(self):
                if x > 0:
                    return [x, x]
                return [x]

        def two():
            yield x
            if x > 0:
                yield x

        return sum(two()) + sum(Pair().both())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert convert(f)(3) == f(3) == 12


# -- to look at ----------------------------------------------------------------------------------------


def failing(x):
    if x > 0:
        y = x @ x
    else:
        y = x
    return y


def test_an_error_shows_the_line_of_the_user():
    with pytest.raises(mg.errors.ShapeError) as raised:
        in_graph(failing, 1.0)

    frames = [f for f in traceback.extract_tb(raised.value.__traceback__) if f.filename == __file__]
    assert [(f.name, f.line) for f in frames[-2:]] == [("failing", "if x > 0:"), ("failing", "y = x @ x")]


def test_nodes_know_the_line_that_made_them():
    with Graph().as_default():
        y = convert(absolute)(placeholder("float64", ()))

    assert y.node.place.function == "absolute"
    assert y.node.place.file == inspect.getsourcefile(absolute)


def test_code_is_python_and_beside_it_stands_the_source():
    lines, first = inspect.getsourcelines(collatz)

    rows = beside(collatz).splitlines()

    compile(code(collatz), "generated", "exec")
    assert [row.split("│")[0][5:].rstrip() for row in rows if row.split("│")[0].strip()] == [x.rstrip() for x in lines]
    assert [row.split("│")[0][4:].strip() for row in rows if not row.split("│")[1].strip()] == ["else:"]
    assert any(f"{first + 2:4} " in row.split("│")[1] and "ag.while_" in row for row in rows)
    assert code(convert(collatz)) == code(collatz)


def test_a_function_without_choices_is_generated_as_it_was_written():
    def f(x, y=2):
        z = x * y
        return z + 1

    assert code(f) == "def f(x, y=2):\n    z = x * y\n    return z + 1"


def test_the_square_root_is_right():
    assert in_graph(square_root, 2.0) == pytest.approx(np.sqrt(2), abs=1e-9)


# -- max and min return one of their operands --------------------------------------------------------------

PAIRS = [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (1.0, np.nan), (np.nan, 1.0), (0.0, -0.0), (-0.0, 0.0)]
CHOICES = {
    "max": lambda a, b: max(a * 1, b),
    "min": lambda a, b: min(a * 1, b),
    "max of a list": lambda a, b: max([a * 1, b * 1, a * 1]),
    "max of a vector": lambda a, b: max(mg.stack([a, b, b])),
    "max by a key": lambda a, b: max(a * 1, b * 1, key=lambda x: -x * x),
    "max with a default": lambda a, b: max([a * 1, b * 1], default=5.0),
    "max beside a number": lambda a, b: max(0.0, a * 1, b * 1) * a,
}


@table("choice, pair", [(choice, pair) for choice in CHOICES for pair in PAIRS])
def test_max_and_min_choose_as_python_does(choice, pair):
    """They were traced as maximum and minimum: in a tie each operand got half the gradient, and max(1, nan) was nan."""

    def value_and_gradients(f):
        a, b = (mg.tensor(x, requires_grad=True) for x in pair)
        y = f(a, b)
        y.backward()
        return [float(y), *(0.0 if x.grad is None else float(x.grad) for x in (a, b))]

    found = value_and_gradients(function(CHOICES[choice]))
    expected = value_and_gradients(CHOICES[choice])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_an_edit_of_the_result_of_max_is_refused_since_it_may_be_an_operand():
    """The trace gave 3 where Python gives 15: the result had memory of its own."""

    def of_the_operand(a, b):
        x, y = a * 1, b * 1
        m = max(x, y)
        x.mul_(5.0)
        return m

    def of_the_result(a, b):
        x, y = a * 1, b * 1
        m = max(x, y)
        m.mul_(5.0)
        return x

    for f in (of_the_operand, of_the_result):
        with pytest.raises(EditedError, match="may return the other"):
            function(f)(mg.tensor(3.0), mg.tensor(1.0))


def test_max_says_which_operands_it_cannot_choose_between():
    with pytest.raises(ShapeError, match="condition of this `max`"):
        function(lambda a, b: max(a, b) * 1)(mg.ones(2), mg.zeros(2))
    with pytest.raises(ConversionError, match="after this `max` over tensors the value is"):
        function(lambda a, b: max(a, b) * 1)(mg.tensor(1.0), mg.tensor(2))
