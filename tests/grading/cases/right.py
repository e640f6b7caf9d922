"""Submissions: right, in one way or another."""

from __future__ import annotations

from grading.cases.case import UNTOUCHED, after, before, case, code, write


@case(10)
def as_it_should_be(nb): ...


@case(0, start=UNTOUCHED)
def untouched(nb): ...


@case(10)
def another_right_way(nb):
    write(nb, "product", "multiply = lambda a, b: Node(b.data * a.data, [(a, b.data), (b, a.data)])")
    write(nb, "visits", "times_at_x = 1024.0 and 1 << 10\nnodes = len(range(11))")


@case(10)
def extra_cells_with_prints_and_errors(nb):
    before(nb, "print('hello'); 1 / 0")
    after(nb, "import json\nprint(json.dumps({'a': 1}))")


@case(10)
def magics_and_shell_commands(nb):
    before(nb, "%matplotlib inline\n!ls /\n%timeit 1 + 1\nlist?")
    after(nb, "%%bash\nrm -rf /")


@case(10)
def helper_in_a_cell_of_its_own(nb):
    nb["cells"].insert(4, code("def times(a, b):\n    return a.data * b.data"))
    write(nb, "product", "def multiply(a, b):\n    return Node(times(a, b), ((a, b.data), (b, a.data)))")


@case(10)
def warnings_on_stderr(nb):
    after(nb, "import sys, warnings\nwarnings.warn('careful')\nprint('!', file=sys.stderr)")


@case(10)
def asks_for_input(nb):
    before(nb, "answer = input('your name? ')")


@case(10)
def prints_a_flood(nb):
    after(nb, "for _ in range(200_000): print('x' * 100)")


@case(10)
def awaits_at_the_top(nb):
    after(nb, "import asyncio\nawait asyncio.sleep(0)")
