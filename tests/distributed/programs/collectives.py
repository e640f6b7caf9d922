"""On every rank: collectives give what NumPy gives of all ranks' arrays, and their gradients are their adjoints."""

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import functional
from minigrad.distributed.group import DistributedError

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
DTYPES = [mg.float64, mg.float32, mg.float16, mg.bfloat16, mg.int64, mg.int8, mg.uint8]


def of(rank, shape=(4, 3), dtype=mg.float64):
    return np.random.default_rng(rank).integers(-4, 5, shape).astype(dtype)


def everyone(*arguments):
    return [of(rank, *arguments) for rank in range(P)]


def check_all_reduce():
    total = {"sum": sum, "product": np.prod, "min": np.min, "max": np.max}
    for dtype in DTYPES:
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            if dtype == mg.uint8 or (dtype == mg.bfloat16 and op.value == "product"):
                continue
            x = mg.tensor(of(RANK, (4, 3), dtype))
            assert dist.all_reduce(x, op) is None
            stacked = [a.astype(np.float64) for a in everyone((4, 3), dtype)]
            wanted = sum(stacked) if op.value == "sum" else total[op.value](stacked, axis=0)
            assert (x.numpy().astype(np.float64) == wanted).all(), (dtype, op)


def check_nan_is_the_extremum_in_every_rank():
    """MPI's own MAX gave the ranks different numbers, depending on whether NaN came first or last."""
    for dtype in (mg.float64, mg.float32, mg.float16, mg.bfloat16):
        stacked = [np.where(np.arange(4 * P) % (P + 1) == r, np.nan, r - 2.0) for r in range(P)]
        for op, of_all in ((dist.ReduceOp.MAX, np.maximum), (dist.ReduceOp.MIN, np.minimum)):
            wanted = of_all.reduce(stacked)
            x, y = (mg.tensor(stacked[RANK]).astype(dtype) for _ in range(2))
            part = mg.zeros(wanted.size // P, dtype=dtype)
            dist.reduce_scatter_tensor(part, x, op)
            dist.all_reduce(x, op)
            dist.reduce(y, 0, op)
            np.testing.assert_array_equal(x.numpy().astype(float), wanted)
            np.testing.assert_array_equal(part.numpy().astype(float), wanted.reshape(P, -1)[RANK])
            if RANK == 0:
                np.testing.assert_array_equal(y.numpy().astype(float), wanted)


def check_a_mean_is_divided():
    x = mg.tensor(of(RANK))
    dist.all_reduce(x, dist.ReduceOp.AVG)
    np.testing.assert_allclose(x.numpy(), np.mean(everyone(), axis=0))


def check_the_rest():
    x = mg.tensor(of(RANK))
    dist.broadcast(x, P - 1)
    assert (x.numpy() == of(P - 1)).all()
    y = mg.zeros(4 * P, 3)
    dist.all_gather_into_tensor(y, mg.tensor(of(RANK)))
    assert (y.numpy() == np.concatenate(everyone())).all()
    parts = [mg.zeros(4, 3) for _ in range(P)]
    dist.all_gather(parts, mg.tensor(of(RANK)))
    assert all((part.numpy() == a).all() for part, a in zip(parts, everyone()))
    part = mg.zeros(2, 3)
    dist.reduce_scatter_tensor(part, mg.tensor(of(RANK, (2 * P, 3))))
    assert (part.numpy() == sum(everyone((2 * P, 3)))[2 * RANK : 2 * RANK + 2]).all()
    out = mg.zeros(2 * P, 3)
    dist.all_to_all_single(out, mg.tensor(of(RANK, (2 * P, 3))))
    assert (out.numpy() == np.concatenate([a[2 * RANK : 2 * RANK + 2] for a in everyone((2 * P, 3))])).all()


def check_to_one_and_from_one():
    for root in range(P):
        x = mg.tensor(of(RANK))
        dist.reduce(x, root, dist.ReduceOp.AVG)
        np.testing.assert_allclose(x.numpy(), np.mean(everyone(), axis=0) if root == RANK else of(RANK))
        x = mg.tensor(of(RANK, (4,), mg.bfloat16))
        dist.reduce(x, root)
        wanted = sum(a.astype(np.float32) for a in everyone((4,), mg.bfloat16)) if root == RANK else of(RANK, (4,))
        assert (x.numpy().astype(np.float64) == wanted).all()
        parts = [mg.zeros(4, 3) for _ in range(P)] if root == RANK else None
        dist.gather(mg.tensor(of(RANK)), parts, root)
        assert parts is None or all((part.numpy() == a).all() for part, a in zip(parts, everyone()))
        x = mg.zeros(4, 3)
        dist.scatter(x, parts, root)
        assert (x.numpy() == of(RANK)).all()


def check_a_list_is_the_roots_alone():
    parts = None if RANK == 0 else [mg.zeros(2)] * P
    with pytest.raises(DistributedError, match="only rank 0 passes a gather_list"):
        dist.gather(mg.zeros(2), parts)
    with pytest.raises(DistributedError, match="only rank 0 passes a scatter_list"):
        dist.scatter(mg.zeros(2), parts)


def check_a_strided_tensor_is_written_too():
    x = mg.tensor(of(RANK))
    dist.all_reduce(x.T)
    assert (x.numpy() == sum(everyone())).all()


def check_async():
    x = mg.tensor(of(RANK))
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    assert work.wait()
    assert work.is_completed()
    np.testing.assert_allclose(x.numpy(), np.mean(everyone(), axis=0))


def check_a_ring_of_messages():
    y = mg.zeros(4, 3)
    sending = dist.isend(mg.tensor(of(RANK)), (RANK + 1) % P)
    assert dist.recv(y, (RANK - 1) % P) == (RANK - 1) % P
    sending.wait()
    assert (y.numpy() == of((RANK - 1) % P)).all()


def check_groups():
    evens = dist.new_group(list(range(0, P, 2)))
    x = mg.tensor(of(RANK))
    if RANK % 2:
        assert dist.get_rank(evens) == -1
        with pytest.raises(DistributedError, match=r"not in the group of ranks \[0.*get_rank\(group\) >= 0"):
            dist.all_reduce(x, group=evens)
        with pytest.raises(DistributedError, match="not in the group"):
            functional.all_reduce(x, group=evens)
    else:
        for op, divisor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, (P + 1) // 2)):
            x = mg.tensor(of(RANK))
            dist.all_reduce(x, op, group=evens)
            np.testing.assert_allclose(x.numpy(), sum(everyone()[::2]) / divisor)


def check_who_calls_something_else_is_told():
    x = mg.zeros(3 if RANK else 4)
    with pytest.raises(DistributedError, match=r"rank 0: .* \(4,\) at .*collectives.py:\d+") as told:
        dist.all_reduce(x)
    assert "(3,)" in str(told.value)


def adjoint(f, shape):
    """Whether ⟨f(x), u⟩ = ⟨x, fᵀ u⟩, both summed over all ranks."""
    x = mg.tensor(of(RANK, shape), requires_grad=True)
    y = f(x)
    u = mg.tensor(of(RANK + 100, y.shape))
    (gx,) = mg.autograd.grad(y, x, u)
    ends = mg.stack([(y * u).sum().detach(), (x * gx).sum().detach()])
    dist.all_reduce(ends)
    np.testing.assert_allclose(ends[0].item(), ends[1].item())
    traced = mg.function(f)(x)
    assert (traced.numpy() == y.numpy()).all()


def check_gradients():
    adjoint(functional.all_reduce, (4, 3))
    adjoint(lambda x: functional.all_reduce(x, dist.ReduceOp.AVG), (4, 3))
    adjoint(functional.all_gather, (4, 3))
    adjoint(functional.reduce_scatter, (2 * P, 3))
    adjoint(lambda x: functional.broadcast(x, P - 1), (4, 3))
    adjoint(functional.all_to_all, (2 * P, 3))
