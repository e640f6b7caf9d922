"""On every rank: parts of a model learn what the whole would, and are as small as the paper says."""

import tracemalloc
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from models import ADAM, RULES, SGD, assert_close, cnn, gather, gpt, kinds, loss, made, mlp, state, train_both, trained

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.distributed import (
    CommDebugMode,
    DistributedDataParallel,
    FullyShardedDataParallel,
    ShardingStrategy,
    ZeroRedundancyOptimizer,
)  # fmt: skip
from minigrad.distributed.group import DistributedError
from minigrad.engine.base.errors import GraphError, NoGradientError, StateError
from minigrad.nn.zoo.transformers import TransformerBlock
from minigrad.profiler.books import Consumer

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
N = 6  # examples of a batch
UNITS = {mlp: (nn.Linear,), cnn: (nn.Conv2d,), gpt: (TransformerBlock,)}


def sharded(make, strategy=ShardingStrategy.FULL_SHARD, seed=0):
    """The model of one process, and its like in parts, which every rank but the first begins with other weights."""
    model, batch = made(make, seed)
    copy, _ = made(make, seed + RANK)
    return model, FullyShardedDataParallel(copy, None, strategy, UNITS.get(make, ())), batch


def mine(batch, step=0, n=N):
    return [part[RANK * n // P : (RANK + 1) * n // P] for part in batch(step, n)]


def elements(model):
    return sum(p.size for p in model.parameters())


def check_training_is_that_of_one_process():
    for make in kinds(P):
        for strategy in ShardingStrategy:
            for rule in (SGD, ADAM):
                alone, many, batch = sharded(make, strategy)
                train_both(alone, many, batch, rule, 3, N, RANK, P)
                assert_close(state(many), state(alone))


def check_bytes_are_those_of_the_formulas():
    for strategy, shares in {
        ShardingStrategy.NO_SHARD: (1, 1, 1),
        ShardingStrategy.SHARD_GRAD_OP: (1, 1 / P, 1 / P),
        ShardingStrategy.FULL_SHARD: (1 / P, 1 / P, 1 / P),
    }.items():
        for k, rule in enumerate(RULES):
            alone, batch = made(lambda: (nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)), *mlp()[1:]))
            size = elements(alone)
            padded = -(-size // P) * P
            many = FullyShardedDataParallel(alone, None, strategy)
            optimizer = rule(many.parameters())
            x, y = mine(batch)
            with mg.profiler.memory(many, optimizer) as ledger:
                loss(many, x, y).backward()
                optimizer.step()
            last = ledger.moments[-1].live
            psi = 8 * (size if strategy is ShardingStrategy.NO_SHARD else padded)
            wanted = [psi * share for share in shares[:2]] + [k * psi * shares[2]]
            assert [last[Consumer.PARAMETERS], last[Consumer.GRADIENTS], last[Consumer.STATE]] == wanted, (
                strategy, k, last, wanted,
            )  # fmt: skip


def check_no_parameters_are_kept_between_forward_and_backward():
    layers = nn.Sequential(*[nn.Linear(60, 60) for _ in range(12)])
    many = FullyShardedDataParallel(layers, auto_wrap_policy=(nn.Linear,))
    whole = 8 * sum(unit.length * unit.parts for unit in many.units())
    for _ in range(2):  # the first time ops are planned
        many.zero_grad()
        tracemalloc.start()
        y = many(mg.ones(1, 60)).sum()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        y.backward()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert kept < whole / 4, kept / whole  # activations, and Python's own objects
    assert peak < whole / P + 5 * whole / 12, peak / whole  # gradients; a unit, and its gradient on the way


def check_traffic_is_that_of_the_formulas():
    for strategy, wanted in {
        ShardingStrategy.NO_SHARD: {"all_reduce": 1},
        ShardingStrategy.SHARD_GRAD_OP: {"all_gather": 1, "reduce_scatter": 1},
        ShardingStrategy.FULL_SHARD: {"all_gather": 2, "reduce_scatter": 1},
    }.items():
        for make in (mlp, gpt):
            _, many, batch = sharded(make, strategy)
            optimizer = ADAM(many.parameters())
            trained(many, batch, optimizer, 1, N, RANK, P)
            units = [unit for unit in many.modules() if isinstance(unit, FullyShardedDataParallel) and unit.length]
            psi = 8 * sum(unit.length * unit.parts for unit in units)
            with CommDebugMode() as comm:
                trained(many, batch, optimizer, 1, N, RANK, P)
            bytes_of = {call: times * psi for call, times in wanted.items()}
            if make is mlp and strategy is ShardingStrategy.FULL_SHARD:  # backward does not read the first layer
                bytes_of["all_gather"] -= 8 * units[0].length * P
            assert comm.comm_bytes == bytes_of


def check_the_state_of_an_optimizer_in_parts():
    for make in (mlp, gpt):
        for k, rule, options in (
            (1, mg.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
            (2, mg.optim.Adam, {"lr": 0.01}),
            (2, mg.optim.NAdam, {"lr": 0.01}),  # which also remembers a product
        ):
            (alone, batch), (copy, _) = made(make), made(make, RANK)
            many = DistributedDataParallel(copy)
            one, part = rule(alone.parameters(), **options), ZeroRedundancyOptimizer(many.parameters(), rule, **options)
            scheduler = [mg.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) for optimizer in (one, part)]
            for _ in range(2):
                trained(alone, batch, one, 2, N)
                trained(many, batch, part, 2, N, RANK, P)
                for each in scheduler:
                    each.step()
            assert_close(state(many), state(alone))
            sizes = gather(sum(x.size for kept in part.state.values() for x in kept.values() if np.ndim(x)))
            assert sizes.sum() == k * elements(alone)
            assert sizes.max() < k * (elements(alone) / P + max(p.size for p in alone.parameters()))
            part.consolidate_state_dict(to=P - 1)
            if RANK != P - 1:
                with pytest.raises(StateError, match="consolidate_state_dict"):
                    part.state_dict()
                continue
            whole, wanted = part.state_dict(), one.state_dict()
            assert whole["state"].keys() == wanted["state"].keys()
            for i, kept in wanted["state"].items():
                assert whole["state"][i]["step"] == kept["step"]
                for name, x in kept.items():
                    np.testing.assert_allclose(whole["state"][i][name], x, 1e-9, 1e-12)


def check_parameters_stay_with_who_remembers_them():
    (alone, batch), (copy, _) = made(mlp), made(mlp)
    many = DistributedDataParallel(copy)
    layers = [(model[0], model[2], model[4]) for model in (alone, many.module)]
    one = mg.optim.Adam(layers[0][2].parameters(), 0.01)
    part = ZeroRedundancyOptimizer(layers[1][2].parameters(), mg.optim.Adam, lr=0.01)
    for i in (2, 0, 1):  # the larger come later
        if i != 2:
            one.add_param_group({"params": [*layers[0][i].parameters()]})
            part.add_param_group({"params": [*layers[1][i].parameters()], "lr": 0.01})
        trained(alone, batch, one, 2, N)
        trained(many, batch, part, 2, N, RANK, P)
        assert_close(state(many), state(alone))
    part.consolidate_state_dict()
    trained(many, batch, part, 1, N, RANK, P)
    with pytest.raises(StateError, match="consolidate"):  # it is that of another moment
        part.state_dict()


def check_zero_1_by_the_ledger_and_its_traffic():
    layers = nn.Sequential(*[nn.Linear(6, 6) for _ in range(6)])  # which 2 and 3 ranks divide evenly
    model, batch = made(lambda: (layers, lambda rng, n: rng.normal(size=(n, 6)), mlp()[2]))
    many = DistributedDataParallel(model)
    optimizer = ZeroRedundancyOptimizer(many.parameters(), mg.optim.Adam)
    psi = 8 * elements(model)
    with mg.profiler.memory(many, optimizer) as ledger, CommDebugMode() as comm:
        loss(many, *mine(batch)).backward()
        optimizer.step()
    last = ledger.moments[-1].live
    assert [last[Consumer.PARAMETERS], last[Consumer.GRADIENTS], last[Consumer.STATE]] == [psi, psi, 2 * psi // P]
    assert comm.comm_bytes == {"all_reduce": psi, "broadcast": psi}


def check_an_optimizer_in_parts_goes_on():
    (alone, batch), (copy, _) = made(mlp), made(mlp)
    one = mg.optim.Adam(alone.parameters(), 0.01)
    trained(alone, batch, one, 2, N)
    copy.load_state_dict(alone.state_dict())
    many = DistributedDataParallel(copy)
    part = ZeroRedundancyOptimizer(many.parameters(), mg.optim.Adam, lr=0.5)
    part.load_state_dict(one.state_dict())
    trained(alone, batch, one, 2, N)
    trained(many, batch, part, 2, N, RANK, P)
    assert_close(state(many), state(alone))
    assert 0 < len(part.state) < len(one.state)


def check_the_whole_state_is_saved_and_loaded():
    for strategy in ShardingStrategy:
        alone, many, batch = sharded(gpt, strategy)
        names = dict(alone.named_parameters())
        assert many.state_dict().keys() == alone.state_dict().keys() == names.keys()
        trained(alone, batch, ADAM(alone.parameters()), 1, N)
        many.load_state_dict(alone.state_dict())
        assert_close(state(many), state(alone), 0)
        train_both(alone, many, batch, SGD, 1, N, RANK, P)
        assert_close(state(many), state(alone))
        with pytest.raises(StateError, match=r"missing: token\.weight"):
            many.load_state_dict({})


def check_parameters_can_be_looked_at():
    alone, many, _ = sharded(gpt)
    for writeback in (False, True):
        with many.summon_full_params(writeback=writeback) as model:
            assert [name for name, _ in model.named_parameters()] == [name for name, _ in alone.named_parameters()]
            with mg.no_grad():
                model.norm.weight.fill_(7.0)
        assert (state(many)["norm.weight"] == 7).all() == writeback
    with pytest.raises(StateError, match="summon_full_params"):
        many.module.norm.weight  # noqa: B018


def check_gradients_are_clipped_as_one():
    for strategy in ShardingStrategy:
        for norm_type in (2.0, 1.0, inf):
            alone, many, batch = sharded(gpt, strategy)
            loss(alone, *batch(0, N)).backward()
            loss(many, *mine(batch)).backward()
            wanted = nn.utils.clip_grad_norm_(alone.parameters(), 0.01, norm_type).item()
            np.testing.assert_allclose(many.clip_grad_norm_(0.01, norm_type).item(), wanted)
            for each in (alone, many):
                SGD(each.parameters()).step()
            assert_close(state(many), state(alone))
            if strategy is not ShardingStrategy.NO_SHARD:
                with pytest.raises(DistributedError, match="clip_grad_norm_"):
                    nn.utils.clip_grad_norm_(many.parameters(), 0.01)


def check_a_unit_called_twice_and_two_backwards():
    for strategy in ShardingStrategy:
        alone, many, batch = sharded(mlp, strategy)
        for model, parts in ((alone, [batch(0, N), batch(1, N)]), (many, [mine(batch, 0), mine(batch, 1)])):
            first, second = [loss(model, *part) for part in parts]
            (first + second * 2).backward(retain_graph=True)
            (first * 3).backward()
            SGD(model.parameters()).step()
        assert_close(state(many), state(alone))


def check_checkpoints_around_units():
    for strategy in ShardingStrategy:
        alone, many, batch = sharded(gpt, strategy)
        for block in (*alone.blocks, *many.module.blocks):
            block.forward = lambda x, forward=block.forward: mg.utils.checkpoint.checkpoint(forward, x)
        train_both(alone, many, batch, ADAM, 2, N, RANK, P)
        assert_close(state(many), state(alone))


def check_evaluation_keeps_nothing():
    alone, many, batch = sharded(gpt)
    x, _ = batch(0, N)
    with mg.no_grad():
        y = many(mg.tensor(x))
        np.testing.assert_allclose(y.numpy(), alone(mg.tensor(x)).numpy(), 1e-9, 1e-12)


class Tied(nn.Module):
    """A table used twice, by two modules that share it, and a part that is not used."""

    def __init__(self):
        self.first, self.second, self.spare = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.last = nn.Linear(5, 3)

    def forward(self, x):
        return self.last(self.second(self.first(x).tanh()))


def check_shared_and_unused_parameters():
    alone, many, batch = sharded(lambda: (Tied(), *mlp()[1:]))
    assert sum(unit.length * P for unit in [many]) - P < elements(alone)
    train_both(alone, many, batch, ADAM, 2, N, RANK, P)
    assert_close(state(many), state(alone))
    model = Tied()
    model.first = FullyShardedDataParallel(model.first)
    with pytest.raises(ValueError, match="in another unit already"):
        FullyShardedDataParallel(model)


def check_what_would_be_wrong_is_refused():
    _, many, batch = sharded(mlp)
    x, y = mine(batch)
    with pytest.raises(GraphError, match=r"outside of mg\.function"):
        mg.function(many)(mg.tensor(x))
    with pytest.raises(NoGradientError, match="create_graph"):
        loss(many, x, y).backward(create_graph=True)
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).float())
    with pytest.raises(ValueError, match=r"0\.bias, 1\.bias"):
        FullyShardedDataParallel(mixed)
    inner = nn.Sequential(FullyShardedDataParallel(nn.Linear(2, 2)), nn.Linear(2, 2))
    with pytest.raises(ValueError, match="one sharding_strategy"):
        FullyShardedDataParallel(inner, None, ShardingStrategy.NO_SHARD)
    with pytest.raises(ValueError, match="call it directly"):
        FullyShardedDataParallel(nn.ReLU())
    _, many, batch = sharded(mlp, ShardingStrategy.SHARD_GRAD_OP)
    many.float()
    with pytest.raises(DistributedError, match="wrap it again"):
        many(mg.tensor(x))
    with pytest.raises(TypeError, match="LBFGS looks at all"):
        ZeroRedundancyOptimizer(mlp()[0].parameters(), mg.optim.LBFGS)
    loss(sharded(mlp)[1], x, y).backward()
    checkpointed = nn.Sequential(nn.Linear(5, 3), nn.Tanh())
    inner = checkpointed[0].forward
    checkpointed[0].forward = lambda x: mg.utils.checkpoint.checkpoint(inner, x)
    with pytest.raises(StateError, match=r"checkpoint\(\) around that"):
        FullyShardedDataParallel(checkpointed)(mg.tensor(x)).sum().backward()
    assert "elements here" in repr(many)


def check_profiles_and_counts_go_through():
    _, many, batch = sharded(gpt)
    with mg.profiler.profile(record_shapes=True, with_flops=True, profile_memory=True) as profile:
        loss(many, *mine(batch)).backward()
    gathers = [event for event in profile.events() if event.kind == "collective" and event.name == "all_gather"]
    assert len(gathers) == 2 * 3
    assert profile.key_averages().table()


def check_a_group_of_some_ranks():
    group = dist.new_group([P - 1, 0])
    if dist.get_rank(group) < 0:
        return
    for strategy in ShardingStrategy:
        (alone, batch), (copy, _) = made(gpt), made(gpt, RANK)
        if group.rank == 0:
            copy.load_state_dict(alone.state_dict())
        many = FullyShardedDataParallel(copy, group, strategy, (TransformerBlock,))
        train_both(alone, many, batch, ADAM, 2, N, group.rank, group.size)
        assert_close(state(many), state(alone))
    many = DistributedDataParallel(made(gpt)[0], group)
    part = ZeroRedundancyOptimizer(many.parameters(), mg.optim.Adam, group, lr=0.01)
    alone, _ = made(gpt)
    trained(alone, batch, ADAM(alone.parameters()), 2, N)
    trained(many, batch, part, 2, N, group.rank, group.size)
    assert_close(state(many), state(alone))
    part.consolidate_state_dict(to=P - 1)
    assert (part.consolidated is None) == (RANK != P - 1)


def check_half_precision_under_autocast():
    for strategy in ShardingStrategy:
        alone, many, batch = sharded(lambda: (mlp()[0].float(), *mlp()[1:]), strategy)
        for model, part in ((alone, batch(0, N)), (many, mine(batch))):
            with mg.autocast(dtype=mg.bfloat16):
                value = loss(lambda x, model=model: model(x.float()), *part)
            value.backward()
            SGD(model.parameters()).step()
        assert_close(state(many), state(alone), 5e-3)  # bfloat16 has 8 digits


def check_random_nets():
    """Layers, sizes, units, strategies and optimisers by chance."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        widths = [5, *rng.integers(1, 9, rng.integers(1, 4)), 3]

        def make(widths=widths, seed=seed):
            f = [nn.Tanh, nn.ReLU, nn.GELU, nn.Sigmoid][seed % 4]
            layers = [part for n, m in pairwise(widths) for part in (nn.Linear(int(n), int(m)), f())]
            return nn.Sequential(*layers), *mlp()[1:]

        UNITS[make] = (nn.Linear,) * bool(rng.integers(2))
        alone, many, batch = sharded(make, list(ShardingStrategy)[rng.integers(3)], seed)
        rule = RULES[rng.integers(3)]
        n = P * int(rng.integers(1, 4))
        train_both(alone, many, batch, rule, 4, n, RANK, P)
        assert_close(state(many), state(alone), 1e-7)  # Adam divides by roots of small gradients
