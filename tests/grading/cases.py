"""Submissions of every kind, each with the points that it deserves: of exercise 01, whose parts are worth 2, 3, 1, 3, 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NAME = "01_scalar_engine"
SOLVED = json.loads((ROOT / "solutions" / f"{NAME}.ipynb").read_text("utf-8"))
UNTOUCHED = json.loads((ROOT / "exercises" / f"{NAME}.ipynb").read_text("utf-8"))

Notebook = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A submission.

    points    that it deserves, and status: how grading goes
    data      the file
    """

    points: int
    status: str
    data: bytes


CASES: dict[str, Case] = {}


def case(points: int, status: str = "graded", start: Notebook = SOLVED) -> Callable[[Callable[[Notebook], Any]], Any]:
    """What a function makes of a notebook is a case of its name: the notebook as it has changed it, or bytes."""

    def add(change: Callable[[Notebook], Any]) -> Callable[[Notebook], Any]:
        nb = deepcopy(start)
        made = change(nb)
        data = made if isinstance(made, bytes) else json.dumps(nb if made is None else made).encode()
        CASES[change.__name__] = Case(points, status, data)
        return change

    return add


def cell(nb: Notebook, name: str) -> Notebook:
    return next(each for each in nb["cells"] if each["id"] == name)


def write(nb: Notebook, name: str, source: str) -> None:
    cell(nb, name)["source"] = [source]


def code(source: str, name: str = "extra") -> Notebook:
    return {"cell_type": "code", "id": name, "metadata": {}, "source": [source], "outputs": [], "execution_count": None}


def before(nb: Notebook, source: str) -> None:
    nb["cells"].insert(0, code(source))


def after(nb: Notebook, source: str) -> None:
    nb["cells"].append(code(source))


# -- right, in one way or another ---------------------------------------------------------------------


@case(10)
def as_it_should_be(nb): ...


@case(0, start=UNTOUCHED)
def untouched(nb): ...


@case(10)
def another_right_way(nb):
    write(nb, "product", "multiply = lambda a, b: Node(b.data * a.data, [(a, b.data), (b, a.data)])")
    write(nb, "visits", "times_at_x = 1024.0 and 1 << 10\nnodes = len(range(11))")


@case(10)
def extra_cells_with_plots_prints_and_errors(nb):
    before(nb, "print('hello'); 1 / 0")
    after(nb, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")


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


# -- wrong, in the typical ways ------------------------------------------------------------------------


@case(8)
def slopes_swapped(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))")


@case(8)
def slopes_of_a_sum(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data, ((a, 1.0), (b, 1.0)))")


@case(8)
def leaf_instead_of_a_product(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(a.data * b.data)")


@case(8)
def nothing_returned(nb):
    write(nb, "product", "def multiply(a, b):\n    Node(a.data * b.data, ((a, b.data), (b, a.data)))")


@case(4)
def order_without_memory(nb):
    write(nb, "order", "def order(y):\n    return [n for p, _ in y.parents for n in order(p)] + [y]")


@case(7)
def order_reversed(nb):
    write(
        nb, "order", cell(nb, "order")["source"][0] if isinstance(cell(nb, "order")["source"], str) else
        "".join(cell(nb, "order")["source"]) + "\n_right = order\ndef order(y):\n    return _right(y)[::-1]",
    )
    gradients = "".join(cell(nb, "gradients")["source"]).replace("reversed(order(y))", "order(y)")
    write(nb, "gradients", gradients)


@case(7)
def gradients_overwritten(nb):
    write(nb, "gradients", "".join(cell(nb, "gradients")["source"]).replace("+= grad[node]", "= grad[node]"))


@case(7)
def gradients_not_seeded(nb):
    write(nb, "gradients", "".join(cell(nb, "gradients")["source"]).replace("grad[y] = 1.0", "pass"))


@case(9)
def number_as_text(nb):
    write(nb, "visits", "times_at_x = '1024'\nnodes = 11")


@case(9)
def one_answer_of_two(nb):
    write(nb, "visits", "times_at_x = 1024\nnodes = 10")


@case(9)
def dots_left_in(nb):
    write(nb, "zero", "zero_says = ...")


@case(8)
def syntax_error(nb):
    write(nb, "product", "def multiply(a, b)\n    return")


@case(8)
def indented_with_tabs_and_spaces(nb):
    write(nb, "product", "def multiply(a, b):\n\tx = 1\n        return x")


@case(8)
def cell_that_raises(nb):
    write(nb, "product", "raise RuntimeError('no')")


@case(8)
def answer_that_raises(nb):
    write(nb, "product", "def multiply(a, b):\n    raise KeyError('x' * 10_000_000)")


@case(8)
def answer_deleted_again(nb):
    after(nb, "del multiply")


@case(10)
def given_code_tampered_with(nb):
    write(nb, "given", "class Node:\n    pass")


@case(8)
def recursion_without_end(nb):
    write(nb, "product", "def multiply(a, b):\n    return multiply(b, a)")


# -- without end, without measure ----------------------------------------------------------------------


@case(8)
def endless_loop_in_an_answer(nb):
    write(nb, "product", "def multiply(a, b):\n    while True: pass")


@case(10, "crashed")
def endless_loop_at_the_top(nb):
    before(nb, "while True: pass")


@case(8, "crashed")
def endless_loop_that_catches_all(nb):
    write(nb, "product", "while True:\n    try:\n        while True: pass\n    except BaseException: pass")


@case(8)
def endless_loop_in_an_answer_that_catches_all(nb):
    write(
        nb, "product",
        "def multiply(a, b):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    )


@case(8)
def a_call_into_c_that_never_returns(nb):
    write(nb, "product", "import re\ndef multiply(a, b):\n    return re.match('(a+)+$', 'a' * 60 + 'b')")


@case(10, "crashed")
def sleeps_at_the_top(nb):
    before(nb, "import time\ntime.sleep(1e6)")


@case(8, "crashed")
def exits_in_an_answer(nb):
    write(nb, "product", "import os\ndef multiply(a, b):\n    os._exit(0)")


@case(8)
def sys_exit_in_an_answer(nb):
    write(nb, "product", "import sys\ndef multiply(a, b):\n    sys.exit()")


@case(10, "crashed")
def exits_at_the_top(nb):
    before(nb, "import os\nos._exit(0)")


@case(10)
def sys_exit_at_the_top(nb):
    before(nb, "import sys\nsys.exit(0)")


@case(10, "crashed")
def segfault_at_the_top(nb):
    before(nb, "import ctypes\nctypes.string_at(0)")


@case(8, "crashed")
def segfault_in_an_answer(nb):
    write(nb, "product", "import ctypes\ndef multiply(a, b):\n    return ctypes.string_at(0)")


@case(8)
def too_much_memory(nb):
    write(nb, "product", "def multiply(a, b):\n    return bytearray(50 << 30)")


@case(8)
def too_much_disk(nb):
    write(nb, "product", "def multiply(a, b):\n    open('/tmp/x', 'wb').write(bytes(1 << 28))")


@case(10)
def leaves_a_process_behind(nb):
    before(nb, "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)")


@case(10)
def leaves_a_thread_behind(nb):
    before(nb, "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()")


@case(10)
def starts_processes_up_to_the_limit(nb):
    before(
        nb,
        "import os, time\nchildren = []\ntry:\n    for _ in range(10_000):\n        pid = os.fork()\n"
        "        if pid == 0:\n            time.sleep(5)\n            os._exit(0)\n        children.append(pid)\n"
        "except OSError: pass\nfor pid in children: os.kill(pid, 9); os.waitpid(pid, 0)",
    )


@case(8)
def a_number_without_end(nb):
    write(nb, "product", "def multiply(a, b):\n    return Node(10 ** 10 ** 5, ())")


@case(8)
def a_list_in_itself(nb):
    write(nb, "product", "def multiply(a, b):\n    x = []\n    x.append(x)\n    return Node(x, x)")


# -- cells and files that are not what they were -------------------------------------------------------


@case(10)
def checks_deleted(nb):
    nb["cells"] = [each for each in nb["cells"] if not each["id"].startswith("check-")]


@case(8)
def checks_tampered_with(nb):
    write(nb, "product", "def multiply(a, b):\n    return 0")
    for each in nb["cells"]:
        if each["id"].startswith("check-"):
            each["source"] = ["print('10 of 10 points')"]


@case(8)
def points_edited(nb):
    write(nb, "product", "def multiply(a, b):\n    return 0")
    for each in nb["cells"]:
        if "nbgrader" in each["metadata"]:
            each["metadata"]["nbgrader"]["points"] = 1000


@case(10)
def metadata_stripped(nb):
    nb["metadata"] = {}
    for each in nb["cells"]:
        each["metadata"] = {}


@case(10)
def ids_rewritten(nb):
    for n, each in enumerate(nb["cells"]):
        each["metadata"] = {}
        each["id"] = f"x{n}"


@case(10)
def cells_duplicated(nb):
    nb["cells"] = [each for each in nb["cells"] for _ in range(2)]


@case(8)
def a_wrong_answer_pasted_below_the_right_one(nb):
    at = next(i for i, each in enumerate(nb["cells"]) if each["id"] == "product")
    second = deepcopy(nb["cells"][at])
    second["source"] = ["def multiply(a, b):\n    return 0"]
    nb["cells"].insert(at + 1, second)


@case(10)
def parts_in_another_order(nb):
    given = [each for each in nb["cells"] if each["id"] in ("given", "a85d019b")]
    rest = [each for each in nb["cells"] if each not in given]
    nb["cells"] = given + rest[::-1]


@case(7)
def a_part_deleted(nb):
    nb["cells"] = [each for each in nb["cells"] if each["id"] != "gradients"]


@case(0)
def no_cells(nb):
    nb["cells"] = []


@case(10)
def format_3(nb):
    for each in nb["cells"]:
        each["input"] = each.pop("source")
    return json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": nb["cells"]}]}).encode()


@case(10)
def says_it_is_another_exercise(nb):
    nb["metadata"]["minigrad"]["exercise"] = "03_a_new_op"


@case(10)
def with_a_byte_order_mark(nb):
    return b"\xef\xbb\xbf" + json.dumps(nb).encode()


@case(10)
def in_utf_16(nb):
    return json.dumps(nb, ensure_ascii=False).encode("utf-16")


@case(10)
def outputs_without_end(nb):
    cell(nb, "check-product")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 5_000_000]}]


@case(10)
def cells_that_are_no_cells(nb):
    nb["cells"] += [None, 3, "x", [], {"cell_type": 7}, {"cell_type": "code", "source": {"a": 1}}]


@case(0, "unreadable")
def an_empty_file(nb):
    return b""


@case(0, "unreadable")
def no_json(nb):
    return b"%PDF-1.7 my homework"


@case(0, "unreadable")
def half_a_file(nb):
    return json.dumps(nb).encode()[:3000]


@case(0, "unreadable")
def a_list(nb):
    return b"[1, 2, 3]"


@case(0, "unreadable")
def json_without_end(nb):
    return b"[" * 3_000_000


@case(0, "unreadable")
def a_file_too_large(nb):
    return b'{"cells": "' + b"x" * (21 << 20) + b'"}'


@case(0, "unreadable")
def a_picture(nb):
    return bytes(range(256)) * 100


# -- cheats --------------------------------------------------------------------------------------------


@case(0, start=UNTOUCHED)
def reads_the_answers(nb):
    before(
        nb,
        "import json, pathlib, minigrad\n"
        "folder = pathlib.Path(minigrad.__file__).parent\n"
        "found = [p for root in ('/home', '/tmp', folder) for p in pathlib.Path(root).rglob('*01_scalar*')]\n"
        "answers = json.loads(found[0].read_text())",
    )


@case(0, start=UNTOUCHED)
def reads_other_submissions_and_the_gradebook(nb):
    before(nb, f"import os\nfor p in ({str(ROOT)!r}, '/home', '/root', '/var', '/etc/shadow'): print(os.listdir(p))\n1 / 0")


@case(0, "crashed", start=UNTOUCHED)
def prints_full_marks(nb):
    after(nb, 'import os\nfor fd in range(20):\n    try: os.write(fd, b\'{"cells": {}, "parts": {}}\\n["over", "", null]\\n\')\n    except OSError: pass')


@case(0, "crashed", start=UNTOUCHED)
def prints_full_marks_and_leaves(nb):
    after(
        nb,
        "import json, os\nline = json.dumps(['part', 'product', [['gave', 10, '']]]) + '\\n'\n"
        "for fd in range(20):\n    try: os.write(fd, line.encode())\n    except OSError: pass\nos._exit(0)",
    )


@case(0, start=UNTOUCHED)
def objects_equal_to_everything(nb):
    before(
        nb,
        "class Any(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
        "    __hash__ = int.__hash__\n    def __iter__(self): return iter([self])\n"
        "    def __getattr__(self, name): return self\n    def __call__(self, *a): return self",
    )
    for name in ("product", "order", "gradients"):
        write(nb, name, f"{cell(nb, name)['source'][0].split('(')[0].removeprefix('def ')} = Any(1)")
    write(nb, "visits", "times_at_x = nodes = Any(1)")
    write(nb, "zero", "zero_says = Any(1)")


@case(0, start=UNTOUCHED)
def text_equal_to_everything(nb):
    before(nb, "class Any(str):\n    def __eq__(self, o): return True\n    __hash__ = str.__hash__")
    write(nb, "visits", "times_at_x = nodes = Any('1024')")
    write(nb, "zero", "zero_says = Any('a')")


@case(0, start=UNTOUCHED)
def a_patched_checker(nb):
    before(
        nb,
        "import minigrad.course.probe as probe, minigrad.course.exercise as exercise, minigrad.course as course\n"
        "probe.equal = probe.Outcome.matches = exercise.alike = lambda *a: True\n"
        "probe.observe = lambda *a, **k: [probe.Outcome('gave', 1)]\n"
        "course.check = lambda *a: True",
    )


@case(7)
def patched_builtins(nb):
    write(nb, "order", "def order(y):\n    return [y]\nimport builtins\nbuiltins.all = lambda x: True\nbuiltins.len = lambda x: 2")
    write(
        nb, "gradients",
        "def gradients(y):\n    seen, todo = [], [y]\n    while todo:\n        n = todo.pop()\n        if n not in seen:\n"
        "            seen.append(n)\n            todo += [p for p, _ in n.parents]\n"
        "    def total(n):\n        return 1.0 if n is y else sum(total(m) * s for m in seen for p, s in m.parents if p is n)\n"
        "    return {n: total(n) for n in seen}",
    )


@case(0, start=UNTOUCHED)
def a_patched_interpreter(nb):
    before(
        nb,
        "import sys, builtins, json, types\nsys.settrace(lambda *a: None)\nbuiltins.compile = lambda *a, **k: None\n"
        "builtins.isinstance = lambda *a: True\nbuiltins.type = lambda *a: int\njson.dumps = lambda *a, **k: '[]'",
    )


@case(0, start=UNTOUCHED)
def a_package_in_the_place_of_ours(nb):
    before(
        nb,
        "import os, sys\nos.makedirs('/tmp/minigrad/course')\nopen('/tmp/minigrad/__init__.py', 'w').close()\n"
        "open('/tmp/minigrad/course/__init__.py', 'w').write('check = lambda *a: True')\nsys.path.insert(0, '/tmp')\n"
        "for name in [n for n in sys.modules if n.startswith('minigrad')]: del sys.modules[name]\nimport minigrad",
    )


@case(0, start=UNTOUCHED)
def probes_read_from_frames(nb):
    before(
        nb,
        "import gc\nfound = [x for x in gc.get_objects() if isinstance(x, dict) and 'expected' in x]\n"
        "times_at_x = found[0]['expected'] if found else 0\nnodes = 0\n"
        "import inspect\nfor frame in inspect.stack():\n    print(frame.frame.f_locals)",
    )
    write(nb, "visits", "pass")


@case(0, start=UNTOUCHED)
def asks_the_network(nb):
    before(nb, "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:8888/api/contents', timeout=2).read())")


@case(10)
def kills_whom_it_can(nb):
    before(
        nb,
        "import os, signal\nfor pid in range(2, 400):\n    try:\n        if pid not in (os.getpid(), os.getppid()): os.kill(pid, 9)\n"
        "    except OSError: pass",
    )


@case(0, "failed", start=SOLVED)
def kills_its_own_watcher(nb):
    before(nb, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")


@case(10)
def turns_the_clock_and_the_dice(nb):
    before(nb, "import time, random\ntime.monotonic = time.time = lambda: 0\nrandom.random = lambda: 0.5\nrandom.seed = None")


@case(10)
def changes_its_limits(nb):
    before(
        nb,
        "import resource\nfor what in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU):\n"
        "    try: resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n    except (ValueError, OSError): pass",
    )


@case(10)
def writes_wherever_it_can(nb):
    before(
        nb,
        "import os\nfor folder in ('/', '/usr', '/etc', '/home', os.path.expanduser('~'), '/proc/1', '/dev'):\n"
        "    try: open(folder + '/mark_of_a_submission', 'w').write('x')\n    except OSError: pass",
    )
