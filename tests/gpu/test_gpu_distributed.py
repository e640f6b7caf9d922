"""The group "nccl", of one process: each of its calls reaches NCCL, and what it has not goes through the host."""

import importlib

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.engine.base.device import GPU, device_of
from minigrad.engine.base.errors import DTypeError
from tests.support.table import table

CALLS = {
    "allReduce": "sendbuf recvbuf count datatype op stream", "reduce": "sendbuf recvbuf count datatype op root stream",
    "broadcast": "sendbuff recvbuff count datatype root stream", "allGather": "sendbuf recvbuf count datatype stream",
    "reduceScatter": "sendbuf recvbuf recvcount datatype op stream",
}  # fmt: skip


@table("name", CALLS)
def test_nccls_calls_take_what_they_are_given(name):
    pytest.importorskip("cupy", reason="CuPy is not installed: python -m pip install cupy-cuda13x")
    nccl = importlib.import_module("cupy.cuda.nccl")
    if not nccl.available:
        pytest.skip("CuPy finds no NCCL: python -m pip install nvidia-nccl-cu13")
    signature = getattr(nccl.NcclCommunicator, name).__doc__.split("\n")[0]
    taken = [each.split("=")[0].split()[-1] for each in signature.split("(")[1].split(")")[0].split(",")]

    assert taken == ["self", *CALLS[name].split()]


@pytest.fixture
def nccl(cupy):
    pytest.importorskip("mpi4py", reason="no MPI: pip install 'minigrad-course[mpi]'")
    if not cupy.cuda.nccl.available:
        pytest.skip("CuPy finds no NCCL: python -m pip install nvidia-nccl-cu13")
    dist.init_process_group("nccl")
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
def test_alone_each_call_gives_what_it_was_given(nccl, dtype):
    wanted = np.array([0, 1, 1, 0]).astype(dtype)
    x, y = mg.tensor(wanted).to("gpu"), mg.tensor(wanted * 0).to("gpu")
    memory = x.value.data.ptr
    dist.all_reduce(x, dist.ReduceOp.MAX)
    dist.reduce(x, 0, dist.ReduceOp.PRODUCT)
    dist.broadcast(x, 0)
    dist.all_gather_into_tensor(y, x)
    dist.reduce_scatter_tensor(x, y, dist.ReduceOp.MIN)
    parts = [mg.tensor(wanted * 0).to("gpu")]
    dist.all_gather(parts, x)

    assert x.value.data.ptr == memory
    for each in (x, y, parts[0]):
        assert device_of(each.value) is GPU
        assert (each.numpy() == wanted).all()


def test_what_is_on_the_cpu_goes_by_mpi(nccl):
    x = mg.ones(3)
    dist.all_reduce(x)

    assert (x.numpy() == 1).all()


def test_a_strided_tensor_is_written_too(nccl):
    x = mg.ones(4, 3).to("gpu")
    work = dist.all_reduce(x[:, ::2], dist.ReduceOp.AVG, async_op=True)

    assert work.wait()
    assert (x.numpy() == 1).all()


def test_what_nccl_does_not_know_is_refused(nccl):
    with pytest.raises(DTypeError, match="NCCL takes"):
        dist.all_reduce(mg.tensor(np.ones(3, np.int16)).to("gpu"))
