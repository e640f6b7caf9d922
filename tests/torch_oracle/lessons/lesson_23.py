"""23 One model, many workers: PyTorch's layers are cut and talk in the same way, and its schedules keep as much."""

from itertools import accumulate
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore


def lines():
    """Of one process of two, whose messages go nowhere: what is called is counted all the same."""
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        yield from two_layers(init_device_mesh("cpu", (2,)))
    finally:
        dist.destroy_process_group()
    for schedule in (ScheduleGPipe, Schedule1F1B):
        yield f"activations kept at most, by stage: {kept(schedule, 4, 8)}"


def two_layers(mesh):
    net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    mine = [tuple(net[i].weight.to_local().shape) for i in (0, 2)]
    yield f"my weights: {mine[0]} {mine[1]}"
    x = torch.randn(4, 8, requires_grad=True)
    with CommDebugMode() as forward:
        y = net(x)
    with CommDebugMode() as backward:
        y.sum().backward()
    yield f"forward: {told(forward)}  backward: {told(backward)}"


def told(mode):
    return {op.__name__.removesuffix("_"): n for op, n in mode.get_comm_counts().items() if n}


def kept(schedule, stages, microbatches):
    """The most microbatches of which each stage has done forward, and not backward."""
    of = SimpleNamespace(_num_stages=stages, _n_microbatches=microbatches)
    orders = schedule._get_pipeline_order(of).values()
    signs = ([1 if "F" in str(action) else -1 for action in order if action is not None] for order in orders)
    return [max(accumulate(each)) for each in signs]
