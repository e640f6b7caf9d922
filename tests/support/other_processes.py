"""Code that runs elsewhere than the test: in threads beside it, or in a process of its own."""

import os
import subprocess
import sys
import threading

from tests.support.root import ROOT


def run_in_threads(f, args):
    """f(arg) for each of the args, all at once, each in a thread of its own; ends when all have ended."""
    threads = [threading.Thread(target=f, args=(arg,)) for arg in args]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def output_of(code, *args, env=os.environ, **options):
    """What a fresh Python prints that runs the code on this minigrad."""
    command, environment = [sys.executable, "-c", code, *map(str, args)], {**env, "PYTHONPATH": str(ROOT)}
    options = {"stdout": subprocess.PIPE, "text": True, **options}
    return subprocess.run(command, env=environment, check=True, **options).stdout
