"""A scalar computation, recorded once and replayed in Python or in C++: the same numbers, to the last bit."""

import gc
import math
import struct
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minigrad as mg
from benchmarks import engines
from benchmarks.workloads import WORKLOADS
from minigrad.scalar.replay import RULES, replay
from minigrad.scalar.value import Value, history
from tests.graph.backends.test_native import has_compiler

compiled = pytest.mark.skipif(not has_compiler, reason="no C++ compiler: python -m pip install ziglang brings one")
BACKENDS = [None, "native"] if has_compiler else [None]
backends = pytest.mark.parametrize("backend", [None, pytest.param("native", marks=compiled)])

UNARY = {
    "neg": lambda a: -a, "exp": lambda a: a.exp(), "log": lambda a: a.log(), "tanh": lambda a: a.tanh(),
    "relu": lambda a: a.relu(), "square": lambda a: a**2, "root": lambda a: a**0.5, "to the 0": lambda a: a**0,
    "odd power": lambda a: a**-1.123456789,
}  # fmt: skip
BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}
# A program is a list of (operation, operand, operand): operands are counted back from the newest value, so that one is
# often used again. A number instead of an operand is a constant.
numbers = st.floats(-4, 4) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, math.inf])
steps = st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 5), st.integers(0, 5) | numbers)
programs = st.lists(steps, min_size=1, max_size=25)


def run(program, leaves):
    """The last value of a program. What does not lead to it is not computed, and raises nothing."""
    made = dict(enumerate([Value(1.5), *leaves]))  # the first is a leaf of nobody: a constant
    first = len(made)

    def at(k):
        if k not in made:
            op, i, j = program[k - first]
            a = at(k - 1 - i % k)
            made[k] = UNARY[op](a) if op in UNARY else BINARY[op](a, at(k - 1 - j % k) if isinstance(j, int) else j)
        return made[k]

    return at(first + len(program) - 1)


def outcome(f):
    """Every bit of a result; the error and its words where an operation is refused."""
    try:
        y, gradients = f()
    except (ArithmeticError, ValueError) as error:
        return repr(error)
    return [struct.pack("d", number) if number == number else "nan" for number in (y, *gradients)]


def interpreted(program, leaves):
    y = run(program, leaves)
    y.backward()
    return y.data, [x.grad for x in leaves]


@settings(max_examples=500)
@given(programs, st.lists(numbers, min_size=3, max_size=3), st.lists(numbers, min_size=3, max_size=3))
@example([("+", 0, 0), ("*", 0, 0), ("relu", 0, 0)], [1.0, 1.0, 1.0], [1.0, 1.0, -1.0])
@example([("relu", 0, 0), ("*", 0, math.inf)], [1.0, 1.0, 1.0], [1.0, 1.0, -1.0])
@example([("neg", 0, 0), ("relu", 0, 0)], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0])
@example([("/", 1, 0), ("*", 0, 0)], [1.0, 0.1, 0.7], [1.0, 1.7, 4.9])
@example([("odd power", 0, 0), ("-", 0, 0), ("relu", 0, 0)], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
@example([("root", 0, 0)], [1.0, 1.0, 4.0], [1.0, 1.0, -4.0])
@example([("*", 1, 0), ("neg", 0, 0), ("relu", 0, 0)], [1.0, 2.0, 3.0], [0.0, 0.0, -1.0])
@example([("odd power", 0, 0)], [1.0, 1.0, 1.0], [1.0, 1.0, -math.inf])
@example([("/", 0, 1.5), ("log", 0, 0), ("exp", 0, 0)], [1.0, 1.0, 2.0], [1.0, 1.0, math.inf])
def test_a_replay_is_what_recording_again_would_give_to_the_last_bit(program, recorded, fresh):
    leaves = [Value(number) for number in recorded]
    try:
        y = run(program, leaves)
    except (ArithmeticError, ValueError):
        return  # there is nothing to replay
    used = [i for i, x in enumerate(leaves) if x in history(y)]
    steps = [replay(y, [leaves[i] for i in used], backend) for backend in BACKENDS]

    for case in (recorded, fresh):
        got = [outcome(lambda step=step, case=case: step(*(case[i] for i in used))) for step in steps]

        wanted = outcome(lambda case=case: interpreted(program, [Value(number) for number in case]))
        assert got == [wanted if isinstance(wanted, str) else [wanted[0], *(wanted[1 + i] for i in used)]] * len(steps)


def test_the_example_of_the_module_is_what_it_shows():
    x, w = Value(2.0), Value(-3.0)
    step = mg.replay((x * w).tanh(), [x, w])

    value, (gx, gw) = step(0.5, 1.0)

    shown = sys.modules[replay.__module__].__doc__
    assert "\n".join("    " + line for line in step.source.splitlines()) in shown
    assert f"({value:.3f}, [{gx:.3f}, {gw:.3f}])" in shown
    assert repr(step) == "Recording(2 inputs, 7 lines)"


def test_the_order_of_the_inputs_is_the_caller_s():
    a, b = Value(8.0), Value(2.0)

    value, gradients = replay(a / b, [b, a])(4.0, 1.0)

    assert (value, gradients) == (0.25, [-0.0625, 0.25])


def test_relu_is_asked_again_and_python_is_not():
    def f(x):
        return x.relu() if x.data > 0 else x * 100

    x = Value(2.0)
    step = replay(f(x), [x])

    assert step(-2.0) == (0.0, [0.0])  # relu answers for the negative side; the branch of `if` was taken
    assert f(Value(-2.0)).data == -200


def test_what_depends_on_no_input_is_one_number_of_the_source():
    x, c = Value(2.0), Value(3.0)
    step = replay(x * (c.exp() + 1).log(), [x])

    assert step.source.count("=") == 2
    assert repr(math.log(math.exp(3.0) + 1)) in step.source


@backends
def test_a_constant_may_have_been_set_to_any_number(backend):
    x, c = Value(2.0), Value(0.0)
    c.data = np.float64(3.0)

    assert replay(x * c, [x], backend)(5.0) == (15.0, [3.0])


def test_a_replay_leaves_every_grad_alone():
    x = Value(3.0)
    y = x * x
    y.backward()
    replay(y, [x])(5.0)

    assert (x.grad, y.grad, x.data) == (6.0, 1.0, 3.0)


@backends
def test_an_input_by_itself_and_no_input_at_all(backend):
    x = Value(2.0)

    assert replay(x, [x], backend)(7) == (7.0, [1.0])
    assert replay(x * 3, [], backend)() == (6.0, [])


def test_whole_numbers_become_floats():
    x = Value(2.0)
    step = replay(x * x, [x])

    assert step(10**9 + 1) == step(float(10**9 + 1))  # whose square no float is


def test_two_recordings_of_a_graph_may_move_different_leaves():
    x, w = Value(2.0), Value(5.0)
    y = x * w + w

    assert replay(y, [x])(3.0) == (20.0, [5.0])
    assert replay(y, [w])(1.0) == (3.0, [3.0])


@pytest.mark.parametrize(("numbers", "wrong"), [((), "got 0"), ((1.0, 2.0, 3.0), "got 3")])
def test_a_wrong_count_of_numbers_is_refused(numbers, wrong):
    x, w = Value(2.0), Value(5.0)
    step = replay(x * w, [x, w])

    with pytest.raises(TypeError, match=f"2 inputs, and {wrong}"):
        step(*numbers)


@pytest.mark.parametrize("wrong", ["2", None, [1.0]])
def test_what_is_no_number_is_refused_with_its_type(wrong):
    x = Value(2.0)
    step = replay(x * x, [x])

    with pytest.raises(TypeError, match=type(wrong).__name__):
        step(wrong)


def test_inputs_that_are_no_leaves_of_the_graph_are_refused_by_their_place():
    x, w, foreign = Value(2.0), Value(5.0), Value(1.0)
    y = (x * w).tanh()

    for result, inputs, error, words in [
        (y, [x, foreign], ValueError, r"input 1, .* not in the graph"),
        (y, [y], ValueError, r"input 0, .* computed, by 'tanh'"), (y, [x, w, x], ValueError, r"input 2, .* twice"),
        (y, [2.0], TypeError, r"2\.0 of type float"), (3, [x], TypeError, "of type int"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            replay(result, inputs)


def test_a_cycle_is_refused_with_a_clear_sentence():
    x = Value(1.0)
    y = x + x
    x.parents = ((y, 1.0),)

    with pytest.raises(ValueError, match="no cycle"):
        replay(y, [])


@backends
@pytest.mark.parametrize("sign", ["square", "×", "^2"])
def test_a_value_made_by_hand_has_slopes_and_no_formula(sign, backend):
    """Its slope at 3 is known; what it is at other numbers, nothing tells. A constant may be made in any way."""
    x, w = Value(3.0), Value(2.0)
    by_hand = Value(9.0, ((x, 2.0), (x, 2.0), (x, 2.0)), sign)

    with pytest.raises(ValueError, match="made by hand"):
        replay(by_hand * w, [x, w], backend)
    assert replay(by_hand * w, [w], backend)(5.0) == (45.0, [9.0])


def test_60_diamonds_take_a_line_each_and_not_two_to_the_60():
    x = y = Value(1.0)
    for _ in range(60):
        y = y + y
    step = replay(y, [x])

    assert step(3.0) == (3 * 2.0**60, [2.0**60])
    assert step.source.count("\n") == 2 * 60 + 3  # and `def`, `return`, and a second line for x, which starts at 0


@pytest.mark.night
@backends
def test_100_000_operations_are_one_function(backend):
    x, b = Value(1.0), Value(0.5)
    y = x
    for i in range(50_000):
        y = y * 0.5 + b if i % 2 else (y + b).relu()
    step = replay(y, [x, b], backend)
    y.backward()

    assert step(1.0, 0.5) == (y.data, [x.grad, b.grad])


def test_a_thousand_inputs_are_a_thousand_arguments():
    leaves = [Value(float(i)) for i in range(1000)]
    y = sum(leaves[1:], leaves[0])

    value, gradients = replay(y, leaves)(*range(1000, 2000))

    assert (value, gradients) == (sum(range(1000, 2000)), [1.0] * 1000)


@backends
def test_a_recording_keeps_no_value_alive_and_makes_no_cycle(backend):
    class Watched(Value):
        __slots__ = ("__weakref__",)

    x = Watched(2.0)
    seen = weakref.ref(x)
    gc.disable()
    try:
        step = replay((x * x) ** 3, [x], backend)
        run_by = weakref.ref(step.run)
        del x
        assert seen() is None
        del step
        assert run_by() is None
    finally:
        gc.enable()


@pytest.mark.tool
def test_the_benchmark_s_replayed_step_is_value_s():
    workload = WORKLOADS["scalars"]
    moved = {}
    engines_of_values = ["minigrad", "replayed", *["replayed-native"] * has_compiler]
    for engine in engines_of_values:
        run = engines.run(engine, workload)
        for _ in range(2):
            run.stages["step"]()
        loss, gradients = run.answer()
        moved[engine] = loss, gradients["numbers"].tolist()

    assert all(moved[engine] == moved["minigrad"] for engine in engines_of_values)


def test_training_by_replay_is_training_by_backward():
    points = [(0.0, 1.0), (1.0, -1.0), (2.0, 0.5), (-1.0, 0.0)]

    def loss(w, b, v):
        return sum((((x * w + b).tanh() * v - y) ** 2 for x, y in points), Value(0.0))

    slow = [Value(0.3), Value(-0.2), Value(1.0)]
    fast = [p.data for p in slow]
    step = replay(loss(*slow), slow)
    for _ in range(50):
        for p in slow:
            p.grad = 0.0
        loss(*slow).backward()
        for p in slow:
            p.data -= 0.05 * p.grad
        fast = [p - 0.05 * g for p, g in zip(fast, step(*fast)[1])]

    assert fast == [p.data for p in slow]


# -- in C++ -------------------------------------------------------------------------------------------------


def test_a_backend_that_is_none_is_refused():
    x = Value(2.0)

    with pytest.raises(ValueError, match="backend is None or \"native\", and not 'cuda'"):
        replay(x * x, [x], backend="cuda")


@compiled
def test_every_rule_is_two_cases_of_the_c():
    x = Value(0.5)
    y = ((x.exp() + x.log()) * (x - 2) / (-x.tanh()) + x.relu()) ** 3 * x**0

    step = replay(y, [x], "native")

    assert {v.op.replace("^3", "^") for v in history(y) if v.op} == set(RULES)
    assert step.source.count("case ") == 2 * len(RULES)
    assert outcome(lambda: step(0.7)) == outcome(lambda: replay(y, [x])(0.7))


@compiled
@pytest.mark.parametrize(("f", "x", "error"), [
    (lambda x: 1 / x, 0.0, ZeroDivisionError), (lambda x: x.exp(), 710.0, OverflowError),
    (lambda x: x.log(), 0.0, ValueError), (lambda x: x**0.5, -1.0, ValueError),
])  # fmt: skip
def test_what_python_refuses_is_refused_in_its_words_and_the_next_call_is_right(f, x, error):
    leaf = Value(2.0)
    steps = [replay(f(leaf) * leaf, [leaf], backend) for backend in (None, "native")]

    said = []
    for step in steps:
        with pytest.raises(error) as refused:
            step(x)
        said.append(str(refused.value))

    assert said[0] == said[1]
    assert steps[0](1.5) == steps[1](1.5)


@compiled
def test_two_threads_that_share_a_recording_share_no_number():
    x = y = Value(1.0)
    for _ in range(20_000):
        y = y * 0.9999 + x
    step = replay(y, [x], "native")
    numbers = [float(i) for i in range(200)]
    wanted = [step(number) for number in numbers]

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(step, numbers)] == wanted
