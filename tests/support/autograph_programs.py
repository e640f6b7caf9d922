"""Small programs in Python's own control flow, each with arguments to run it on: AutoGraph is held to what they give.

Names are what they are in mathematics, where they have one there.
"""

import contextlib
import inspect


def absolute(x):
    if x > 0:
        return x
    return -x


def sign(x):
    if x > 0:
        y = 1
    elif x < 0:
        y = -1
    else:
        y = 0
    return y


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def square_root(a):
    x = a
    while True:
        better = (x + a / x) / 2
        if abs(better - x) < 1e-9:
            break
        x = better
    return x


def first_above(xs, limit):
    for x in xs:
        if x > limit:
            return x
    return -1.0


def weighted_until(xs, limit):
    total = 0.0
    for i, x in enumerate(xs):
        if x < 0:
            continue
        if x > limit:
            break
        total += x * i
    else:
        total = -total
    return total


def dot(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total = total + x * y
    return total


def backwards(xs):
    y = 0.0
    for x in reversed(xs):
        y = y * 0.5 + x
    return y


def some_return(a, b):
    if a > 0:
        if b > 0:
            return a + b
        a = a * 2
    a = a + 1
    return a - b


def between(x, y):
    z = x if (x > y and not x > 10) or y == 3 else y
    return z if 0 < z < 5 <= 10 else -z


def short_circuit(i, xs):
    return 1.0 if i < len(xs) and xs[i] > 0 else 0.0


def double_loop(n):
    total = 0
    for i in range(n):
        for j in range(i, 2 * n, 2):
            if (i + j) % 3 == 0:
                continue
            if j > 7:
                break
            total = total + i * j
    return total


def found_in_double_loop(n, k):
    for i in range(n):
        for j in range(n):
            if i * j == k:
                return 10 * i + j
    return -1


def unrolled_until(x):
    for _ in range(5):
        x = x * 2
        if x > 50:
            break
    else:
        x = -x
    return x


def countdown(n):
    total = 0
    for i in range(n, -1, -2):
        total = total + i
    return total


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a


def with_pairs(x, n):
    state = (x, {"count": 0})
    while state[1]["count"] < n:
        state = (state[0] * 2, {"count": state[1]["count"] + 1})
    return state


def with_helper(x):
    def halved(y):
        if y > 1:
            return y / 2
        return y

    return halved(halved(x)) + absolute(-x)


def with_lambda(x):
    clipped = lambda y: 1 if y > 1 else y  # noqa: E731
    return clipped(x) + clipped(-x)


def with_nonlocal(x):
    count = 0

    def counted(y):
        nonlocal count
        if y > 0:
            count = count + 1
        return y

    counted(x), counted(-x), counted(x + 1)
    return count


def in_blocks(x):
    with contextlib.nullcontext():
        try:
            if x > 2:
                return x * 2
            y = x + 1
        finally:
            x = x * 3
    return x - y


def extremes(x, y):
    return max(x, y, 2) - min(x, y, -2)


def any_all(xs):
    return (1 if any(x > 2 for x in xs) else 0) + (2 if all(x > 0 for x in xs) else 0)


def rebound_after_a_loop(xs):
    for x in xs:
        h = x * 2
        h = h + 1
    h = xs[0] if xs[0] > 1 else xs[1]
    for i in range(3):
        h = h + i
    return h


def assigned_in_test(x):
    while (y := x * 2) < 20:
        x = x + y
    return y


def skipped(xs):
    total = 0.0
    for x in xs:
        if x > 1:
            if x > 5:
                continue
            total = total + 1
        total = total + x
    return total


def chosen_by_python(x, mode="double"):
    if mode == "double":
        return x * 2
    while mode == "never":
        x = x + 1
    return x


def matched(x, key="a"):
    match key:
        case "a" if x is not None:
            if x > 0:
                return x
        case _:
            return -x
    return x * 3


def returned_from_endless(x):
    while True:
        x = x * 2 - 1
        if x > 20:
            return x


def read_by_inner(x):
    later = lambda: y  # noqa: E731
    y = 0.0
    if x > 0:
        y = x
    return later()


def returned_in_try(x):
    try:
        if x > 0:
            return x
    except ValueError:
        x = x - 1
    else:
        return x * 10
    return x


def returned_from_else(x):
    with contextlib.nullcontext():
        if x > 2:
            y = x + 1
        else:
            return x * 2
    return x - y


def two_lambdas(x):
    first, second = (lambda y: y + 1 if y > 0 else y - 1), (lambda y: y * 2 if y > 0 else y * 3)
    return first(x) + 100 * second(x)


XS = [1.0, -2.0, 3.0, 7.0]
PROGRAMS = [
    (absolute, [(2.0,), (-3.0,), (0.0,)]), (sign, [(2.0,), (-3.0,), (0.0,)]), (collatz, [(1,), (2,), (7,), (27,)]),
    (square_root, [(2.0,), (9.0,)]), (first_above, [(XS, 1.5), (XS, 9.0), ([], 1.0)]),
    (weighted_until, [(XS, 10.0), (XS, 5.0), (XS, 0.0)]), (dot, [(XS, XS)]), (backwards, [(XS,)]),
    (some_return, [(a, b) for a in (1.0, -1.0) for b in (1.0, -1.0)]),
    (between, [(a, b) for a in (1.0, 3.0, 7.0, 12.0) for b in (1.0, 3.0, 6.0)]),
    (short_circuit, [(i, XS) for i in range(6)]), (double_loop, [(n,) for n in (0, 1, 4, 6)]),
    (found_in_double_loop, [(5, 12), (5, 16), (5, 11), (0, 0)]), (unrolled_until, [(1.0,), (5.0,), (-1.0,)]),
    (countdown, [(5,), (4,), (-1,), (-2,)]), (fibonacci, [(0,), (1,), (10,)]), (with_pairs, [(1.5, 3), (1.5, 0)]),
    (with_helper, [(3.0,), (-3.0,), (0.5,)]), (with_lambda, [(3.0,), (-3.0,), (0.5,)]),
    (with_nonlocal, [(3.0,), (-3.0,), (0.0,)]), (in_blocks, [(3.0,), (1.0,)]), (extremes, [(1.0, 5.0), (-7.0, 0.0)]),
    (any_all, [(XS,), ([1.0, 1.0, 1.0, 1.0],), ([-1.0, -1.0, 0.0, 0.0],)]),
    (rebound_after_a_loop, [(XS,), (XS[::-1],)]), (assigned_in_test, [(1.0,), (30.0,)]), (skipped, [(XS,)]),
    (chosen_by_python, [(3.0,)]), (matched, [(3.0,), (-3.0,)]), (returned_from_endless, [(2.0,), (30.0,)]),
    (read_by_inner, [(2.0,), (-2.0,)]), (returned_in_try, [(2.0,), (-2.0,)]), (returned_from_else, [(3.0,), (1.0,)]),
    (two_lambdas, [(2.0,), (-2.0,)]),
]  # fmt: skip


def line(f, text):
    """`file:line` of the first line of f with that text, decorators apart."""
    lines, first = inspect.getsourcelines(f)
    head = next((i for i, its in enumerate(lines) if its.lstrip().startswith("def ")), 0)
    return f"{inspect.getsourcefile(f)}:{first + next(i for i, its in enumerate(lines) if i >= head and text in its)}"
