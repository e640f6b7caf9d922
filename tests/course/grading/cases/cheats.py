"""Submissions: cheats."""

from __future__ import annotations

from tests.course.grading.cases.case import ROOT, UNTOUCHED, notebook, submissions

GRADIENTS = (  # without the learner's own `order`
    "def gradients(y):\n    seen, todo = [], [y]\n    while todo:\n        n = todo.pop()\n"
    "        if n not in seen:\n            seen.append(n)\n"
    "            todo += [p for p, _ in n.parents]\n    def total(n):\n"
    "        return 1.0 if n is y else sum(total(m) * s for m in seen for p, s in m.parents if p is n)\n"
    "    return {n: total(n) for n in seen}"
)

submissions(__name__, {
    "reads_the_answers": notebook(0, start=UNTOUCHED,
        before="import json, pathlib, minigrad\nfolder = pathlib.Path(minigrad.__file__).parent\n"
               "found = [p for root in ('/home', '/tmp', folder) for p in pathlib.Path(root).rglob('*01_scalar*')]\n"
               "answers = json.loads(found[0].read_text())",
        visits="times_at_x, nodes = (value for _, value in answers['parts']['visits']['expected'])"),
    "reads_other_submissions_and_the_gradebook": notebook(0, start=UNTOUCHED,
        before="import os\n"
               f"for p in ({str(ROOT)!r}, '/home', '/root', '/var', '/etc/shadow'): print(os.listdir(p))\n1 / 0"),
    "prints_full_marks": notebook(0, "crashed", start=UNTOUCHED,
        after="import os\nfor fd in range(20):\n"
              '    try: os.write(fd, b\'{"cells": {}, "parts": {}}\\n["over", "", null]\\n\')\n'
              "    except OSError: pass"),
    "prints_full_marks_and_leaves": notebook(0, "crashed", start=UNTOUCHED,
        after="import json, os\nline = json.dumps(['part', 'product', [['gave', 10, '']]]) + '\\n'\n"
              "for fd in range(20):\n    try: os.write(fd, line.encode())\n    except OSError: pass\nos._exit(0)"),
    "objects_equal_to_everything": notebook(0, start=UNTOUCHED,
        before="class Any(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
               "    __hash__ = int.__hash__\n    def __iter__(self): return iter([self])\n"
               "    def __getattr__(self, name): return self\n    def __call__(self, *a): return self",
        product="multiply = Any(1)", order="order = Any(1)", gradients="gradients = Any(1)",
        visits="times_at_x = nodes = Any(1)", zero="zero_says = Any(1)"),
    "text_equal_to_everything": notebook(0, start=UNTOUCHED,
        before="class Any(str):\n    def __eq__(self, o): return True\n    __hash__ = str.__hash__",
        visits="times_at_x = nodes = Any('1024')",
        zero="zero_says = Any('a')"),
    "a_patched_checker": notebook(0, start=UNTOUCHED,
        before="import minigrad.course.probe as probe, minigrad.course.exercise as exercise, "
               "minigrad.course as course\n"
               "probe.equal = probe.Outcome.matches = exercise.alike = lambda *a: True\n"
               "right = [probe.Outcome('gave', 1024), probe.Outcome('gave', 11)]  # of the part `visits`\n"
               "probe.observe = lambda *a, **k: right\ncourse.check = lambda *a: True",
        visits="times_at_x = nodes = 1"),
    "patched_builtins": notebook(7,
        order="def order(y):\n    return [y]\n"
              "import builtins\nbuiltins.all = lambda x: True\nbuiltins.len = lambda x: 2",
        gradients=GRADIENTS),
    "builtins_patched_while_a_probe_runs": notebook(7,
        order="import builtins\ndef order(y):\n    builtins.all = lambda x: True\n    seen, todo = {}, [y]\n"
              "    while todo:\n        n = todo.pop()\n        if id(n) not in seen:\n            seen[id(n)] = n\n"
              "            todo += [p for p, _ in n.parents]\n    return list(seen.values())",
        gradients=GRADIENTS),
    "a_patched_interpreter": notebook(0, start=UNTOUCHED,
        before="import sys, builtins, json, types\nsys.settrace(lambda *a: None)\n"
               "builtins.compile = lambda *a, **k: None\nbuiltins.isinstance = lambda *a: True\n"
               "builtins.type = lambda *a: int\njson.dumps = lambda *a, **k: '[]'"),
    "a_package_in_the_place_of_ours": notebook(0, start=UNTOUCHED,
        before="import os, sys\nos.makedirs('/tmp/minigrad/course')\nopen('/tmp/minigrad/__init__.py', 'w').close()\n"
               "open('/tmp/minigrad/course/__init__.py', 'w').write('check = lambda *a: True')\n"
               "sys.path.insert(0, '/tmp')\n"
               "for name in [n for n in sys.modules if n.startswith('minigrad')]: del sys.modules[name]\n"
               "import minigrad"),
    "probes_read_from_frames": notebook(0, start=UNTOUCHED,
        before="import gc\nfound = [x for x in gc.get_objects() if isinstance(x, dict) and 'expected' in x]\n"
               "times_at_x = found[0]['expected'] if found else 0\nnodes = 0\nimport inspect\n"
               "for frame in inspect.stack():\n    print(frame.frame.f_locals)",
        visits="pass"),
    "asks_the_network": notebook(0, start=UNTOUCHED,
        before="import urllib.request\n"
               "print(urllib.request.urlopen('http://127.0.0.1:8888/api/contents', timeout=2).read())"),
    "kills_whom_it_can": notebook(10,
        before="import os, signal\nfor pid in range(2, 400):\n    try:\n"
               "        if pid not in (os.getpid(), os.getppid()): os.kill(pid, 9)\n    except OSError: pass"),
    "kills_its_own_watcher": notebook(0, "failed", before="import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    "turns_the_clock_and_the_dice": notebook(10,
        before="import time, random\ntime.monotonic = time.time = lambda: 0\nrandom.random = lambda: 0.5\n"
               "random.seed = None"),
    "changes_its_limits": notebook(10,
        before="import resource\nfor what in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU):\n"
               "    try: resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
               "    except (ValueError, OSError): pass"),
    "writes_wherever_it_can": notebook(10,
        before="import os\n"
               "for folder in ('/', '/usr', '/etc', '/home', os.path.expanduser('~'), '/proc/1', '/dev'):\n"
               "    try: open(folder + '/mark_of_a_submission', 'w').write('x')\n    except OSError: pass"),
    "a_pickle_for_whoever_reads_it": notebook(0, start=UNTOUCHED,
        before="import os, pickle\nclass Gift:\n    def __reduce__(self):\n"
               "        mark = os.path.expanduser('~/mark_of_a_submission_in_the_grader')\n"
               "        return exec, (f'import os\\nif os.getpid() != {os.getpid()}: open({mark!r}, \"w\").close()',)\n"
               "gift = pickle.dumps(Gift())\npickle.dump = lambda thing, file, *a, **k: file.write(gift)\n"
               "pickle.dumps = lambda *a, **k: gift"),
})  # fmt: skip
