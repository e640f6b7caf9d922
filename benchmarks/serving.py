"""python -m benchmarks.serving: throughput and latency of `minigrad serve`, with and without batching.

ONNX Runtime is compared in the same server, on the same network: only the engine differs. Server and clients are two
processes of this machine. A client sends its next request when it has its answer. Each request is one image, as npy,
and each answer is compared with the network's own. Times are wall times: read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.files.serving.batcher import Limits
from minigrad.files.serving.command import bind, run_server
from minigrad.files.serving.metrics import Metrics
from minigrad.files.serving.model import Arrays, Model, load_model
from minigrad.files.serving.repository import Repository

from . import soak

IMAGES = 256
ENGINES = {"minigrad": ".mg", "onnxruntime": ".onnx"}
BATCHING = {"alone": Limits(rows=1), "batches": Limits(rows=32)}
NETS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "mlp, 784-1024-1024-10": (
        lambda n: n.Sequential(n.Linear(784, 1024), n.ReLU(), n.Linear(1024, 1024), n.ReLU(), n.Linear(1024, 10)),
        (784,),
    ),
    "LeNet, 1x28x28": (
        lambda n: n.Sequential(
            *(n.Conv2d(1, 6, 5, padding=2), n.ReLU(), n.MaxPool2d(2), n.Conv2d(6, 16, 5), n.ReLU(), n.MaxPool2d(2)),
            *(n.Flatten(), n.Linear(400, 120), n.ReLU(), n.Linear(120, 84), n.ReLU(), n.Linear(84, 10)),
        ),
        (1, 28, 28),
    ),
}


# -- the server -----------------------------------------------------------------------------------


def by_onnxruntime(path: Path) -> Model:
    """The network of an ONNX file, run by ONNX Runtime with one thread; its description comes from minigrad's model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    twin = load_model(path.with_suffix(".mg"))

    def run(arrays: Arrays) -> Arrays:
        given = dict(zip((x.name for x in session.get_inputs()), arrays.values()))
        return dict(zip(twin.outputs, session.run(None, given)))

    return Model(twin.inputs, twin.outputs, run, by_rows=True)


def child(path: Path, batching: str) -> None:
    read = by_onnxruntime if path.suffix == ".onnx" else load_model
    repository = Repository(path, BATCHING[batching], Metrics(), read)
    asyncio.run(run_server(repository, bind("127.0.0.1", 0), 60.0, lambda told: print(told, flush=True)))


@contextmanager
def server(path: Path, batching: str) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.serving", "--child", str(path), batching]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(": ")[2].strip()
        process.terminate()


# -- the clients ------------------------------------------------------------------------------------


def request(path: str, x: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, x)
    body = file.getvalue()
    head = f"POST {path}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-npy\r\n"
    head += f"Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


async def client(port: int, requests: list[bytes], numbers: Iterator[int]) -> list[tuple[int, float, bytes]]:
    """(request number, seconds, the answer's body), one after another, until the numbers run out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for number in numbers:
        begun = time.perf_counter()
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        found.append((number % len(requests), time.perf_counter() - begun, body if b" 200 " in head else b""))
    writer.close()
    return found


def wrong(body: bytes, wanted: np.ndarray) -> bool:
    """Whether an answer is missing, or differs by more than float32 rounding."""
    return not body or not np.allclose(np.load(io.BytesIO(body))[0], wanted, rtol=1e-4, atol=1e-5)


async def load(address: str, xs: np.ndarray, wanted: np.ndarray, clients: int, total: int) -> dict[str, float]:
    """Figures of so many requests by so many clients at once."""
    base, _, path = address.removeprefix("http://").partition("/")
    port = int(base.rpartition(":")[2])
    requests = [request(f"/{path}", x[None]) for x in xs]
    await asyncio.gather(*(client(port, requests, iter(range(20))) for _ in range(clients)))
    numbers = iter(range(total))
    begun = time.perf_counter()
    answers = [each for some in await asyncio.gather(*(client(port, requests, numbers) for _ in range(clients)))
               for each in some]  # fmt: skip
    seconds = time.perf_counter() - begun
    p50, p95, p99 = np.percentile([took for _, took, _ in answers], [50, 95, 99]) * 1e3
    errors = sum(wrong(body, wanted[i]) for i, _, body in answers)
    return {"per second": len(answers) / seconds, "p50": p50, "p95": p95, "p99": p99, "wrong": errors}


def rows_in_a_batch(address: str) -> float:
    text = urllib.request.urlopen(f"{address.partition('/v1')[0]}/metrics").read().decode()
    said = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("minigrad_batch_rows"))
    total, count = (next(float(n) for name, n in said.items() if f"_{what}{{" in name) for what in ("sum", "count"))
    return total / count


# -- the table ----------------------------------------------------------------------------------------


def figures(clients: int, total: int) -> Iterator[dict[str, Any]]:
    """A row for each network, engine and batching."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, shape) in NETS.items():
            mg.manual_seed(0)
            net = build(mg.nn).float().eval()
            path = Path(folder) / "net.mg"
            mg.save(path, net, mg.TensorSpec((None, *shape), mg.float32))
            xs = np.random.default_rng(0).random((IMAGES, *shape), np.float32)
            mg.onnx.export(net, (mg.tensor(xs[:2]),), path.with_suffix(".onnx"), ["x"], ["y"], {"x": [0]})
            with mg.no_grad():
                wanted = np.concatenate([net(mg.tensor(x[None])).numpy() for x in xs])
            for engine, suffix in ENGINES.items():
                for batching in BATCHING:
                    with server(path.with_suffix(suffix), batching) as address:
                        found = asyncio.run(load(address, xs, wanted, clients, total))
                        found["rows"] = rows_in_a_batch(address)
                    yield {"net": name, "engine": engine, "batching": batching, **found}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--clients", type=int, default=32, help="number of concurrent clients")
    parser.add_argument("--requests", type=int, default=4000, help="requests for each row of the table")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument(
        "--soak", type=float, metavar="S", help="instead: 64 clients, bad requests and new models for S s"
    )
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Path(options.child[0]), options.child[1])
    if options.soak:
        with tempfile.TemporaryDirectory() as folder:
            for name, value in soak.run(Path(folder), options.soak).items():
                print(f"{name:<12} {value:10.1f}" if isinstance(value, float) else f"{name:<12} {value!s:>10}")
        return None
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"{machine}; {options.clients} clients, {options.requests} requests of one image, as npy; ms\n")
    columns = ("per s", "p50", "p95", "p99", "rows", "wrong")
    print(f"{'net':<22} {'engine':<12} {'batching':<9}", *(f"{name:>7}" for name in columns))
    rows = []
    for row in figures(options.clients, options.requests):
        rows.append(row)
        print(f"{row['net']:<22} {row['engine']:<12} {row['batching']:<9} {row['per second']:7.0f}", end=" ")
        print(*(f"{row[n]:7.2f}" for n in ("p50", "p95", "p99", "rows")), f"{row['wrong']:7}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1), encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
