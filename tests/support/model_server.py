"""A server of a model in a thread of this process, and raw connections to it."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx

import minigrad as mg
from minigrad.files.serving.batcher import BatchLimits
from minigrad.files.serving.command import Server, bind, configuration
from minigrad.files.serving.model import load_model
from minigrad.files.serving.repository import Repository


def keep(path, f, *inputs):
    """The path of a file that has f; of an input, (shape, dtype)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    specs = tuple(mg.TensorSpec(*each) for each in inputs)
    mg.save(path, f if isinstance(f, mg.nn.Module) else mg.function(f), specs)
    return path


def saved(path, factor):
    return keep(path, lambda x: x * factor, ((None, 2), mg.float32))


@contextmanager
def served(root, limits=BatchLimits(), read=load_model, **more):  # noqa: B008  (it is frozen)
    """A client of a server in a thread of this process."""
    server = Server(configuration(Repository(root, limits, read), poll=0.02, **more))
    with bind("127.0.0.1", 0) as at:
        at.listen()
        thread = threading.Thread(target=server.run, args=([at],))
        thread.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{at.getsockname()[1]}", timeout=60) as client:
            client.server = server
            try:
                yield client
            finally:
                server.should_exit = True
                thread.join()


def connected(client):
    """A raw connection to the server of a client."""
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=60)


def everything(connection):
    """All bytes until the server's end of a connection."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
