"""Submissions: without end, without measure."""

from __future__ import annotations

import sys

from tests.course.grading.cases.case import before, case, notebook, submissions

submissions(__name__, {
    "endless_loop_in_an_answer": notebook(8, product="def multiply(a, b):\n    while True: pass"),
    "endless_loop_at_the_top": notebook(10, "crashed", before="while True: pass"),
    "endless_loop_that_catches_all": notebook(8, "crashed",
        product="while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    "endless_loop_in_an_answer_that_catches_all": notebook(8,
        product="def multiply(a, b):\n    while True:\n        try:\n            while True: pass\n"
                "        except BaseException: pass"),
    "a_call_into_c_that_never_returns": notebook(8,
        product="import re\ndef multiply(a, b):\n    return re.match('(a+)+$', 'a' * 60 + 'b')"),
    "sleeps_at_the_top": notebook(10, "crashed", before="import time\ntime.sleep(1e6)"),
    "exits_in_an_answer": notebook(8, "crashed", product="import os\ndef multiply(a, b):\n    os._exit(0)"),
    "sys_exit_in_an_answer": notebook(8, product="import sys\ndef multiply(a, b):\n    sys.exit()"),
    "exits_at_the_top": notebook(10, "crashed", before="import os\nos._exit(0)"),
    "sys_exit_at_the_top": notebook(10, before="import sys\nsys.exit(0)"),
    "segfault_at_the_top": notebook(10, "crashed", before="import ctypes\nctypes.string_at(0)"),
    "segfault_in_an_answer": notebook(8, "crashed",
        product="import ctypes\ndef multiply(a, b):\n    return ctypes.string_at(0)"),
    "too_much_memory": notebook(8, product="def multiply(a, b):\n    return bytearray(50 << 30)"),
    "too_much_disk": notebook(8, product="def multiply(a, b):\n    open('/tmp/x', 'wb').write(bytes(1 << 28))"),
    "leaves_a_process_behind": notebook(10,
        before="import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)"),
    "leaves_a_thread_behind": notebook(10,
        before="import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()"),
    "starts_processes_up_to_the_limit": notebook(10,
        before="import os, time\nchildren = []\ntry:\n    for _ in range(10_000):\n        pid = os.fork()\n"
               "        if pid == 0:\n            time.sleep(5)\n            os._exit(0)\n"
               "        children.append(pid)\nexcept OSError: pass\n"
               "for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)"),
    "a_number_without_end": notebook(8, product="def multiply(a, b):\n    return Node(10 ** 10 ** 5, ())"),
    "a_list_in_itself": notebook(8, product="def multiply(a, b):\n    x = []\n    x.append(x)\n    return Node(x, x)"),
    "doubles_without_end": notebook(8, product="def multiply(a, b):\n    x = [1]\n    while True: x += x"),
    "doubles_without_end_at_the_top": notebook(10, before="x = 'abc'\nwhile True: x += x"),
    "doubles_in_a_child": notebook(8,
        product="import os\ndef multiply(a, b):\n    x = [1]\n    os.fork()\n    while True: x += x"),
    # Each level takes so long that time is up before memory is, on the quickest machine too.
    "recursion_without_limit": notebook(8,
        product="import sys\nsys.setrecursionlimit(10 ** 8)\ndef multiply(a, b):\n    sum(range(1000))\n"
                "    return multiply(b, a)"),
    # A MemoryError where the next call has no room; of some Pythons, 3.11 among them, it is the end.
    "recursion_through_all_memory": notebook(8, "graded or crashed",
        product="import sys\nsys.setrecursionlimit(10 ** 8)\ndef multiply(a, b):\n"
        + "".join(f"    v{i} = 0\n" for i in range(2000))
        + "    return multiply(b, a)"),
    "recursion_through_c_without_limit": notebook(8, "crashed" if sys.version_info < (3, 12) else "graded",
        product="import sys\nsys.setrecursionlimit(10 ** 8)\nclass Deep:\n"
                "    def __repr__(self): return repr([self])\ndef multiply(a, b):\n    return repr(Deep())"),
    "a_recursion_limit_raised": notebook(10,
        visits="import sys\nsys.setrecursionlimit(20_000)\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
               "times_at_x = depth(9_000) - 7_976\nnodes = 11",
        product="def multiply(a, b):\n    depth(9_000)\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))"),
    "sleeps_in_an_answer": notebook(8, product="import time\ndef multiply(a, b):\n    time.sleep(1e6)"),
    "a_busy_thread_left_behind": notebook(10,
        before="import threading\ndef work():\n    while True: pass\n"
               "threading.Thread(target=work, daemon=True).start()"),
    "waits_for_a_busy_child": notebook(10, "crashed",
        before="import os\nchild = os.fork()\nwhile child == 0: pass\nos.wait()"),
    "takes_signals_away_and_goes_on": notebook(10, "crashed",
        before="import signal\nfor number in (signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGTERM):\n"
               "    signal.signal(number, signal.SIG_IGN)\nwhile True: pass"),
    "signals_taken_in_a_cell_before": notebook(10,
        before="import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nsignal.alarm(1)"),
    "closes_every_file": notebook(10, "crashed", before="import os\nos.closerange(0, 1000)"),
    "closes_the_usual_files": notebook(10, before="import os\nos.closerange(0, 3)"),
    "traces_and_never_collects": notebook(10,
        before="import gc, sys, threading\ngc.disable()\nsys.settrace(lambda *a: None)\n"
               "threading.setprofile(lambda *a: None)"),
    "forks_and_goes_on": notebook(10, before="import os\nos.fork()"),
    "a_long_number_on_the_way": notebook(10,
        visits="import sys\nsys.set_int_max_str_digits(0)\ntimes_at_x = len(str(10 ** 20_000)) - 18_977\nnodes = 11"),
})  # fmt: skip


@case(10, "crashed")
def stopped_though_a_cell_before_took_the_signals(nb):
    before(nb, "while True: pass")
    before(nb, "import signal\nfor number in (signal.SIGXCPU, signal.SIGPROF): signal.signal(number, lambda *a: None)")


@case(10, "crashed")
def ends_its_process_in_cell_after_cell(nb):
    for _ in range(12):
        before(nb, "import os\nos._exit(0)")
