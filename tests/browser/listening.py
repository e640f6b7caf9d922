"""A server on this machine, for as long as a test asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from minigrad.serving.command import bound


@contextmanager
def listening(config: uvicorn.Config) -> Iterator[str]:
    """The address at which it answers until the end of the block."""
    server = uvicorn.Server(config)
    with bound("127.0.0.1", 0) as at:
        at.listen()
        thread = threading.Thread(target=server.run, args=([at],))
        thread.start()
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
        server.should_exit = True
        thread.join()
