"""Submissions: right, in one way or another."""

from __future__ import annotations

from tests.course.grading.cases.case import UNTOUCHED, case, code, notebook, source, submissions, write

submissions(__name__, {
    "as_it_should_be": notebook(10),
    "untouched": notebook(0, start=UNTOUCHED),
    "another_right_way": notebook(10,
        product="multiply = lambda a, b: Node(b.data * a.data, [(a, b.data), (b, a.data)])",
        visits="times_at_x = 1024.0 and 1 << 10\nnodes = len(range(11))"),
    "extra_cells_with_prints_and_errors": notebook(10,
        before="print('hello'); 1 / 0",
        after="import json\nprint(json.dumps({'a': 1}))"),
    "magics_and_shell_commands": notebook(10,
        before="%matplotlib inline\n!ls /\n%timeit 1 + 1\nlist?",
        after="%%bash\nrm -rf /"),
    "warnings_on_stderr": notebook(10,
        after="import sys, warnings\nwarnings.warn('careful')\nprint('!', file=sys.stderr)"),
    "asks_for_input": notebook(10, before="answer = input('your name? ')"),
    "prints_a_flood": notebook(10, after="for _ in range(200_000): print('x' * 100)"),
    "awaits_at_the_top": notebook(10, after="import asyncio\nawait asyncio.sleep(0)"),
})  # fmt: skip


@case(10)
def helper_in_a_cell_of_its_own(nb):
    nb["cells"].insert(4, code("def times(a, b):\n    return a.data * b.data"))
    write(nb, "product", "def multiply(a, b):\n    return Node(times(a, b), ((a, b.data), (b, a.data)))")


@case(10)
def reads_the_last_value(nb):
    """`_` is the value of the latest cell that has one, as in a kernel."""
    sources = ["lambda a, b: Node(a.data * b.data, ((a, b.data), (b, a.data)))", "None", "times = _"]
    nb["cells"][4:4] = map(code, sources)
    write(nb, "product", "multiply = times")


@case(10)
def recurses_as_deep_as_a_kernel_lets_it(nb):
    """A cached call takes two levels: with Python's default limit of 1,000, recursion ended below 500."""
    deep = "from functools import cache\n@cache\ndef depth(n):\n    return 0 if n == 0 else 1 + depth(n - 1)\nassert depth(900) == 900"
    write(nb, "product", f"{deep}\n{source('product')}")


@case(10)
def has_no_excepthook(nb):
    """threading cannot start a thread without one, so every part died."""
    write(nb, "product", f"import sys\nsys.excepthook = None\n{source('product')}")
