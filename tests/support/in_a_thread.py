"""What runs a loop of asyncio, in a thread of its own: Playwright keeps one running in the thread of the tests."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def in_a_thread(f, *args):
    """What f(*args) gives."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f, *args).result()


def completed(coroutine):
    """What it gives."""
    return in_a_thread(asyncio.run, coroutine)
