"""Submissions: without end, without measure."""

from __future__ import annotations

import sys

from grading.cases.case import before, case, write


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
        nb,
        "product",
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


@case(8)
def doubles_without_end(nb):
    write(nb, "product", "def multiply(a, b):\n    x = [1]\n    while True: x += x")


@case(10)
def doubles_without_end_at_the_top(nb):
    before(nb, "x = 'abc'\nwhile True: x += x")


@case(8)
def doubles_in_a_child(nb):
    write(nb, "product", "import os\ndef multiply(a, b):\n    x = [1]\n    os.fork()\n    while True: x += x")


@case(8)
def recursion_without_limit(nb):
    """Each level takes so long that time is up before memory is, on the quickest machine too."""
    write(
        nb,
        "product",
        "import sys\nsys.setrecursionlimit(10 ** 8)\ndef multiply(a, b):\n    sum(range(1000))\n    return multiply(b, a)",
    )


@case(8, "graded or crashed")
def recursion_through_all_memory(nb):
    """A MemoryError where the next call has no room; of some Pythons, 3.11 among them, it is the end."""
    write(
        nb,
        "product",
        "import sys\nsys.setrecursionlimit(10 ** 8)\ndef multiply(a, b):\n"
        + "".join(f"    v{i} = 0\n" for i in range(2000))
        + "    return multiply(b, a)",
    )


@case(8, "crashed" if sys.version_info < (3, 12) else "graded")
def recursion_through_c_without_limit(nb):
    write(
        nb,
        "product",
        "import sys\nsys.setrecursionlimit(10 ** 8)\nclass Deep:\n    def __repr__(self): return repr([self])\n"
        "def multiply(a, b):\n    return repr(Deep())",
    )


@case(10)
def a_recursion_limit_raised(nb):
    write(
        nb,
        "visits",
        "import sys\nsys.setrecursionlimit(20_000)\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
        "times_at_x = depth(9_000) - 7_976\nnodes = 11",
    )
    write(
        nb,
        "product",
        "def multiply(a, b):\n    depth(9_000)\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))",
    )


@case(8)
def sleeps_in_an_answer(nb):
    write(nb, "product", "import time\ndef multiply(a, b):\n    time.sleep(1e6)")


@case(10)
def a_busy_thread_left_behind(nb):
    before(
        nb, "import threading\ndef work():\n    while True: pass\nthreading.Thread(target=work, daemon=True).start()"
    )


@case(10, "crashed")
def waits_for_a_busy_child(nb):
    before(nb, "import os\nchild = os.fork()\nwhile child == 0: pass\nos.wait()")


@case(10, "crashed")
def takes_signals_away_and_goes_on(nb):
    before(
        nb,
        "import signal\nfor number in (signal.SIGALRM, signal.SIGPROF, signal.SIGTERM):\n"
        "    signal.signal(number, signal.SIG_IGN)\nwhile True: pass",
    )


@case(10)
def signals_taken_in_a_cell_before(nb):
    before(nb, "import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\nsignal.alarm(1)")


@case(10, "crashed")
def stopped_though_a_cell_before_took_the_signals(nb):
    before(nb, "while True: pass")
    before(nb, "import signal\nsignal.signal(signal.SIGPROF, lambda *a: None)")


@case(10, "crashed")
def closes_every_file(nb):
    before(nb, "import os\nos.closerange(0, 1000)")


@case(10)
def closes_the_usual_files(nb):
    before(nb, "import os\nos.closerange(0, 3)")


@case(10)
def traces_and_never_collects(nb):
    before(
        nb,
        "import gc, sys, threading\ngc.disable()\nsys.settrace(lambda *a: None)\nthreading.setprofile(lambda *a: None)",
    )


@case(10)
def forks_and_goes_on(nb):
    before(nb, "import os\nos.fork()")


@case(10)
def a_long_number_on_the_way(nb):
    write(
        nb,
        "visits",
        "import sys\nsys.set_int_max_str_digits(0)\ntimes_at_x = len(str(10 ** 20_000)) - 18_977\nnodes = 11",
    )


@case(10, "crashed")
def ends_its_process_in_cell_after_cell(nb):
    for _ in range(12):
        before(nb, "import os\nos._exit(0)")
