"""On every rank: a model in many processes learns what one process learns of the whole batch."""

import numpy as np
import pytest
from models import ADAM, MOMENTUM, SGD, assert_close, gather, gpt, kinds, loss, made, mlp, state, train_both, trained

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.distributed import CommDebugMode, DistributedDataParallel
from minigrad.distributed.group import DistributedError
from minigrad.engine.base.errors import GraphError, NoGradientError

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
N = 6  # examples of a batch
SMALL = 0.0002  # megabytes of a bucket, so that there are several
OPTIMIZERS = MOMENTUM, ADAM


def parallel(make=mlp, seed=0, **options):
    """The model of one process, and its like in many, which every rank but the first begins with other weights."""
    model, batch = made(make, seed)
    copy, _ = made(make, seed + RANK)
    return model, DistributedDataParallel(copy, **options), batch


def mine(batch, step=0, n=N):
    return [part[RANK * n // P : (RANK + 1) * n // P] for part in batch(step, n)]


def gradients(model):
    model = getattr(model, "module", model)
    return {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}


def check_training_is_that_of_one_process():
    for make in kinds(P):
        for optimizer in OPTIMIZERS:
            alone, many, batch = parallel(make, bucket_cap_mb=SMALL)
            train_both(alone, many, batch, optimizer, 3, N, RANK, P)
            assert_close(state(many), state(alone))
            for x in state(many).values():
                assert (gather(x) == x).all()


def check_gradients_are_means_over_the_batch():
    for viewed in (False, True):
        alone, many, batch = parallel(gpt, bucket_cap_mb=SMALL, gradient_as_bucket_view=viewed)
        for step in range(2):  # a backward adds to what is there
            loss(alone, *batch(step, N)).backward()
            loss(many, *mine(batch, step)).backward()
            assert_close(gradients(many), gradients(alone))


def check_bytes_are_those_of_the_parameters():
    for cap in (SMALL, 25):
        _, many, batch = parallel(gpt, bucket_cap_mb=cap)
        total = sum(p.spec.nbytes for p in many.parameters())
        value = loss(many, *mine(batch))
        with CommDebugMode() as comm:
            value.backward()
        assert comm.comm_bytes == {"all_reduce": total}
        assert comm.comm_counts["all_reduce"] == len(many.buckets)
        assert (len(many.buckets) > 5) == (cap == SMALL)
        assert all(sum(p.spec.nbytes for p in b.parameters[:-1]) < cap * 2**20 for b in many.buckets)


def check_an_all_reduce_begins_before_backward_ends():
    _, many, batch = parallel(gpt, bucket_cap_mb=SMALL)
    value = loss(many, *mine(batch))
    with mg.profiler.profile() as profile:
        value.backward()
    kinds = [(event.kind, event.name) for event in sorted(profile.events(), key=lambda event: event.begin)]
    starts = [i for i, kind in enumerate(kinds) if kind == ("collective", "all_reduce")]
    derivatives = [i for i, (kind, _) in enumerate(kinds) if kind == "backward"]
    assert len(starts) == len(many.buckets) > 2
    assert starts[0] < derivatives[len(derivatives) // 2]
    assert sum(start < derivatives[-1] for start in starts) > len(starts) // 2


def check_no_sync_adds_up_and_moves_nothing():
    alone, many, batch = parallel(mlp)
    for step in range(3):
        loss(alone, *batch(step, N)).backward()
    with CommDebugMode() as comm:
        with many.no_sync():
            for step in range(2):
                loss(many, *mine(batch, step)).backward()
        assert comm.get_total_counts() == 0
        loss(many, *mine(batch, 2)).backward()
    assert comm.comm_counts["all_reduce"] == 1
    assert_close(gradients(many), gradients(alone))


def check_no_sync_holds_for_what_was_called_in_it():
    _, many, batch = parallel(mlp)
    value = loss(many, *mine(batch))
    with CommDebugMode() as comm, many.no_sync():
        value.backward()
    assert comm.comm_counts["all_reduce"] == 1


class Branches(nn.Module):
    """A rank may go another way than the next; nobody uses `spare`."""

    def __init__(self):
        self.first, self.left, self.right = nn.Linear(5, 4), nn.Linear(4, 3), nn.Linear(4, 3)
        self.spare = nn.Linear(2, 2)

    def forward(self, x, way="left"):
        return getattr(self, way)(self.first(x))


def check_unused_parameters_are_zero_where_others_use_them():
    _, batch = made(mlp)
    alone, copy = Branches(), Branches()
    copy.load_state_dict(alone.state_dict())
    many = DistributedDataParallel(copy, find_unused_parameters=True, bucket_cap_mb=SMALL)
    ways = ["left", "right", "left"][:P]
    parts = [[part[r * N // P : (r + 1) * N // P] for part in batch(0, N)] for r in range(P)]
    for way, (x, y) in zip(ways, parts):
        (loss(lambda x, way=way: alone(x, way), x, y) / P).backward()
    loss(lambda x: many(x, ways[RANK]), *parts[RANK]).backward()
    assert "spare.weight" not in gradients(many)
    assert_close(gradients(many), gradients(alone))


def check_unused_parameters_are_named():
    many = DistributedDataParallel(Branches())
    with pytest.raises(DistributedError, match=rf"rank {RANK}: .*right\.bias.*find_unused_parameters=True"):
        many(mg.ones(2, 5)).sum().backward()


def check_models_that_differ_are_refused():
    for other in (nn.Linear(2, 4), nn.Linear(2, 3, bias=False), nn.Linear(2, 3).requires_grad_(False), nn.ReLU()):
        model = nn.Sequential(nn.Linear(2, 2), other if RANK else nn.Linear(2, 3), nn.Linear(3, 1))
        with pytest.raises(DistributedError, match=r"rank 0: 1\.\w+ is f64\[.*, learned at .*data_parallel.py:\d+"):
            DistributedDataParallel(model)


def check_a_module_that_changed_is_refused():
    for change in (
        lambda module: module[0].weight.requires_grad_(False),
        lambda module: module.float(),
        lambda module: setattr(module[0], "weight", nn.Parameter(np.zeros((7, 5)))),
    ):
        many = DistributedDataParallel(mlp()[0])
        change(many.module)
        with pytest.raises(DistributedError, match="wrap it again"):
            many(mg.tensor(np.ones((2, 5))))


class Mixed(nn.Module):
    """Two dtypes, a weight that is used twice, and one that does not learn."""

    def __init__(self):
        self.short, self.long, self.frozen = nn.Linear(5, 4).float(), nn.Linear(4, 4), nn.Linear(4, 4)
        self.again = self.long
        self.frozen.requires_grad_(False)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.again(self.frozen(self.long(self.short(x.float()).double()).tanh())))


def check_dtypes_shared_and_frozen_parameters():
    mg.manual_seed(3)
    alone, copy = Mixed(), Mixed()
    _, batch = made(mlp)
    copy.load_state_dict(alone.state_dict())
    many = DistributedDataParallel(copy)
    assert len(many.buckets) == 2
    train_both(alone, many, batch, lambda ps: SGD([p for p in ps if p.requires_grad]), 3, N, RANK, P)
    assert_close(state(many), state(alone), 1e-5)  # float32


def check_half_precision_does_not_overflow():
    layer = nn.Linear(2, 2, bias=False).half()
    many = DistributedDataParallel(layer)
    (many(mg.ones(1, 2).half()) * 40000).sum().backward()
    assert (layer.weight.grad.numpy() == 40000).all()


def check_buffers_are_those_of_the_first():
    for synced in (True, False):
        many = DistributedDataParallel(nn.BatchNorm1d(3), broadcast_buffers=synced)
        for step in range(2):
            many(mg.tensor(np.random.default_rng(10 * step + RANK).normal(size=(4, 3))))
        means = gather(many.module.running_mean.numpy())
        assert not (means == means[0]).all()  # each has its own batch
        many.eval()
        many(mg.ones(2, 3))
        means = gather(many.module.running_mean.numpy())
        assert (means == means[0]).all() == synced


def check_state_has_the_modules_own_names():
    model, many, _ = parallel(mlp)
    assert many.state_dict().keys() == model.state_dict().keys()
    many.load_state_dict({f"module.{name}": x for name, x in model.state_dict().items()})
    assert_close(state(many), state(model))
    many.load_state_dict(model.state_dict())


def check_a_traced_step():
    for traced in ("step", "model"):
        alone, many, batch = parallel(gpt, bucket_cap_mb=SMALL)
        one, all_ = mg.optim.Adam(alone.parameters()), mg.optim.Adam(many.parameters())
        called = mg.function(many) if traced == "model" else many

        def step(x, y, called=called, all_=all_):
            all_.zero_grad()
            scores = called(x)
            value = mg.functional.cross_entropy(scores.reshape(-1, 11), y.reshape(-1))
            value.backward()
            all_.step()
            return value

        run = mg.function(step) if traced == "step" else step
        trained(alone, batch, one, 3, N)
        for i in range(3):
            run(*map(mg.tensor, mine(batch, i)))
        assert_close(state(many), state(alone))


def check_buffers_in_a_traced_step():
    many = DistributedDataParallel(nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1)))
    optimizer = mg.optim.SGD(many.parameters(), 0.1)

    @mg.function
    def step(x):
        optimizer.zero_grad()
        (many(x) ** 2).mean().backward()
        optimizer.step()

    means = []
    for i in range(3):
        before = many.module[0].running_mean.numpy().copy()
        step(mg.tensor(np.random.default_rng(10 * i + RANK).normal(size=(4, 3))))
        means.append((gather(before), gather(many.module[0].running_mean.numpy())))
    x = np.random.default_rng(20 + RANK).normal(size=(4, 3))
    np.testing.assert_allclose(means[2][1][RANK], 0.9 * means[2][0][0] + 0.1 * x.mean(0))


def check_what_would_be_wrong_is_refused():
    _, many, batch = parallel(mlp)
    x, y = mine(batch)
    with pytest.raises(NoGradientError, match=r"inputs=…"):
        loss(many, x, y).backward(inputs=[*many.parameters()])
    with pytest.raises(NoGradientError, match="create_graph"):
        loss(many, x, y).backward(create_graph=True)
    with pytest.raises(DistributedError, match="equal numbers of batches"):
        many.join()

    def step(x, y):
        value = mg.functional.cross_entropy(many(x), y)
        value.backward()
        return value

    many.zero_grad()
    with many.no_sync(), pytest.raises(GraphError, match="no_sync"):
        mg.function(step)(mg.tensor(x), mg.tensor(y))


def check_a_failed_backward_leaves_the_next_one_whole():
    alone, many, batch = parallel(mlp)
    value = loss(many, *mine(batch))
    handle = many.module[0].weight.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        value.backward()
    handle.remove()
    many.zero_grad()
    loss(alone, *batch(0, N)).backward()
    loss(many, *mine(batch)).backward()
    assert_close(gradients(many), gradients(alone))


def check_a_group_of_some_ranks():
    group = dist.new_group([P - 1, 0])
    if dist.get_rank(group) < 0:
        return
    (alone, batch), (copy, _) = made(gpt), made(gpt, RANK)
    if group.rank == 0:
        copy.load_state_dict(alone.state_dict())
    many = DistributedDataParallel(copy, group)
    train_both(alone, many, batch, SGD, 2, N, group.rank, group.size)
    assert_close(state(many), state(alone))


def check_random_nets():
    """Layers, sizes, buckets, options and optimisers by chance."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        widths = [5, *rng.integers(1, 9, rng.integers(1, 4)), 3]
        activations = rng.choice([nn.Tanh, nn.ReLU, nn.GELU, nn.Sigmoid], len(widths))

        def make(widths=widths, activations=activations):
            sizes = zip(widths, widths[1:], activations)
            layers = [part for n, m, f in sizes for part in (nn.Linear(int(n), int(m)), f())]
            return nn.Sequential(*layers), *mlp()[1:]

        cap, viewed = 10 ** rng.uniform(-5, 0), bool(rng.integers(2))
        alone, many, batch = parallel(make, seed, bucket_cap_mb=cap, gradient_as_bucket_view=viewed)
        rule = OPTIMIZERS[rng.integers(2)]
        n = P * int(rng.integers(1, 4))
        train_both(alone, many, batch, rule, 4, n, RANK, P)
        assert_close(state(many), state(alone), 1e-7)  # Adam divides by roots of small gradients


class Ways(nn.Module):
    """A row of layers, of which each call goes through some."""

    def __init__(self):
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(5))

    def forward(self, x, way):
        for i in way:
            x = self.layers[i](x).tanh()
        return x


def check_random_histories():
    """Ways that differ by rank, no_sync, several backwards before a step, and gradients that are not forgotten."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        mg.manual_seed(seed)
        alone, copy = Ways(), Ways()
        copy.load_state_dict(alone.state_dict())
        options = {"gradient_as_bucket_view": bool(rng.integers(2)), "bucket_cap_mb": 10 ** rng.uniform(-5, -3)}
        many = DistributedDataParallel(copy, find_unused_parameters=True, **options)
        rules = [SGD(model.parameters()) for model in (alone, many)]
        for _ in range(6):
            last = int(rng.integers(1, 4))
            for i in range(last):
                ways = [rng.choice(5, rng.integers(1, 5)) for _ in range(P)]
                xs = mg.tensor(rng.normal(size=(P, 2, 3)))
                for x, way in zip(xs, ways):
                    (alone(x, way).square().sum() / P).backward()
                if i == last - 1:
                    many(xs[RANK], ways[RANK]).square().sum().backward()
                else:
                    with many.no_sync():
                        many(xs[RANK], ways[RANK]).square().sum().backward()
            assert_close(gradients(many), gradients(alone))
            for rule in rules:
                rule.step()
            if rng.integers(2):
                to_none = bool(rng.integers(2))
                for rule in rules:
                    rule.zero_grad(set_to_none=to_none)
        assert_close(state(many), state(alone))
