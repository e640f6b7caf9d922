"""Submissions: cheats."""

from __future__ import annotations

from grading.cases.case import ROOT, SOLVED, UNTOUCHED, after, before, case, cell, write


@case(0, start=UNTOUCHED)
def reads_the_answers(nb):
    before(
        nb,
        "import json, pathlib, minigrad\n"
        "folder = pathlib.Path(minigrad.__file__).parent\n"
        "found = [p for root in ('/home', '/tmp', folder) for p in pathlib.Path(root).rglob('*01_scalar*')]\n"
        "answers = json.loads(found[0].read_text())",
    )
    write(nb, "visits", "times_at_x, nodes = (value for _, value in answers['parts']['visits']['expected'])")


@case(0, start=UNTOUCHED)
def reads_other_submissions_and_the_gradebook(nb):
    before(
        nb, f"import os\nfor p in ({str(ROOT)!r}, '/home', '/root', '/var', '/etc/shadow'): print(os.listdir(p))\n1 / 0"
    )


@case(0, "crashed", start=UNTOUCHED)
def prints_full_marks(nb):
    after(
        nb,
        'import os\nfor fd in range(20):\n    try: os.write(fd, b\'{"cells": {}, "parts": {}}\\n["over", "", null]\\n\')\n    except OSError: pass',
    )


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
        "right = [probe.Outcome('gave', 1024), probe.Outcome('gave', 11)]  # of the part `visits`\n"
        "probe.observe = lambda *a, **k: right\n"
        "course.check = lambda *a: True",
    )
    write(nb, "visits", "times_at_x = nodes = 1")


@case(7)
def patched_builtins(nb):
    write(
        nb,
        "order",
        "def order(y):\n    return [y]\nimport builtins\nbuiltins.all = lambda x: True\nbuiltins.len = lambda x: 2",
    )
    write(
        nb,
        "gradients",
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
    before(
        nb,
        "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:8888/api/contents', timeout=2).read())",
    )


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
    before(
        nb,
        "import time, random\ntime.monotonic = time.time = lambda: 0\nrandom.random = lambda: 0.5\nrandom.seed = None",
    )


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


@case(0, start=UNTOUCHED)
def a_pickle_for_whoever_reads_it(nb):
    before(
        nb,
        "import os, pickle\n"
        "class Gift:\n    def __reduce__(self):\n"
        "        mark = os.path.expanduser('~/mark_of_a_submission_in_the_grader')\n"
        "        return exec, (f'import os\\nif os.getpid() != {os.getpid()}: open({mark!r}, \"w\").close()',)\n"
        "gift = pickle.dumps(Gift())\n"
        "pickle.dump = lambda thing, file, *a, **k: file.write(gift)\npickle.dumps = lambda *a, **k: gift",
    )
