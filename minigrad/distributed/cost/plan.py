"""The cost of a training step under a parallel plan, and the fastest plan that fits in memory.

A plan has `data` replicas of `pipeline` stages; `tensor` neighbours share each layer. All layers are equal.

    compute     FLOPs of profiler.estimate, at a share `efficiency` of the hardware's peak
    bubble      1F1B with m micro-batches idles (p − 1)/m of the working time; a stage keeps min(p, m) of them
    tensor      4 all-reduces of a layer's output for each micro-batch, 6 with recomputation; activations and the
                sequence are divided. Shoeybi et al. 2019, “Megatron-LM”, §3; Korthikanti et al. 2022, eq. 4
    pipeline    sends each micro-batch to the next stage, and its gradient back
    data        all-reduces gradients; backward can hide all but the last bucket (Li et al. 2020, “PyTorch
                Distributed”, §3.2). ZeRO 2 sends gradients for each micro-batch, ZeRO 3 gathers parameters twice, too
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from ...draw.words import number, took
from ...engine.ops import Attention, AttentionWeights
from ...profiler.costs import Estimate
from ...profiler.costs_table import module_of
from ..algorithms import ALL_REDUCE
from .formulas import above_zero, all_gather, all_reduce, reduce_scatter, zero_bytes

BUCKET = 25e6  # bytes of gradients sent together
Link = tuple[float, float]  # α and β: seconds until the first byte arrives, and seconds a byte, one way


class Hardware(NamedTuple):
    """A worker and its links to other workers.

    flops              bytes of a number → peak FLOPs a second of matrix products
    memory             bytes of a worker
    inside, between    a worker's links within its node of `per_node` workers, and to other nodes
    """

    name: str
    flops: Mapping[int, float]
    memory: float
    per_node: int
    inside: Link
    between: Link
    source: str

    def link(self, size: int, stride: int = 1) -> Link:
        """The link of a group of `size` workers, `stride` ranks apart; to other nodes, k workers share k links."""
        if size * stride <= self.per_node:
            return self.inside
        k = min(size, max(1, self.per_node // stride))
        return self.between[0], max(self.inside[1], self.between[1] / k)


NCCL = "α of NCCL's tuning.cc, hwLat, Ring/Simple"
HARDWARE = {row.name: row for row in (
    Hardware("H100", {2: 989.4e12, 4: 66.9e12}, 80e9, 8, (3.4e-6, 1 / 450e9), (9.6e-6, 1 / 50e9),
             f"NVIDIA's datasheets of H100 SXM5 and DGX H100: dense, NVLink 4, 400 Gb/s of network a GPU; {NCCL}"),
    Hardware("A100", {2: 312e12, 4: 19.5e12}, 80e9, 8, (3.4e-6, 1 / 300e9), (9.6e-6, 1 / 25e9),
             f"NVIDIA's datasheets of A100 SXM4 80 GB and DGX A100: dense, NVLink 3, 200 Gb/s a GPU; {NCCL}"),
    Hardware("laptop", {4: 104e9, 8: 48e9}, 4e9, 4, (15e-6, 1 / 2.5e9), (50e-6, 1 / 125e6),
             "a worker is a core: NumPy and MPICH 5.0.2 measured on an AMD EPYC; 16 GB, Gigabit Ethernet assumed"),
)}  # fmt: skip


def hardware(name: str | Hardware) -> Hardware:
    """The row of that name; your own Hardware as it is. Raises ValueError for an unknown name or bad figures."""
    if isinstance(name, str) and name not in HARDWARE:
        raise ValueError(f"hardware is one of {', '.join(HARDWARE)}, or your own Hardware(…), and got {name!r}")
    row = HARDWARE[name] if isinstance(name, str) else name
    if min(row.memory, row.per_node, *row.flops.values(), *row.inside, *row.between) <= 0:
        raise ValueError(f"memory, rates and links of a machine must be above 0, and got {row}")
    return row


class Workload(NamedTuple):
    """A model with numbers of `width` bytes, and per sample: FLOPs, bytes saved (kept), bytes between layers."""

    parameters: int
    width: int
    flops: float
    kept: float
    layers: int
    boundary: float
    heads: int


Model = Estimate | Workload


def workload(model: Model) -> Workload:
    """The workload of an estimated model, whose first argument has samples along its first axis.

    Its layers are the modules of equal cost in one ModuleList or Sequential, if they have most of the model's FLOPs.
    """
    if isinstance(model, Workload):
        return model
    nodes, families = model.ran.nodes, dict[tuple[str, int], list[str]]()
    samples = [node.spec.shape[0] for node in nodes if node in model.ran.arguments and node.spec.shape]
    if not samples or not model.parameter_tensors:
        raise ValueError("a plan needs a model with parameters, on a batch: estimate(model, batch)")
    for path, cost in model.by_module.items():
        above, _, name = path.rpartition(".")
        if name.isdigit():
            families.setdefault((above, cost.flops), []).append(path)
    most = [paths for (_, flops), paths in families.items() if 2 * len(paths) * flops > model.flops]
    layers = max(most, key=len, default=[next(iter(model.parts))])
    inside = [x for x in nodes if module_of(x).startswith(f"{layers[0]}.")]
    attention = [x for x in inside if isinstance(x.op, Attention | AttentionWeights)]
    heads = max((x.spec.shape[1] for x in attention if len(x.spec.shape) == 4), default=0)
    sizes = [x / samples[0] for x in (model.train_flops, model.saved_bytes, model.outputs[layers[0]].nbytes)]
    width = max(p.spec.dtype.itemsize for p in model.parameter_tensors)
    return Workload(model.parameters, width, sizes[0], sizes[1], len(layers), sizes[2], heads)


class Plan(NamedTuple):
    """Numbers of replicas, workers of a layer and stages; ZeRO stage, samples of a micro-batch, and recomputation.

    The cost of a step: seconds by cause (seconds_of), and bytes of a worker by purpose (bytes_of).
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    zero: int = 0
    microbatch: int = 1
    recompute: bool = False
    seconds_of: Mapping[str, float] = MappingProxyType({})
    bytes_of: Mapping[str, float] = MappingProxyType({})

    @property
    def seconds(self) -> float:
        return sum(self.seconds_of.values())

    @property
    def nbytes(self) -> float:
        return sum(self.bytes_of.values())

    def __str__(self) -> str:
        times = ", ".join(f"{name} {took(x)}" for name, x in self.seconds_of.items() if x)
        sizes = ", ".join(f"{name} {number(x / 1e9, 3)} GB" for name, x in self.bytes_of.items())
        shares = ", ".join(f"{name}={x}" for name, x in zip(self._fields, self[:6]))
        return f"{shares}: {took(self.seconds)} a step ({times}); {sizes} a worker"


def step(model: Model, on: str | Hardware, batch: int, efficiency: float = 0.5, **shares: Any) -> Plan:
    """The cost of a step on `batch` samples, with Adam; in mixed precision if numbers have 2 bytes.

    on        the hardware, or its name
    shares    data=1, tensor=1, pipeline=1, zero=0, microbatch=1, recompute=False

    Raises ValueError if shares do not divide the batch, the layers or the heads, or exclude each other.
    """
    work, row, plan = workload(model), hardware(on), Plan(**shares)
    for wrong in misfits(work, row, batch, plan):
        raise ValueError(wrong)
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency is a share of the peak, above 0 and at most 1, and got {efficiency}")
    data, tensor, pipeline, zero, microbatch, recompute = plan[:6]
    m, layers, passes = batch // (data * microbatch), work.layers / pipeline, 4 / 3 if recompute else 1.0
    layer, weights = work.boundary * microbatch, work.parameters / (tensor * pipeline)
    alpha, beta = row.link(2, tensor * data)
    state = zero_bytes(weights, data, zero, work.width, work.width, 12 if work.width == 2 else 2 * work.width)

    compute = passes * m * microbatch * work.flops / (tensor * pipeline * row.flops[work.width] * efficiency)
    cut = m * layers * (6 if recompute else 4) * all_reduce(layer, tensor, *row.link(tensor))
    sent = (pipeline > 1) * 2 * m * (alpha + layer / tensor * beta)

    of = work.width * weights, data, *row.link(data, tensor)
    scatter, gather, whole = reduce_scatter(*of), all_gather(*of), min(all_reduce(*of, algorithm=x) for x in ALL_REDUCE)
    exchange = (whole, scatter + gather, m * scatter + gather, m * (scatter + 2 * gather))[zero]
    last = exchange / (m if zero > 1 else 1) * min(1.0, BUCKET / of[0])
    hides = compute if zero > 1 else compute / m * (1 - 1 / (3 * passes))  # ZeRO 0 and 1 exchange in the last backward

    kept, alive = work.kept * microbatch / tensor, min(pipeline, m)  # of one micro-batch; how many a stage keeps
    kept = kept / work.layers + alive * layers * layer / tensor if recompute else kept * alive / pipeline
    busy = {"compute": compute, "tensor": cut, "pipeline": sent}
    waits = {"bubble": sum(busy.values()) * (pipeline - 1) / m, "data": max(last, exchange - hides)}
    return plan._replace(seconds_of=busy | waits, bytes_of={"state": state, "activations": kept})


def misfits(work: Workload, row: Hardware, batch: int, plan: Plan) -> Iterator[str]:
    """The reasons why this plan is impossible."""
    above_zero(batch=batch, data=plan.data, tensor=plan.tensor, pipeline=plan.pipeline, microbatch=plan.microbatch)
    if work.width not in row.flops:
        yield f"{row.name} has rates for numbers of {[*row.flops]} bytes, and the model's numbers have {work.width}"
    if batch % (plan.data * plan.microbatch):
        yield f"data × microbatch must divide the batch of {batch}, and got {plan.data} × {plan.microbatch}"
    if work.layers % plan.pipeline:
        yield f"pipeline must divide the {work.layers} equal layers, and got {plan.pipeline}"
    if plan.tensor > 1 and (work.heads == 0 or work.heads % plan.tensor):
        yield f"tensor must divide the {work.heads} heads of each layer, and got {plan.tensor}"
    if plan.zero > 1 and plan.pipeline > 1:
        yield f"ZeRO {plan.zero} moves everything for each micro-batch: zero=0 or 1 in a pipeline of {plan.pipeline}"


def plans(model: Model, on: str | Hardware, workers: int, batch: int, efficiency: float = 0.5) -> list[Plan]:
    """Every plan for these workers, fastest first. A layer stays within a node; micro-batch sizes are powers of 2."""
    above_zero(workers=workers, batch=batch)
    work, row = workload(model), hardware(on)
    sizes, powers = [d for d in range(1, workers + 1) if workers % d == 0], [1 << k for k in range(batch.bit_length())]
    ways = (
        Plan(workers // (tensor * pipeline), tensor, pipeline, zero, samples, recompute)
        for tensor, pipeline, zero, samples, recompute in product(sizes, sizes, range(4), powers, (False, True))
        if tensor <= row.per_node and workers % (tensor * pipeline) == 0
    )
    found = [step(work, row, batch, efficiency, **x._asdict()) for x in ways if not any(misfits(work, row, batch, x))]
    return sorted(found, key=lambda plan: (plan.seconds, plan.nbytes))


def best_plan(
    model: Model, on: str | Hardware, workers: int, batch: int, memory: float | None = None, efficiency: float = 0.5
) -> Plan:
    """The fastest plan within `memory` bytes of a worker, by default the hardware's memory.

    Raises ValueError if no plan fits; the error names the plan that needs least memory.

    >>> with mg.device("meta"):
    ...     model = mg.zoo.gpt("xl", dtype=mg.float16)
    >>> found = best_plan(mg.profiler.estimate(model, mg.TensorSpec((1, 1024), mg.int64)), "A100", 64, 512, memory=8e9)
    >>> found[:6], found._fields[:6]
    ((64, 1, 1, 2, 1, True), ('data', 'tensor', 'pipeline', 'zero', 'microbatch', 'recompute'))
    """
    limit = hardware(on).memory if memory is None else memory
    found = plans(model, on, workers, batch, efficiency)
    if not found:
        raise ValueError(f"no plan divides a batch of {batch} among {workers} workers: step(…) says why for one")
    if (best := next((plan for plan in found if plan.nbytes <= limit), None)) is None:
        lean = min(found, key=lambda plan: plan.nbytes)
        raise ValueError(f"none of {len(found)} plans fits in {number(limit / 1e9, 3)} GB: the smallest is {lean}")
    return best
