"""A long load test of `minigrad serve`: clients that query, disconnect and send junk, and models that change.

`python -m benchmarks.serving --soak 600` prints the table. Of three models, one gets a new file every five seconds, and
one gets damaged files every other time, where its previous version must keep answering. Each answer is checked.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import minigrad as mg

BAD, BROKEN_OFF = 0.01, 0.02  # of the requests
EVERY = 5.0  # s between two new files of a model
MODELS = ("steady", "exchanged", "damaged")


def scaled(factor: float) -> Any:
    return mg.function(lambda x: x * factor)


def publish(folder: Path, name: str, factor: float) -> None:
    mg.save(folder / f"{name}.mg", scaled(factor), mg.TensorSpec((None, 4), mg.float32))


@contextmanager
def server(*command: str, errors: int | None = None) -> Iterator[tuple[str, int]]:
    """The address of a server in a process of its own, and its process id.

    command    a module and its arguments
    """
    begun = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=errors, text=True)
    with begun:
        assert begun.stdout is not None
        try:
            yield begun.stdout.readline().rpartition(": ")[2].strip(), begun.pid
        finally:
            begun.terminate()


def resident(pid: int) -> float:
    """MB of memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass
class Soak:
    """The clients' observations.

    factors    of each model's files, in order of publication
    """

    port: int
    factors: dict[str, list[float]] = field(default_factory=lambda: {name: [1.0] for name in MODELS})
    seconds: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    over: bool = False

    async def client(self, seed: int) -> None:
        rng = random.Random(seed)
        latest = dict.fromkeys(MODELS, 0)  # the newest factor of each that this client has seen: none may be older
        while not self.over:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            with suppress(ConnectionError):
                for _ in range(rng.randrange(1, 50)):
                    if self.over or not await self.turn(rng, latest, reader, writer):
                        break
            writer.close()

    async def turn(self, rng: random.Random, latest: dict[str, int], reader: Any, writer: Any) -> bool:
        """Make one request and check its answer; returns whether the connection stays open."""
        name = rng.choice(MODELS)
        x = np.array([[rng.random() for _ in range(4)] for _ in range(rng.randrange(1, 5))], np.float32)
        chance, begun = rng.random(), time.perf_counter()
        head, body = rng.choice([in_v1, in_v2, in_npy])(name, x)
        if chance < BAD:
            body = rng.randbytes(len(body))
        raw = post(head, body)
        if chance > 1 - BROKEN_OFF:
            writer.write(raw[: rng.randrange(1, len(raw))])
            self.counts["broken off"] += 1
            return False
        writer.write(raw)
        try:
            status, answer = await read_answer(reader)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.wrong.append(f"no answer: {error!r}")
            return False
        if chance < BAD:
            self.counts["bad"] += 1
            if status != 400:
                self.wrong.append(f"junk was answered {status}")
            return True
        self.counts["good"] += 1
        self.seconds.append(time.perf_counter() - begun)
        self.compare(name, x, status, answer, latest)
        return True

    def compare(self, name: str, x: np.ndarray, status: int, answer: bytes, latest: dict[str, int]) -> None:
        y = values(answer) if status == 200 else None
        fits = [i for i, factor in enumerate(self.factors[name]) if y is not None and same(y, x * factor)]
        if not fits or fits[-1] < latest[name]:
            self.wrong.append(f"{name} answered {status}: {answer[:100]!r}")
        else:
            latest[name] = fits[-1]

    async def exchange(self, folder: Path) -> None:
        """Publish new files of two models again and again; every other file of the last model is damaged."""
        for turn in range(2, 1 << 30):
            await asyncio.sleep(EVERY)
            for name in MODELS[1:]:
                if name == "damaged" and turn % 2:
                    path = folder / f"{name}.mg"
                    path.write_bytes(path.read_bytes()[: -turn % 50 - 60])
                else:
                    self.factors[name].append(float(turn))
                    await asyncio.to_thread(publish, folder, name, float(turn))

    async def weigh(self, pid: int) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.memory.append(resident(pid))


def same(y: np.ndarray, wanted: np.ndarray) -> bool:
    return y.size == wanted.size and np.allclose(y.ravel(), wanted.ravel(), rtol=1e-5)


def post(head: str, body: bytes) -> bytes:
    """The request, from its path, protocol and headers."""
    return f"POST {head}\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def in_v1(name: str, x: np.ndarray) -> tuple[str, bytes]:
    return f"/v1/models/{name}:predict HTTP/1.1", json.dumps({"instances": x.tolist()}).encode()


def in_v2(name: str, x: np.ndarray) -> tuple[str, bytes]:
    tensor = {"name": "x", "shape": [*x.shape], "datatype": "FP32", "data": x.ravel().tolist()}
    return f"/v2/models/{name}/infer HTTP/1.1", json.dumps({"inputs": [tensor]}).encode()


def in_npy(name: str, x: np.ndarray) -> tuple[str, bytes]:
    file = io.BytesIO()
    np.save(file, x)
    return f"/v1/models/{name}:predict HTTP/1.1\r\nContent-Type: application/x-npy", file.getvalue()


def values(answer: bytes) -> np.ndarray:
    """The numbers of an answer in any of the three formats."""
    if answer.startswith(b"\x93NUMPY"):
        return np.load(io.BytesIO(answer))
    said = json.loads(answer)
    return np.array(said["predictions"] if "predictions" in said else said["outputs"][0]["data"], np.float32)


async def read_answer(reader: Any) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def soaked(folder: Path, port: int, pid: int, seconds: float, clients: int) -> dict[str, float]:
    soak = Soak(port)
    beside = [asyncio.create_task(each) for each in (soak.exchange(folder), soak.weigh(pid))]
    asking = [asyncio.create_task(soak.client(seed)) for seed in range(clients)]
    await asyncio.sleep(seconds)
    soak.over = True
    await asyncio.gather(*asking)
    for each in beside:
        each.cancel()
    third = max(len(soak.memory) // 3, 1)
    p50, p95, p99 = np.percentile(soak.seconds, [50, 95, 99]) * 1e3
    return {
        **{name: soak.counts[name] for name in ("good", "bad", "broken off")},
        "per second": soak.counts["good"] / seconds, "p50": p50, "p95": p95, "p99": p99,
        "exchanged": sum(len(each) - 1 for each in soak.factors.values()),
        "MB before": max(soak.memory[:third], default=0.0), "MB after": max(soak.memory[-third:], default=0.0),
        "wrong": len(soak.wrong), "first wrong": soak.wrong[:1],
    }  # fmt: skip


def run(folder: Path, seconds: float, clients: int = 64) -> dict[str, Any]:
    """Run the clients for this time, and return their figures.

    MB before, after    the server's peak memory in the first third of the time, and in the last
    """
    for name in MODELS:
        publish(folder, name, 1.0)
    command = ["minigrad", "serve", str(folder), "--port", "0", "--max-batch", "32", "--poll", "0.2"]
    with server(*command, errors=subprocess.DEVNULL) as (address, pid):
        return asyncio.run(soaked(folder, urlsplit(address).port or 0, pid, seconds, clients))
