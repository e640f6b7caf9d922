"""Submissions: without end, without measure."""

from __future__ import annotations

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
