"""python -m benchmarks.serving: throughput and latency of `minigrad serve`, with and without batching.

ONNX Runtime is compared in the same server, on the same network: only the engine differs. Server and clients are two
processes of this machine. A client sends its next request when it has its answer. Each request is one image, as npy,
and each answer is compared with the network's own. Times are wall times: read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

import minigrad as mg
from minigrad.files.serving.batcher import BatchLimits
from minigrad.files.serving.command import bind, run_server
from minigrad.files.serving.model import Arrays, Model, load_model
from minigrad.files.serving.repository import Repository

from . import report, soak

IMAGES = 256
ENGINES = {"minigrad": ".mg", "onnxruntime": ".onnx"}
BATCHING = {"alone": BatchLimits(rows=1), "batches": BatchLimits(rows=32)}
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
    repository = Repository(path, BATCHING[batching], read)
    asyncio.run(run_server(repository, bind("127.0.0.1", 0), 60.0, lambda told: print(told, flush=True)))


# -- the clients ------------------------------------------------------------------------------------


async def client(port: int, requests: list[bytes], numbers: Iterator[int]) -> list[tuple[int, float, bytes]]:
    """(request number, seconds, the answer's body), one after another, until the numbers run out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for number in numbers:
        begun = time.perf_counter()
        writer.write(requests[number % len(requests)])
        status, body = await soak.read_answer(reader)
        found.append((number % len(requests), time.perf_counter() - begun, body if status == 200 else b""))
    writer.close()
    return found


def wrong(body: bytes, wanted: np.ndarray) -> bool:
    """Whether an answer is missing, or differs by more than float32 rounding."""
    return not body or not np.allclose(np.load(io.BytesIO(body))[0], wanted, rtol=1e-4, atol=1e-5)


async def load(address: str, xs: np.ndarray, wanted: np.ndarray, clients: int, total: int) -> dict[str, float]:
    """Figures of `total` requests, sent by this number of clients at once."""
    port, name = urlsplit(address).port or 0, address.rpartition("/")[2]
    requests = [soak.post(*soak.in_npy(name, x[None])) for x in xs]
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
    text = urlopen(f"{address.partition('/v1')[0]}/metrics").read().decode()
    said = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("minigrad_batch_rows"))
    total, count = (next(float(n) for name, n in said.items() if f"_{what}{{" in name) for what in ("sum", "count"))
    return total / count


# -- the table ----------------------------------------------------------------------------------------


def figures(clients: int, total: int) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """(network, engine, batching, figures), one after another."""
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
                    command = ["benchmarks.serving", "--child", str(path.with_suffix(suffix)), batching]
                    with soak.server(*command) as (address, _):
                        found = asyncio.run(load(address, xs, wanted, clients, total))
                        found["rows"] = rows_in_a_batch(address)
                    yield name, engine, batching, found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--clients", type=int, default=32, help="number of concurrent clients")
    parser.add_argument("--requests", type=int, default=4000, help="requests for each row of the table")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    more = "instead: 64 clients, bad requests and new models for S s"
    parser.add_argument("--soak", type=float, metavar="S", help=more)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Path(options.child[0]), options.child[1])
    if options.soak:
        with tempfile.TemporaryDirectory() as folder:
            print(report.grid("", {"soak": soak.run(Path(folder), options.soak)}))
        return None
    rows = {", ".join(names): row for *names, row in figures(options.clients, options.requests)}
    about = f"{options.clients} clients, {options.requests} requests of one image, as npy; ms"
    print(report.grid(f"{report.machine()}; {about}", rows))
    return report.write(options.json, {"rows": rows})


if __name__ == "__main__":
    main()
